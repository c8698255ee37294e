//! The blocks of zones: which zone has which, and into which of them its programs go.
//!
//! A zone takes a free block of each of its planes when its first program there starts, the least worn one or the
//! oldest (`wear.free_block`), and another one when that is full. Programs of several zones wait in a plane's one
//! queue; each brings a whole program's worth, and here is kept for which zone each was queued, so that the plane's
//! open block is that zone's when the program starts.
//!
//! Blocks of a zone are never collected: it is reset as a whole, and then they hold nothing valid and are erased one
//! after another. Where their data moves (refresh, read reclaim, wear levelling, a block that fails) it moves into
//! blocks of the same zone alone.
//!
//! With an SLC cache a zone is written into blocks of the cache that are its own, and these are folded into its blocks
//! of the chip's own cells. Zones take turns in that, so that the block which each has begun waits (`apart`) while
//! another one's data moves.

use std::collections::VecDeque;

use nand::PlaneId;

use super::open::Open;
use crate::config::Plan;
use crate::persist::{state, stored};
use crate::streams::StreamId;

/// The stream of zones that are written in order, and that of conventional ones.
pub(crate) const IN_ORDER: StreamId = StreamId::new(0);
pub(crate) const ANYWHERE: StreamId = StreamId::new(1);

/// No zone, and no filling.
pub(super) const NONE: u32 = u32::MAX;

/// A zone is being written: from its first program to its last one, or to its reset.
#[derive(Default)]
pub(super) struct Filling {
    pub zone: u32,
    /// The open block of each of its planes.
    pub open: Vec<Open>,
    /// Programs that wait.
    pub waiting: u32,
    /// No further program comes: blocks are closed as soon as what waits for them has gone.
    pub ends: bool,
    /// It was reset: what still comes is of no use.
    pub in_vain: bool,
}

/// See the [module documentation](self).
pub(crate) struct ZoneBlocks {
    pub(super) unit: u32,
    /// Of each plane its place among those of its zones, and the group of dies on which these lie.
    pub(super) place: Vec<u32>,
    group: Vec<u32>,
    groups: u32,
    conventional: u32,
    planes_of_zone: u32,
    /// By block: the zone that has it.
    pub(super) owners: Vec<u32>,
    /// By zone: its blocks, as plane and block; and its filling.
    pub(super) blocks: Vec<Vec<(PlaneId, u32)>>,
    pub(super) filling: Vec<u32>,
    pub(super) fillings: Vec<Filling>,
    pub(super) spare: Vec<u32>,
    /// By plane: the fillings whose programs wait there, in order, each once for a program; and pages that have been
    /// queued of one that is not whole.
    pub(super) waiting: Vec<VecDeque<u32>>,
    pub(super) begun: Vec<u32>,
    /// By plane: the zone whose data is relocated.
    pub(super) moving: Vec<u32>,
    /// By plane: blocks of zones that were reset.
    pub(super) doomed: Vec<Vec<u32>>,
    /// Where zones are written by way of the SLC cache. By plane: the blocks that relocated data of zones, or of none,
    /// has begun, but for that of the zone whose data is relocated.
    pub(super) cached: bool,
    pub(super) apart: Vec<Vec<Apart>>,
}

/// The block that relocated data of a zone goes on with, or of none.
#[derive(Clone, Copy)]
pub(super) struct Apart {
    pub zone: u32,
    pub open: Open,
}

impl ZoneBlocks {
    pub fn new(plan: &Plan) -> Option<Box<ZoneBlocks>> {
        let zones = plan.zones.as_ref()?;
        let planes = plan.layout.planes as usize;
        let (mut place, mut group) = (vec![0; planes], vec![0; planes]);
        for zone in zones.conventional..zones.zones {
            for (at, plane) in (0..).zip(zones.planes_of(zone)) {
                place[plane.0 as usize] = at;
                group[plane.0 as usize] = (zone - zones.conventional) % zones.groups();
            }
        }
        let count = zones.zones as usize;
        Some(Box::new(ZoneBlocks {
            unit: zones.unit,
            place,
            group,
            groups: zones.groups(),
            conventional: zones.conventional,
            planes_of_zone: zones.dies * plan.layout.planes_per_die,
            owners: vec![NONE; planes * plan.layout.blocks as usize],
            blocks: vec![Vec::new(); count],
            filling: vec![NONE; count],
            fillings: Vec::new(),
            spare: Vec::new(),
            waiting: vec![VecDeque::new(); planes],
            begun: vec![0; planes],
            moving: vec![NONE; planes],
            doomed: vec![Vec::new(); planes],
            cached: zones.cached,
            apart: vec![Vec::new(); planes],
        }))
    }

    /// The filling of a zone, which begins if there is none.
    pub(super) fn begin(&mut self, zone: u32, full: Open) -> u32 {
        let filling = self.filling[zone as usize];
        if filling != NONE {
            return filling;
        }
        let new = Filling { zone, open: vec![full; self.planes_of_zone as usize], ..Filling::default() };
        let id = match self.spare.pop() {
            Some(id) => {
                self.fillings[id as usize] = new;
                id
            }
            None => {
                self.fillings.push(new);
                self.fillings.len() as u32 - 1
            }
        };
        self.filling[zone as usize] = id;
        id
    }

    /// A block is empty, or out of service: nobody has it.
    pub(super) fn leaves(&mut self, plane: PlaneId, block: u32, index: usize) {
        let owner = std::mem::replace(&mut self.owners[index], NONE);
        if owner != NONE {
            self.blocks[owner as usize].retain(|held| *held != (plane, block));
        }
        self.doomed[plane.0 as usize].retain(|doomed| *doomed != block);
    }

    pub(super) fn takes(&mut self, zone: u32, plane: PlaneId, block: u32, index: usize) {
        if self.owners[index] == NONE {
            self.owners[index] = zone;
            self.blocks[zone as usize].push((plane, block));
        }
        debug_assert_eq!(self.owners[index], zone, "Invariant: a block holds the data of one zone");
    }

    /// The open blocks of the fillings of a plane, by their numbers.
    pub(super) fn open_on(&self, plane: PlaneId) -> impl Iterator<Item = (u32, Open)> {
        let (place, group) = (self.place[plane.0 as usize] as usize, self.group[plane.0 as usize]);
        let here = move |filling: &Filling| (filling.zone - self.conventional) % self.groups == group;
        (0..)
            .zip(&self.fillings)
            .filter(move |(_, filling)| here(filling))
            .map(move |(id, filling)| (id, filling.open[place]))
    }

    /// Whether further data of a zone may be relocated on a plane from the SLC cache, so that the block that this goes
    /// into stays open.
    fn goes_on(&self, zone: u32, plane: PlaneId, in_slc: impl Fn(u32) -> bool) -> bool {
        let held = |zone: u32| self.blocks[zone as usize].iter().filter(|(of, _)| *of == plane);
        self.cached
            && (zone == NONE || self.filling[zone as usize] != NONE || held(zone).any(|(_, block)| in_slc(*block)))
    }

    /// The open block of relocated data on a plane is from now on that of another zone, or of none: whether the block
    /// that has been begun waits for more of its zone, and the one that the other goes on with.
    pub(super) fn relocates(
        &mut self,
        plane: PlaneId,
        begun: Option<Apart>,
        to: u32,
        in_slc: impl Fn(u32) -> bool,
    ) -> (bool, Option<Open>) {
        let waits = begun.filter(|of| self.goes_on(of.zone, plane, in_slc));
        let apart = &mut self.apart[plane.0 as usize];
        let waits = waits.filter(|of| apart.iter().all(|other| other.zone != of.zone));
        apart.extend(waits);
        let found = apart.iter().position(|other| other.zone == to);
        (waits.is_some(), found.map(|at| apart.swap_remove(at).open))
    }

    /// Whether any program of a filling waits on a plane.
    pub(super) fn waits(&self, plane: PlaneId, filling: u32) -> bool {
        self.waiting[plane.0 as usize].contains(&filling)
    }
}

state! {
    ZoneBlocks {
        stored { owners, blocks, filling, fillings, spare, waiting, begun, moving, doomed, apart }
        rebuilt { unit, place, group, groups, conventional, planes_of_zone, cached }
    }
}

stored! {
    Filling { zone, open, waiting, ends, in_vain }
    Apart { zone, open }
}
