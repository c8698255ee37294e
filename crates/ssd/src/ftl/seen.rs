//! What is seen of the FTL: by statistics, by the drive's health, and by checks (`check.rs`). Nothing of it changes
//! anything.

use std::ops::Range;

use nand::PlaneId;
use units::{ConfigError, Lpn, Ppn};

use super::mapping::Mapping as _;
use super::relocator::PlaneRelocation;
use super::{Ftl, ValidPage};
use crate::arena::SlotId;
use crate::buffer::Buffer;
use crate::config::{Placement, Plan, ZonePlan};
use crate::observe::stats::{Counters, LearnedSize, Victims};
use crate::translation::LearnedTable;

/// The FTL, with the write buffer, which has the newest data of some pages.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub ftl: &'a Ftl,
    pub buffer: &'a Buffer,
    pub plan: &'a Plan,
}

impl<'a> Seen<'a> {
    /// The planes.
    pub(super) fn planes(&self) -> impl Iterator<Item = PlaneId> + use<> {
        (0..self.plan.layout.planes).map(PlaneId)
    }

    /// What an FTL of one's own has done that ends the run.
    pub fn mistake(&self) -> Option<&'a ConfigError> {
        self.ftl.own.0.as_ref().and_then(|own| own.mistake())
    }

    /// The page of the flash with the newest programmed data of a page.
    pub fn flash_version(&self, lpn: Lpn) -> Option<Ppn> {
        self.ftl.flash_version(lpn, self.buffer)
    }

    /// Whether a page of the flash that has held the data of a page still has the newest that is programmed.
    #[inline]
    pub fn is_at(&self, lpn: Lpn, ppn: Ppn) -> bool {
        let is_at = || self.flash_version(lpn) == Some(ppn);
        // What has not changed since the start has been nowhere else.
        debug_assert!(!self.ftl.mapping.is_initial(lpn) || is_at());
        self.ftl.mapping.is_initial(lpn) || is_at()
    }

    /// The hint of a slot's page, which its data goes by.
    pub fn hint_of_slot(&self, slot: SlotId) -> u16 {
        self.ftl.hint_of_slot(slot, self.buffer, self.plan)
    }

    /// What a learned mapping table takes.
    pub fn learned_size(&self, learned: &LearnedTable) -> LearnedSize {
        let (pages, mapping) = (self.plan.logical_pages, &self.ftl.mapping);
        learned.size(pages, |lpn| mapping.initially(lpn), |lpn| mapping.is_initial(lpn))
    }

    /// The first valid page of a full block in a range of its pages.
    pub fn next_valid(&self, plane: PlaneId, block: u32, pages: Range<u32>) -> Option<ValidPage> {
        self.ftl.next_valid(plane, block, pages, self.plan, |lpn| self.flash_version(lpn))
    }

    /// Whether planes started at places of their own in their cycle.
    pub fn starts_in_mid_life(&self) -> bool {
        self.ftl.mapping.start().start(PlaneId(0)).is_some()
    }

    /// The write amplification of the uniform overwriting that the drive has been through, where its planes are in the
    /// middle of it.
    pub fn waf_before(&self) -> Option<f64> {
        self.ftl.mapping.start().amplification()
    }

    /// Whether collections go on that were under way at the start.
    pub fn still_collects_from_start(&self) -> bool {
        self.ftl.relocator.planes.iter().any(|relocation| relocation.from_start)
    }

    /// Whether nothing is relocated, and no reclaimed block erased.
    pub fn rests(&self) -> bool {
        self.ftl.relocator.planes.iter().all(PlaneRelocation::rests)
    }

    /// Planes that relocate a block for a cause.
    pub fn planes_that_relocate(&self, cause: usize) -> usize {
        self.ftl.relocator.planes.iter().filter(|relocation| relocation.relocates_for(cause)).count()
    }

    /// Valid pages of the blocks that were collected.
    pub fn victims(&self) -> &'a Victims {
        &self.ftl.relocator.victims
    }

    /// Erases in the run of every block that the factory found good.
    pub fn erases(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.ftl.blocks.erases()
    }

    /// Free blocks: of all planes, and of the plane that has the fewest.
    pub fn free_blocks(&self) -> (u64, u32) {
        let free = self.ftl.blocks.free_of_planes();
        (free.iter().map(|free| u64::from(*free)).sum(), free.iter().copied().min().unwrap_or(u32::MAX))
    }

    /// Blocks that hold data of the SLC cache or are open for it, where there is one.
    pub fn cache_blocks(&self) -> Option<u64> {
        self.ftl.blocks.slc.as_ref().map(|slc| slc.in_use())
    }

    /// Pages that were given to programs since the start.
    pub fn pages_programmed(&self) -> u64 {
        self.ftl.blocks.pages_programmed
    }

    /// Pages of the blocks that hold data of the run, where these are too many for the numbers of their pages.
    pub fn too_much_written(&self) -> Option<u64> {
        self.ftl.blocks.too_much_written()
    }

    /// Those of them whose programs have not ended.
    pub fn pages_under_way(&self) -> u64 {
        self.ftl.blocks.pending()
    }

    /// Of each plane, the pages programmed since the start, and those of host data among them.
    pub fn pages_of_planes(&self) -> Vec<(u64, u64)> {
        let of = |plane| (self.ftl.blocks.all_taken(plane), self.ftl.relocator[plane].host_pages);
        self.planes().map(of).collect()
    }

    /// The wear of every block, as P/E cycles of conventional erases that would have left as much stress; where erases
    /// go pulse by pulse.
    pub fn effective_pec(&self) -> Option<impl Iterator<Item = f64> + use<'a>> {
        let wear = self.ftl.wear.as_ref()?;
        let Seen { ftl, plan, .. } = *self;
        let of_plane = move |plane| {
            let of_flash = plan.layout.flash_planes_of(plane);
            of_flash.flat_map(move |of_flash| wear.cycles(of_flash).take(usable_blocks(ftl, plane) as usize))
        };
        Some(self.planes().flat_map(of_plane))
    }

    /// Blocks of all planes that the factory found good.
    pub fn usable_blocks(&self) -> u64 {
        self.planes().map(|plane| u64::from(usable_blocks(self.ftl, plane))).sum()
    }

    /// P/E cycles of a block, on the mean, by what has been erased in the run.
    pub fn mean_pec(&self, counters: &Counters) -> f64 {
        let layout = &self.plan.layout;
        let fixed = u64::from(self.plan.space.fixed) * u64::from(layout.planes);
        let blocks = (self.usable_blocks() + fixed) * u64::from(layout.stripe);
        // In the SLC cache blocks wear less.
        let spared = counters.slc_erases as f64 * (1.0 - self.plan.config.slc.wear);
        let erases = (counters.blocks_erased as f64 - spared) / blocks.max(1) as f64;
        f64::from(self.plan.config.age.pec.0) + erases
    }

    /// Spare blocks over those of the new drive \[%]; under static placement of the plane that has lost most.
    pub fn available_spare(&self) -> f64 {
        let share = |left: i64, new: i64| if new > 0 { 100.0 * left.max(0) as f64 / new as f64 } else { 0.0 };
        let new_spare_of = |plane| i64::from(usable_blocks(self.ftl, plane)) - i64::from(self.plan.space.needed);
        if self.planes().all(|plane| self.ftl.blocks.in_service(plane).1 == 0) {
            return 100.0;
        }
        if !self.each_by_itself() {
            return share(self.spare_blocks(), self.planes().map(new_spare_of).sum());
        }
        let shares = self.planes().filter(|plane| !self.is_given_up(*plane));
        shares.map(|plane| share(self.spare_blocks_of(plane), new_spare_of(plane))).fold(100.0, f64::min)
    }

    /// Whether too few blocks are left for the data of a plane (static placement, and zones) or of the drive (dynamic).
    pub fn is_worn_out(&self, plane: PlaneId) -> bool {
        let spares = if self.each_by_itself() { self.spare_blocks_of(plane) } else { self.spare_blocks() };
        (spares < 0 || self.has_lost_cache(plane)) && !self.is_given_up(plane)
    }

    /// Whether a static SLC cache, past which nothing of a zone goes, has too few blocks left on a plane for what is
    /// written into it.
    fn has_lost_cache(&self, plane: PlaneId) -> bool {
        let (streams, cache) = (&self.plan.streams, self.ftl.blocks.slc.as_ref().map(|slc| slc.plane(plane)));
        let open = streams.hosts().filter(|stream| streams.in_slc(*stream)).count() as u32;
        let left =
            cache.filter(|cache| self.plan.zones.is_some() && cache.fixed > 0).map(|cache| cache.fixed - cache.retired);
        left.is_some_and(|left| left < open)
    }

    /// Whether planes cannot hold each other's data.
    fn each_by_itself(&self) -> bool {
        self.plan.zones.is_some() || self.plan.config.ftl.placement == Placement::Static
    }

    /// Whether a plane has broken whose data was that of zones, which go out of service with it: the drive goes on
    /// without them.
    fn is_given_up(&self, plane: PlaneId) -> bool {
        let moves = |zones: &ZonePlan| zones.conventional == 0 || self.plan.config.ftl.placement == Placement::Dynamic;
        let goes_on = self.planes().any(|plane| !self.ftl.is_broken(plane));
        goes_on && self.ftl.is_broken(plane) && self.plan.zones.as_ref().is_some_and(moves)
    }

    /// Blocks of a plane beyond those that it needs for its data, and to be collected as long as it works.
    fn spare_blocks_of(&self, plane: PlaneId) -> i64 {
        let space = &self.plan.space;
        let needed = if self.ftl.is_broken(plane) { space.needed_for_data } else { space.needed };
        i64::from(self.ftl.blocks.in_service(plane).0) - i64::from(needed)
    }

    /// Spare blocks of all planes together, which can hold each other's data.
    fn spare_blocks(&self) -> i64 {
        self.planes().map(|plane| self.spare_blocks_of(plane)).sum()
    }
}

/// Blocks of a plane that the factory found good.
fn usable_blocks(ftl: &Ftl, plane: PlaneId) -> u32 {
    let (in_service, retired) = ftl.blocks.in_service(plane);
    in_service + retired
}
