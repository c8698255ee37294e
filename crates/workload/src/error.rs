//! What is wrong with a trace, where, and what to do about it.

use std::fmt;

use units::ConfigError;

/// A trace that cannot be read: names file, line, column, what stood there, what was expected, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The file, as the user named it.
    pub file: String,
    /// The line in the (decompressed) file, from 1.
    pub line: Option<u64>,
    /// The column at fault: its name in the format, and where lines have columns its number from 1, such as `column 3
    /// (Size)`.
    pub field: Option<Box<str>>,
    /// What stood there: escaped, at most some 60 characters.
    pub found: Option<Box<str>>,
    /// What is wrong, or what was expected instead.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl TraceError {
    /// An error of the whole file.
    pub(crate) fn new(file: &str, problem: impl Into<String>, remedy: impl Into<String>) -> TraceError {
        TraceError {
            file: file.to_owned(),
            line: None,
            field: None,
            found: None,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    /// This error at a line.
    pub(crate) fn at(self, line: u64) -> TraceError {
        TraceError { line: Some(line), ..self }
    }

    /// This error at a column that holds `text`.
    pub(crate) fn in_field(self, field: &str, text: &[u8]) -> TraceError {
        TraceError { field: Some(field.into()), found: Some(excerpt(text)), ..self }
    }

    /// This error at the column of a line with this index, which holds `text`.
    pub(crate) fn in_column(self, index: usize, name: &str, text: &[u8]) -> TraceError {
        self.in_field(&format!("column {} ({name})", index + 1), text)
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ": {field}")?;
        }
        match self.found.as_deref() {
            Some("") => write!(f, ": found nothing, {}", self.problem)?,
            Some(found) => write!(f, ": found \"{found}\", {}", self.problem)?,
            None => write!(f, ": {}", self.problem)?,
        }
        if !self.remedy.is_empty() {
            write!(f, "\n  help: {}", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for TraceError {}

/// Of a file that a configuration names.
impl From<TraceError> for ConfigError {
    fn from(error: TraceError) -> ConfigError {
        let TraceError { file, line, field, found, problem, remedy } = error;
        let of = field.map_or(String::new(), |field| format!("{field}: "));
        let found = found.map_or(String::new(), |found| format!("found \"{found}\", "));
        ConfigError {
            origin: file,
            line: line.map(|line| line as usize),
            key: None,
            problem: of + &found + &problem,
            remedy,
        }
    }
}

/// The longest excerpt shown, before the dots: an error must fit a terminal line whatever the file holds.
const LONGEST_EXCERPT: usize = 57;

/// The start of `text`, with everything but printable ASCII escaped.
pub(crate) fn excerpt(text: &[u8]) -> Box<str> {
    let mut shown = String::new();
    for &byte in text {
        let escaped = byte.escape_ascii();
        if shown.len() + escaped.len() > LONGEST_EXCERPT {
            shown.push_str("...");
            break;
        }
        shown.extend(escaped.map(char::from));
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_and_printable() {
        assert_eq!(&*excerpt(b"12\x00\xff\""), "12\\x00\\xff\\\"");
        for byte in [0u8, b'x', 0xff] {
            let shown = excerpt(&vec![byte; 5_000]);
            assert!(shown.len() <= 60 && shown.ends_with("..."), "{shown}");
        }
    }

    #[test]
    fn an_error_names_place_finding_expectation_and_remedy() {
        let error = TraceError::new("a.csv", "expected a whole number", "drop the line");
        assert_eq!(error.to_string(), "a.csv: expected a whole number\n  help: drop the line");
        let error = error.at(7).in_field("Size", b"abc");
        assert_eq!(error.to_string(), "a.csv:7: Size: found \"abc\", expected a whole number\n  help: drop the line");
        let error = error.in_column(5, "Size", b"");
        assert!(error.to_string().starts_with("a.csv:7: column 6 (Size): found nothing, expected"));
    }
}
