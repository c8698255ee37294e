//! How long each pulse of an erase is, and at which loop's voltage.
//!
//! Contract: a policy sees the pulse that has been verified, the range of the fail bits that are left, the loop that ended the
//! block's last erase, and the profiled table; nothing else. It gives the next pulse, or none to end the erase.

mod felp;
mod i_ispe;
mod ispe;

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

units::choices! {
    /// The pulses of an erase.
    pub enum Pulses {
        /// Loops of the default length at rising voltages until all cells are erased (electronics25 section 3.2).
        Ispe = "ispe",
        /// Straight to the loop that ended the block's last erase (electronics25 section 3.4).
        IIspe = "i-ispe",
        /// The last loop just long enough, by the fail bits before it (FELP, electronics25 section 4).
        Felp = "felp",
    }
}

impl Pulses {
    /// The next pulse; none ends the erase.
    pub fn next(self, seen: Verified<'_>) -> Option<Pulse> {
        if seen.erased && seen.last.is_some() {
            return None;
        }
        let next = match self {
            Pulses::Ispe => ispe::next(seen),
            Pulses::IIspe => i_ispe::next(seen),
            Pulses::Felp => felp::next(seen),
        };
        next.filter(|pulse| pulse.index < seen.loops && pulse.grains > 0)
    }
}
