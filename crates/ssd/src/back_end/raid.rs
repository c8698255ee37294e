//! Parity over dies (`ftl.raid`): its programs, pages that are worked out of the rest of their stripes, and stripes of
//! which a block is to be erased. See `ftl/stripes.rs`.

use nand::{Address, PlaneId};
use schemes::Class;
use units::{Lpn, Ppn};

use super::BackEnd;
use super::read::ReadsAt;
use crate::arena::{CommandId, OpId, RebuildId};
use crate::commands::{Part, parts_from};
use crate::core::Marks;
use crate::flash::FlashAt;
use crate::flash::op::{Owner, PageData, PageOp};
use crate::ftl::ValidPage;
use crate::ftl::moves::most_on_the_move;
use crate::ftl::seen::Seen;
use crate::ftl::stripes::Rebuilt;
use crate::observe::probe::Probe;

/// What a page that could not be read is worked out of.
#[derive(Clone, Copy, PartialEq)]
enum Rest {
    /// Of nothing: it has no stripe.
    Nowhere,
    /// Nothing is needed: its data is at hand, or out of date.
    Needless,
    /// The rest of its stripe, which is read.
    IsRead,
}

impl<P: Probe> BackEnd<P> {
    /// A page could not be read: the rest of its stripe is, if it has one.
    pub(super) fn rebuild(&mut self, of: Rebuilt, class: Class, lpn: Lpn, ppn: Ppn) -> bool {
        let rest = self.read_rest(of, class, lpn, ppn);
        if rest == Rest::Needless {
            self.rebuilt(of, true);
        }
        rest != Rest::Nowhere
    }

    fn read_rest(&mut self, of: Rebuilt, class: Class, lpn: Lpn, ppn: Ppn) -> Rest {
        if !self.core.plan.has_parity() {
            return Rest::Nowhere;
        }
        let shares = self.core.plan.layout.shared() > 1;
        let reads_several = |op: OpId| matches!(self.flash.ops[op].owner, Owner::Host(_) | Owner::Relocation(_));
        let lost = match of {
            Rebuilt::Read(op) if shares && reads_several(op) => self.reads().still_there(op),
            _ => vec![(lpn, ppn)],
        };
        let mut rest = Vec::new();
        for (lpn, ppn) in lost {
            match self.ftl.rest_of_stripe(lpn, ppn) {
                Some(pages) => rest.extend(pages),
                None => return Rest::Nowhere,
            }
        }
        if rest.is_empty() {
            // Its stripe has ended, or it stands elsewhere by now, or has its parity in the controller alone.
            return Rest::Needless;
        }
        // Pages of one flash page come with one sense.
        let plan = &self.core.plan;
        let whole = plan.layout.page_size.0 as u32;
        let mut reads: Vec<(Ppn, u32)> = Vec::new();
        for page in rest {
            match reads.iter_mut().find(|(last, _)| plan.layout.together(*last, page)) {
                Some((last, bytes)) => {
                    *bytes += plan.further_transfer(*last, page, 0, whole);
                    *last = page;
                }
                None => reads.push((page, plan.read_transfer(0, whole))),
            }
        }
        let rebuild = self.stripes().begin(of, reads.len() as u32);
        for (page, bytes) in reads {
            self.core.counters.parity_reads += 1;
            self.flash().queue_read(class, Owner::Rebuild(rebuild), lpn, page, (bytes, 0));
        }
        Rest::IsRead
    }

    /// A page of the rest of a stripe has been read.
    pub(super) fn rest_read(&mut self, id: OpId, rebuild: RebuildId, data: PageData) {
        self.flash.ops.release(id);
        if let Some((of, right)) = self.stripes().read(rebuild, data == PageData::Right) {
            self.rebuilt(of, right);
        }
    }

    /// The data of a page has been worked out, or it is lost.
    fn rebuilt(&mut self, of: Rebuilt, right: bool) {
        match of {
            Rebuilt::Read(op) => {
                self.count_rebuilt(right);
                let of_host = right && matches!(self.flash.ops[op].owner, Owner::Host(_));
                let rescued = if of_host { self.reads().still_there(op) } else { Vec::new() };
                self.deliver(op, if right { PageData::Right } else { PageData::Lost });
                rescued.into_iter().for_each(|(lpn, ppn)| self.rescue(lpn, ppn));
            }
            Rebuilt::Page(lpn, ppn) => {
                self.page_rebuilt(lpn, ppn, right);
                self.rebuild_planes();
            }
        }
    }

    fn count_rebuilt(&mut self, right: bool) {
        self.core.counters.pages_rebuilt += u64::from(right);
        self.core.counters.media_errors += u64::from(!right);
        self.core.marks.set |= Marks::WAITING;
    }

    /// The data of a page of a broken plane has been worked out, or it is lost.
    fn page_rebuilt(&mut self, lpn: Lpn, ppn: Ppn, right: bool) {
        self.count_rebuilt(right);
        self.stripes().rebuilding -= 1;
        if right {
            self.rescue(lpn, ppn);
        }
    }

    /// The data of a plane that has broken is rebuilt from now on.
    pub(super) fn rebuild_plane(&mut self, plane: PlaneId) {
        if self.core.plan.has_parity() {
            self.stripes().broken.push_back((plane.0, 0, 0));
            self.rebuild_planes();
        }
    }

    /// Rebuilds further pages of broken planes, as many at once as a collection relocates.
    pub(super) fn rebuild_planes(&mut self) {
        let layout = self.core.plan.layout;
        while self.core.life.read_only.is_none()
            && self.stripes().rebuilding < most_on_the_move(&self.core.plan)
            && let Some(&(plane, block, page)) = self.stripes().broken.front()
        {
            let found = self.seen().next_valid(PlaneId(plane), block, page..layout.pages);
            let next = match found {
                Some(ValidPage { page, .. }) => (plane, block, page + 1),
                None => (plane, block + 1, 0),
            };
            let broken = &mut self.stripes().broken;
            broken.pop_front();
            if next.1 < layout.blocks {
                broken.push_front(next);
            }
            if let Some(ValidPage { lpn, ppn, .. }) = found {
                self.stripes().rebuilding += 1;
                match self.read_rest(Rebuilt::Page(lpn, ppn), Class::InternalRead, lpn, ppn) {
                    Rest::IsRead => {}
                    Rest::Needless => self.page_rebuilt(lpn, ppn, true),
                    Rest::Nowhere => self.stripes().rebuilding -= 1,
                }
            }
        }
    }
}

impl<P: Probe> ReadsAt<'_, P> {
    /// Of the pages for which an operation reads a flash page those whose newest programmed data still stands there:
    /// all that are valid of a flash page that moves.
    pub fn still_there(&self, id: OpId) -> Vec<(Lpn, Ppn)> {
        let layout = self.core.plan.layout;
        let seen = Seen { ftl: self.ftl, buffer: &self.writes.buffer, plan: &self.core.plan };
        let (lpn, ppn) = self.flash.ops[id].pages();
        let stands = |lpn: Lpn| seen.flash_version(lpn).filter(|at| layout.together(*at, ppn)).map(|at| (lpn, at));
        match self.flash.ops[id].owner {
            Owner::Host(command) => self.parts_read(id, command).filter_map(|part| stands(part.lpn)).collect(),
            Owner::Relocation(_) => {
                let Address { plane, block, page } = layout.unpack(ppn);
                let pages = page..layout.after_flash_page(page);
                let valid = pages.filter_map(|page| seen.next_valid(plane, block, page..page + 1));
                valid.map(|valid| (valid.lpn, valid.ppn)).collect()
            }
            _ => stands(lpn).into_iter().collect(),
        }
    }

    /// The parts of a command that an operation reads.
    fn parts_read(&self, id: OpId, command: CommandId) -> impl Iterator<Item = Part> + use<P> {
        let PageOp { lpn, host_bytes, .. } = self.flash.ops[id];
        parts_from(self.commands[command].request, self.core.plan.layout.page_size.0, lpn.get(), host_bytes)
    }

    /// A page that could not be read is stale by now, and may be in no stripe: a host's read is given the newer data,
    /// and what the buffer lacks of the page is read where it stands by now.
    pub fn reads_newer(&mut self, id: OpId) -> bool {
        if !self.core.plan.has_parity() {
            return false;
        }
        let PageOp { owner, queue, bus_bytes, .. } = self.flash.ops[id];
        let there = self.still_there(id);
        match owner {
            Owner::Host(command) => {
                let parts: Vec<Part> = self.parts_read(id, command).collect();
                let is_stale = there.len() < parts.len();
                if is_stale {
                    self.flash.ops.release(id);
                    self.read_again(command, &parts);
                }
                is_stale
            }
            Owner::Slot(slot) if there.is_empty() && !self.writes.buffer[slot].outdated => {
                let lpn = self.flash.ops[id].lpn.get();
                let seen = Seen { ftl: self.ftl, buffer: &self.writes.buffer, plan: &self.core.plan };
                let Some(newer) = seen.flash_version(lpn) else { return false };
                self.flash.ops.release(id);
                let mut flash = FlashAt { flash: self.flash, core: self.core, placement: self.ftl };
                flash.queue_read(queue.class(), owner, lpn, newer, (bus_bytes, 0));
                true
            }
            _ => false,
        }
    }
}
