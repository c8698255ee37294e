//! How long each pulse of an erase is, and at which loop's voltage.
//!
//! Contract: a policy sees the pulse that has been verified, the range of the fail bits that are left, the loop that
//! ended the block's last erase, and the profiled table; nothing else. It gives the next pulse, or none to end the
//! erase. Its loops go on beyond the last one: what is beyond has the last one's voltage, the highest there is, and all
//! end alike ([`Verified::may_go_on`]).

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
        if seen.erased && seen.last.is_some() || !seen.may_go_on() {
            return None;
        }
        let next = match self {
            Pulses::Ispe => ispe::next(seen),
            Pulses::IIspe => i_ispe::next(seen),
            Pulses::Felp => felp::next(seen),
        };
        let within = |pulse: Pulse| Pulse { index: pulse.index.min(seen.loops - 1), ..pulse };
        next.filter(|pulse| pulse.grains > 0).map(within)
    }
}
