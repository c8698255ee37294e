//! Where the chunks of stripes lie. Pure functions of the configuration: a stripe has `data` chunks of the address
//! space and `parity` chunks, its units; any `data` of them give the others. A mirror is the code of one data chunk,
//! whose parity chunks are copies.

use ssd::persist::stored;
use units::Bytes;
use units::random::Stream;

units::choices! {
    /// Where the units of a stripe lie.
    pub enum Placement {
        /// At the same row of neighbouring drives, the parity on another one in each row (left-symmetric).
        Rotated = "rotated",
        /// On drives drawn at random, evenly.
        Declustered = "declustered",
        /// On drives that the hash of the stripe names, as objects are placed: some drives have more of them than
        /// others.
        Hashed = "hashed",
    }
}

/// Tables of declustered stripes whose drives are drawn; further ones repeat them.
const TABLES: usize = 64;

/// Placement groups of a drive, among which a hash spreads stripes; fewer where a drive has not twice as many rows
/// (assumed: what Ceph recommends, Weil et al., "CRUSH: Controlled, Scalable, Decentralized Placement of Replicated
/// Data", SC 2006, is of this order).
const GROUPS: u64 = 100;

/// A maximum-distance separable code: any `data` of its units give all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Units that hold data as it is.
    pub data: usize,
    /// Units that are worked out of them.
    pub parity: usize,
}

impl Code {
    /// Most units of a stripe with redundancy: codes of Reed and Solomon over bytes have no more (Reed and Solomon,
    /// "Polynomial Codes over Certain Finite Fields", SIAM 1960: as many as the field has elements but zero).
    pub const WIDEST: usize = 255;

    /// Units of a stripe.
    pub fn width(self) -> usize {
        self.data + self.parity
    }

    /// Whether the units are copies of one another.
    pub fn copies(self) -> bool {
        self.data == 1
    }
}

/// Bytes `start..end` of a unit of some stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which unit; the parity units come last.
    pub unit: usize,
    /// First byte within the unit.
    pub start: u64,
    /// Behind the last byte.
    pub end: u64,
}

stored! {
    Piece { unit, start, end }
}

impl Piece {
    /// Its length \[B].
    pub fn bytes(self) -> u64 {
        self.end - self.start
    }

    /// Whether it has all of `other`'s bytes, of whatever unit.
    pub fn covers(self, other: Piece) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Where an address of the array lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// The stripe.
    pub stripe: u64,
    /// The data unit.
    pub unit: usize,
    /// The byte within the unit.
    pub start: u64,
}

/// Where a unit lies: on which of the array's places for drives, at which row of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The place.
    pub place: usize,
    /// The row.
    pub row: u64,
}

/// The placement of stripes on drives.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The code.
    pub code: Code,
    /// Drives, without spare ones.
    pub drives: usize,
    /// Bytes of a unit.
    pub chunk: u64,
    /// Rows of chunks that are used of each drive, or where a hash places stripes of that which has most of them.
    pub rows: u64,
    /// Bytes of the address space.
    capacity: u64,
    stripes: u64,
    /// Of declustered stripes: the drives in the order of each table, and the place of each drive in it.
    tables: Vec<(Vec<usize>, Vec<usize>)>,
    hashed: Option<Groups>,
}

impl Layout {
    /// Most drives of an array (assumed: they are found one after another).
    pub const MOST_DRIVES: usize = 4096;

    /// Places stripes on drives of which the smallest has `capacity`; none where not one stripe fits.
    pub fn new(
        code: Code,
        drives: usize,
        chunk: Bytes,
        capacity: Bytes,
        placement: Placement,
        seed: u64,
    ) -> Option<Layout> {
        let (rows, chunk) = (capacity.0 / chunk.0, chunk.0);
        let mut layout =
            Layout { code, drives, chunk, rows, capacity: 0, stripes: 0, tables: Vec::new(), hashed: None };
        if placement == Placement::Declustered {
            layout.rows -= rows % code.width() as u64;
            layout.tables = (0..TABLES).map(|table| drawn(drives, seed, table as u64)).collect();
        }
        let mut stripes = layout.rows * drives as u64 / code.width() as u64;
        if placement == Placement::Hashed {
            let groups = Groups::new(code.width(), drives, GROUPS.min(rows / 2).max(1), seed);
            let rounds = rows / groups.most();
            (layout.rows, stripes) = (rounds * groups.most(), rounds * groups.count() as u64);
            layout.hashed = Some(groups);
        }
        (layout.stripes, layout.capacity) = (stripes, stripes * code.data as u64 * chunk);
        if drives == 1 && code.parity == 0 {
            // Not cut to whole chunks: an array of one drive is that drive.
            (layout.rows, layout.capacity) = (capacity.0.div_ceil(chunk), capacity.0);
        }
        (stripes > 0).then_some(layout)
    }

    /// Stripes.
    pub fn stripes(&self) -> u64 {
        self.stripes
    }

    /// Rows of chunks that are used of the drive in a place.
    pub fn rows_of(&self, place: usize) -> u64 {
        match &self.hashed {
            Some(groups) => self.stripes / groups.count() as u64 * groups.of_place[place].len() as u64,
            None => self.rows,
        }
    }

    /// Bytes of the address space.
    pub fn capacity(&self) -> Bytes {
        Bytes(self.capacity)
    }

    /// The stripe and data unit of an address, and the byte within the unit.
    pub fn locate(&self, offset: u64) -> Located {
        let (chunk, data) = (offset / self.chunk, self.code.data as u64);
        Located { stripe: chunk / data, unit: (chunk % data) as usize, start: offset % self.chunk }
    }

    /// The address of the first byte of a piece of a stripe's data.
    pub fn offset(&self, (stripe, piece): (u64, Piece)) -> u64 {
        (stripe * self.code.data as u64 + piece.unit as u64) * self.chunk + piece.start
    }

    /// Where a unit of a stripe lies.
    pub fn spot(&self, stripe: u64, unit: usize) -> Spot {
        let (width, drives) = (self.code.width(), self.drives as u64);
        if let Some(groups) = &self.hashed {
            let (round, group) = (stripe / groups.count() as u64, (stripe % groups.count() as u64) as usize);
            let (place, number) = groups.places[group * width + unit];
            return Spot { place, row: round * groups.of_place[place].len() as u64 + number };
        }
        if self.tables.is_empty() {
            let groups = drives / width as u64;
            let (row, group) = (stripe / groups, (stripe % groups) as usize);
            return Spot { place: group * width + (unit + width - self.turn(row)) % width, row };
        }
        let (table, index) = (stripe / drives, (stripe % drives) as usize);
        let (order, _) = &self.tables[(table % TABLES as u64) as usize];
        Spot { place: order[(index + unit) % self.drives], row: table * width as u64 + unit as u64 }
    }

    /// The stripe and unit that lie at a spot.
    pub fn at(&self, spot: Spot) -> (u64, usize) {
        let (width, drives) = (self.code.width(), self.drives as u64);
        if let Some(groups) = &self.hashed {
            let here = &groups.of_place[spot.place];
            let (group, unit) = here[(spot.row % here.len() as u64) as usize];
            return (spot.row / here.len() as u64 * groups.count() as u64 + group as u64, unit);
        }
        if self.tables.is_empty() {
            let groups = drives / width as u64;
            let unit = (spot.place % width + self.turn(spot.row)) % width;
            return (spot.row * groups + (spot.place / width) as u64, unit);
        }
        let (table, unit) = (spot.row / width as u64, (spot.row % width as u64) as usize);
        let (_, position) = &self.tables[(table % TABLES as u64) as usize];
        let index = (position[spot.place] + self.drives - unit) % self.drives;
        (table * drives + index as u64, unit)
    }

    /// By how many places the units of a row are turned.
    fn turn(&self, row: u64) -> usize {
        if self.code.parity == 0 { 0 } else { (row % self.code.width() as u64) as usize }
    }

    /// The pieces of the range `offset..offset + bytes`, stripe by stripe: the pieces of a stripe, of neighbouring
    /// units, are handed to `each` together.
    pub fn split(&self, offset: u64, bytes: u64, mut each: impl FnMut(u64, &[Piece])) {
        let (mut at, end) = (offset, offset + bytes);
        let Located { stripe, unit, start } = self.locate(at);
        if start + bytes <= self.chunk && bytes > 0 {
            return each(stripe, &[Piece { unit, start, end: start + bytes }]);
        }
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.code.data.min(bytes.div_ceil(self.chunk) as usize + 1));
        while at < end {
            let Located { stripe, unit, start } = self.locate(at);
            let length = (self.chunk - start).min(end - at);
            pieces.push(Piece { unit, start, end: start + length });
            at += length;
            if at == end || unit + 1 == self.code.data {
                each(stripe, &pieces);
                pieces.clear();
            }
        }
    }
}

/// Placement groups: stripes whose number is the same modulo theirs lie on the same drives.
#[derive(Clone, Debug)]
struct Groups {
    width: usize,
    /// Of each unit of each group, the place, and its number among the units there.
    places: Vec<(usize, u64)>,
    /// The group and unit of each of these.
    of_place: Vec<Vec<(usize, usize)>>,
}

impl Groups {
    /// As many groups as give each place this many units in the mean.
    fn new(width: usize, drives: usize, of_drive: u64, seed: u64) -> Groups {
        let count = (of_drive as usize * drives).div_ceil(width);
        let mut groups =
            Groups { width, places: Vec::with_capacity(count * width), of_place: vec![Vec::new(); drives] };
        for group in 0..count {
            let hash = Stream::new(seed, "array-hash").entity(group as u64);
            let mut draws = 0;
            for unit in 0..width {
                let others = groups.places.len() - unit..;
                let place = loop {
                    let place = hash.below(draws, drives as u64) as usize;
                    draws += 1;
                    if groups.places[others.clone()].iter().all(|(other, _)| *other != place) {
                        break place;
                    }
                };
                groups.places.push((place, groups.of_place[place].len() as u64));
                groups.of_place[place].push((group, unit));
            }
        }
        groups
    }

    fn count(&self) -> usize {
        self.places.len() / self.width
    }

    /// Units of the place that has most of them.
    fn most(&self) -> u64 {
        self.of_place.iter().map(Vec::len).max().unwrap_or(1) as u64
    }
}

/// The drives in the order of a table, and the place of each of them in it.
fn drawn(drives: usize, seed: u64, table: u64) -> (Vec<usize>, Vec<usize>) {
    let random = Stream::new(seed, "array-placement").entity(table);
    let mut order: Vec<usize> = (0..drives).collect();
    for last in (1..drives).rev() {
        order.swap(last, random.below(last as u64, last as u64 + 1) as usize);
    }
    let mut position = vec![0; drives];
    order.iter().enumerate().for_each(|(place, drive)| position[*drive] = place);
    (order, position)
}

/// The least range that holds all `pieces`.
pub(crate) fn hull(pieces: &[Piece]) -> (u64, u64) {
    let start = pieces.iter().map(|piece| piece.start).min().unwrap_or(0);
    (start, pieces.iter().map(|piece| piece.end).max().unwrap_or(0))
}
