//! Units of trace columns, where a format lets the user choose them.

use std::fmt;

use units::Bytes;
use units::value::{Choice, Scalar, Value, nearest};

use crate::request::LARGEST_REQUEST;

/// The units of time, offset and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    pub(crate) time: TimeUnit,
    pub(crate) offset: SizeUnit,
    pub(crate) size: SizeUnit,
}

units::choices! {
    /// The unit of a time column.
    pub enum TimeUnit {
        /// Nanoseconds.
        Ns = "ns",
        /// Microseconds.
        Us = "us",
        /// Milliseconds.
        Ms = "ms",
        /// Seconds.
        S = "s",
    }
}

/// The unit of an offset or size column \[bytes].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SizeUnit(u64);

impl TimeUnit {
    /// Nanoseconds in one, as a power of ten.
    pub(crate) fn decimals(self) -> usize {
        match self {
            TimeUnit::Ns => 0,
            TimeUnit::Us => 3,
            TimeUnit::Ms => 6,
            TimeUnit::S => 9,
        }
    }
}

impl SizeUnit {
    pub(crate) const BYTE: SizeUnit = SizeUnit(1);
    pub(crate) const SECTOR: SizeUnit = SizeUnit(512);
    /// Units that have a name of their own.
    const NAMED: [(SizeUnit, &'static str); 3] =
        [(SizeUnit::BYTE, "B"), (SizeUnit::SECTOR, "sector"), (SizeUnit(1024), "KiB")];

    /// A unit by its name, or as a size such as 4KiB.
    pub(super) fn parse(word: &str) -> Result<SizeUnit, (String, String)> {
        if let Some((unit, _)) = SizeUnit::NAMED.iter().find(|(_, name)| *name == word) {
            return Ok(*unit);
        }
        let sized = Some(word).filter(|word| word.starts_with(|first: char| first.is_ascii_digit()));
        match sized.and_then(|word| Bytes::read(&Scalar::Text(word.into()))) {
            Some(Bytes(bytes)) if (1..=LARGEST_REQUEST.0).contains(&bytes) => Ok(SizeUnit(bytes)),
            _ => {
                let (problem, remedy) = (format!("`{word}` is not a unit here"), advice(word, &["B", "sector", "KiB"]));
                let sizes = "valid here: B, sector, KiB, or a size such as 4KiB (blocks of 4 KiB)";
                Err((problem, if remedy.starts_with("did") { remedy } else { sizes.into() }))
            }
        }
    }

    /// Bytes in one.
    pub(crate) fn bytes(self) -> u64 {
        self.0
    }

    fn word(self) -> String {
        match SizeUnit::NAMED.iter().find(|(unit, _)| *unit == self) {
            Some((_, name)) => (*name).to_owned(),
            None if self.0.is_multiple_of(1024) => format!("{}KiB", self.0 / 1024),
            None => format!("{}B", self.0),
        }
    }

    fn plural(self) -> String {
        match self.0 {
            1 => "bytes".into(),
            512 => "sectors of 512 B".into(),
            1024 => "KiB".into(),
            _ => format!("blocks of {}", Bytes(self.0)),
        }
    }
}

impl Units {
    /// Applies `time=ms,offset=B,size=B`, or gives problem and remedy.
    pub(crate) fn apply(&mut self, options: &str) -> Result<(), (String, String)> {
        const KEYS: [&str; 3] = ["time", "offset", "size"];
        let mut seen = Vec::new();
        for option in options.split(',') {
            let Some((key, value)) = option.split_once('=') else {
                return Err((
                    format!("`{option}` is not of the form key=value"),
                    "write such as disksim:time=ms,offset=B,size=B".into(),
                ));
            };
            if seen.contains(&key) {
                return Err((format!("`{key}` is given twice"), "give it once".into()));
            }
            seen.push(key);
            match key {
                "time" => self.time = unit(value, TimeUnit::ALL)?,
                "offset" => self.offset = SizeUnit::parse(value)?,
                "size" => self.size = SizeUnit::parse(value)?,
                _ => return Err((format!("`{key}` is not an option"), advice(key, &KEYS))),
            }
        }
        Ok(())
    }

    /// The units in words.
    pub(crate) fn describe(self) -> String {
        let time = self.time.word();
        if self.offset == self.size {
            return format!("time in {time}, {}", self.size.plural());
        }
        format!("time in {time}, offset in {}, size in {}", self.offset.plural(), self.size.plural())
    }
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "time={},offset={},size={}", self.time.word(), self.offset.word(), self.size.word())
    }
}

pub(super) fn unit<Unit: Copy>(word: &str, all: &[Choice<Unit>]) -> Result<Unit, (String, String)> {
    all.iter().find(|choice| choice.word == word).map(|choice| choice.value).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|choice| choice.word).collect();
        (format!("`{word}` is not a unit here"), advice(word, &words))
    })
}

pub(super) fn advice(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("valid here: {}", known.join(", ")),
    }
}
