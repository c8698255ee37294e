//! The drive compared with what a probe that checks has kept ([`crate::Checker`]): after every event what it touched,
//! and all of it as often as that costs no more than the events did.

use nand::DieId;
use units::{Lpn, Ppn, Span, Time};

use super::Device;
use crate::arena::{OpId, SlotId};
use crate::core::Resource;
use crate::error::RunError;
use crate::flash::op::Owner;
use crate::ftl::Location;
use crate::observe::ledger::{Newest, Page};
use crate::observe::probe::Probe;
use crate::read_cache::ReadCache;
use crate::violation::{Invariant, Violation};

#[cfg(test)]
mod tests;

impl<P: Probe> Device<P> {
    /// An event has been played: compares what it touched with the ledger, where there is one.
    #[inline]
    pub(super) fn check_event(&mut self, resource: Resource) {
        let Some(ledger) = self.core.probe.ledger() else { return };
        if self.core.life.failure.is_some() {
            return;
        }
        let mut found = ledger.violation.take();
        let mut touched = std::mem::take(&mut ledger.touched);
        let events = self.core.counters.events;
        let (parts_due, tables_due) = (ledger.parts_due <= events, ledger.tables_due <= events);
        touched.dies.extend(die_of(resource));
        touched.dies.sort_unstable();
        touched.dies.dedup();
        if found.is_none() {
            found = self.check_touched(&touched.pages, &touched.places, &touched.dies).err();
        }
        if found.is_none() && parts_due {
            found = self.check_parts().err();
        }
        let mut looked_at = 0;
        if found.is_none() && tables_due {
            match self.seen().check_tables() {
                Ok(things) => looked_at = things,
                Err(violation) => found = Some(violation),
            }
        }
        touched.clear();
        if let Some(ledger) = self.core.probe.ledger() {
            ledger.touched = touched;
            if parts_due {
                ledger.parts_due = events + ledger.components;
            }
            if tables_due {
                ledger.tables_due = events + looked_at;
            }
        }
        self.core.life.failure = found.map(|violation| self.violated(violation, name_of(resource)));
    }

    /// Checks everything that can be checked of a drive between events; with the ledger of a probe that keeps one, all
    /// of it.
    pub fn check_all(&mut self) -> Result<(), RunError> {
        self.check().map_err(RunError::Broken)?;
        if let Some(mut map) = self.ftl.tried_map() {
            map.all();
        }
        if let Some(mistake) = self.seen().mistake() {
            return Err(RunError::Config(mistake.clone()));
        }
        if self.core.probe.ledger().is_none() || self.core.life.failure.is_some() {
            return Ok(());
        }
        let checked = self.check_parts().and_then(|()| self.seen().check_tables());
        checked.map(drop).map_err(|violation| self.violated(violation, "the end of the run".into()))
    }

    /// When and after which event something was found.
    #[cold]
    fn violated(&self, violation: Violation, event: String) -> RunError {
        let event = (self.core.counters.events, event);
        RunError::Violated(Box::new(Violation { time: self.core.now, event, ..violation }))
    }

    /// Checks what an event has touched.
    fn check_touched(&mut self, pages: &[Lpn], places: &[Ppn], dies: &[DieId]) -> Result<(), Violation> {
        for lpn in pages {
            self.check_page(*lpn)?;
        }
        for ppn in places {
            let expected = self.core.probe.ledger().map_or(0, |ledger| ledger.valid_in(*ppn));
            self.seen().check_valid(*ppn, expected)?;
        }
        for die in dies {
            self.view().check_die(*die, self.core.now)?;
            self.view().check_channel(self.core.plan.layout.channel_of(*die), self.core.now)?;
        }
        Ok(())
    }

    /// A logical page's newest data and newest copy on flash are where they should be, and that page of the flash holds
    /// it.
    fn check_page(&mut self, lpn: Lpn) -> Result<(), Violation> {
        let known = self.core.probe.ledger().and_then(|ledger| ledger.page(lpn).copied());
        let mut page = known.unwrap_or(Page::OLD);
        if !page.known {
            page.on_flash = self.ftl.initial_place(lpn);
            if page.newest == Newest::Flash && page.on_flash.is_none() {
                page.newest = Newest::Nowhere;
            }
        }
        let (newest, on_flash) = (newest_at(self.ftl.locate(lpn)), self.seen().flash_version(lpn));
        let place = || format!("page {}", lpn.0);
        if newest != page.newest {
            let (found, expected) = (format!("the map says {newest:?}"), format!("{:?}", page.newest));
            return Err(Violation::new(Invariant::Mapping, place(), found, expected));
        }
        if on_flash != page.on_flash {
            let Some(ledger) = self.core.probe.ledger() else { return Ok(()) };
            let (found, expected) = (ledger.place_or_none(on_flash), ledger.place_or_none(page.on_flash));
            return Err(Violation::new(Invariant::Mapping, place(), format!("mapped to {found}"), expected));
        }
        if let Some(ppn) = on_flash
            && !self.seen().holds(ppn, lpn)
        {
            let place = self.core.probe.ledger().map_or_else(String::new, |ledger| ledger.place(ppn));
            let expected = format!("page {}, which is mapped there", lpn.0);
            return Err(Violation::new(Invariant::Mapping, place, "it holds another page, or none", expected));
        }
        self.seen()
            .check_learned(self.map.learned.as_ref(), lpn)
            .map_err(|law| Violation::law(Invariant::Mapping, law))?;
        Ok(())
    }

    /// Checks every die, bus and plane, the buffer, and the laws that hold for the drive as a whole.
    fn check_parts(&self) -> Result<(), Violation> {
        self.check().map_err(|law| Violation::law(Invariant::Conservation, law))?;
        for die in self.flash.die_ids() {
            self.view().check_die(die, self.core.now)?;
        }
        for channel in self.flash.channel_ids() {
            self.view().check_channel(channel, self.core.now)?;
        }
        self.view().check_registers()?;
        let reserved = self.writes.arrivals.iter().map(|arrival| arrival.count + arrival.more).sum();
        self.writes.buffer.check(reserved).map_err(|law| Violation::law(Invariant::Buffer, law))?;
        self.seen().check_slots()
    }

    /// Begins the ledger of a probe that keeps one with the state as it is.
    pub(crate) fn begin_ledger(&mut self) {
        let Some(ledger) = self.core.probe.ledger() else { return };
        ledger.forget();
        self.flash.tell_arrays(self.core.now, &mut self.core.probe);
        let pages: Vec<_> =
            self.seen().changed().map(|lpn| (lpn, self.ftl.locate(lpn), self.seen().flash_version(lpn))).collect();
        let entry = |slot: SlotId| (slot, self.writes.buffer[slot].lpn, self.writes.buffer[slot].outdated);
        let slots: Vec<_> = self.writes.buffer.slots_by_age().into_iter().map(entry).collect();
        let of_host = |op| match self.flash.ops[op].owner {
            Owner::Host(command) => Some((self.flash.ops[op].seq, self.host.commands[command].id)),
            _ => None,
        };
        let parts: Vec<_> = self.flash.ops.ids().filter_map(of_host).collect();
        let requests: Vec<_> = self.host.commands.ids().map(|command| self.host.commands[command].id).collect();
        let cached: Vec<Lpn> = self.read_cache.iter().flat_map(ReadCache::pages).collect();
        let Some(ledger) = self.core.probe.ledger() else { return };
        for (lpn, location, on_flash) in pages {
            ledger.begin_with(lpn, newest_at(location), on_flash);
        }
        slots.into_iter().for_each(|(slot, lpn, outdated)| ledger.begin_with_slot(slot, lpn, outdated));
        cached.into_iter().for_each(|lpn| ledger.begin_with_cached(lpn));
        requests.into_iter().for_each(|request| ledger.begin_with_request(request));
        parts.into_iter().for_each(|(part, request)| ledger.begin_with_part(part, request));
    }

    /// Checks the conservation laws that hold at every moment between events. Cheap: for every run.
    pub fn check(&self) -> Result<(), String> {
        let now = self.core.now;
        let elapsed = now.since(Time::ZERO);
        let counters = self.counters();
        let (outstanding, _) = self.outstanding();
        let ended = counters.requests_completed + counters.requests_aborted;
        if ended + outstanding != self.next_id {
            return Err(format!("{} requests came in, {ended} ended and {outstanding} are outstanding", self.next_id));
        }
        for (name, sums) in [
            ("die", self.flash.die_times(now).map(|times| times.into_iter().sum()).collect::<Vec<Span>>()),
            ("channel", self.flash.bus_times(now).map(|times| times.into_iter().sum()).collect()),
        ] {
            if let Some((index, sum)) = sums.iter().enumerate().find(|(_, sum)| **sum != elapsed) {
                return Err(format!("{name} {index} accounts for {} ns of {} ns", sum.0, elapsed.0));
            }
        }
        self.power.as_ref().map_or(Ok(()), |power| power.check_parity(&self.ftl))?;
        if let (Some(zones), Some(plan)) = (&self.zones, &self.core.plan.zones) {
            zones.check(plan)?;
        }
        let pooled: u32 = self.writes.pools.iter().map(|pool| pool.len).sum();
        // A read-only drive programs no more padding, as it programs no more of what is in its buffer.
        let is_padding = |op: &OpId| matches!(self.flash.ops[*op].owner, Owner::Padding(_));
        let stays = |op: &OpId| self.core.life.read_only.is_some() && is_padding(op);
        if self.quiet() && self.flash.ops.ids().filter(|op| !stays(op)).count() != pooled as usize {
            let first = self.flash.ops.ids().next().map(|op| (self.flash.ops[op].owner, self.flash.ops[op].die));
            return Err(format!("{} page operations are left over, the first of {first:?}", self.flash.ops.len()));
        }
        if self.quiet() && self.flash.attempts_under_way() > 0 {
            return Err(format!("{} attempts of reads are left over", self.flash.attempts_under_way()));
        }
        if self.outstanding().0 == 0 && self.writes.buffer.waiters.len() > 0 {
            return Err("commands that have completed still wait for slots".into());
        }
        let programmed = counters.pages_programmed;
        if counters.pages_transferred_in + counters.pages_copied_back != programmed {
            let (moved, copied) = (counters.pages_transferred_in, counters.pages_copied_back);
            return Err(format!(
                "{moved} pages crossed the buses into dies and {copied} were copied in them, {programmed} were given to programs"
            ));
        }
        let moved: u64 = counters.pages_relocated.iter().sum();
        let done = counters.user_pages_programmed
            + counters.pages_padded
            + moved
            + counters.map_programs
            + counters.checkpoint_programs
            + counters.journal_programs
            + counters.pages_cut
            + counters.pages_rescued
            + counters.parity_programs
            + counters.pages_failed;
        let under_way = self.seen().pages_under_way();
        if done + under_way != programmed {
            return Err(format!(
                "{programmed} pages were programmed, {done} have a purpose and {under_way} are under way"
            ));
        }
        self.seen().check_moves()?;
        if self.core.life.failure.is_none() {
            self.view().check_schedule(pooled, self.idle())?;
        }
        let codewords = counters.bytes_read % self.core.plan.config.ecc.codeword.0;
        if codewords != 0 {
            return Err(format!("{} bytes left the dies, not whole codewords", counters.bytes_read));
        }
        Ok(())
    }
}

/// The location of a page's newest data, as ledgers have it.
fn newest_at(location: Location) -> Newest {
    match location {
        Location::Unmapped => Newest::Nowhere,
        Location::Flash(_) => Newest::Flash,
        Location::Buffer(slot) => Newest::Slot(slot),
    }
}

/// The die whose event it is.
fn die_of(resource: Resource) -> Option<DieId> {
    if let Resource::Die(die) = resource { Some(die) } else { None }
}

/// Whose event it is, in words.
fn name_of(resource: Resource) -> String {
    match resource {
        Resource::Decoder(channel) => format!("the decoders of channel {}", channel.0),
        Resource::Bus(channel) => format!("the bus of channel {}", channel.0),
        Resource::Die(die) => format!("die {}", die.0),
        Resource::Energy => "energy is paid for".into(),
        Resource::Firmware => "the firmware".into(),
        Resource::WriteData => "written data reaches the drive".into(),
        Resource::ReadCompletion => "a read completes".into(),
        Resource::WriteCompletion => "a write, trim or flush completes".into(),
        Resource::Arrival => "a request arrives".into(),
        Resource::HostIdle => "the host has been idle".into(),
        Resource::Patrol => "a visit for refresh".into(),
        Resource::Cut => "the power is cut".into(),
        Resource::Fault => "a part breaks".into(),
    }
}
