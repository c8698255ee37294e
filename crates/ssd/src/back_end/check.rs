//! What an event has touched, compared with what a probe that checks has kept ([`crate::Checker`]).

use nand::DieId;
use units::{Lpn, Ppn};

use super::BackEnd;
use crate::arena::SlotId;
use crate::flash::op::Owner;
use crate::ftl::Location;
use crate::observe::ledger::{Newest, Page};
use crate::observe::probe::Probe;
use crate::read_cache::ReadCache;
use crate::violation::{Invariant, Violation};

impl<P: Probe> BackEnd<P> {
    /// Checks what an event has touched.
    pub fn check_touched(&mut self, pages: &[Lpn], places: &[Ppn], dies: &[DieId]) -> Result<(), Violation> {
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

    /// Begins the ledger of a probe that keeps one with the state as it is.
    pub fn begin_ledger(&mut self) {
        let Some(ledger) = self.core.probe.ledger() else { return };
        ledger.forget();
        self.flash.tell_arrays(self.core.now, &mut self.core.probe);
        let pages: Vec<_> =
            self.seen().changed().map(|lpn| (lpn, self.ftl.locate(lpn), self.seen().flash_version(lpn))).collect();
        let entry = |slot: SlotId| (slot, self.writes.buffer[slot].lpn, self.writes.buffer[slot].outdated);
        let slots: Vec<_> = self.writes.buffer.slots_by_age().into_iter().map(entry).collect();
        let of_host = |op| match self.flash.ops[op].owner {
            Owner::Host(command) => Some((self.flash.ops[op].seq, self.commands[command].id)),
            _ => None,
        };
        let parts: Vec<_> = self.flash.ops.ids().filter_map(of_host).collect();
        let requests: Vec<_> = self.commands.ids().map(|command| self.commands[command].id).collect();
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
}

/// The location of a page's newest data, as ledgers have it.
fn newest_at(location: Location) -> Newest {
    match location {
        Location::Unmapped => Newest::Nowhere,
        Location::Flash(_) => Newest::Flash,
        Location::Buffer(slot) => Newest::Slot(slot),
    }
}
