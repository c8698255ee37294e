//! The policies: small pure functions, one file a choice, that answer "what next?". A named scheme is a
//! row of choices on independent axes.
//!
//! Architecture invariant: a policy never sees a queue, a device or the time.

pub mod order;
pub mod presets;
pub mod suspend;
pub mod victim;

pub use order::{Class, Order};
pub use suspend::{Goes, InPhase, LetsGo, SuspendErase, SuspendProgram};
pub use victim::{Candidates, Victim};
