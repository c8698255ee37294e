//! Erases and reads of blocks, and the age of their data: the conditions under which a page is read.

use nand::PlaneId;
use units::{Conditions, PeCycles, Ppn, Retention, Span};

use super::{AgeClock, Aged, Ageing, Blocks, EMPTY, INITIAL};
use crate::config::Plan;

impl Blocks {
    /// A block has been erased; returns its P/E cycles in the run.
    pub fn count_erase(&mut self, plane: PlaneId, block: u32) -> u32 {
        let index = self.index(plane, block);
        let records = self.records(plane, block);
        self.blocks[records].iter_mut().for_each(|block| block.reads = 0);
        self.blocks[index].erases += 1;
        if let Some(slc) = &mut self.slc {
            slc.erased(plane, block);
        }
        self.blocks[index].erases
    }

    /// P/E cycles of a block, those before the run included.
    #[inline]
    pub fn cycles(&self, plane: PlaneId, block: u32, plan: &Plan) -> u32 {
        plan.config.age.pec.0 + self.worn_by(plane, block, self.block(plane, block).erases)
    }

    /// The erases of a block as cycles of the chip's own cells.
    #[inline]
    pub fn worn_by(&self, plane: PlaneId, block: u32, erases: u32) -> u32 {
        match &self.slc {
            None => erases,
            Some(slc) => (i64::from(erases) - slc.spared(plane, block)).clamp(0, u32::MAX.into()) as u32,
        }
    }

    /// The full block of a plane that has worn least, outside the SLC cache, and by how many erases as cycles of the
    /// chip's own cells. A scan: for static wear levelling alone.
    pub fn least_worn(&mut self, plane: PlaneId, aged: &Aged) -> Option<(u32, u32)> {
        self.candidates(plane, aged);
        let candidates = self.plane(plane).candidates.as_ref()?;
        let of_zone =
            |block| self.zone_of(plane, block).is_some() && self.is_full(plane, block) && !self.in_slc(plane, block);
        let full = (0..self.layout.blocks).filter(|block| candidates.contains(*block) || of_zone(*block));
        full.map(|block| (self.worn_by(plane, block, self.block(plane, block).erases), block)).min()
    }

    /// Counts `senses` of a page; returns the reads of its block of the flash since it was erased, before and after.
    #[inline]
    pub fn count_read(&mut self, ppn: Ppn, senses: u32) -> (u32, u32) {
        let address = self.layout.unpack(ppn);
        let index = self.index(address.plane, address.block) + self.layout.in_stripe(ppn) as usize;
        let reads = &mut self.blocks[index].reads;
        let before = *reads;
        *reads = before.saturating_add(senses);
        (before, *reads)
    }

    /// Reads of a page's block of the flash since it was erased.
    #[inline]
    pub fn reads_of(&self, ppn: Ppn) -> u32 {
        let address = self.layout.unpack(ppn);
        self.blocks[self.index(address.plane, address.block) + self.layout.in_stripe(ppn) as usize].reads
    }

    /// Reads since it was erased of that block of the flash which has been read most.
    pub fn reads(&self, plane: PlaneId, block: u32) -> u32 {
        let records = &self.blocks[self.records(plane, block)];
        records.iter().map(|record| record.reads).max().unwrap_or(0)
    }

    /// Erases of every block in service or out of it, but for the factory's bad ones.
    pub fn erases(&self) -> impl Iterator<Item = u32> {
        let planes = (0..self.layout.planes).map(PlaneId);
        planes.flat_map(move |plane| {
            let fixed = self.slc.as_ref().map_or(0, |slc| slc.plane(plane).fixed);
            let usable = 0..self.plane(plane).usable + fixed;
            usable.map(move |block| self.block(plane, block).erases)
        })
    }

    /// When the oldest data of a block was programmed, if in the run.
    fn first_programmed(&self, plane: PlaneId, block: u32) -> Option<u32> {
        match self.block(plane, block).written {
            INITIAL | EMPTY => None,
            record => self.in_run(self.written[record as usize].programmed.first().copied()),
        }
    }

    /// The stamp of a program, if it was one of the run.
    #[inline]
    fn in_run(&self, stamp: Option<u32>) -> Option<u32> {
        stamp.filter(|stamp| *stamp != Ageing::BEFORE)
    }

    /// All data ages by `age`, as if kept at 30 °C.
    pub fn rest(&mut self, now: AgeClock, age: Span) {
        self.ageing.rest(now, age);
    }

    /// What data from before the run has aged by since its start, as if kept at 30 °C.
    pub fn aged(&self, now: AgeClock) -> Span {
        self.ageing.in_run(now)
    }

    /// The retention age of a block's oldest data, as if kept at 30 °C.
    pub fn age(&self, plane: PlaneId, block: u32, now: AgeClock, plan: &Plan) -> Span {
        let index = self.index(plane, block);
        self.retention(index, self.first_programmed(plane, block), now, plan)
    }

    #[inline]
    fn retention(&self, index: usize, programmed: Option<u32>, now: AgeClock, plan: &Plan) -> Span {
        match programmed {
            None => {
                let before = match (plan.retention, self.turnovers.get(index / self.layout.stripe as usize)) {
                    (Retention::Turnover(of), Some(age)) => of.age(age.of_span(of.turnover)),
                    (retention, _) => retention.of_block(self.ages, index as u64),
                };
                Span(before.0.saturating_add(self.ageing.in_run(now).0))
            }
            Some(stamp) => self.ageing.since(stamp, now),
        }
    }

    /// The conditions under which a page is read, and how much warmer than at rest the drive was at its program, unless
    /// that was before the run.
    #[inline]
    pub fn conditions(&self, ppn: Ppn, now: AgeClock, plan: &Plan) -> (Conditions, Option<u8>) {
        let address = self.layout.unpack(ppn);
        let index = self.index(address.plane, address.block);
        let block = self.blocks[index];
        let programmed = match block.written {
            INITIAL => None,
            EMPTY => Some(self.ageing.stamp(now)),
            record => {
                let page = self.layout.flash_page(address.page) as usize;
                self.in_run(Some(self.written[record as usize].programmed.get(page).copied().unwrap_or(0)))
            }
        };
        let retention = self.retention(index, programmed, now, plan);
        let pec = PeCycles(plan.config.age.pec.0 + self.worn_by(address.plane, address.block, block.erases));
        let reads = self.reads_of(ppn);
        let conditions = Conditions { pec, retention, temperature: self.ageing.temperature(now), reads };
        (conditions, programmed.map(|stamp| self.ageing.warmer_at(stamp)))
    }
}
