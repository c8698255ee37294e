//! What crosses some components of the drive alone sees these alone: a view for each.

use nand::PlaneId;

use super::BackEnd;
use super::dispatch::Dispatch;
use super::kept::PowerAt;
use super::learned::Learning;
use super::map_pages::MapAt;
use super::read::ReadsAt;
use super::zone_programs::Zoning;
use crate::flash::{FlashAt, FlashView};
use crate::ftl::Ftl;
use crate::ftl::moves::Moving;
use crate::ftl::seen::Seen;
use crate::observe::probe::Probe;

impl<P: Probe> BackEnd<P> {
    /// The flash as it stands now.
    #[inline]
    pub fn flash(&mut self) -> FlashAt<'_, P, Ftl> {
        FlashAt { flash: &mut self.flash, core: &mut self.core, placement: &mut self.ftl }
    }

    /// Where pages that wait for their program find their dies.
    #[inline]
    pub(super) fn dispatch(&mut self) -> Dispatch<'_, P> {
        Dispatch { core: &mut self.core, flash: &mut self.flash, ftl: &mut self.ftl, writes: &mut self.writes }
    }

    /// What is decided from.
    #[inline]
    pub fn view(&self) -> FlashView<'_, Ftl> {
        let read_only = self.core.life.read_only.is_some();
        FlashView { flash: &self.flash, plan: &self.core.plan, placement: &self.ftl, read_only }
    }

    /// Where parts of the host's reads find their data.
    #[inline]
    pub(super) fn reads(&mut self) -> ReadsAt<'_, P> {
        let BackEnd { core, commands, flash, ftl, writes, read_cache, power, .. } = self;
        ReadsAt { core, commands, flash, ftl, writes, read_cache, power: power.as_deref() }
    }

    /// What a learned table has to do with.
    pub(super) fn learning(&mut self) -> Learning<'_, P> {
        let BackEnd { core, flash, ftl, writes, map, .. } = self;
        Learning { core, flash, ftl, writes, map }
    }

    /// What programs of zones have to do with.
    pub(super) fn zoning(&mut self) -> Zoning<'_, P> {
        let BackEnd { core, commands, flash, ftl, writes, zones, .. } = self;
        Zoning { core, commands, flash, ftl, writes, zones: zones.as_deref_mut() }
    }

    /// What a map's pages on flash have to do with.
    #[inline]
    pub(super) fn map_at(&mut self) -> MapAt<'_, P> {
        let BackEnd { core, flash, ftl, writes, map, power, .. } = self;
        MapAt { core, flash, ftl, writes, map, power: power.as_deref_mut() }
    }

    /// What a plane relocates.
    #[inline]
    pub(super) fn moving(&mut self, plane: PlaneId) -> Moving<'_> {
        self.ftl.moving(plane, &self.writes.buffer, &self.core.plan)
    }

    /// What is seen of the FTL.
    pub fn seen(&self) -> Seen<'_> {
        Seen { ftl: &self.ftl, buffer: &self.writes.buffer, plan: &self.core.plan }
    }

    /// What is told of power cuts. Invariant: the drive has any, or keeps its map for them.
    pub fn power_at(&mut self) -> PowerAt<'_, P> {
        let BackEnd { core, flash, ftl, writes, power, .. } = self;
        let power = power.as_deref_mut().expect("Invariant: only drives with power cuts are told of them");
        PowerAt { core, flash, ftl, writes, power }
    }
}
