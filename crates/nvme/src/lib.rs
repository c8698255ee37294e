//! Simulated drives as NVMe drives of real programs and kernels, on what `served` has.
//!
//! | file | what |
//! |---|---|
//! | `bytes.rs`, `status.rs`, `command.rs` | structures, statuses, queue entries |
//! | `limits.rs` | sizes |
//! | `subsystem.rs`, `namespace.rs`, `health.rs` | a drive as hosts see it, its namespaces, and how it is |
//! | `identify.rs`, `features.rs`, `log_pages.rs`, `directives.rs`, `fdp.rs`, `sanitize.rs`, `discovery.rs` | what a controller says |
//! | `io.rs`, `zoned.rs`, `zones.rs` | what a drive does for a command of I/O, and what becomes of the data |
//! | `auth.rs` | how hosts prove who they are |
//! | `controller.rs`, `target.rs` | what hosts have, and what they connect to |
//! | `tcp/` | the transport: units (`pdu.rs`), a queue (`queue.rs`), a connection (`connection.rs`) |
//!
//! The specifications are cited as Base 2.0 (NVM Express Base Specification, revision 2.0), NVM Command Set 1.0 (NVM
//! Express NVM Command Set Specification) and TCP Transport 1.0 (NVM Express TCP Transport Specification).

mod auth;
mod bytes;
mod command;
mod controller;
mod directives;
mod discovery;
mod fdp;
mod features;
mod health;
mod identify;
mod io;
mod limits;
mod log_pages;
mod namespace;
mod sanitize;
mod status;
mod subsystem;
mod target;
pub mod tcp;
mod zoned;
mod zones;

pub use auth::{Access, Hash, Secret, Secrets};
pub use command::{
    Answer, Command, CommandId, ControllerId, FABRICS, Fused, Lba, Outcome, Place, QueueId, Refused, fabrics,
};
pub use controller::{Controller, Does, Host, Surroundings};
pub use fdp::Placement;
pub use health::{Health, Snapshot};
pub use identify::DISCOVERY;
pub use io::{Io, Planned, Rules, plan};
pub use limits::{LARGEST_TRANSFER, LONGEST_NAME, MOST_QUEUES, QUEUE_ENTRIES};
pub use namespace::Namespace;
pub use status::Status;
pub use subsystem::{Area, Kind, Subsystem};
pub use target::{Connected, Target};
pub use zones::Zones;
