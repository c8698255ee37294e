//! The state that a run starts from, as an invertible formula: which page holds which logical page, so that
//! a 2-TiB drive starts in no time and takes no memory until it is written.
//!
//! Pages were dealt to the planes in the page allocation order. The blocks of a plane hold live pages by a
//! profile, the same for all planes, and within a block live pages are spread evenly. Profiles:
//!
//! - written in order, `age.invalid` of the pages stale: the same share everywhere;
//! - `closed-form`: as after long uniform overwriting. A page survives an overwrite of any page with the same
//!   probability, so a block's valid share falls exponentially with the time since it was filled: exp(-b x) at
//!   x = 0 (the youngest block) .. 1 (the next victim). Its mean is live over physical pages, (1 - exp(-b)) / b =
//!   1 / alpha, which gives b; then b = alpha / A, with A = alpha / (alpha + W(-alpha exp(-alpha))) the write
//!   amplification under FIFO (Desnoyers, SYSTOR'12 section 3). A greedy collector keeps the same profile: a block
//!   passes through all counts of valid pages from full to the victim's, and stays at each in inverse
//!   proportion to it. So it is where all planes begin alike (`age.staggered`); otherwise each plane has a profile of
//!   its own and is at a place of its own in its cycle, with open blocks and a block that is being collected:
//!   [`super::stationary`] says how many valid pages each block has, and the formula which they are.

use nand::{Address, Layout, PlaneId};
use schemes::Victim;
use units::{Lpn, Ppn};

use super::profile::overwritten;
use super::rows::{Role, StripedRows};
use super::stationary::{self, PlaneState, Turnovers, VictimState};
use crate::config::{Placement, Plan, Precondition};
use crate::streams::{MOST, StreamId};

/// The initial contents of the flash.
pub(crate) struct Aged {
    layout: Layout,
    /// Logical pages below this hold data.
    pub filled: u64,
    /// Pages of the map are numbered from here; those below the second number have been written.
    map_from: u64,
    map_to: u64,
    /// Pages with data, the map's included.
    count: u64,
    planes: Divisor,
    pages: Divisor,
    /// Bits that number the pages that are dealt to a plane together.
    deal_bits: u32,
    plane_of_position: Vec<u32>,
    position_of_plane: Vec<u32>,
    /// Blocks that are full of live pages, in order: no table is needed.
    dense: bool,
    /// Live pages in the blocks before each block: a row for all planes, or one for each.
    before: Rows,
    /// The block of every 2^`guess_bits` live pages.
    guess: Rows,
    guess_bits: u32,
    shuffle: Option<Shuffle>,
    /// Where each plane is in its cycle, if not all begin alike.
    starts: Vec<PlaneStart>,
    /// The write amplification of the load that has brought them there.
    amplification: Option<f64>,
    /// Pages programmed on its plane since each block lost a valid one, where the victim policy asks for them.
    untouched: Option<Rows>,
    /// How old the data of each block is, where that is known.
    ages: Vec<Vec<Turnovers>>,
    /// The stream that filled each block, where data goes by where its last version was.
    streams: Option<Rows>,
    /// Where there is parity: how the pages stand in stripes, and the number from which the pages of their parity are
    /// numbered.
    striped: Option<(StripedRows, u64)>,
}

/// Rows of numbers, one for all planes or one for each.
#[derive(Default)]
struct Rows {
    numbers: Vec<u32>,
    /// Numbers from one plane's row to the next one's: none where it is the same.
    stride: usize,
    length: usize,
}

impl Rows {
    fn shared(numbers: Vec<u32>) -> Rows {
        Rows { stride: 0, length: numbers.len(), numbers }
    }

    /// A row for each plane; what a row lacks of the longest one's length is its last number.
    fn of_planes(rows: &[Vec<u32>]) -> Rows {
        let length = rows.iter().map(Vec::len).max().unwrap_or(0);
        let last = |row: &[u32]| row.last().copied().unwrap_or(0);
        let numbers = rows.iter().flat_map(|row| (0..length).map(|at| row.get(at).copied().unwrap_or(last(row))));
        Rows { numbers: numbers.collect(), stride: length, length }
    }

    #[inline]
    fn row(&self, plane: PlaneId) -> &[u32] {
        let first = plane.0 as usize * self.stride;
        &self.numbers[first..first + self.length]
    }
}

/// Where a plane is in its cycle at the start. Its blocks are numbered: full ones, the next victim first, then the one
/// that is being collected, then the open ones.
pub(crate) struct PlaneStart {
    full: u32,
    /// Of each block that is not full, where its data begins and ends: of a victim it is what has not moved yet.
    parts: Vec<(u32, u32)>,
    /// The block that is being collected, and what has become of it.
    pub victim: Option<(u32, VictimState)>,
    /// The open blocks of each stream, and the pages written in them.
    pub open: [Option<(u32, u32)>; MOST],
    /// Collection goes on.
    pub running: bool,
}

impl Aged {
    /// `usable` blocks of each plane are good, and may hold data.
    pub fn new(plan: &Plan, usable: &[u32], seed: u64) -> Aged {
        let (layout, age) = (plan.layout, &plan.config.age);
        let plane_of_position = plan.config.ftl.page_order.planes(&layout);
        let mut position_of_plane = vec![0; plane_of_position.len()];
        for (position, plane) in plane_of_position.iter().enumerate() {
            position_of_plane[*plane as usize] = position as u32;
        }
        // What was written in order fills flash pages with neighbours. What was overwritten at random for long stands
        // anywhere, but for static placement.
        let scattered = age.precondition == Precondition::ClosedForm && plan.config.ftl.placement == Placement::Dynamic;
        let deal_bits = if scattered { 0 } else { layout.shared().trailing_zeros() };
        let striped = plan.config.ftl.raid.wide().filter(|_| age.fill.0 > 0.0).map(|wide| {
            let first = plan.first_parity() + layout.raw_pages();
            (StripedRows::new(&layout, wide, &plane_of_position), first)
        });
        let map_of = |filled: u64| {
            if plan.space.map_pages > 0 { filled.div_ceil(plan.space.map_entries.into()) } else { 0 }
        };
        // Zones that are full at the start are filled as in a run (`zones.rs`).
        let share = if plan.zones.is_some() { 0.0 } else { age.fill.0 };
        let mut filled = (plan.logical_pages as f64 * share) as u64;
        let mut count = filled + map_of(filled);
        if let Some((rows, _)) = &striped {
            // Rows are full: what would begin another one is left out.
            let row = rows.data << deal_bits;
            while !count.is_multiple_of(row) {
                filled -= (count % row).min(filled);
                count = filled + map_of(filled);
            }
            count += (count / row * rows.stripes) << deal_bits;
        }
        let map = map_of(filled);
        let mut aged = Aged {
            layout,
            filled,
            map_from: plan.logical_pages,
            map_to: plan.logical_pages + map,
            count,
            planes: Divisor::new(layout.planes),
            pages: Divisor::new(layout.pages),
            plane_of_position,
            position_of_plane,
            dense: age.precondition != Precondition::ClosedForm && age.invalid.0 == 0.0,
            before: Rows::default(),
            guess: Rows::default(),
            // About one block's worth.
            guess_bits: layout.pages.ilog2().saturating_sub(1),
            shuffle: (age.precondition == Precondition::ClosedForm)
                .then(|| Shuffle::new(dealt(count, deal_bits, &layout, layout.planes - 1))),
            deal_bits,
            starts: Vec::new(),
            amplification: None,
            untouched: None,
            ages: Vec::new(),
            streams: None,
            striped,
        };
        let of_planes: Vec<u32> = (0..layout.planes).map(|plane| aged.count_of(PlaneId(plane))).collect();
        match stationary::states(plan, usable, &of_planes, seed) {
            Some(life) => {
                aged.amplification = Some(life.amplification);
                aged.begin_apart(plan, &life.planes);
            }
            None => aged.begin_alike(plan, usable.iter().copied().min().unwrap_or(layout.blocks)),
        }
        aged
    }

    /// All planes begin alike.
    fn begin_alike(&mut self, plan: &Plan, usable: u32) {
        let age = &plan.config.age;
        let per_plane = dealt(self.count, self.deal_bits, &self.layout, 0);
        let before = match age.precondition {
            Precondition::ClosedForm => {
                overwritten(per_plane, plan.space.initial_blocks(&plan.config, usable), self.layout.pages)
            }
            Precondition::None | Precondition::Write(_) => spread(per_plane, 1.0 - age.invalid.0, self.layout.pages),
        };
        self.guess = Rows::shared(guesses(&before, self.guess_bits));
        self.before = Rows::shared(before);
    }

    /// Each plane begins at a place of its own.
    fn begin_apart(&mut self, plan: &Plan, states: &[PlaneState]) {
        let (mut before, mut guess, mut untouched, mut streams) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for state in states {
            let mut row = vec![0];
            let mut live = 0;
            let mut add = |valid: u32| {
                live += valid;
                row.push(live);
            };
            state.full.iter().for_each(|block| add(block.valid));
            let mut filled_by: Vec<u32> = state.full.iter().map(|block| block.stream.index() as u32).collect();
            filled_by.extend(state.victim.map(|victim| victim.stream.index() as u32));
            filled_by.extend((0u32..).zip(&state.open).filter_map(|(stream, open)| open.map(|_| stream)));
            streams.push(filled_by);
            let full = state.full.len() as u32;
            let (mut next, mut parts) = (full, Vec::new());
            let victim = state.victim.map(|victim| {
                add(victim.left);
                let gone = u64::from(self.layout.pages) * u64::from(victim.moved) / u64::from(victim.began.max(1));
                let from = (gone as u32).min(self.layout.pages - victim.left);
                parts.push((from, self.layout.pages));
                next += 1;
                (next - 1, victim)
            });
            let open = state.open.map(|stream| {
                stream.map(|(written, valid)| {
                    add(valid);
                    parts.push((0, written));
                    next += 1;
                    (next - 1, written)
                })
            });
            guess.push(guesses(&row, self.guess_bits));
            before.push(row);
            let mut ages: Vec<Turnovers> = state.full.iter().map(|block| block.age).collect();
            ages.extend(state.victim.map(|victim| victim.age));
            ages.extend(state.open.iter().zip(state.open_ages).filter_map(|(open, age)| open.map(|_| age)));
            self.ages.push(ages);
            untouched.push(state.full.iter().map(|block| block.since).collect());
            self.starts.push(PlaneStart { full, parts, victim, open, running: state.running });
        }
        (self.before, self.guess) = (Rows::of_planes(&before), Rows::of_planes(&guess));
        self.untouched = (plan.config.gc.victim == Victim::CostBenefit).then(|| Rows::of_planes(&untouched));
        self.streams = (plan.config.ftl.streams > 2).then(|| Rows::of_planes(&streams));
    }

    /// The stream that filled the block of a page of the initial state, where that is known and matters.
    pub fn stream_of(&self, ppn: Ppn) -> Option<StreamId> {
        let rows = self.streams.as_ref()?;
        let Address { plane, block, .. } = self.layout.unpack(ppn);
        rows.row(plane).get(block as usize).map(|stream| StreamId::new(*stream as usize))
    }

    /// Where a plane is in its cycle at the start, if not all begin alike.
    pub fn start(&self, plane: PlaneId) -> Option<&PlaneStart> {
        self.starts.get(plane.0 as usize)
    }

    /// The write amplification of uniform overwriting, as it was when the state was taken.
    pub fn amplification(&self) -> Option<f64> {
        self.amplification
    }

    /// How old the data of a block of the initial state is, where that is known.
    pub fn age(&self, plane: PlaneId, block: u32) -> Option<Turnovers> {
        let blocks = self.ages.get(plane.0 as usize)?;
        Some(blocks.get(block as usize).copied().unwrap_or_default())
    }

    /// Pages programmed on a plane since a block of the initial state lost a valid one, where that is known.
    pub fn untouched(&self, plane: PlaneId, block: u32) -> u32 {
        self.untouched.as_ref().and_then(|rows| rows.row(plane).get(block as usize)).copied().unwrap_or(0)
    }

    /// The plane that a page is dealt to.
    #[inline]
    pub fn plane_of(&self, lpn: Lpn) -> PlaneId {
        if let Some((rows, _)) = &self.striped {
            let place = rows.of_data(lpn.0 >> self.deal_bits);
            return PlaneId(self.plane_of_position[self.planes.div_rem(place).1 as usize]);
        }
        let position = self.planes.div_rem(lpn.0 >> self.deal_bits).1;
        PlaneId(self.plane_of_position[position as usize])
    }

    /// Where the drive's initial data for a page stands, if there is any.
    #[inline]
    pub fn physical(&self, lpn: Lpn) -> Option<Ppn> {
        let number = if self.striped.is_some() {
            self.striped_number(lpn)?
        } else if lpn.0 < self.filled {
            lpn.0
        } else {
            self.map_number(lpn)?
        };
        Some(self.stands_at(number))
    }

    /// Where the page of a number stands.
    #[inline]
    fn stands_at(&self, number: u64) -> Ppn {
        let (round, position) = self.planes.div_rem(number >> self.deal_bits);
        let index = round << self.deal_bits | number as u32 & ((1 << self.deal_bits) - 1);
        let plane = PlaneId(self.plane_of_position[position as usize]);
        let (block, page) = if self.dense { self.pages.div_rem(index.into()) } else { self.place(plane, index) };
        self.layout.pack(Address { plane, block, page })
    }

    /// The number of a page in stripes.
    #[cold]
    fn striped_number(&self, lpn: Lpn) -> Option<u64> {
        let (rows, first) = self.striped.as_ref()?;
        let (bits, within) = (self.deal_bits, (1 << self.deal_bits) - 1);
        if let Some(parity) = lpn.0.checked_sub(*first) {
            let number = rows.of_parity(parity >> bits) << bits | parity & within;
            return (number < self.count).then_some(number);
        }
        let data = if lpn.0 < self.filled { lpn.0 } else { self.map_number(lpn)? };
        Some(rows.of_data(data >> bits) << bits | data & within)
    }

    /// The page that has a number.
    #[inline]
    fn with_number(&self, number: u64) -> Lpn {
        let data = if self.striped.is_some() {
            match self.role_of(number) {
                Ok(data) => data,
                Err(parity) => return parity,
            }
        } else {
            number
        };
        Lpn(if data < self.filled { data } else { data - self.filled + self.map_from })
    }

    /// Pages of parity that the initial state has on a plane.
    pub fn parity_of(&self, plane: PlaneId) -> u32 {
        let Some((rows, _)) = &self.striped else { return 0 };
        let position = u64::from(self.position_of_plane[plane.0 as usize]);
        let pages = rows.parity_at(position, (self.count >> self.deal_bits) / u64::from(self.layout.planes));
        (pages << self.deal_bits) as u32
    }

    /// In stripes: what data it is, or the page of the map that stands for parity.
    #[cold]
    fn role_of(&self, number: u64) -> Result<u64, Lpn> {
        let Some((rows, first)) = &self.striped else { return Ok(number) };
        let within = number & ((1 << self.deal_bits) - 1);
        match rows.role(number >> self.deal_bits) {
            Role::Data(data) => Ok(data << self.deal_bits | within),
            Role::Parity(stripe) => Err(Lpn(first + (stripe << self.deal_bits | within))),
        }
    }

    /// The page of the map that stands for the parity of the stripe in which a page of the initial state is.
    pub fn parity_with(&self, ppn: Ppn) -> Option<Lpn> {
        let (rows, first) = self.striped.as_ref()?;
        let number = self.number_at(self.layout.unpack(ppn))?;
        let within = number & ((1 << self.deal_bits) - 1);
        Some(Lpn(first + (rows.stripe(number >> self.deal_bits) << self.deal_bits | within)))
    }

    /// The pages of data of the stripe that has that parity.
    pub fn stripe_with(&self, parity: Lpn) -> Vec<Ppn> {
        let Some((rows, first)) = &self.striped else { return Vec::new() };
        let (bits, number) = (self.deal_bits, parity.0 - first);
        let within = number & ((1 << bits) - 1);
        rows.members(number >> bits).map(|place| self.stands_at(place << bits | within)).collect()
    }

    #[cold]
    fn map_number(&self, lpn: Lpn) -> Option<u64> {
        (self.map_from..self.map_to).contains(&lpn.0).then(|| lpn.0 - self.map_from + self.filled)
    }

    #[inline]
    fn place(&self, plane: PlaneId, index: u32) -> (u32, u32) {
        let index = self.shuffle.as_ref().map_or(index, |shuffle| shuffle.apply(index));
        let before = self.before.row(plane);
        let mut block = self.guess.row(plane)[(index >> self.guess_bits) as usize];
        while before[block as usize + 1] <= index {
            block += 1;
        }
        let (first, live) = (before[block as usize], before[block as usize + 1] - before[block as usize]);
        let (from, upto) = self.part(plane, block);
        (block, from + (u64::from(index - first) * u64::from(upto - from) / u64::from(live)) as u32)
    }

    /// The pages of a block that may hold live data.
    #[inline]
    fn part(&self, plane: PlaneId, block: u32) -> (u32, u32) {
        match self.starts.get(plane.0 as usize) {
            Some(start) if block >= start.full => start.parts[(block - start.full) as usize],
            _ => (0, self.layout.pages),
        }
    }

    /// Live pages of a block in the profile.
    fn live(&self, plane: PlaneId, block: u32) -> u32 {
        let before = self.before.row(plane);
        before[block as usize + 1] - before[block as usize]
    }

    /// Blocks of a plane in the profile.
    fn blocks(&self, plane: PlaneId) -> u32 {
        match self.start(plane) {
            Some(start) => start.full + start.parts.len() as u32,
            None => self.before.length as u32 - 1,
        }
    }

    /// Pages dealt to a plane.
    fn count_of(&self, plane: PlaneId) -> u32 {
        dealt(self.count, self.deal_bits, &self.layout, self.position_of_plane[plane.0 as usize])
    }

    /// The page whose initial data stands in a physical page, if any.
    pub fn logical(&self, address: Address) -> Option<Lpn> {
        self.number_at(address).map(|number| self.with_number(number))
    }

    /// Whether a physical page holds data.
    pub fn is_filled(&self, address: Address) -> bool {
        self.number_at(address).is_some()
    }

    /// The number of the page that stands there.
    #[inline]
    fn number_at(&self, address: Address) -> Option<u64> {
        if address.block >= self.blocks(address.plane) {
            return None;
        }
        let (from, upto) = self.part(address.plane, address.block);
        let page = u64::from(address.page.checked_sub(from).filter(|_| address.page < upto)?);
        let (live, pages) = (u64::from(self.live(address.plane, address.block)), u64::from(upto - from));
        let within = if self.dense { page } else { (page * live).div_ceil(pages) };
        if within >= live || (!self.dense && within * pages / live != page) {
            return None;
        }
        let index = self.before.row(address.plane)[address.block as usize] + within as u32;
        if index >= self.count_of(address.plane) {
            return None;
        }
        let index = self.shuffle.as_ref().map_or(index, |shuffle| shuffle.invert(index));
        let position = self.position_of_plane[address.plane.0 as usize];
        let (round, within) = (index >> self.deal_bits, index & ((1 << self.deal_bits) - 1));
        let deal = u64::from(round) * u64::from(self.layout.planes) + u64::from(position);
        Some(deal << self.deal_bits | u64::from(within))
    }

    /// Blocks of a plane that the initial data takes, the last of them perhaps in part.
    pub fn used_blocks(&self, plane: PlaneId) -> u32 {
        match self.count_of(plane) {
            _ if self.start(plane).is_some() => self.blocks(plane),
            0 => 0,
            // All of a profile's blocks, but for the last page that this plane may lack.
            count => self.before.row(plane).partition_point(|before| *before < count) as u32,
        }
    }

    /// Live pages that the initial data put into a block.
    pub fn live_in_block(&self, plane: PlaneId, block: u32) -> u32 {
        if block >= self.blocks(plane) {
            return 0;
        }
        let (before, count) = (self.before.row(plane), self.count_of(plane));
        before[block as usize + 1].min(count) - before[block as usize].min(count)
    }

    /// Live pages that the initial data put into a plane.
    pub fn live_in_plane(&self, plane: PlaneId) -> u32 {
        self.count_of(plane)
    }
}

/// The block of every 2^`bits` live pages, where this many are in the blocks before each.
fn guesses(before: &[u32], bits: u32) -> Vec<u32> {
    let mut block = 0;
    let count = before.last().copied().unwrap_or(0);
    let block_of = |index: u32| {
        while before[block + 1] <= index {
            block += 1;
        }
        block as u32
    };
    (0..count).step_by(1 << bits).map(block_of).collect()
}

/// Of `count` pages, dealt to planes in turn by 2^`deal_bits` of them, those that come to a position.
fn dealt(count: u64, deal_bits: u32, layout: &Layout, position: u32) -> u32 {
    let (planes, position) = (u64::from(layout.planes), u64::from(position));
    let (deals, rest) = (count >> deal_bits, count & ((1 << deal_bits) - 1));
    let whole = deals / planes + u64::from(position < deals % planes);
    ((whole << deal_bits) + if position == deals % planes { rest } else { 0 }) as u32
}

/// The profile of data that was written in order with a share of live pages: live pages before each block.
fn spread(count: u32, live: f64, pages: u32) -> Vec<u32> {
    let blocks = (f64::from(count) / live / f64::from(pages)).ceil() as u32;
    let share = (live * f64::from(1u32 << 24)).ceil() as u64;
    let before = |block: u32| ((u64::from(block) * u64::from(pages) * share) >> 24).min(u64::from(count)) as u32;
    let mut before: Vec<u32> = (0..blocks).map(before).collect();
    before.push(count);
    before
}

/// A permutation of 0..n by one multiplication modulo n, which scatters neighbours over all blocks. Numbers from n
/// on stay where they are.
struct Shuffle {
    n: u64,
    factor: u64,
    inverse: u64,
}

impl Shuffle {
    fn new(n: u32) -> Shuffle {
        let n = u64::from(n.max(1));
        // Near n over the golden ratio neighbours end up as far apart as can be.
        let start = (n as f64 * 0.618_033_988_749_895) as u64;
        let (factor, inverse) =
            (start.max(1)..).find_map(|factor| Some((factor, inverse(factor, n)?))).unwrap_or((1, 1));
        Shuffle { n, factor, inverse }
    }

    fn apply(&self, index: u32) -> u32 {
        if u64::from(index) < self.n { (u64::from(index) * self.factor % self.n) as u32 } else { index }
    }

    fn invert(&self, index: u32) -> u32 {
        if u64::from(index) < self.n { (u64::from(index) * self.inverse % self.n) as u32 } else { index }
    }
}

/// The inverse of `a` modulo `n`, where they have no common factor (extended Euclid).
fn inverse(a: u64, n: u64) -> Option<u64> {
    let (mut r, mut next_r) = (n as i128, (a % n) as i128);
    let (mut t, mut next_t) = (0i128, 1i128);
    while next_r != 0 {
        let quotient = r / next_r;
        (r, next_r) = (next_r, r - quotient * next_r);
        (t, next_t) = (next_t, t - quotient * next_t);
    }
    (r == 1).then(|| t.rem_euclid(n as i128) as u64)
}

/// Division by a constant through one multiplication (Lemire, Kaser, Kurz, "Faster remainder by direct computation",
/// arXiv:1902.01961, with a 64-bit reciprocal): exact where the number times the divisor is below 2^64. Pages of a
/// device are fewer than 2^41 and its planes fewer than 2^16; pages of a plane and of a block fewer than 2^32.
#[derive(Clone, Copy)]
struct Divisor {
    by: u32,
    reciprocal: u64,
}

impl Divisor {
    fn new(by: u32) -> Divisor {
        Divisor { by, reciprocal: (u64::MAX / u64::from(by)).wrapping_add(1) }
    }

    #[inline]
    fn div_rem(self, n: u64) -> (u32, u32) {
        // A divisor of one has a reciprocal of 2^64, which is 0 here.
        let quotient = if self.by == 1 { n } else { ((u128::from(self.reciprocal) * u128::from(n)) >> 64) as u64 };
        (quotient as u32, (n - quotient * u64::from(self.by)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use units::Fraction;

    fn aged(fill: f64, invalid: f64, settings: &[&str]) -> (Aged, Plan) {
        let mut config = Config::default();
        config.geometry.channels = 3;
        config.geometry.blocks = 60;
        config.geometry.pages = 30;
        config.ftl.over_provisioning = 0.6;
        config.age.fill = Fraction(fill);
        config.age.invalid = Fraction(invalid);
        settings.iter().for_each(|word| config.set(word).unwrap());
        let plan = config.plan().unwrap();
        (Aged::new(&plan, &vec![plan.layout.blocks; plan.layout.planes as usize], 1), plan)
    }

    #[test]
    fn the_initial_map_is_a_bijection_between_filled_and_live_pages() {
        let cached = "mapping.table=cached";
        let small = "mapping.entry=64B";
        for (fill, invalid) in [(1.0, 0.0), (0.5, 0.0), (0.7, 0.25), (0.2, 0.66), (0.0, 0.0), (0.001, 0.1)] {
            for settings in [
                &["ftl.page_order=CWDP"][..],
                &["ftl.page_order=PCWD", cached, small],
                &["age.precondition=closed-form", cached],
            ] {
                let invalid = if settings.len() == 2 { 0.0 } else { invalid };
                let (aged, plan) = aged(fill, invalid, settings);
                let layout = plan.layout;
                let total = plan.logical_pages + u64::from(plan.space.map_pages);
                let mut mapped = 0;
                for lpn in (0..total).map(Lpn) {
                    let Some(ppn) = aged.physical(lpn) else { continue };
                    mapped += 1;
                    assert_eq!(aged.logical(layout.unpack(ppn)), Some(lpn));
                }
                let entries = u64::from(plan.space.map_entries);
                let map = if plan.space.map_pages > 0 { aged.filled.div_ceil(entries) } else { 0 };
                assert_eq!(mapped, aged.filled + map);
                let mut live = 0;
                for plane in (0..layout.planes).map(PlaneId) {
                    let mut in_plane = 0;
                    for block in 0..layout.blocks {
                        let here = (0..layout.pages)
                            .filter(|page| aged.logical(Address { plane, block, page: *page }).is_some())
                            .count() as u32;
                        assert_eq!(here, aged.live_in_block(plane, block));
                        assert!(here == 0 || block < aged.used_blocks(plane));
                        in_plane += here;
                    }
                    assert_eq!(in_plane, aged.live_in_plane(plane));
                    live += u64::from(in_plane);
                }
                assert_eq!(live, mapped);
            }
        }
    }

    #[test]
    fn host_data_written_in_order_is_dealt_by_address() {
        let (aged, plan) = aged(0.9, 0.1, &["ftl.page_order=CWDP"]);
        for lpn in (0..aged.filled).map(Lpn) {
            assert_eq!(plan.layout.plane_of(aged.physical(lpn).unwrap()), aged.plane_of(lpn));
        }
    }

    #[test]
    fn a_share_of_stale_pages_spreads_the_data_over_that_many_more_blocks() {
        let (dense, _) = aged(0.5, 0.0, &[]);
        let (spread, _) = aged(0.5, 0.5, &[]);
        assert!(spread.used_blocks(PlaneId(0)).abs_diff(2 * dense.used_blocks(PlaneId(0))) <= 1);
    }

    #[test]
    fn the_closed_form_decays_exponentially_from_full_blocks_to_the_next_victim() {
        let before = overwritten(80_000, 1000, 100);
        let live: Vec<f64> = before.windows(2).map(|pair| f64::from(pair[1] - pair[0])).collect();
        // alpha = 1.25: W(-1.25 exp(-1.25)) = -0.7675..., A = 2.69, and 1 - 1/A = 0.6289 of a victim is valid.
        assert!((live[..10].iter().sum::<f64>() / 1000.0 - 0.6289).abs() < 0.003, "{:?}", &live[..10]);
        assert!((live[990..].iter().sum::<f64>() / 1000.0 - 1.0).abs() < 0.005);
        assert!((live[495..505].iter().sum::<f64>() / 1000.0 - 0.6289f64.sqrt()).abs() < 0.003);
        assert_eq!(before[1000], 80_000);
    }

    #[test]
    fn a_divisor_divides_exactly() {
        for by in [1, 2, 3, 7, 64, 576, 1888, 2112, 32_767, 32_768, u32::MAX] {
            let most = if by < 1 << 16 { (1 << 41) - 1 } else { u64::from(u32::MAX) };
            let (exact, most) = (u64::from(by), most.min((u64::from(by) << 32) - 1));
            for n in [0, 1, 2, exact - 1, exact, exact + 1, 123_456_789, most - 1, most].map(|n| n.min(most)) {
                assert_eq!(Divisor::new(by).div_rem(n), ((n / exact) as u32, (n % exact) as u32));
            }
        }
    }
}
