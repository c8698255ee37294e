//! The learned mapping table asked and told: what it leads to, what a wrong answer costs, and what it learns.

use schemes::Class;
use units::{Lpn, Ppn};

use crate::arena::AwaitedId;
use crate::core::Core;
use crate::flash::op::Owner;
use crate::flash::{Flash, FlashAt};
use crate::ftl::Ftl;
use crate::ftl::seen::Seen;
use crate::observe::probe::Probe;
use crate::translation::{LearnedTable, TranslationPages, Waiting};
use crate::writes::Writes;

/// What a learned table has to do with.
pub(super) struct Learning<'a, P: Probe> {
    pub core: &'a mut Core<P>,
    pub flash: &'a mut Flash,
    pub ftl: &'a mut Ftl,
    pub writes: &'a Writes,
    pub map: &'a mut TranslationPages,
}

impl<P: Probe> Learning<'_, P> {
    /// Whether it is at hand where a page's data on flash is, whatever the table; counts the look-up.
    #[inline]
    pub fn looks_up(&mut self, lpn: Lpn) -> bool {
        if self.map.learned.is_none() {
            return self.map.looks_up(lpn, self.core);
        }
        let hit = self.misprediction(lpn).is_none();
        self.core.counters.map_lookups += 1;
        self.core.counters.map_hits += u64::from(hit);
        hit
    }

    /// The page of the flash to which a learned table leads, where that is not the one with a page's data.
    fn misprediction(&mut self, lpn: Lpn) -> Option<Ppn> {
        let seen = Seen { ftl: self.ftl, buffer: &self.writes.buffer, plan: &self.core.plan };
        let learned = self.map.learned.as_mut().filter(|learned| learned.errs())?;
        let at = seen.flash_version(lpn)?;
        let of_host = |lpn: Lpn| lpn.0 < seen.plan.logical_pages;
        let initially = |lpn: Lpn| of_host(lpn).then(|| seen.ftl.initial_place(lpn)).flatten();
        learned.predict(lpn, initially).filter(|predicted| *predicted != at)
    }

    /// The table has led to another page than the one that is wanted: its spare area says where that is, among the
    /// pages around it. Whether it has to be read, by now.
    pub fn reads_prediction(&mut self, id: AwaitedId) -> bool {
        let lpn = match self.map.waiting[id].what {
            Waiting::Part { lpn, .. } => lpn,
            Waiting::Program(op) => self.flash.ops[op].lpn.get(),
            Waiting::Fill(slot) => self.writes.buffer[slot].lpn,
        };
        let Some(predicted) = self.misprediction(lpn) else { return false };
        // The codeword that the spare area is in (assumed).
        let bytes = self.core.plan.read_transfer(0, 1);
        self.core.counters.map_mispredictions += 1;
        let mut flash = FlashAt { flash: self.flash, core: self.core, placement: self.ftl };
        flash.queue_read(Class::InternalRead, Owner::Mispredicted(id), lpn, predicted, (bytes, 0));
        true
    }

    /// The table learns where the pages are that the run has changed, all at once: they were placed without it.
    pub fn learns_again(&mut self) {
        let Some(mut learned) = LearnedTable::new(&self.core.plan) else { return };
        let seen = Seen { ftl: self.ftl, buffer: &self.writes.buffer, plan: &self.core.plan };
        for lpn in seen.changed().filter(|lpn| lpn.0 < seen.plan.logical_pages) {
            if let Some(ppn) = seen.flash_version(lpn) {
                learned.placed(lpn, ppn);
            }
        }
        learned.learn();
        self.map.learned = Some(learned);
    }
}
