//! What goes wrong with a surface.

use std::fmt;

/// A surface that cannot be read, or a question that it does not answer.
#[derive(Clone, Debug, PartialEq)]
pub enum TierError {
    /// The file cannot be opened.
    Unreadable {
        /// The file.
        origin: String,
        /// Why.
        problem: String,
    },
    /// The file is no surface.
    Malformed {
        /// The file.
        origin: String,
        /// Where in it.
        key: String,
        /// What is wrong.
        problem: String,
    },
    /// A number lies outside its axis.
    Outside {
        /// The axis.
        axis: &'static str,
        /// The number.
        asked: f64,
        /// The least that the surface has.
        low: f64,
        /// The most.
        high: f64,
    },
    /// An age or a scheme that the surface does not have, or none where it has several.
    Unknown {
        /// The axis.
        axis: &'static str,
        /// What was asked; None where nothing was said.
        asked: Option<String>,
        /// What it has.
        known: Vec<String>,
    },
    /// A value that a point of the grid lacks: a write's latency where every request reads.
    Unmeasured {
        /// The value.
        quantity: &'static str,
        /// The point.
        at: String,
    },
}

impl fmt::Display for TierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TierError::Unreadable { origin, problem } => {
                write!(
                    f,
                    "{origin}: cannot be read: {problem}\n  help: give a JSON file that `ssdlab tier --out` has written"
                )
            }
            TierError::Malformed { origin, key, problem } => {
                write!(f, "{origin}: {key}: {problem}\n  help: give a JSON file that `ssdlab tier --out` has written")
            }
            TierError::Outside { axis, asked, low, high } => {
                let option = if *axis == "bytes" { "bs" } else { axis };
                let help = format!("ask within it, or measure more (--{option}): surfaces are not extrapolated");
                write!(f, "{axis} = {asked} lies outside the surface, which has {low} to {high}\n  help: {help}")
            }
            TierError::Unknown { axis, asked: Some(asked), known } => {
                write!(f, "the surface has no {axis} {asked:?}\n  help: it has {}", known.join("; "))
            }
            TierError::Unknown { axis, asked: None, known } => {
                write!(f, "the surface has several values of {axis}\n  help: say which: {}", known.join("; "))
            }
            TierError::Unmeasured { quantity, at } => {
                let help = "ask where requests of that kind were measured, or measure more (--reads)";
                write!(f, "{quantity} was not measured at {at}, which the answer needs\n  help: {help}")
            }
        }
    }
}

impl std::error::Error for TierError {}
