//! What a policy of this axis is asked, and what it answers.

use nand::ept::{Ept, Spare};

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
    /// Of these, those of the last loop's voltage.
    pub at_highest: u32,
    /// Whether all cells are erased.
    pub erased: bool,
    /// The range of the fail bits (see [`Ept::range`]); None above the last.
    pub range: Option<usize>,
    /// The loop that ended the block's last erase.
    pub before: u32,
    /// Grains of a loop by default.
    pub grains: u32,
    /// Loops, each of a higher voltage: the last of the highest there is.
    pub loops: u32,
    /// The profiled table.
    pub ept: &'a Ept,
    /// How much of the ECC's margin is used.
    pub spare: Spare,
}

impl Verified<'_> {
    /// Whether the erase may go on after this pulse. Voltages end with the last loop's, which is repeated: as often as
    /// there are loops, then the die reports a failed erase.
    pub fn may_go_on(&self) -> bool {
        self.at_highest < self.loops
    }
}
