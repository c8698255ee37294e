//! How many blocks are left, and when they are too few: the end of the drive's life.

use super::BackEnd;
use super::dispatch::{PastTheCache, Standstill};
use crate::commands::parts;
use crate::core::{Alone, Marks};
use crate::error::RunError;
use crate::observe::probe::Probe;
use crate::observe::stats::relocation_causes;

/// A drive that programs this many times as many pages as it has, while it does nothing for the host, does so for good
/// (assumed).
const ENDLESS: u64 = 10;

impl<P: Probe> BackEnd<P> {
    /// Carries out what an event has found of the end of the drive's life: relocated data that finds no room ends it,
    /// and a drive that goes on as a read-only one refuses what waits.
    #[cold]
    pub(super) fn life_ends(&mut self) {
        self.core.marks.set &= !Marks::LIFE;
        if std::mem::take(&mut self.core.life.stranded) {
            self.core.wear_out();
        }
        if std::mem::take(&mut self.core.life.becomes_read_only) {
            self.refuse_writes();
        }
    }

    /// The drive has become read-only: what waits for room in the buffer or for programs is refused. Programs under way
    /// end; what cannot be programmed stays in the buffer, where it is read.
    #[cold]
    fn refuse_writes(&mut self) {
        self.writes.pages_wanted = 0;
        if let Some(zones) = &mut self.zones {
            for command in zones.become_read_only() {
                self.commands[command].refused = true;
                self.zoning().end_part(command);
            }
            self.zoning().has_erased(None, None);
            self.commands_go_on();
        }
        let page_size = self.core.plan.layout.page_size.0;
        for command in std::mem::take(&mut self.writes.queue) {
            let entry = &mut self.commands[command];
            let left = parts(&entry.request, page_size) - entry.next_part;
            (entry.remaining, entry.refused) = (entry.remaining - left, true);
            if entry.remaining == 0 {
                self.commands.refuse(&mut self.core, command);
            }
        }
        for slot in self.writes.buffer.slots_in_use().collect::<Vec<_>>() {
            self.end_waiting(slot, true);
        }
        let flushes = self.power.as_mut().map(|power| std::mem::take(&mut power.journal.flushes));
        flushes.into_iter().flatten().for_each(|(command, _)| self.commands.refuse(&mut self.core, command));
        self.resume_stalled();
        self.flash.die_ids().for_each(|die| self.flash().mark_dirty(die));
    }

    /// Nothing is going to happen: whether something waits all the same, which [`BackEnd::ends_standstill`] helps.
    #[cold]
    pub fn stands_still(&self) -> bool {
        self.standstill().is_some()
    }

    /// Nothing is going to happen. If commands, or buffered pages that shall go, wait all the same: what ends that.
    #[cold]
    pub(super) fn standstill(&self) -> Option<Standstill> {
        let waits = self.commands.len() > 0
            || (self.writes.draining && self.writes.buffer.in_use() > self.writes.buffer.gathering);
        if !waits || self.core.life.has_ended() {
            return None;
        }
        if self.core.plan.slc.is_some()
            && let Some(past) = PastTheCache::find(&self.view(), &self.writes)
        {
            return Some(Standstill::HasWay(past));
        }
        let worn = crate::core::DriveLife::worn_out(self.core.now, &self.core.counters);
        worn.map(|_| Standstill::EndsLife)
    }

    /// Whether commands have made progress since this was asked last, or there are none; and the drive comes to rest,
    /// where that is waited for. Otherwise the device has failed.
    #[cold]
    pub fn progresses(&mut self, until_rest: Option<&mut Alone>) -> bool {
        let Some(span) = self.core.plan.config.host.timeout else { return true };
        let counters = &self.core.counters;
        let seen = counters.requests_completed + counters.user_pages_programmed + self.commands.parts_sent;
        let done = seen != self.core.life.progress_seen || self.commands.len() == 0;
        (self.core.life.progress_seen, self.core.life.progress_due) = (seen, self.core.now + span);
        if !done {
            let busy = format!("{} commands wait; {}", self.commands.len(), self.busy_with());
            self.core.life.failure = Some(RunError::NoProgress { time: self.core.now, span, busy });
        } else if let Some(alone) = until_rest
            && let Some(programmed) =
                alone.programs(&self.core.counters, self.commands.len(), self.seen().pages_programmed())
            && let times = programmed / self.core.plan.layout.raw_pages()
            && times >= ENDLESS
        {
            self.core.life.failure = Some(RunError::Endless { time: self.core.now, times, busy: self.busy_with() });
        }
        self.core.life.failure.is_none()
    }

    /// What the drive is doing, in words.
    fn busy_with(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (cause, (_, what)) in relocation_causes::CAUSES.iter().enumerate() {
            let planes = self.seen().planes_that_relocate(cause);
            let blocks = self.core.counters.blocks_relocated[cause];
            if blocks > 0 {
                parts.push(format!("{what} runs on {planes} planes ({blocks} blocks so far)"));
            }
        }
        let (busy, dies) = self.flash.working();
        parts.push(format!("{busy} of {dies} dies work"));
        parts.join(", ")
    }
}
