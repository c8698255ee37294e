//! The flash chip: its geometry and its timings.
//!
//! Architecture invariant: nothing here has a clock. Callers pass the conditions and get durations and
//! addresses back.

pub mod chip;
pub mod geometry;

pub use chip::{Chip, PlanePrograms, PlaneReads, ProgramUnit, Timings};
pub use geometry::{Address, Cell, DieId, Geometry, Layout, PlaneId};
