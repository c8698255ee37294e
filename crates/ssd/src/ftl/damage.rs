//! Logical pages whose data is damaged: what could not be read when it was relocated or merged stays lost, wherever it stands by then,
//! until the host writes or trims all of the page.

use std::collections::BTreeSet;

use units::Lpn;

use crate::config::Plan;
use crate::persist::state;

/// The damaged pages, where parts may break or the decoder miscorrects. Memory: some 30 bytes each.
pub(crate) struct Damage {
    /// Their reads are reported as uncorrectable.
    lost: BTreeSet<u64>,
    /// Their reads return other data, and nothing says so.
    wrong: BTreeSet<u64>,
}

impl Damage {
    /// Where parts may break or the decoder miscorrects.
    pub fn new(plan: &Plan) -> Option<Damage> {
        plan.config.keeps_damage().then(|| Damage { lost: BTreeSet::new(), wrong: BTreeSet::new() })
    }

    /// A page's data is lost.
    pub fn lose(&mut self, lpn: Lpn) {
        self.lost.insert(lpn.0);
    }

    /// After a power cut these pages say that their data was lost.
    pub fn recover(&mut self, lost: Vec<Lpn>) {
        self.lost = lost.into_iter().map(|lpn| lpn.0).collect();
    }

    /// A page's data is wrong.
    pub fn falsify(&mut self, lpn: Lpn) {
        self.wrong.insert(lpn.0);
    }

    /// A page has new data, or none.
    pub fn forget(&mut self, lpn: Lpn) {
        self.lost.remove(&lpn.0);
        self.wrong.remove(&lpn.0);
    }

    /// Whether a page's data is lost.
    pub fn is_lost(&self, lpn: Lpn) -> bool {
        self.lost.contains(&lpn.0)
    }

    /// Whether a page's data is wrong.
    pub fn is_wrong(&self, lpn: Lpn) -> bool {
        self.wrong.contains(&lpn.0)
    }
}

state! {
    Damage { stored { lost, wrong } }
}
