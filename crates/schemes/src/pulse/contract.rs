//! What a policy of this axis is asked, and what it answers.

use nand::ept::Ept;

/// A pulse: its loop, from 0, which decides the voltage, and its length in grains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// The loop.
    pub index: u32,
    /// The grains.
    pub grains: u32,
    /// It is chosen to be the last.
    pub last: bool,
}

/// Where an erase has got to.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'a> {
    /// The pulse that has just been verified; None before the first.
    pub last: Option<Pulse>,
    /// Pulses so far.
    pub pulses: u32,
    /// Whether all cells are erased.
    pub erased: bool,
    /// The range of the fail bits (see [`Ept::range`]); None above the last.
    pub range: Option<usize>,
    /// The loop that ended the block's last erase.
    pub before: u32,
    /// Grains of a loop by default, and loops at most.
    pub grains: u32,
    /// Loops at most.
    pub loops: u32,
    /// The profiled table.
    pub ept: &'a Ept,
    /// Whether the ECC's margin is used.
    pub margin: bool,
}
