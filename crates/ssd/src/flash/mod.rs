//! Below the flash translation layer: dies, channel buses, decoders, and the page operations in them.
//!
//! | file | what |
//! |---|---|
//! | `op.rs` | page operations and the queues that they wait in |
//! | `queues.rs`, `state.rs` | the queues of a die and their ranks; its registers, its array |
//! | `channel.rs` | a channel: its bus, its ECC engine |
//! | `attempt.rs` | an attempt of a read, and the step that it is at |
//! | `references.rs` | what is remembered of references that read pages |
//! | `faults.rs` | parts that have broken, and those that will |
//! | `budget.rs`, `heat.rs` | what the drive may use, and its temperature |
//! | `placement.rs` | what the flash asks of the layer above |
//! | `backend.rs` | all of it as one |
//! | `face.rs` | what the layers above see of it, and set |
//!
//! What works on it: each file calls those before it alone (`crates/tidy/tests/tidy.rs`).
//!
//! | file | what |
//! |---|---|
//! | `die.rs`, `bus.rs` | the marks of dies; what their time and that of buses goes into |
//! | `energy.rs` | what waits for energy, and what uses it |
//! | `array.rs` | what the array of a die works at |
//! | `reserved.rs` | what a die may start that is reserved for retries |
//! | `schedule.rs` | what a die may start, and what goes first |
//! | `retry.rs` | what becomes of a sensed page: predictions, and which reference is next |
//! | `first.rs` | how the first sense of a read goes |
//! | `decoder.rs` | pages in the ECC engines |
//! | `read.rs` | what follows when a step of an attempt ends |
//! | `sense.rs`, `program.rs` | pages out of the array and into it |
//! | `erase.rs` | erases, pulse by pulse |
//! | `suspend.rs` | programs and erases that are suspended for reads |
//! | `review.rs` | a die is brought up to date |
//! | `events.rs` | what an event changes |
//! | `settle.rs` | what was marked goes on: dies, then buses |
//! | `outage.rs` | the power is cut |
//! | `check.rs` | dies and buses held to their invariants, for drives that are checked |
//!
//! Invariant: an operation that holds a register never waits for its own die. A sensed page leaves over the bus
//! whatever the die does, and a program takes its registers only when no read needs them; so nothing deadlocks.

mod array;
mod attempt;
mod backend;
mod budget;
mod bus;
mod channel;
mod check;
mod decoder;
mod die;
mod energy;
mod erase;
mod events;
mod face;
mod faults;
mod first;
mod heat;
pub(crate) mod op;
mod outage;
mod placement;
mod program;
mod queues;
mod read;
mod references;
mod reserved;
mod retry;
mod review;
mod schedule;
mod sense;
mod settle;
mod state;
mod suspend;
#[cfg(test)]
mod tests;

pub(crate) use backend::{Flash, FlashAt, FlashView};
pub(crate) use heat::{AgeClock, WARMER_BITS};
pub(crate) use outage::Interrupted;
pub(crate) use placement::{PageConditions, Placement};
pub(crate) use queues::{QueueId, QueueSet, planes};
pub(crate) use settle::Begun;
pub(crate) use state::Ended;
