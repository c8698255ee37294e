//! What a die that is reserved for retries may start, and what waits for reads that have begun.

use nand::{DieId, PlaneReads};
use schemes::Sensing;

use super::backend::FlashView;
use super::placement::Placement;
use super::queues::{INTERNAL, QueueId, QueueSet, READS, USER_READS, planes};
use super::state::{Begun, DieState};

impl<L: Placement> FlashView<'_, L> {
    /// The queue of the read that a die is reserved for alone, where its retry may be sensed and nothing ready ranks
    /// better.
    pub(super) fn goes_on_alone(&self, state: &DieState) -> Option<QueueId> {
        let Begun { seq, queue, .. } = state.reserved.only()?;
        let reads = self.plan.config.chip.plane_reads;
        let may = state.queues[queue].head_seq == seq
            && state.may_sense(reads) >> queue.plane() & 1 != 0
            && reads != PlaneReads::Independent
            && !state.ready.meets(self.flash.ranks.above_reads(state.reserved.is_of_host()));
        let begun = state.active.is_some() || state.suspended.is_some() || state.next_pass.is_some();
        (may && !begun && state.coarse.is_empty()).then_some(queue)
    }

    /// Which of the ready queues of a die may start something while it is reserved for retries of reads in queues `of`
    /// a set.
    #[inline(always)] // Most dies are not reserved.
    pub(super) fn eligible(&self, die: DieId, ready: QueueSet, of: QueueSet) -> QueueSet {
        if self.flash.dies[die].reserved.planes == 0 { ready } else { self.eligible_beside_retries(die, ready, of) }
    }

    #[inline(never)]
    fn eligible_beside_retries(&self, die: DieId, ready: QueueSet, of: QueueSet) -> QueueSet {
        let state = &self.flash.dies[die];
        // Of the reads that have the die those that rank better go on first.
        let better = self.flash.ranks.above_reads(false).and(USER_READS);
        let Some(read) = state.reserved.first_to_go_on(of, better) else { return ready };
        if self.plan.config.chip.plane_reads == PlaneReads::Independent {
            return self.eligible_by_planes(state, ready, of);
        }
        let above = self.flash.ranks.above_reads(USER_READS.has(read.queue));
        ready.and(above).or(state.retries_of(read))
    }

    #[inline(never)]
    fn eligible_by_planes(&self, state: &DieState, ready: QueueSet, of: QueueSet) -> QueueSet {
        let ranks = &self.flash.ranks;
        let of_host = |read: Begun| USER_READS.has(read.queue);
        // Each plane has references of its own, and so a read of its own that goes on. The timing is the die's: reads
        // by the default one wait until nothing is read by another.
        let may = match self.plan.config.read.sensing {
            Sensing::Default => READS,
            _ => state.retries,
        };
        let mut allowed = may.and(QueueSet::on(!state.reserved.planes));
        allowed = allowed.or(ranks.above_reads(state.reserved.is_of_host()));
        let mut going_on = QueueSet::NONE;
        for plane in planes(state.reserved.planes) {
            let here = QueueSet::on(1 << plane);
            let Some(read) = state.reserved.goes_on(of.and(here)) else { continue };
            allowed = allowed.or(here.and(may).and(ranks.above_reads(of_host(read))));
            going_on = going_on.or(state.retries_of(read).and(here));
        }
        ready.and(allowed).or(going_on)
    }

    /// Whether a host's read is being retried on a die.
    pub fn retries_user_read(&self, die: DieId) -> bool {
        self.flash.dies[die].reserved.is_of_host()
    }

    /// Everything that an exclusive die may go on with beside its collection: reads whose retry has begun.
    pub(super) fn exclusive(&self, die: DieId, ready: QueueSet) -> QueueSet {
        let state = &self.flash.dies[die];
        ready.and(INTERNAL).or(state.retries.and(QueueSet::on(state.reserved.planes)))
    }

    /// The oldest read of a plane that has been begun and may have to sense its page again.
    pub fn oldest_read_in_progress(&self, die: DieId, planes: u8) -> u64 {
        let reads_in_progress = self.flash.dies[die].reads_in_progress.iter();
        let on_planes = reads_in_progress.filter(|read| planes >> read.queue.plane() & 1 != 0);
        on_planes.map(|read| read.seq).min().unwrap_or(u64::MAX)
    }
}
