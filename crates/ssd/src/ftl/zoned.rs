//! Zones of the FTL as the layers above see them: what is asked of one, and those that are full from the start.

use nand::PlaneId;
use units::{Lpn, Ppn, Span};

use super::Ftl;
use super::blocks::Blocks;
use super::parity::ParityProgram;
use super::zones::ANYWHERE;
use crate::config::{Plan, ZonePlan};
use crate::flash::{AgeClock, Placement as _};
use crate::streams::StreamId;

/// A zone that is written in order.
pub(crate) struct OfZone<'a> {
    blocks: &'a mut Blocks,
    zone: u32,
    plan: &'a Plan,
    zones: &'a ZonePlan,
}

impl OfZone<'_> {
    /// A page of it is about to wait for its program on a plane.
    pub fn waits(&mut self, plane: PlaneId) {
        self.blocks.zone_waits(self.zone, plane);
    }

    /// No further program of it comes.
    pub fn ends(&mut self) {
        self.blocks.zone_ends(self.zone, self.zones);
    }

    /// Its blocks.
    pub fn blocks(&self) -> Vec<(PlaneId, u32)> {
        self.blocks.zones.as_ref().map(|zones| zones.blocks[self.zone as usize].clone()).unwrap_or_default()
    }

    /// It holds nothing any more.
    pub fn resets(&mut self) {
        self.blocks.zone_resets(self.zone, self.zones);
    }

    /// Whether a page of the flash is in one of its blocks: it is not where the zone was reset since.
    pub fn has(&self, ppn: Ppn) -> bool {
        let at = self.plan.layout.unpack(ppn);
        self.blocks.zone_of(at.plane, at.block) == Some(self.zone)
    }
}

impl Ftl {
    /// The zone of which pages wait on a plane that are no whole program, and how many these lack.
    pub fn zone_lacks(&self, plane: PlaneId) -> Option<(u32, u32)> {
        self.blocks.zone_lacks(plane)
    }

    /// A zone of the drive, if it has zones.
    pub fn zone<'a>(&'a mut self, zone: u32, plan: &'a Plan) -> Option<OfZone<'a>> {
        let zones = plan.zones.as_ref()?;
        Some(OfZone { blocks: &mut self.blocks, zone, plan, zones })
    }

    /// These zones are full when the run begins: they have been written in order, the conventional ones plane by plane.
    pub(super) fn fill_zones(&mut self, plan: &Plan) {
        let Some(zones) = &plan.zones else { return };
        for zone in &(0..zones.filled(plan.config.age.fill.0)).collect::<Vec<_>>() {
            let first = zones.first(*zone).0;
            if !zones.is_sequential(*zone) {
                for lpn in (first..first + zones.size).map(Lpn) {
                    let plane = PlaneId((lpn.0 % u64::from(plan.layout.planes)) as u32);
                    self.fill_page(plane, zones.stream_at_start(lpn), Some(lpn), plan);
                }
                continue;
            }
            if zones.cached {
                zones.planes_of(*zone).for_each(|plane| self.fill_next(plane, Some(*zone), plan));
            }
            for begins in (0..zones.capacity).step_by(zones.unit as usize) {
                let place = zones.place(*zone, begins);
                let plane = plan.layout.plane(place.die, place.plane);
                if !zones.cached {
                    (0..zones.unit).for_each(|_| self.blocks.zone_waits(*zone, plane));
                }
                for page in begins..begins + u64::from(zones.unit) {
                    let (lpn, stream) = (Lpn(first + page), zones.stream_at_start(Lpn(first)));
                    self.fill_page(plane, stream, (page < zones.capacity).then_some(lpn), plan);
                }
            }
            self.blocks.zone_ends(*zone, zones);
        }
        for plane in (0..plan.layout.planes).map(PlaneId) {
            if zones.cached {
                self.fill_next(plane, None, plan);
            } else if zones.conventional > 0 {
                self.fill_program(plane, ANYWHERE, plan);
            }
        }
        self.blocks.begin_run(plan);
    }

    /// A plane goes on with data of that zone, or of the conventional ones, past the SLC cache.
    fn fill_next(&mut self, plane: PlaneId, zone: Option<u32>, plan: &Plan) {
        self.fill_program(plane, StreamId::RELOCATED, plan);
        self.blocks.zone_is_filled(plane, zone);
    }

    /// What a stream has on a plane may be no whole program.
    fn fill_program(&mut self, plane: PlaneId, stream: StreamId, plan: &Plan) {
        while !self.blocks.next_place(plane, stream).is_multiple_of(plan.streams.unit_of(stream)) {
            self.fill_page(plane, stream, None, plan);
        }
    }

    fn fill_page(&mut self, plane: PlaneId, stream: StreamId, lpn: Option<Lpn>, plan: &Plan) {
        let ppn = self.next_page(plane, stream, lpn);
        if let Some(lpn) = lpn {
            self.place(lpn, ppn);
            self.joins_stripe(lpn, ppn, plan);
            self.blocks.completed(ppn);
        }
        self.fill_parity(plan);
    }

    /// The parity that waits is programmed at once.
    fn fill_parity(&mut self, plan: &Plan) {
        while let Some(ParityProgram { plane, stripes }) = self.next_parity(|_| true, plan) {
            for (stripe, lpn) in stripes {
                let ppn = self.next_page(plane, plan.streams.opened_by(StreamId::PARITY), Some(lpn));
                if self.stripes.as_mut().is_some_and(|stripes| stripes.programmed(stripe)) {
                    self.place(lpn, ppn);
                }
                self.blocks.completed(ppn);
            }
        }
    }

    /// The next page of a stream, of a block that is erased where it is opened.
    fn next_page(&mut self, plane: PlaneId, stream: StreamId, lpn: Option<Lpn>) -> Ppn {
        if self.blocks.make_room(plane, stream) {
            self.blocks.open_erased(plane, stream);
        }
        self.take_page(plane, stream, lpn, AgeClock::warmer_by(Span::ZERO, 0.0))
    }
}
