//! What a device keeps count of, and the statistics that a run makes of it.

mod causes;
mod counters;
mod distributions;
pub mod energy;
mod erases;
mod finding;
pub mod latency;
mod measured;
pub mod report;
pub mod series;
pub mod smart;
pub mod throttling;
mod unserved;
mod usage;

pub use causes::{channel, die, relocation_causes};
pub use counters::Counters;
pub use distributions::{Steps, Victims};
pub use erases::Erases;
pub use finding::Finding;
pub use measured::{DriveState, LearnedSize, Measured, Outside, Start, SteadyState, Totals, Trend, Warmed};
pub use unserved::{Refusals, Unserved};
pub use usage::Usage;
