//! Configuration values: how each quantity is written, read back and refused.
//!
//! Units are mandatory where a quantity has one: `t_prog = 400` is refused, `t_prog = "400us"` is read.

use crate::condition::{Overwritten, PeCycles, Retention, Temperature};
use crate::quantity::{Bandwidth, Bytes, Fraction, Span};

/// A value as a configuration file or a command line holds it, before it has a type.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number without a unit.
    Int(i64),
    /// A number without a unit.
    Float(f64),
    /// Anything in quotes.
    Text(String),
    /// A list in brackets.
    List(Vec<Scalar>),
}

impl Scalar {
    /// Reads what stands behind `key=` on a command line: a bare word is text, `[a, b]` a list.
    pub fn from_word(word: &str) -> Scalar {
        let word = word.trim();
        if let Some(inner) = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return Scalar::List(inner.split(',').filter(|w| !w.trim().is_empty()).map(Scalar::from_word).collect());
        }
        if let Ok(int) = word.parse() {
            return Scalar::Int(int);
        }
        if let Ok(float) = word.parse::<f64>()
            && float.is_finite()
        {
            return Scalar::Float(float);
        }
        match word {
            "true" => Scalar::Bool(true),
            "false" => Scalar::Bool(false),
            _ => Scalar::Text(word.trim_matches(['"', '\'']).to_owned()),
        }
    }
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Bool(v) => write!(f, "{v}"),
            Scalar::Int(v) => write!(f, "{v}"),
            Scalar::Float(v) => write!(f, "{v:?}"),
            Scalar::Text(v) => write!(f, "\"{v}\""),
            Scalar::List(items) => {
                write!(f, "[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
                }
                write!(f, "]")
            }
        }
    }
}

/// A type that configuration can hold.
pub trait Value: Sized {
    /// What is accepted, in words: completes "expected …".
    fn expects() -> String;
    /// Reads the value, or gives none: the caller composes the error from [`Value::expects`].
    fn read(scalar: &Scalar) -> Option<Self>;
    /// Writes the value so that [`Value::read`] gives it back.
    fn write(&self) -> Scalar;
}

impl Value for bool {
    fn expects() -> String {
        "true or false".into()
    }
    fn read(scalar: &Scalar) -> Option<bool> {
        if let Scalar::Bool(v) = scalar { Some(*v) } else { None }
    }
    fn write(&self) -> Scalar {
        Scalar::Bool(*self)
    }
}

macro_rules! whole_numbers {
    ($($t:ty),*) => {$(
        impl Value for $t {
            fn expects() -> String {
                format!("a whole number from 0 to {}", <$t>::MAX)
            }
            fn read(scalar: &Scalar) -> Option<$t> {
                if let Scalar::Int(v) = scalar { <$t>::try_from(*v).ok() } else { None }
            }
            fn write(&self) -> Scalar {
                Scalar::Int(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }
    )*};
}
whole_numbers!(u16, u32, u64, usize);

impl Value for String {
    fn expects() -> String {
        "text in quotes".into()
    }
    fn read(scalar: &Scalar) -> Option<String> {
        if let Scalar::Text(v) = scalar { Some(v.clone()) } else { None }
    }
    fn write(&self) -> Scalar {
        Scalar::Text(self.clone())
    }
}

impl Value for f64 {
    fn expects() -> String {
        "a number".into()
    }
    fn read(scalar: &Scalar) -> Option<f64> {
        match scalar {
            Scalar::Int(v) => Some(*v as f64),
            Scalar::Float(v) if v.is_finite() => Some(*v),
            _ => None,
        }
    }
    fn write(&self) -> Scalar {
        Scalar::Float(*self)
    }
}

impl Value for Fraction {
    fn expects() -> String {
        "a share from 0 to 1, or in percent such as \"7%\"".into()
    }
    fn read(scalar: &Scalar) -> Option<Fraction> {
        let share = match scalar {
            Scalar::Text(text) => text.strip_suffix('%')?.trim().parse::<f64>().ok()? / 100.0,
            other => f64::read(other)?,
        };
        (0.0..=1.0).contains(&share).then_some(Fraction(share))
    }
    fn write(&self) -> Scalar {
        Scalar::Float(self.0)
    }
}

impl Value for PeCycles {
    fn expects() -> String {
        "program/erase cycles: a whole number".into()
    }
    fn read(scalar: &Scalar) -> Option<PeCycles> {
        u32::read(scalar).map(PeCycles)
    }
    fn write(&self) -> Scalar {
        self.0.write()
    }
}

/// A number followed by one of `units`, as a multiple of that unit's value.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let number: f64 = text[..digits].replace('_', "").parse().ok()?;
    let unit = text[digits..].trim();
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| number * factor)
}

/// The largest unit in which `value` is a whole number.
fn in_largest_unit(value: u64, units: &[(&str, f64)]) -> Scalar {
    let fits = |factor: f64| value.is_multiple_of(factor as u64) && value > 0;
    let fitting = units.iter().filter(|(_, factor)| fits(*factor));
    let (name, factor) = fitting.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(&units[0]);
    Scalar::Text(format!("{}{name}", value / *factor as u64))
}

const SPANS: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
    ("mo", 30.0 * 86_400e9),
    ("y", 365.0 * 86_400e9),
];
const SIZES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];
const RATES: &[(&str, f64)] = &[
    ("B/s", 1.0),
    ("kB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
];
/// Text longer than this, or numbers above it, cannot be meant (some 290 years in ns, 8 EiB).
const LIMIT: f64 = 9.2e18;

fn whole(scalar: &Scalar, units: &[(&str, f64)]) -> Option<u64> {
    let value = match scalar {
        Scalar::Text(text) => with_unit(text, units)?,
        Scalar::Int(0) => 0.0,
        _ => return None,
    };
    (value <= LIMIT).then_some(libm::round(value) as u64)
}

impl Value for Span {
    fn expects() -> String {
        "a time with its unit (ns, us, ms, s, min, h, d, mo, y), such as \"40us\"".into()
    }
    fn read(scalar: &Scalar) -> Option<Span> {
        whole(scalar, SPANS).map(Span)
    }
    fn write(&self) -> Scalar {
        in_largest_unit(self.0, &SPANS[..7])
    }
}

impl Value for Bytes {
    fn expects() -> String {
        "a size with its unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), such as \"16KiB\"".into()
    }
    fn read(scalar: &Scalar) -> Option<Bytes> {
        whole(scalar, SIZES).map(Bytes)
    }
    fn write(&self) -> Scalar {
        in_largest_unit(self.0, SIZES)
    }
}

impl Value for Bandwidth {
    fn expects() -> String {
        "a bandwidth with its unit (B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s), such as \"1.2GB/s\"".into()
    }
    fn read(scalar: &Scalar) -> Option<Bandwidth> {
        whole(scalar, RATES).map(Bandwidth)
    }
    fn write(&self) -> Scalar {
        in_largest_unit(self.0, RATES)
    }
}

impl Value for Temperature {
    fn expects() -> String {
        "a temperature from -40C to 125C, such as \"30C\"".into()
    }
    fn read(scalar: &Scalar) -> Option<Temperature> {
        let Scalar::Text(text) = scalar else { return None };
        let degrees: f64 = text.strip_suffix('C')?.trim().parse().ok()?;
        (-40.0..=125.0).contains(&degrees).then_some(Temperature(degrees))
    }
    fn write(&self) -> Scalar {
        Scalar::Text(format!("{}C", self.0))
    }
}

impl Value for Retention {
    fn expects() -> String {
        "a retention age such as \"3mo\", or a distribution such as \"uniform:0..30d\" or \"turnover:9d..1y\" (what all of the flash takes to be \
         programmed, and the most that data is old), with \"+2d\" behind it for a host that has rested since"
            .into()
    }
    fn read(scalar: &Scalar) -> Option<Retention> {
        let Scalar::Text(text) = scalar else { return Span::read(scalar).map(Retention::Fixed) };
        if let Some(range) = text.strip_prefix("uniform:") {
            let (from, to) = two_spans(range)?;
            return (from <= to).then_some(Retention::Uniform(from, to));
        }
        if let Some(range) = text.strip_prefix("turnover:") {
            let (range, rested) = range.split_once('+').map_or((range, None), |(range, rested)| (range, Some(rested)));
            let (turnover, most) = two_spans(range)?;
            let rested = rested.map_or(Some(Span::ZERO), |rested| Span::read(&Scalar::Text(rested.to_owned())))?;
            return Some(Retention::Turnover(Overwritten { turnover, most, rested }));
        }
        Span::read(scalar).map(Retention::Fixed)
    }
    fn write(&self) -> Scalar {
        let text = |span: &Span| {
            let Scalar::Text(text) = span.write() else { unreachable!() };
            text
        };
        match self {
            Retention::Fixed(age) => age.write(),
            Retention::Uniform(from, to) => Scalar::Text(format!("uniform:{}..{}", text(from), text(to))),
            Retention::Turnover(Overwritten { turnover, most, rested }) => {
                let rest = if rested.0 > 0 { format!("+{}", text(rested)) } else { String::new() };
                Scalar::Text(format!("turnover:{}..{}{rest}", text(turnover), text(most)))
            }
        }
    }
}

/// Two spans: in "0..30d" the first one may leave the unit to the second.
fn two_spans(range: &str) -> Option<(Span, Span)> {
    let (first, second) = range.split_once("..")?;
    let second_span = Span::read(&Scalar::Text(second.into()))?;
    let first_span = match first.trim().parse::<f64>() {
        Ok(number) => {
            let unit = second.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '_');
            Span::read(&Scalar::Text(format!("{number}{unit}")))?
        }
        Err(_) => Span::read(&Scalar::Text(first.into()))?,
    };
    Some((first_span, second_span))
}

impl<T: Value> Value for Option<T> {
    fn expects() -> String {
        format!("\"none\", or {}", T::expects())
    }
    fn read(scalar: &Scalar) -> Option<Option<T>> {
        match scalar {
            Scalar::Text(text) if text == "none" => Some(None),
            other => T::read(other).map(Some),
        }
    }
    fn write(&self) -> Scalar {
        self.as_ref().map_or_else(|| Scalar::Text("none".into()), T::write)
    }
}

impl<T: Value> Value for Vec<T> {
    fn expects() -> String {
        format!("one value or a list in brackets, each {}", T::expects())
    }
    fn read(scalar: &Scalar) -> Option<Vec<T>> {
        match scalar {
            Scalar::List(items) => items.iter().map(T::read).collect(),
            one => T::read(one).map(|v| vec![v]),
        }
    }
    fn write(&self) -> Scalar {
        match self.as_slice() {
            [one] => one.write(),
            many => Scalar::List(many.iter().map(T::write).collect()),
        }
    }
}

/// The entry of `known` that `word` most likely means, if any is close.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&word.to_lowercase(), candidate), candidate))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// One of the values that [`choices`](crate::choices) declares.
#[derive(Clone, Copy, Debug)]
pub struct Choice<T: 'static> {
    /// The value.
    pub value: T,
    /// Its word in configuration, without its number.
    pub word: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// Declares an enum whose variants are words in configuration, each with its one-line meaning. A variant may carry a
/// number, with its default and its bounds: `Few(u32 = 10 in 1..=64) = "few"` is written `few`, or `few:3`.
#[macro_export]
macro_rules! choices {
    ($(#[$outer:meta])* pub enum $name:ident {
        $($(#[doc = $doc:literal])+ $variant:ident $(($kind:ty = $default:literal in $bounds:expr))? = $word:literal,)+
    }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[doc = $doc])+ $variant $(($kind))?,)+ }

        #[allow(dead_code)] // A private enum need not list its choices.
        impl $name {
            /// Every choice, its number the default.
            pub const ALL: &'static [$crate::value::Choice<$name>] = &[$($crate::value::Choice {
                value: $name::$variant $(($default))?,
                word: $word,
                about: concat!($($doc, " "),+),
            },)+];

            /// The choice's word in configuration, without its number.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant { .. } => $word,)+ }
            }
        }

        impl $crate::value::Value for $name {
            fn expects() -> String {
                let forms = [$($crate::choice_form!($word $(, $kind, $bounds)?)),+];
                format!("one of {}", forms.join(", "))
            }
            fn read(scalar: &$crate::value::Scalar) -> Option<Self> {
                let $crate::value::Scalar::Text(text) = scalar else { return None };
                let (word, number) = text.split_once(':').map_or((text.as_str(), None), |(word, n)| (word, Some(n)));
                $(if word == $word {
                    return $crate::choice_read!(number, $name, $variant $(, $kind, $default, $bounds)?);
                })+
                None
            }
            fn write(&self) -> $crate::value::Scalar {
                $($crate::choice_write!(*self, $word, $name, $variant $(, $default)?);)+
                unreachable!("Invariant: every choice is written")
            }
        }
    };
}

/// How a choice is written. For [`choices`].
#[doc(hidden)]
#[macro_export]
macro_rules! choice_form {
    ($word:literal) => {
        format!("\"{}\"", $word)
    };
    ($word:literal, $kind:ty, $bounds:expr) => {
        format!("\"{}\" or \"{}:N\" (N from {} to {})", $word, $word, $bounds.start(), $bounds.end())
    };
}

/// A choice by its number, if it has one. For [`choices`].
#[doc(hidden)]
#[macro_export]
macro_rules! choice_read {
    ($number:ident, $name:ident, $variant:ident) => {
        if $number.is_none() { Some($name::$variant) } else { None }
    };
    ($number:ident, $name:ident, $variant:ident, $kind:ty, $default:literal, $bounds:expr) => {
        match $number {
            None => Some($name::$variant($default)),
            Some(text) => text.parse::<$kind>().ok().filter(|n| $bounds.contains(n)).map($name::$variant),
        }
    };
}

/// A choice as it is written, where it is this one. For [`choices`].
#[doc(hidden)]
#[macro_export]
macro_rules! choice_write {
    ($self:expr, $word:literal, $name:ident, $variant:ident) => {
        if let $name::$variant = $self {
            return $crate::value::Scalar::Text($word.into());
        }
    };
    ($self:expr, $word:literal, $name:ident, $variant:ident, $default:literal) => {
        if let $name::$variant(number) = $self {
            let text = if number == $default { $word.into() } else { format!("{}:{number}", $word) };
            return $crate::value::Scalar::Text(text);
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(word: &str) -> Scalar {
        Scalar::Text(word.into())
    }

    choices! {
        /// For the test.
        pub enum Taste {
            /// Nothing.
            Plain = "plain",
            /// With this many spoons.
            Sweet(u32 = 2 in 1..=9) = "sweet",
        }
    }

    #[test]
    fn a_choice_may_carry_a_number() {
        for (word, taste) in [
            ("plain", Some(Taste::Plain)),
            ("sweet", Some(Taste::Sweet(2))),
            ("sweet:3", Some(Taste::Sweet(3))),
            ("sweet:0", None),
            ("sweet:10", None),
            ("sweet:", None),
            ("plain:1", None),
        ] {
            assert_eq!(Taste::read(&text(word)), taste, "{word}");
            if let Some(taste) = taste {
                assert_eq!(taste.write(), text(word));
            }
        }
        assert_eq!(Taste::expects(), "one of \"plain\", \"sweet\" or \"sweet:N\" (N from 1 to 9)");
        assert_eq!(Taste::ALL[1].word, "sweet");
    }

    #[test]
    fn quantities_need_their_unit() {
        assert_eq!(Span::read(&text("40us")), Some(Span(40_000)));
        assert_eq!(Span::read(&text("0.5 ms")), Some(Span(500_000)));
        assert_eq!(Span::read(&Scalar::Int(40)), None);
        assert_eq!(Span::read(&text("40 parsecs")), None);
        assert_eq!(Span::read(&text("1e99s")), None);
        assert_eq!(Span::read(&text("99999999999999999999y")), None);
        assert_eq!(Bytes::read(&text("16KiB")), Some(Bytes(16_384)));
        assert_eq!(Bandwidth::read(&text("1.2GB/s")), Some(Bandwidth(1_200_000_000)));
        assert_eq!(Fraction::read(&text("7%")), Some(Fraction(0.07)));
        assert_eq!(Fraction::read(&Scalar::Float(1.5)), None);
        assert_eq!(Temperature::read(&text("30C")), Some(Temperature(30.0)));
        assert_eq!(Temperature::read(&text("500C")), None);
    }

    #[test]
    fn a_retention_range_shares_its_unit() {
        let month = Span(30 * 86_400_000_000_000);
        assert_eq!(Retention::read(&text("uniform:0..30d")), Some(Retention::Uniform(Span(0), month)));
        assert_eq!(Retention::read(&text("uniform:1d..30d")), Retention::read(&text("uniform:1..30d")));
        assert_eq!(Retention::read(&text("uniform:3d..1d")), None);
        let overwritten =
            |rested| Retention::Turnover(Overwritten { turnover: Span(3 * month.0), most: month, rested });
        assert_eq!(Retention::read(&text("turnover:90..30d")), Some(overwritten(Span::ZERO)));
        assert_eq!(Retention::read(&text("turnover:90..30d+1mo")), Some(overwritten(month)));
        assert_eq!(overwritten(month).write(), text("turnover:90d..30d+30d"));
        assert_eq!(Retention::read(&text("turnover:90..30d+x")), None);
        assert_eq!(Retention::read(&text("1mo")), Some(Retention::Fixed(month)));
    }

    #[test]
    fn quantities_are_written_in_their_largest_whole_unit() {
        assert_eq!(Bandwidth(2_000_000_000).write(), text("2GB/s"));
        assert_eq!(Bytes(64_000_000).write(), text("64MB"));
        assert_eq!(Bytes(16_384).write(), text("16KiB"));
        assert_eq!(Span(40_000).write(), text("40us"));
        assert_eq!(Span(0).write(), text("0ns"));
    }

    #[test]
    fn a_misspelt_word_finds_its_neighbour() {
        assert_eq!(nearest("t_porg", ["t_read", "t_prog", "t_bers"]), Some("t_prog"));
        assert_eq!(nearest("qqqqqq", ["t_read", "t_prog"]), None);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(n in 0..u64::MAX / 4) {
            prop_assert_eq!(Span::read(&Span(n % (1 << 53)).write()), Some(Span(n % (1 << 53))));
            prop_assert_eq!(Bytes::read(&Bytes(n % (1 << 53)).write()), Some(Bytes(n % (1 << 53))));
        }

        #[test]
        fn no_word_makes_the_readers_panic(word in "\\PC{0,40}") {
            let scalar = Scalar::from_word(&word);
            let _ = (Span::read(&scalar), Bytes::read(&scalar), Bandwidth::read(&scalar), Retention::read(&scalar));
            let _ = (Fraction::read(&scalar), Temperature::read(&scalar), <Vec<u32>>::read(&scalar));
        }
    }
}
