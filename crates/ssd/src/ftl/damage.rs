//! Logical pages whose data is damaged: what could not be read when it was relocated or merged stays lost, wherever it
//! stands by then, until the host writes or trims all of the page.

use std::collections::BTreeSet;

use units::Lpn;

use crate::config::Plan;
use crate::flash::op::PageData;
use crate::persist::state;

/// The damaged pages, where parts may break, the decoder miscorrects, or power cuts may take data. Memory: some 30
/// bytes each.
pub(crate) struct Damage {
    /// Their reads are reported as uncorrectable.
    lost: BTreeSet<u64>,
    /// Their reads return other data, and nothing says so.
    wrong: BTreeSet<u64>,
}

impl Damage {
    /// Where data may come to harm.
    pub fn new(plan: &Plan) -> Option<Damage> {
        let keeps = plan.config.keeps_damage() || !plan.config.power.cut_at.is_empty();
        keeps.then(|| Damage { lost: BTreeSet::new(), wrong: BTreeSet::new() })
    }

    /// After a power cut these pages say that their data was lost, or have none any more; of pages in the write buffer
    /// it stays known.
    pub fn recover(&mut self, found: impl Iterator<Item = Lpn>, buffered: impl Iterator<Item = Lpn>) {
        let buffered = buffered.filter(|lpn| self.lost.contains(&lpn.0));
        self.lost = found.chain(buffered).map(|lpn| lpn.0).collect();
    }

    /// A page has new data, or none.
    pub fn forget(&mut self, lpn: Lpn) {
        self.lost.remove(&lpn.0);
        self.wrong.remove(&lpn.0);
    }

    /// What has become of a page's data.
    #[inline]
    pub fn of(&self, lpn: Lpn) -> PageData {
        if self.lost.contains(&lpn.0) {
            PageData::Lost
        } else if self.wrong.contains(&lpn.0) {
            PageData::Wrong
        } else {
            PageData::Right
        }
    }

    /// A page's data has come to that: it stays so, whatever is read of it.
    pub fn set(&mut self, lpn: Lpn, data: PageData) {
        match data {
            PageData::Right => self.forget(lpn),
            PageData::Wrong => drop(self.wrong.insert(lpn.0)),
            PageData::Lost => drop(self.lost.insert(lpn.0)),
            PageData::GivenUp => unreachable!("Invariant: hosts' reads alone end early"),
        }
    }
}

state! {
    Damage { stored { lost, wrong } }
}
