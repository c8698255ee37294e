//! The flash chip: its geometry, its timings, and the virtual chip behind its errors.
//!
//! Architecture invariant: nothing here has a clock. Callers pass the conditions and get durations and
//! addresses back.

pub mod characterize;
pub mod chip;
pub mod ept;
pub mod geometry;
pub mod model;
pub mod rpt;
pub mod sentinel;
pub mod tailored;

pub use chip::{Chip, PassOrder, PlanePrograms, PlaneReads, ProgramUnit, Timings};
pub use geometry::{Address, BlockId, Cell, ChannelId, DieId, FlashPlaneId, Geometry, Layout, PlaneId};
pub use model::VirtualChip;
pub use tailored::TailoredTable;
