//! What a user gives in words, and the answer where it is not accepted.

use units::ConfigError;
use units::value::{Scalar, Value};

/// The error of an option or a word that was given on a command line.
pub fn refused(origin: &str, problem: &str, remedy: &str) -> ConfigError {
    ConfigError { origin: origin.into(), line: None, key: None, problem: problem.into(), remedy: remedy.into() }
}

/// A value that was given on a command line, as `T`.
pub fn parse<T: Value>(origin: &str, word: &str) -> Result<T, ConfigError> {
    T::read(&Scalar::Text(word.into()))
        .ok_or_else(|| refused(&format!("{origin} {word}"), "is not accepted", &format!("expected {}", T::expects())))
}
