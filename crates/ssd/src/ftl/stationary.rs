//! A plane in the middle of its life: what its blocks hold, how far its open blocks are written and how much of a block
//! has been collected, at a moment that has nothing to do with its cycle of opening, filling and collecting blocks.
//!
//! A plane of the drive is played by counts alone: how many pages of each block are valid, not which. A page of the
//! host makes a valid page of the plane stale, each with the same probability (uniform overwriting, Desnoyers,
//! SYSTOR'12 section 3); blocks are opened, chosen by the drive's own victim policy, relocated, paced and freed by the
//! rules of `victims.rs` and `allocation.rs`. Its clock is that of a die that never rests: a step is a program, of host
//! data or of relocated data. So the states that are taken from it at random steps are weighted by time, as a renewal
//! process is seen at a random time. Where the host writes as fast as the drive lets it, free blocks are as few as
//! pacing or the reserve allows.
//!
//! Where the load left dies idle (`age.load`), programs of host data come at intervals, relocation goes on in between,
//! and then time passes in which nothing happens: free blocks are as many as between `gc.start` and `gc.stop`, or as
//! background collection leaves.
//!
//! Pages are counted in bundles of some pages, so that a plane of any size is played in milliseconds; before the first
//! state is taken every block has been written several times over.

use std::cell::RefCell;
use std::collections::HashMap;

use nand::{Layout, PlanePrograms};
use schemes::{Candidates as _, Collection, Pacing, Price, Victim};
use units::{Span, Stream};

use super::candidates::FullBlocks;
use crate::config::{Placement, Plan, SlcCache};
use crate::policies::BlockFacts;
use crate::streams::{MOST, StreamId};

/// Bundles of a block, at most (assumed): a block's valid share differs by chance by a percent.
const BUNDLES: u32 = 2048;
/// Bundles of a block, at most, where the victim policy asks how long a block has lost no page: between two victims
/// each block must lose some (assumed).
const BUNDLES_OF_AGES: u32 = 1 << 14;
/// Bundles of a plane, at most, so that it is played in milliseconds; four times as many where ages are asked for
/// (assumed).
const BUNDLES_OF_PLANE: u32 = 1 << 21;
/// Blocks of a plane that is played, at most: of a larger one each full block stands for several (assumed: what is free
/// and open of that many is hardly a part).
const BLOCKS: u32 = 2048;
/// How often every block is written before a state is taken (assumed): policies that look at ages keep another profile
/// than the one that the play begins with.
const TURNOVERS: u64 = 4;
/// Programs from which the write amplification A is told at least: of this many it scatters by sqrt((A - 1) / n), 1 %
/// where it is 4.
const COUNTED: u64 = 32_768;
/// A drive of which less is valid is not played: nothing of note is ever relocated (assumed).
const LEAST_VALID: f64 = 0.02;

/// Parts of a program's time in which time is counted where dies are idle.
const PARTS: u64 = 256;

/// What a plane holds at a random moment, in pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlaneState {
    /// The full blocks in the order of filling, or of the last loss of a valid page, whichever the victim policy asks
    /// for.
    pub full: Vec<FullState>,
    /// The block that is being collected.
    pub victim: Option<VictimState>,
    /// Pages written in the open block of each stream, and those of them that are valid.
    pub open: [Option<(u32, u32)>; MOST],
    /// How old their data is.
    pub open_ages: [Turnovers; MOST],
    /// Collection goes on.
    pub running: bool,
}

/// A full block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FullState {
    pub valid: u32,
    /// Pages programmed since it lost its last valid one.
    pub since: u32,
    /// The stream that filled it.
    pub stream: StreamId,
    /// How old its data is.
    pub age: Turnovers,
}

/// An age as what has been programmed on the plane since, in 4096ths of all its good blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turnovers(pub u16);

impl Turnovers {
    /// This many programs, of those that write all of the plane once.
    fn of(programs: u64, all: u64) -> Turnovers {
        Turnovers((programs * 4096 / all.max(1)).min(u16::MAX.into()) as u16)
    }

    /// What that takes, where all of the plane takes `turnover`.
    pub fn of_span(self, turnover: Span) -> Span {
        Span(((u128::from(turnover.0) * u128::from(self.0)) >> 12) as u64)
    }
}

/// A block that is being collected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VictimState {
    /// The stream that filled it.
    pub stream: StreamId,
    /// How old its data is.
    pub age: Turnovers,
    /// Valid pages when it began, those that have moved since, and those that are left.
    pub began: u32,
    pub moved: u32,
    pub left: u32,
}

/// Whether the drive's life can be played by counts: what is written uniformly, without a cache, parity or cuts.
fn is_played(plan: &Plan) -> bool {
    plan.config.plays_past() && plan.config.ftl.slc_cache == SlcCache::None
}

/// The planes of a drive in the middle of its life.
pub(crate) struct MidLife {
    /// Each at a place of its own.
    pub planes: Vec<PlaneState>,
    /// Programs for each program of host data, the mean over the planes: the write amplification in the long run.
    pub amplification: f64,
}

/// The states of all planes at the start, of which this many blocks are good and this many pages are valid; none where
/// they all begin alike.
pub(crate) fn states(plan: &Plan, usable: &[u32], live: &[u32], seed: u64) -> Option<MidLife> {
    if !is_played(plan) {
        return None;
    }
    let draws = Stream::new(seed, "stationary");
    // Planes that are programmed together have come equally far in the host's block.
    let lockstep = plan.config.chip.plane_programs == PlanePrograms::Lockstep;
    let alike = lockstep && plan.config.ftl.placement == Placement::Dynamic;
    let together = if alike { plan.layout.planes_per_die } else { 1 } as usize;
    // Each has a part of the cycle to itself: they share what the host writes, and so come to their turns one after
    // another.
    let places = u64::from(plan.layout.planes) / together as u64;
    let (first, step) = (draws.entity(2).uniform(0), stride(places));
    // The map's open block is apart.
    let of_map = u32::from(plan.space.map_pages > 0);
    let mut lives: Vec<(u32, Life)> = Vec::new();
    let (mut states, mut of_planes) = (Vec::new(), Vec::new());
    for (place, (usable, live)) in (0u64..).zip(usable.chunks(together).zip(live.chunks(together))) {
        let place = (first + (place * step % places) as f64 / places as f64).fract();
        let mut filled = None;
        for (blocks, live) in usable.iter().map(|usable| usable - of_map).zip(live) {
            let known = lives.iter().position(|(known, _)| *known == blocks);
            let at = match known {
                Some(at) => at,
                None => {
                    lives.push((blocks, Life::new(plan, blocks, *live, draws.entity(u64::from(blocks)))?));
                    lives.len() - 1
                }
            };
            let life = &mut lives[at].1;
            match filled {
                Some(filled) => life.until_filled(filled)?,
                None => life.until_place(place)?,
            }
            filled = Some(life.filled());
            of_planes.push(at);
            states.push(life.state().fitted(plan, blocks.saturating_sub(BLOCKS), *live)?);
        }
    }
    let amplifications: Vec<f64> = lives.iter_mut().map(|(_, life)| life.amplification()).collect::<Option<_>>()?;
    let amplification = of_planes.iter().map(|at| amplifications[*at]).sum::<f64>() / states.len() as f64;
    Some(MidLife { planes: states, amplification })
}

/// Where dies are idle, the time from one program of host data on a plane to the next, in parts of a program's time.
fn interval(plan: &Plan) -> Option<u64> {
    let share = plan.config.age.partial_load()?;
    // What is hardly written has a cycle all the same.
    Some((PARTS as f64 / share.max(1e-6)).round().max(1.0) as u64)
}

/// A number near `n` over the golden ratio that has no common factor with `n`: its multiples come to every number below
/// `n`.
fn stride(n: u64) -> u64 {
    let common = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (((n as f64 * 0.618) as u64).max(1)..).find(|step| common(*step, n) == 1).unwrap_or(1)
}

impl PlaneState {
    /// This state with `more` further full blocks, and exactly `live` valid pages.
    fn fitted(mut self, plan: &Plan, more: u32, live: u32) -> Option<PlaneState> {
        let (pages, unit) = (plan.layout.pages, plan.unit_pages);
        for stream in &mut self.open {
            *stream = stream.and_then(|(written, valid)| {
                // Programs fill whole units.
                let written = (written / unit * unit).min(pages - unit);
                (written > 0).then_some((written, valid.min(written)))
            });
        }
        let count = self.full.len();
        let longer = count + more as usize;
        if count == 0 {
            return None;
        }
        self.full = (0..longer).map(|at| self.full[at * count / longer]).collect();
        let open: u32 = self.open.iter().flatten().map(|(_, valid)| valid).sum();
        let apart = open + self.victim.map_or(0, |victim| victim.left);
        let wanted = live.checked_sub(apart)?;
        let has: u64 = self.full.iter().map(|block| u64::from(block.valid)).sum();
        let (mut ideal, mut given) = (0u64, 0u32);
        for FullState { valid, .. } in &mut self.full {
            ideal += u64::from(*valid);
            let upto = (ideal * u64::from(wanted) / has.max(1)) as u32;
            *valid = (upto - given).min(pages);
            given += *valid;
        }
        // What did not fit into blocks that were full already.
        for FullState { valid, .. } in self.full.iter_mut().rev() {
            let added = (wanted - given).min(pages - *valid);
            (*valid, given) = (*valid + added, given + added);
        }
        (given == wanted).then_some(self)
    }
}

#[derive(Clone, Copy)]
struct Open {
    block: u32,
    next: u32,
}

struct Plane {
    candidates: FullBlocks,
    valid: Vec<u32>,
    stream: Vec<StreamId>,
    /// The order of filling: numbers of blocks that were filled.
    filled: Vec<u64>,
    /// Programs of the plane when its data was written, in the mean of its pages; of an open block when it was opened.
    written: Vec<u64>,
    free: Vec<u32>,
    open: [Option<Open>; MOST],
    /// The block, its valid bundles when it began, and those that have moved.
    victim: Option<(u32, u32, u32)>,
    running: bool,
    no_victim: bool,
    paced: bool,
    credit: f64,
}

/// A plane that is played.
struct Life<'a> {
    plan: &'a Plan,
    layout: Layout,
    /// Bundles of a program.
    unit: u32,
    plane: Plane,
    draws: Stream,
    drawn: u64,
    picks: Stream,
    picked: u64,
    fills: u64,
    /// Blocks that were opened for the host.
    opened: u64,
    /// Programs of relocated data since the last one of host data, and all programs.
    between: u32,
    programs: u64,
    /// Programs when half of the first turnovers were over, and those of host data since.
    settled: u64,
    of_host: u64,
    /// The time from one block that is opened for the host to the next, in the mean; and the time played: in programs
    /// of a die that never rests, otherwise in parts of them.
    cycle: u64,
    time: u64,
    /// Where dies are idle, the time from one program of host data to the next, and when the next one comes.
    interval: Option<u64>,
    due: u64,
    /// A state has been taken.
    taken: bool,
    /// What a policy from outside has answered, by room and valid bundles.
    prices: RefCell<HashMap<(i64, u32), Option<Price>>>,
}

impl<'a> Life<'a> {
    /// The life of planes with this many good blocks and valid pages; none where it cannot be played.
    fn new(plan: &'a Plan, usable: u32, live: u32, draws: Stream) -> Option<Life<'a>> {
        // A policy from outside may ask for anything.
        let (most, of_plane) = match plan.config.gc.victim {
            Victim::CostBenefit => (BUNDLES_OF_AGES, 4 * BUNDLES_OF_PLANE),
            _ if plan.config.policies.pick_victims() => (BUNDLES_OF_AGES, BUNDLES_OF_PLANE),
            _ => (BUNDLES, BUNDLES_OF_PLANE),
        };
        let blocks = usable.min(BLOCKS);
        let mut layout = plan.layout;
        layout.pages = plan.layout.pages.min(most).min(of_plane / blocks.max(1));
        layout.blocks = blocks;
        // Programs fill blocks to the end.
        let unit = f64::from(plan.unit_pages) * f64::from(layout.pages) / f64::from(plan.layout.pages);
        let unit = unit.round().max(1.0) as u32;
        layout.pages = layout.pages / unit * unit;
        let bundles = |pages: f64| pages * f64::from(layout.pages) / f64::from(plan.layout.pages);
        // What is neither free nor open is filled as far as in the whole plane.
        let apart = f64::from(plan.space.reserve + plan.space.open);
        let part = (f64::from(blocks) - apart) / (f64::from(usable) - apart);
        let live = bundles(f64::from(live) * part).round() as u32;
        let held = blocks.checked_sub(plan.config.gc.start + plan.space.open)?;
        if f64::from(live) < LEAST_VALID * f64::from(blocks) * f64::from(layout.pages) || live > held * layout.pages {
            return None;
        }
        let plane = Plane::new(plan, &layout, held, live);
        let (picks, draws) = (draws.entity(1), draws.entity(0));
        let mut life = Life {
            plan,
            layout,
            unit,
            plane,
            draws,
            drawn: 0,
            picks,
            picked: 0,
            fills: 0,
            opened: 0,
            between: 0,
            programs: 0,
            settled: 0,
            of_host: 0,
            cycle: 0,
            time: 0,
            interval: interval(plan),
            due: 0,
            taken: false,
            prices: RefCell::default(),
        };
        life.settle()?;
        Some(life)
    }

    /// Plays until every block has been written several times over.
    fn settle(&mut self) -> Option<()> {
        let pages = u64::from(self.layout.pages);
        let wanted = TURNOVERS * u64::from(self.layout.blocks) * pages / u64::from(self.unit);
        while self.programs < wanted / 2 {
            self.step()?;
        }
        (self.settled, self.of_host) = (self.programs, 0);
        while self.programs < wanted {
            self.step()?;
        }
        self.cycle = self.time / self.opened.max(1);
        Some(())
    }

    /// Programs for each of host data, since the first turnovers. A small plane is played on for it, when its states
    /// have been taken.
    fn amplification(&mut self) -> Option<f64> {
        while self.programs - self.settled < COUNTED {
            self.step()?;
        }
        Some((self.programs - self.settled) as f64 / self.of_host.max(1) as f64)
    }

    /// Plays a cycle on, and to a place in the next one. Places are moments, whatever happens then: each moment is as
    /// likely as any other, and so one in a long stretch is likelier than one in a short stretch.
    fn until_place(&mut self, place: f64) -> Option<()> {
        let whole = if self.taken { 1 } else { 1 + self.draw(8) };
        self.taken = true;
        let cycle = self.cycle.max(1);
        let on = (((place * cycle as f64) as u64) % cycle + cycle - self.time % cycle) % cycle;
        self.for_time(whole * cycle + on)
    }

    /// Plays some cycles on, until the host's block is filled so far.
    fn until_filled(&mut self, filled: u32) -> Option<()> {
        self.go_on()?;
        let until = self.time + 4 * self.cycle;
        while self.time < until && self.filled() != filled {
            self.step()?;
        }
        Some(())
    }

    /// States that are taken one after another have nothing to do with one another.
    fn go_on(&mut self) -> Option<()> {
        let time = self.cycle / 2 + self.draw(self.cycle.max(1));
        self.for_time(time)
    }

    fn for_time(&mut self, time: u64) -> Option<()> {
        let until = self.time + time;
        while self.time < until {
            self.step()?;
        }
        Some(())
    }

    /// How far the host's block is filled; as far as it goes where none is open.
    fn filled(&self) -> u32 {
        self.plane.open[0].map_or(self.layout.pages, |open| open.next)
    }

    /// The plane as it is.
    fn state(&self) -> PlaneState {
        self.plane.state((self.layout.pages, self.unit), self.programs, self.plan)
    }

    fn draw(&mut self, n: u64) -> u64 {
        self.drawn += 1;
        self.draws.below(self.drawn, n)
    }

    /// One program, or with idle dies the time up to the next one. None where the plane stands still.
    fn step(&mut self) -> Option<()> {
        match self.interval {
            None => self.busy_step(),
            Some(interval) => self.step_at_intervals(interval),
        }
    }

    /// Relocation for the time of a program, or nothing until the host's next one; and that, if its time has come.
    fn step_at_intervals(&mut self, interval: u64) -> Option<()> {
        self.collect();
        let relocates = self.plane.victim.is_some();
        if relocates {
            self.relocate();
            self.time += PARTS;
        } else {
            self.time = self.time.max(self.due);
        }
        if self.time < self.due {
            return Some(());
        }
        let class = self.next_class();
        if self.plane.takes(class, self.unit, self.plan) {
            self.host_program(class);
            // What could not be programmed in time waits in the buffer, which has an end.
            self.due = (self.due + interval).max(self.time.saturating_sub(8 * interval));
            Some(())
        } else {
            relocates.then_some(())
        }
    }

    fn busy_step(&mut self) -> Option<()> {
        self.time += 1;
        self.collect();
        let relocates = self.plane.victim.is_some();
        let class = self.next_class();
        let takes = self.plane.takes(class, self.unit, self.plan);
        let exclusive = relocates && !self.plan.config.gc.preemptible;
        if takes && !exclusive && (!relocates || self.between >= self.plan.relocations_between()) {
            self.between = 0;
            self.host_program(class);
            return Some(());
        }
        if !relocates {
            return None;
        }
        self.between += 1;
        self.relocate();
        Some(())
    }

    /// What the host's next data is: young, or not, where that is told apart.
    fn next_class(&mut self) -> StreamId {
        let ftl = &self.plan.config.ftl;
        if ftl.streams <= 2 || ftl.hints > 0 {
            return StreamId::new(0);
        }
        let block = self.valid_block();
        let young = self.plane.stream[block as usize].is_of_host();
        if young { StreamId::new(0) } else { StreamId::new(1) }
    }

    /// The block of a valid page, each with the same probability.
    fn valid_block(&mut self) -> u32 {
        let (blocks, pages) = (u64::from(self.layout.blocks), u64::from(self.layout.pages));
        loop {
            self.drawn += 1;
            let bits = self.draws.bits(self.drawn);
            let (block, page) = (((bits >> 32) * blocks) >> 32, ((bits & 0xFFFF_FFFF) * pages) >> 32);
            if page < u64::from(self.plane.valid[block as usize]) {
                return block as u32;
            }
        }
    }

    fn host_program(&mut self, class: StreamId) {
        self.programs += 1;
        self.of_host += 1;
        let stream = self.plan.streams.opened_by(class);
        for _ in 0..self.unit {
            let block = self.valid_block();
            let entry = &mut self.plane;
            entry.valid[block as usize] -= 1;
            entry.candidates.lose(block);
            self.put(stream, 1, 1);
        }
        let entry = &mut self.plane;
        entry.credit = (entry.credit - f64::from(self.unit)).max(0.0);
    }

    /// A program of relocated data, the last of a block in part padding.
    fn relocate(&mut self) {
        let Some((block, began, moved)) = self.plane.victim else { return };
        self.programs += 1;
        let again = !self.plane.stream[block as usize].is_of_host();
        let class = if again { StreamId::AGAIN } else { StreamId::RELOCATED };
        let stream = self.plan.streams.opened_by(class);
        let moves = self.unit.min(self.plane.valid[block as usize]);
        self.plane.valid[block as usize] -= moves;
        self.put(stream, self.unit, moves);
        self.plane.victim = Some((block, began, moved + moves));
        let price = self.price();
        let entry = &mut self.plane;
        if let (true, Some((relocated, host))) = (entry.paced, price) {
            entry.credit =
                (entry.credit + f64::from(moves) * host / relocated.max(1.0)).min(2.0 * f64::from(self.unit));
        }
        if entry.valid[block as usize] == 0 {
            entry.victim = None;
            entry.free.push(block);
        }
    }

    /// Programs `written` bundles of a stream, of which `valid` are.
    fn put(&mut self, stream: StreamId, mut written: u32, mut valid: u32) {
        while written > 0 {
            let entry = &mut self.plane;
            let already = entry.open[stream.index()];
            let Some(mut open) = already.or_else(|| entry.open_block(stream)) else { return };
            if already.is_none() {
                entry.written[open.block as usize] = self.programs;
            }
            self.opened += u64::from(already.is_none() && stream == StreamId::new(0));
            let here = written.min(self.layout.pages - open.next);
            let kept = here.min(valid);
            (open.next, written, valid) = (open.next + here, written - here, valid - kept);
            entry.valid[open.block as usize] += kept;
            entry.candidates.now = entry.candidates.now.wrapping_add(here);
            if open.next < self.layout.pages {
                entry.open[stream.index()] = Some(open);
                continue;
            }
            entry.open[stream.index()] = None;
            self.fills += 1;
            entry.filled[open.block as usize] = self.fills;
            let written = &mut entry.written[open.block as usize];
            *written = (*written + self.programs) / 2;
            let facts = entry.facts(open.block);
            entry.candidates.insert(open.block, entry.valid[open.block as usize], facts);
        }
    }

    /// Begins to collect a block, where there is reason to; blocks without valid pages are free at once.
    fn collect(&mut self) {
        let gc = &self.plan.config.gc;
        loop {
            let entry = &mut self.plane;
            let free = entry.free.len() as u32;
            entry.running = free < gc.start || entry.running && free < gc.stop;
            let in_background = gc.idle.is_some() && free < gc.idle_stop && self.interval.is_some();
            if !entry.running && !in_background || entry.victim.is_some() {
                break;
            }
            entry.candidates.settle();
            let policies = &self.plan.config.policies;
            let pick = policies.pick(gc.victim, &mut entry.candidates, self.picks, &mut self.picked);
            entry.no_victim = pick.is_none();
            let Some(block) = pick else { break };
            entry.candidates.remove(block);
            let valid = entry.valid[block as usize];
            if valid > 0 {
                entry.victim = Some((block, valid, 0));
                break;
            }
            entry.free.push(block);
        }
        let paced = self.plane.running && !self.plane.no_victim && self.price().is_some();
        let entry = &mut self.plane;
        if entry.paced != paced {
            (entry.paced, entry.credit) = (paced, 0.0);
        }
    }

    /// What host data costs, as `Ftl::price` has it: relocated bundles, and those of the host that they pay for.
    fn price(&self) -> Option<(f64, f64)> {
        let (entry, config) = (&self.plane, &self.plan.config);
        if config.gc.pacing == Pacing::None {
            return None;
        }
        let (pages, reserve) = (self.layout.pages, self.plan.space.reserve);
        let block = i64::from(pages);
        let (valid, done) = match entry.victim {
            Some((_, began, moved)) => (began, i64::from(pages) * i64::from(moved) / i64::from(began.max(1))),
            None => (0, 0),
        };
        let left = |stream: usize| entry.open[stream].map_or(0, |open| i64::from(pages - open.next));
        let left: i64 = (0..StreamId::MAP.index()).map(left).sum();
        let room = (entry.free.len() as i64 - i64::from(reserve)) * block + left + done;
        let least = block * i64::from(config.ftl.streams.max(2) - 1);
        let start = least + block * (i64::from(config.gc.start) - 1 - i64::from(reserve)).max(1);
        let asked = Collection { room, least, start, pages, valid };
        let price = || config.policies.price(config.gc.pacing, asked);
        // A policy from outside answers the same each time.
        let price =
            if self.plan.asks { *self.prices.borrow_mut().entry((room, valid)).or_insert_with(price) } else { price() };
        price.map(|price| (price.relocated as f64, price.host as f64))
    }
}

impl Plane {
    /// Full blocks with a profile that falls exponentially, the next victim first; the others are free.
    fn new(plan: &Plan, layout: &Layout, held: u32, live: u32) -> Plane {
        let before = super::profile::overwritten(live, held, layout.pages);
        let blocks = layout.blocks as usize;
        let by_valid = plan.config.gc.victim.asks_for_valid();
        // A bundle of padding is less than one of valid pages.
        let limit = layout.pages - (layout.pages - plan.space.victim_valid_limit * layout.pages / plan.layout.pages);
        let mut plane = Plane {
            candidates: FullBlocks::new(layout, by_valid, limit.max(1)),
            valid: vec![0; blocks],
            stream: vec![StreamId::new(1); blocks],
            filled: vec![0; blocks],
            written: vec![0; blocks],
            free: (held..layout.blocks).rev().collect(),
            open: [None; MOST],
            victim: None,
            running: false,
            no_victim: false,
            paced: false,
            credit: 0.0,
        };
        for block in 0..held {
            plane.valid[block as usize] = before[block as usize + 1] - before[block as usize];
            plane.candidates.insert(block, plane.valid[block as usize], plane.facts(block));
        }
        if plan.config.policies.pick_victims() {
            plane.candidates.show((0..layout.blocks).map(|block| plane.facts(block)).collect());
        }
        plane
    }

    /// What policies from outside are told of a block: none has been erased in the run.
    fn facts(&self, block: u32) -> BlockFacts {
        BlockFacts { erases: 0, stream: self.stream[block as usize].of_host() }
    }

    /// Opens a block for a stream.
    fn open_block(&mut self, stream: StreamId) -> Option<Open> {
        let block = self.free.pop()?;
        self.stream[block as usize] = stream;
        self.open[stream.index()] = Some(Open { block, next: 0 });
        self.open[stream.index()]
    }

    /// Whether a program of host data can start, as `Blocks::room` and `Ftl::pays` have it.
    fn takes(&self, class: StreamId, unit: u32, plan: &Plan) -> bool {
        let (stream, free, reserve) = (plan.streams.opened_by(class), self.free.len() as u32, plan.space.reserve);
        let room = match self.open[stream.index()] {
            Some(_) => !(plan.config.ftl.streams == 1 && stream == StreamId::new(0)) || free >= reserve,
            None => free > reserve,
        };
        room && (!self.paced || self.credit >= f64::from(unit))
    }

    /// What the plane holds, whose blocks have this many bundles.
    fn state(&self, (of_block, unit): (u32, u32), programs: u64, plan: &Plan) -> PlaneState {
        let full = |block: &u32| self.candidates.contains(*block);
        let mut blocks: Vec<u32> = (0..self.valid.len() as u32).filter(full).collect();
        let since = |block: u32| self.candidates.block(block).1;
        match plan.config.gc.victim.asks_for_valid() {
            true => blocks.sort_by_key(|block| std::cmp::Reverse(since(*block))),
            false => blocks.sort_by_key(|block| self.filled[*block as usize]),
        }
        let pages = |bundles: u32| (u64::from(bundles) * u64::from(plan.layout.pages) / u64::from(of_block)) as u32;
        let turnover = self.valid.len() as u64 * u64::from(of_block / unit);
        let age = |block: u32| Turnovers::of(programs - self.written[block as usize], turnover);
        let open = |open: Open| (pages(open.next), pages(self.valid[open.block as usize]));
        let full = |block: u32| FullState {
            valid: pages(self.valid[block as usize]),
            since: since(block),
            stream: self.stream[block as usize],
            age: age(block),
        };
        PlaneState {
            full: blocks.iter().map(|block| full(*block)).collect(),
            victim: self.victim.map(|(block, began, moved)| VictimState {
                stream: self.stream[block as usize],
                age: age(block),
                began: pages(began),
                moved: pages(moved),
                left: pages(self.valid[block as usize]),
            }),
            open: self.open.map(|stream| stream.map(open)),
            // They have been written since they were opened.
            open_ages: self.open.map(|stream| stream.map_or(Turnovers(0), |open| Turnovers(age(open.block).0 / 2))),
            running: self.running,
        }
    }
}
