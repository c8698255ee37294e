//! The FTL alone, played without dies and without time: what the host writes goes through the map, the open blocks, the
//! victim policy, relocation and pacing as on the drive, and is on flash at once. So a drive comes to the state that a
//! load leaves in it at millions of pages a second (`run/warming.rs` says how long that is played, and when it is not).
//!
//! Its clock is that of dies that never rest, as in [`super::stationary`]: dies take their turns in page allocation
//! order, and a turn is a program, of host data or of relocated data. Where the load leaves dies idle (`age.load`), the
//! time from one program of host data on a plane to the next is one for relocation on it, as far as it goes. Not
//! played: pages of the map, parity, idle time, and what wears out.

use std::collections::{HashMap, VecDeque};

use nand::{Address, DieId, PlaneId, PlanePrograms};
use units::{Lpn, Ppn, Span};

use super::mapping::Mapping as _;
use super::relocator::Relocation;
use super::{Ftl, Location, ValidPage};
use crate::buffer::Buffer;
use crate::config::{EraseWhen, Plan};
use crate::flash::{AgeClock, Placement as _};
use crate::observe::stats::{Victims, relocation_causes};
use crate::streams::StreamId;

/// No plane takes what the host writes, and none collects: the drive cannot hold it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandsStill;

/// Pages ahead of the one that moves whose map entries are fetched (assumed: as many as hide a miss of the cache,
/// twice).
const AHEAD: u32 = 16;

/// Written data on its way to the blocks.
pub(crate) struct Warming {
    /// Pages that the write buffer keeps dirty, the first written first, and these with the newest hint of each; and
    /// how many it keeps.
    dirty: VecDeque<Lpn>,
    kept: HashMap<Lpn, u16>,
    most_dirty: usize,
    /// The write buffer as collection asks it: what has left it is on flash at once.
    buffer: Buffer,
    /// Pages that wait for a program's worth of them: by handle, and with static placement by plane.
    pools: Vec<VecDeque<Lpn>>,
    /// Dies in page allocation order, and whose turn it is.
    dies: Vec<DieId>,
    turn: usize,
    /// By die: programs of relocated data since the last one of host data, and the plane that relocated last.
    between: Vec<u32>,
    relocated: Vec<u8>,
    /// Where dies are idle, by plane: programs of relocated data for which there is time before its next one of host
    /// data.
    spare: Vec<f64>,
    /// Pages of host data that have been programmed.
    pub written: u64,
}

impl Warming {
    pub fn new(plan: &Plan) -> Warming {
        let layout = &plan.layout;
        let firsts =
            plan.config.ftl.page_order.planes(layout).into_iter().filter(|plane| plane % layout.planes_per_die == 0);
        let dies: Vec<DieId> = firsts.map(|plane| layout.die_of(PlaneId(plane)).0).collect();
        let planes = if plan.deals { layout.planes as usize } else { 1 };
        Warming {
            dirty: VecDeque::new(),
            kept: HashMap::new(),
            buffer: Buffer::new(plan),
            most_dirty: (f64::from(plan.slots) * plan.config.buffer.dirty_limit.0) as usize,
            pools: vec![VecDeque::new(); planes * plan.streams.hosts().count()],
            turn: 0,
            between: vec![0; dies.len()],
            relocated: vec![0; dies.len()],
            spare: vec![0.0; layout.planes as usize],
            dies,
            written: 0,
        }
    }

    /// The host writes a page.
    pub fn write(&mut self, ftl: &mut Ftl, plan: &Plan, lpn: Lpn, hint: u16) -> Result<(), StandsStill> {
        if self.most_dirty == 0 {
            return self.send(ftl, plan, lpn, hint);
        }
        if self.kept.insert(lpn, hint).is_none() {
            self.dirty.push_back(lpn);
        }
        while self.dirty.len() > self.most_dirty {
            self.send_oldest(ftl, plan)?;
        }
        Ok(())
    }

    /// The host trims a page.
    pub fn trim(&mut self, ftl: &mut Ftl, lpn: Lpn) {
        if self.kept.remove(&lpn).is_some() {
            self.dirty.retain(|page| *page != lpn);
        }
        self.pools.iter_mut().for_each(|pool| pool.retain(|page| *page != lpn));
        if let Some(ppn) = on_flash(ftl, lpn) {
            ftl.blocks.invalidate(ppn);
        }
        ftl.trim(lpn);
    }

    /// Everything goes to flash, in partly filled programs where need be, and the run begins: what is on flash was
    /// written before it, and nothing has been counted, also where the drive cannot hold everything.
    pub fn end(&mut self, ftl: &mut Ftl, plan: &Plan) -> Result<(), StandsStill> {
        let ended = self.send_all(ftl, plan);
        ftl.blocks.begin_run(plan);
        ftl.relocator.victims = Victims::default();
        ended
    }

    fn send_all(&mut self, ftl: &mut Ftl, plan: &Plan) -> Result<(), StandsStill> {
        while !self.dirty.is_empty() {
            self.send_oldest(ftl, plan)?;
        }
        (0..self.pools.len()).try_for_each(|pool| self.dispatch(ftl, plan, pool, 1))
    }

    fn send_oldest(&mut self, ftl: &mut Ftl, plan: &Plan) -> Result<(), StandsStill> {
        let Some(lpn) = self.dirty.pop_front() else { return Ok(()) };
        let hint = self.kept.remove(&lpn).unwrap_or(0);
        self.send(ftl, plan, lpn, hint)
    }

    /// A page leaves the buffer.
    fn send(&mut self, ftl: &mut Ftl, plan: &Plan, lpn: Lpn, hint: u16) -> Result<(), StandsStill> {
        let before = on_flash(ftl, lpn);
        let (plane, class) = ftl.place_of_host_data(lpn, hint, before, false, plan);
        let pool = Warming::pool_for(plan, class, Some(plane));
        self.pools[pool].push_back(lpn);
        self.dispatch(ftl, plan, pool, self.whole(plan, class))
    }

    /// The pool of a stream and, with static placement, of a plane.
    fn pool_for(plan: &Plan, stream: StreamId, plane: Option<PlaneId>) -> usize {
        match plane {
            Some(plane) if plan.deals => stream.index() * plan.layout.planes as usize + plane.0 as usize,
            _ => stream.index(),
        }
    }

    /// The stream and, with static placement, the plane of a pool.
    fn pool_of(plan: &Plan, pool: usize) -> (StreamId, Option<PlaneId>) {
        if plan.deals {
            let planes = plan.layout.planes as usize;
            (StreamId::new(pool / planes), Some(PlaneId((pool % planes) as u32)))
        } else {
            (StreamId::new(pool), None)
        }
    }

    /// Pages of a die's program.
    fn whole(&self, plan: &Plan, class: StreamId) -> usize {
        let together = !plan.deals && plan.config.chip.plane_programs == PlanePrograms::Lockstep;
        let planes = if together { plan.layout.planes_per_die } else { 1 };
        (planes * plan.streams.unit_of(class)) as usize
    }

    /// Programs what waits in a pool, as long as there is enough of it: dies take their turns.
    fn dispatch(&mut self, ftl: &mut Ftl, plan: &Plan, pool: usize, enough: usize) -> Result<(), StandsStill> {
        let (class, plane) = Warming::pool_of(plan, pool);
        let mut idle = 0;
        while self.pools[pool].len() >= enough {
            if plan.streams.past(class).is_some() && !cache_takes(ftl, plan, class, plane) {
                return self.go_past(ftl, plan, pool, enough);
            }
            let die = match plane {
                Some(plane) => plan.layout.die_of(plane).0,
                None => {
                    let die = self.dies[self.turn];
                    self.turn = (self.turn + 1) % self.dies.len();
                    die
                }
            };
            if plane.is_none() && !plan.groups.takes(class, die) && !ftl.group_is_full(class, plan) {
                idle += 1;
                if idle > self.dies.len() {
                    return Err(StandsStill);
                }
                continue;
            }
            idle = if self.take_turn(ftl, plan, die, pool) { 0 } else { idle + 1 };
            if idle > self.dies.len() {
                return Err(StandsStill);
            }
        }
        Ok(())
    }

    /// The SLC cache takes no more: what waits for it goes to blocks of the chip's own cells.
    fn go_past(&mut self, ftl: &mut Ftl, plan: &Plan, pool: usize, enough: usize) -> Result<(), StandsStill> {
        let (class, plane) = Warming::pool_of(plan, pool);
        let Some(past) = plan.streams.past(class) else { return Ok(()) };
        let whole = self.whole(plan, past);
        let past = Warming::pool_for(plan, past, plane);
        let mut pages = std::mem::take(&mut self.pools[pool]);
        self.pools[past].append(&mut pages);
        self.dispatch(ftl, plan, past, if enough == 1 { 1 } else { whole })
    }

    /// One program on a die, of what waits in a pool or of relocated data, which take turns; whether there was one.
    fn take_turn(&mut self, ftl: &mut Ftl, plan: &Plan, die: DieId, pool: usize) -> bool {
        let (class, only) = Warming::pool_of(plan, pool);
        let planes = || (0..plan.layout.planes_per_die as u8).map(|place| plan.layout.plane(die, place));
        planes().for_each(|plane| collect(ftl, &self.buffer, plan, plane));
        let share = plan.config.age.partial_load();
        if share.is_some() {
            planes().for_each(|plane| self.relocate_meanwhile(ftl, plan, plane));
        }
        let relocates = planes().any(|plane| ftl.relocator[plane].victim.is_some());
        let waits = relocates
            && share.is_none()
            && (!plan.config.gc.preemptible || self.between[die.0 as usize] < plan.relocations_between());
        let stream = plan.streams.opened_by(class);
        let takes = |plane: &PlaneId| {
            only.is_none_or(|only| only == *plane)
                && ftl.blocks.room(*plane, stream, false)
                && ftl.pays(*plane, plan.streams.paced(class), plan)
                && (only.is_some() || ftl.blocks.live(*plane) < plan.space.live_limit)
        };
        if !waits && planes().any(|plane| takes(&plane)) {
            self.between[die.0 as usize] = 0;
            let open: Vec<PlaneId> = planes().filter(takes).collect();
            self.program(ftl, plan, &open, pool);
            return true;
        }
        if relocates {
            self.between[die.0 as usize] += 1;
            self.relocate(ftl, plan, die);
        }
        relocates
    }

    /// Programs host data on those of the open planes of a die that have been programmed least.
    fn program(&mut self, ftl: &mut Ftl, plan: &Plan, open: &[PlaneId], pool: usize) {
        let (class, _) = Warming::pool_of(plan, pool);
        let stream = plan.streams.opened_by(class);
        let of_block = u64::from(plan.streams.pages_of(stream));
        let most = open.iter().map(|plane| ftl.blocks.taken(*plane, stream)).max().unwrap_or(0);
        let behind = |ftl: &Ftl, plane: &PlaneId| (most - ftl.blocks.taken(*plane, stream)) % of_block;
        let furthest = open.iter().map(|plane| behind(ftl, plane)).max();
        let lagging: Vec<PlaneId> = open.iter().copied().filter(|plane| Some(behind(ftl, plane)) == furthest).collect();
        let alone = plan.config.chip.plane_programs == PlanePrograms::Single;
        for plane in lagging.into_iter().take(if alone { 1 } else { usize::MAX }) {
            if self.pools[pool].is_empty() {
                break;
            }
            for _ in 0..plan.streams.unit_of(class) {
                let lpn = self.pools[pool].pop_front();
                let ppn = take_page(ftl, plan, plane, class, lpn);
                let Some(lpn) = lpn else { continue };
                if let Some(older) = on_flash(ftl, lpn) {
                    ftl.blocks.invalidate(older);
                }
                ftl.place(lpn, ppn);
                ftl.leaves_for(lpn);
                ftl.blocks.completed(ppn);
                self.written += 1;
            }
            ftl.relocator[plane].spend(plan.streams.paced(class));
            if let Some(share) = plan.config.age.partial_load() {
                self.spare[plane.0 as usize] += 1.0 / share;
            }
        }
    }

    /// A plane relocates between two programs of host data, for as long as the load leaves it idle; idle time is not
    /// saved up.
    fn relocate_meanwhile(&mut self, ftl: &mut Ftl, plan: &Plan, plane: PlaneId) {
        while let Some(moving) = ftl.relocator[plane].victim {
            if self.spare[plane.0 as usize] < 1.0 {
                return;
            }
            self.spare[plane.0 as usize] -= 1.0;
            relocate(ftl, plan, plane, moving);
            collect(ftl, &self.buffer, plan, plane);
        }
        self.spare[plane.0 as usize] = 0.0;
    }

    /// One program of relocated data on a die: on all its planes that relocate, or where these are programmed one by
    /// one on the next.
    fn relocate(&mut self, ftl: &mut Ftl, plan: &Plan, die: DieId) {
        let planes = plan.layout.planes_per_die as u8;
        let last = self.relocated[die.0 as usize];
        for place in (1..=planes).map(|step| (last + step) % planes) {
            let plane = plan.layout.plane(die, place);
            if let Some(moving) = ftl.relocator[plane].victim {
                relocate(ftl, plan, plane, moving);
                self.relocated[die.0 as usize] = place;
                if plan.config.chip.plane_programs == PlanePrograms::Single {
                    return;
                }
            }
        }
    }
}

/// Where a page is on flash: nothing is in the buffer as far as the map knows.
fn on_flash(ftl: &Ftl, lpn: Lpn) -> Option<Ppn> {
    match ftl.locate(lpn) {
        Location::Flash(ppn) => Some(ppn),
        Location::Unmapped | Location::Buffer(_) => None,
    }
}

/// Gives a page of a plane to a logical page, or to padding.
fn take_page(ftl: &mut Ftl, plan: &Plan, plane: PlaneId, class: StreamId, lpn: Option<Lpn>) -> Ppn {
    let stream = plan.streams.opened_by(class);
    if ftl.blocks.make_room(plane, stream) && plan.config.ftl.erase_when == EraseWhen::Opened {
        ftl.blocks.open_erased(plane, stream);
    }
    ftl.take_page(plane, stream, lpn, AgeClock::warmer_by(Span::ZERO, 0.0))
}

/// Whether the SLC cache takes data, of a plane or of any that the stream is written to: now, or when a block of it has
/// been folded.
fn cache_takes(ftl: &Ftl, plan: &Plan, stream: StreamId, only: Option<PlaneId>) -> bool {
    let takes = |plane: PlaneId| ftl.cache_takes(plane, stream, plan);
    only.map_or_else(|| ftl.planes_that_take(stream, plan).any(takes), takes)
}

/// Begins to move a block of a plane, where there is reason to; blocks without valid pages are free at once.
fn collect(ftl: &mut Ftl, buffer: &Buffer, plan: &Plan, plane: PlaneId) {
    while ftl.moving(plane, buffer, plan).may_begin() {
        let now = AgeClock::warmer_by(Span::ZERO, 0.0);
        let mut moving = ftl.moving(plane, buffer, plan);
        let Some(next) = moving.begin_next(now, false) else { return };
        moving.has_begun(next.cause);
        if ftl.valid(plane, next.block) > 0 {
            return;
        }
        emptied(ftl, plane, next.block);
    }
}

fn emptied(ftl: &mut Ftl, plane: PlaneId, block: u32) {
    ftl.relocator[plane].victim = None;
    ftl.blocks.empty(plane, block);
    ftl.blocks.release_as_found(plane, block);
}

/// A program of relocated data, the last of a block in part padding.
fn relocate(ftl: &mut Ftl, plan: &Plan, plane: PlaneId, moving: Relocation) {
    let mut class = None;
    let (mut left, mut valid) = (1, None);
    while left > 0 {
        let pages = ftl.relocator[plane].pages.clone();
        valid = ftl.next_valid(plane, moving.block, pages, plan, |lpn| on_flash(ftl, lpn));
        let Some(ValidPage { page, lpn, ppn: source }) = valid else { break };
        let class = *class.get_or_insert_with(|| {
            let class = ftl.relocated_class(source, plan, converts(ftl, plane, moving));
            left = plan.streams.unit_of(class);
            class
        });
        for (ahead, further) in [(AHEAD, false), (AHEAD / 2, true)] {
            let later = Address { plane, block: moving.block, page: page + ahead };
            if later.page < plan.layout.pages {
                ftl.prefetch_held(later, further);
            }
        }
        let ppn = take_page(ftl, plan, plane, class, Some(lpn));
        ftl.mapping.place(lpn, ppn, &ftl.blocks);
        ftl.tell(|own| own.placed(lpn, ppn, true));
        ftl.blocks.invalidate(source);
        ftl.blocks.completed(ppn);
        let relocation = &mut ftl.relocator[plane];
        (relocation.pages.start, relocation.moved) = (page + 1, relocation.moved + 1);
        ftl.pay(plane, plan);
        left -= 1;
    }
    if ftl.valid(plane, moving.block) == 0 {
        if let Some(class) = class {
            for _ in 0..left {
                take_page(ftl, plan, plane, class, None);
            }
        }
        emptied(ftl, plane, moving.block);
    }
    debug_assert!(valid.is_some() || ftl.relocator[plane].victim.is_none(), "Invariant: valid pages are found");
}

/// Whether the data of a block goes into the SLC cache, which has room for more of it.
fn converts(ftl: &Ftl, plane: PlaneId, moving: Relocation) -> bool {
    moving.cause == relocation_causes::CONVERSION && ftl.converts_more(plane)
}

/// Pages that have been programmed.
pub(crate) fn programmed(ftl: &Ftl) -> u64 {
    ftl.blocks.pages_programmed
}

/// Pages of the flash for this many pages of data: its part of all.
pub(crate) fn turnover(ftl: &Ftl, plan: &Plan, pages: u64) -> u64 {
    (pages as f64 * spread(ftl, plan)).ceil() as u64
}

/// The write amplification of uniform overwriting, about: under FIFO a block that is collected has a share u = exp(-a
/// (1 - u)) of its pages valid, with this many pages `a` of the flash for each valid one (Desnoyers, SYSTOR'12 section
/// 3).
pub(crate) fn amplification(ftl: &Ftl, plan: &Plan) -> f64 {
    let pages = spread(ftl, plan);
    let valid = (0..1000).fold(0.5, |valid: f64, _| libm::exp(-pages * (1.0 - valid)));
    1.0 / (1.0 - valid).max(1e-3)
}

/// Pages of the flash for each that is valid.
fn spread(ftl: &Ftl, plan: &Plan) -> f64 {
    let planes = || (0..plan.layout.planes).map(PlaneId);
    let all: u64 = planes().map(|plane| u64::from(ftl.blocks.in_service(plane).0) * u64::from(plan.layout.pages)).sum();
    let live: u64 = planes().map(|plane| u64::from(ftl.blocks.live(plane))).sum();
    (all as f64 / live.max(1) as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_page_that_is_written_again_in_the_buffer_goes_where_its_newest_hint_says() {
        let mut config = Config::default();
        let words = ["geometry.channels=1", "geometry.chips=1", "ftl.hints=2", "age.fill=0", "buffer.dirty_limit=0.5"];
        words.iter().for_each(|word| config.set(word).unwrap());
        let plan = config.plan().unwrap();
        let mut ftl = Ftl::new(&plan, 1).unwrap();
        let mut warming = Warming::new(&plan);
        for (lpn, hint) in [(7, 0), (8, 1), (7, 1), (8, 0)] {
            warming.write(&mut ftl, &plan, Lpn(lpn), hint).unwrap();
        }
        warming.end(&mut ftl, &plan).unwrap();
        let stream = |lpn| ftl.stream_of(on_flash(&ftl, Lpn(lpn)).unwrap());
        assert_eq!([7, 8].map(stream), [Some(StreamId::new(1)), Some(StreamId::new(0))]);
        assert_eq!(warming.written, 2);
    }

    #[test]
    fn a_past_that_ends_where_the_drive_takes_no_more_counts_as_none_too() {
        let mut config = Config::default();
        ["geometry.channels=1", "geometry.dies=1", "age.fill=0"].iter().for_each(|word| config.set(word).unwrap());
        let plan = config.plan().unwrap();
        let (mut ftl, mut warming) = (Ftl::new(&plan, 1).unwrap(), Warming::new(&plan));
        // The last page waits for others.
        let pages = 100 * warming.whole(&plan, StreamId::new(0)) as u64 + warming.most_dirty as u64 + 1;
        (0..pages).for_each(|lpn| warming.write(&mut ftl, &plan, Lpn(lpn), 0).unwrap());
        assert!(programmed(&ftl) > 0);
        for plane in (0..plan.layout.planes).map(PlaneId) {
            ftl.relocator.breaks(plane);
            ftl.blocks.retire_all(plane);
        }
        assert!(warming.end(&mut ftl, &plan).is_err());
        assert_eq!(programmed(&ftl), 0);
    }
}
