//! Below the flash translation layer: dies, channel buses, decoders, and the page operations in them.
//!
//! | file | what |
//! |---|---|
//! | `op.rs` | page operations and the queues that they wait in |
//! | `queues.rs`, `state.rs` | the queues of a die and their ranks; its registers, its array |
//! | `die.rs` | what goes into the queues, and keeping a die up to date |
//! | `schedule.rs` | what a die may start, and what goes first |
//! | `attempt.rs` | an attempt of a read, and the step that it is at |
//! | `read.rs` | what follows when a step of an attempt ends |
//! | `sense.rs`, `program.rs` | pages out of the array and into it |
//! | `suspend.rs` | programs and erases that are suspended for reads |
//! | `erase.rs` | erases, pulse by pulse |
//! | `faults.rs` | parts that have broken, and those that will |
//! | `retry.rs` | what becomes of a sensed page: predictions, and which reference is next |
//! | `references.rs` | what is remembered of references that read pages |
//! | `channel.rs` | a channel: its bus, its ECC engine |
//! | `backend.rs` | all of it as one |
//! | `bus.rs` | channel buses |
//! | `outage.rs` | the power is cut |
//! | `decoder.rs` | ECC engines |
//! | `energy.rs` | what waits for energy, and what uses it |
//! | `budget.rs`, `heat.rs` | what the drive may use, and its temperature |
//! | `check.rs` | dies and buses held to their invariants, for drives that are checked |
//!
//! Invariant: an operation that holds a register never waits for its own die. A sensed page leaves over the bus whatever
//! the die does, and a program takes its registers only when no read needs them; so nothing deadlocks.

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
mod faults;
mod heat;
pub(crate) mod op;
mod outage;
mod program;
mod queues;
mod read;
mod references;
mod retry;
mod schedule;
mod sense;
mod state;
mod suspend;

pub(crate) use backend::{Flash, FlashAt, FlashView};
pub(crate) use bus::Begun;
pub(crate) use outage::Interrupted;
pub(crate) use queues::{QueueId, QueueSet, planes};
pub(crate) use state::Ended;
