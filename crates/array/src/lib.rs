//! Arrays of drives: many drives as one, which a run plays as it plays any [`ssd::RunDrive`].
//!
//! An array holds no data. It splits requests by its [`Layout`], and what it asks of its drives, and when, is what an
//! array would ask that does hold data. Stripes have `data` + `parity` units of which any `data` give the others, so
//! that a mirror, RAID-5, RAID-6 and an erasure code differ in two numbers; a stripe set has no parity.
//!
//! | file | what |
//! |---|---|
//! | `config.rs` | the section `[array]` |
//! | `given.rs`, `run.rs` | an array file and what is given beside it; a run on it |
//! | `layout.rs` | where the units of stripes lie |
//! | `select/`, `hedge/`, `rewrite/`, `coordinate/` | host policies, one file a choice |
//! | `plan.rs` | how a stripe is written |
//! | `array.rs` | the array: its events, and requests to its drives |
//! | `plain.rs`, `reads.rs`, `writes.rs`, `rebuilding.rs`, `scrubs.rs`, `windows.rs` | what it does with stripes |
//! | `ops.rs`, `slab.rs`, `unit_set.rs`, `rebuild.rs` | what is under way |
//! | `log.rs`, `logging.rs` | writes that go to a log: where blocks are, and which stripes are cleaned; what is read and written for it |
//! | `zones.rs`, `zoned.rs` | zones of drives as those of the array; what is asked of them |
//! | `nexts.rs` | in which drive something happens next |
//! | `share.rs` | a drive's part of a load |
//! | `locks.rs` | who works on a stripe |
//! | `drive.rs` | the array as a drive |
//! | `saved.rs` | its state in a checkpoint |
//! | `explain.rs` | where the time of requests went |
//! | `stats.rs`, `merge.rs`, `report.rs` | what it counts, what its drives have counted together, and its section of a result |

mod array;
mod config;
mod coordinate;
mod drive;
mod explain;
mod given;
pub mod hedge;
mod layout;
mod link;
mod locks;
mod log;
mod logging;
mod member;
mod merge;
mod nexts;
mod observer;
mod ops;
mod plain;
mod plan;
mod reads;
mod rebuild;
mod rebuilding;
mod report;
pub mod rewrite;
mod run;
mod saved;
mod scrubs;
pub mod select;
mod share;
mod slab;
mod stats;
mod unit_set;
mod windows;
mod writes;
mod zoned;
mod zones;

pub use array::Array;
pub use config::{ArrayConfig, LayoutKind};
pub use explain::{ArrayExplanation, ArrayStage, STAGES};
pub use given::{ArrayGiven, DriveSection, drive_files};
pub use layout::{Code, Layout, Located, Piece, Placement, Spot};
pub use member::MemberDrive;
pub use observer::{ArrayEvent, Logged, LoggedFrom, Observer, OpId};
pub use ops::Purpose;
pub use plan::{WritePlan, plan};
pub use rebuild::RebuildRecord;
pub use report::{Described, described};
pub use rewrite::WriteKind;
pub use run::{ArrayRun, PreparedArray, PreparedLiveArray, open, prepare, prepare_live};
pub use stats::{ArrayCounters, Count};
