//! Units of trace columns, where a format lets the user choose them.

use std::fmt;

use units::value::nearest;

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

units::choices! {
    /// The unit of an offset or size column.
    pub enum SizeUnit {
        /// Bytes.
        Byte = "B",
        /// Sectors of 512 bytes.
        Sector = "sector",
        /// KiB.
        Kib = "KiB",
    }
}

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
    /// Bytes in one.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            SizeUnit::Byte => 1,
            SizeUnit::Sector => 512,
            SizeUnit::Kib => 1024,
        }
    }

    fn plural(self) -> &'static str {
        match self {
            SizeUnit::Byte => "bytes",
            SizeUnit::Sector => "sectors of 512 B",
            SizeUnit::Kib => "KiB",
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
                "offset" => self.offset = unit(value, SizeUnit::ALL)?,
                "size" => self.size = unit(value, SizeUnit::ALL)?,
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

pub(super) fn unit<Unit: Copy>(
    word: &str,
    all: &[(Unit, &'static str, &'static str)],
) -> Result<Unit, (String, String)> {
    all.iter().find(|(_, known, _)| *known == word).map(|(unit, _, _)| *unit).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|(_, known, _)| *known).collect();
        (format!("`{word}` is not a unit here"), advice(word, &words))
    })
}

pub(super) fn advice(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("valid here: {}", known.join(", ")),
    }
}
