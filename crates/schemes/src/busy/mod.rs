//! Which reads a drive gives up at once, since the die with their data is busy with work of the drive's own. Asked only
//! of reads whose host has another way to the data.
//!
//! Contract: a policy sees what the die is busy with. It answers whether the read is given up.

mod collection;
mod contract;
mod erase;

pub use contract::DieWork;

units::choices! {
    /// Which work of a die ends reads of it at once whose host has another way to the data.
    pub enum FailBusy {
        /// None: they wait.
        None = "none",
        /// An erase.
        Erase = "erase",
        /// The relocation of a block, as in garbage collection, and erases (IODA, SOSP 2021).
        Collection = "collection",
    }
}

impl FailBusy {
    /// Whether a read is given up that its die would keep waiting.
    pub fn gives_up(self, work: DieWork) -> bool {
        match self {
            FailBusy::None => false,
            FailBusy::Erase => erase::gives_up(work),
            FailBusy::Collection => collection::gives_up(work),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_gives_up_where_its_work_is_under_way() {
        let works = [(false, false), (true, false), (false, true), (true, true)];
        let of = |policy: FailBusy| works.map(|(erases, relocates)| policy.gives_up(DieWork { erases, relocates }));
        assert_eq!(of(FailBusy::None), [false; 4]);
        assert_eq!(of(FailBusy::Erase), [false, true, false, true]);
        assert_eq!(of(FailBusy::Collection), [false, true, true, true]);
    }
}
