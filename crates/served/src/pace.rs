//! How simulated time goes by the virtual clock, and which part of it was left to the machine.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use units::Span;
use units::value::{Scalar, Value};

/// The simulated time between a reply and the request that it causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// Always the same.
    Fixed(Span),
    /// The machine's time between them.
    Measured,
}

impl Value for Think {
    fn expects() -> String {
        format!("{}, 0, or \"measured\" (the client's own)", Span::expects())
    }
    fn read(scalar: &Scalar) -> Option<Think> {
        match scalar {
            Scalar::Text(word) if word == "measured" => Some(Think::Measured),
            Scalar::Text(word) if word == "0" => Some(Think::Fixed(Span::ZERO)),
            _ => Span::read(scalar).map(Think::Fixed),
        }
    }
    fn write(&self) -> Scalar {
        match self {
            Think::Fixed(Span::ZERO) => Scalar::Text("0".into()),
            Think::Fixed(think) => think.write(),
            Think::Measured => Scalar::Text("measured".into()),
        }
    }
}

/// How time goes on where clients cannot be watched, and how long they think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Between a reply and a request.
    pub think: Think,
    /// How long of the machine's time a connection that owes requests may be silent; none is for ever.
    pub grace: Option<Span>,
    /// Slots that a connection begins with.
    pub depth: u32,
}

/// What clients have had to do with the machine's time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Connections whose clients were watched to their end.
    pub connections: u64,
    /// Why others were not.
    pub others: BTreeSet<String>,
    /// How often a connection that could not be watched has been silent for longer than the grace.
    pub silences: u64,
    /// Requests of watched clients that came, while others were worked on, and that no reply had caused: their own
    /// timers did, or other programs.
    pub unprompted: u64,
}

/// What users should be told while it goes on.
pub(crate) type Notes = Arc<Mutex<Vec<String>>>;
