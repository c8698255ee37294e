//! How long each pulse of an erase is, and at which loop's voltage.
//!
//! Contract: a policy sees the pulse that has been verified, the range of the fail bits that are left, the loop that ended the
//! block's last erase, and the profiled table; nothing else. It gives the next pulse, or none to end the erase.

mod contract;
mod felp;
mod i_ispe;
mod ispe;

pub use contract::{Pulse, Verified};

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
