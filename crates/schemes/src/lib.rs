//! The policies: small pure functions, one file a choice, that answer "what next?". A named scheme is a
//! row of choices on independent axes.
//!
//! Architecture invariant: a policy never sees a queue, a device or the time.

pub mod busy;
pub mod convert;
pub mod learned;
pub mod margin;
pub mod next;
pub mod order;
pub mod pacing;
pub mod pipeline;
pub mod predictor;
pub mod presets;
pub mod pulse;
pub mod sensing;
pub mod soft;
pub mod start;
pub mod suspend;
pub mod victim;
pub mod voltage;

pub use busy::{DieWork, FailBusy};
pub use convert::{BlockReads, Convert};
pub use margin::Margin;
pub use next::{Failed, Known, Next, ReadReference, Weighed};
pub use order::{Class, Order};
pub use pacing::{Collection, Pacing, Price};
pub use pipeline::Pipeline;
pub use predictor::Predictor;
pub use pulse::{Pulse, Pulses, Verified};
pub use sensing::Sensing;
pub use soft::{Fine, Soft};
pub use start::{FirstSense, Start};
pub use suspend::{InPhase, ResumeMode, SuspendErase, SuspendEraseFor, SuspendPoint, SuspendProgram};
pub use victim::{Candidates, Victim};
pub use voltage::Voltage;
