//! Streams: where written data goes. The configuration makes a table of them; a plane has a queue of programs for each
//! row, and an open block for each row that does not share another one's.

use crate::persist::{Reader, Stored, Writer, stored};

/// Streams of host data, at most. With those of the drive's own data, two rows of reads and one of erases a die has 16
/// rows of queues: with eight planes a bit for each fills 128 bits (`flash/queues.rs`).
pub(crate) const HOSTS: usize = 8;

/// Streams, at most.
pub(crate) const MOST: usize = StreamId::MAP.index() + 1;

/// The streams of relocated data.
pub(crate) const RELOCATED: [StreamId; 3] = [StreamId::RELOCATED, StreamId::AGAIN, StreamId::CONVERTED];

/// A stream by its number. Every purpose has numbers of its own, so that a queue's number says what waits in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamId(u8);

impl StreamId {
    /// The random log blocks of a mapping by blocks, and its sequential one.
    pub const RANDOM_LOG: StreamId = StreamId(0);
    pub const SEQUENTIAL_LOG: StreamId = StreamId(1);
    /// Relocated data.
    pub const RELOCATED: StreamId = StreamId(HOSTS as u8);
    /// Data that had been relocated before.
    pub const AGAIN: StreamId = StreamId(HOSTS as u8 + 1);
    /// Data of the chip's own cells that is relocated into the SLC cache.
    pub const CONVERTED: StreamId = StreamId(HOSTS as u8 + 2);
    /// Parity over dies.
    pub const PARITY: StreamId = StreamId(HOSTS as u8 + 3);
    /// The map.
    pub const MAP: StreamId = StreamId(HOSTS as u8 + 4);

    /// All that there may be.
    pub fn all() -> impl Iterator<Item = StreamId> {
        (0..MOST as u8).map(StreamId)
    }

    /// The stream of that number.
    pub const fn new(number: usize) -> StreamId {
        StreamId(number as u8)
    }

    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether the host's data goes into it.
    #[inline]
    pub const fn is_of_host(self) -> bool {
        self.0 < StreamId::RELOCATED.0
    }

    /// Its number among those of the host's data.
    pub fn of_host(self) -> Option<u8> {
        self.is_of_host().then_some(self.0)
    }

    /// Whether relocated data goes into it.
    #[inline]
    pub const fn is_relocated(self) -> bool {
        self.0 >= StreamId::RELOCATED.0 && self.0 <= StreamId::CONVERTED.0
    }
}

/// Whose blocks these are: on a plane a block of a series is opened when the one before is full, or has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Series {
    pub stream: StreamId,
    /// The placement handle of the data, where relocated data of each stays apart.
    pub handle: u8,
}

stored! {
    Series { stream, handle }
}

impl Stored for StreamId {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }
    fn read(from: &mut Reader) -> std::io::Result<StreamId> {
        let number = u8::read(from)?;
        if usize::from(number) < MOST { Ok(StreamId(number)) } else { Err(std::io::ErrorKind::InvalidData.into()) }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub id: StreamId,
    /// The stream whose open block it fills: its own, or that of an earlier row.
    pub opens: StreamId,
    /// Its blocks are in the SLC cache's mode.
    pub slc: bool,
    /// Pages that it puts into a block.
    pub pages: u32,
    /// Pages of the chip's own cells that have the room of a program on a plane, where that is a plane's common room:
    /// it has to be paid for where host data is paced.
    pub paced: u32,
    /// Logical pages that one program command writes on a plane.
    pub unit: u32,
}

impl Stream {
    /// Whether it has an open block of its own.
    pub fn opens_own(&self) -> bool {
        self.opens == self.id
    }

    /// This many pages of its block in pages of the chip's own cells, of which a block has `of_block`.
    pub fn native_pages(&self, pages: u32, of_block: u32) -> u32 {
        (u64::from(pages) * u64::from(of_block) / u64::from(self.pages)) as u32
    }
}

/// The table of streams.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    /// In the order of their numbers.
    rows: Vec<Stream>,
    /// By number: its row.
    row_of: [u8; MOST],
    /// Streams of host data, and those of them that the SLC cache takes: what goes past it goes into the others.
    hosts: u8,
    cached: u8,
    /// What programs of the host's data take of a plane's common room: each number once, the largest last.
    prices: Vec<u32>,
    /// Those but the map's whose open blocks are a part of a plane's common room.
    common: Vec<Stream>,
}

impl Streams {
    /// Of rows in the order of their numbers.
    pub fn new(rows: Vec<Stream>) -> Streams {
        let mut row_of = [u8::MAX; MOST];
        for (row, stream) in rows.iter().enumerate() {
            row_of[stream.id.index()] = row as u8;
        }
        let of_host = |stream: &&Stream| stream.id.is_of_host();
        let hosts = rows.iter().filter(of_host).count() as u8;
        let cached = rows.iter().filter(of_host).filter(|stream| stream.slc).count() as u8;
        let mut prices: Vec<u32> =
            rows.iter().filter(of_host).map(|stream| stream.paced).filter(|paced| *paced > 0).collect();
        prices.sort_unstable();
        prices.dedup();
        let is_common = |row: &&Stream| row.opens_own() && row.paced > 0 && row.id != StreamId::MAP;
        let common = rows.iter().filter(is_common).copied().collect();
        Streams { rows, row_of, hosts, cached, prices, common }
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.rows.iter()
    }

    /// Those that have an open block in each plane.
    pub fn open(&self) -> impl Iterator<Item = StreamId> + use<'_> {
        self.rows.iter().filter(|stream| stream.opens_own()).map(|stream| stream.id)
    }

    /// Streams of host data.
    #[inline]
    pub fn hosts(&self) -> impl Iterator<Item = StreamId> + use<> {
        (0..self.hosts).map(StreamId)
    }

    /// Whether there is such a stream.
    pub fn has(&self, id: StreamId) -> bool {
        self.row_of[id.index()] != u8::MAX
    }

    #[inline]
    fn row(&self, id: StreamId) -> &Stream {
        &self.rows[usize::from(self.row_of[id.index()])]
    }

    /// The stream whose open block a stream fills.
    #[inline]
    pub fn opened_by(&self, id: StreamId) -> StreamId {
        self.row(id).opens
    }

    /// Logical pages that one program command of a stream writes on a plane.
    #[inline]
    pub fn unit_of(&self, id: StreamId) -> u32 {
        self.row(id).unit
    }

    /// Pages that a stream puts into a block.
    pub fn pages_of(&self, id: StreamId) -> u32 {
        self.row(id).pages
    }

    /// Pages that each stream number puts into a block; numbers without a stream count as blocks of the chip's own
    /// cells.
    pub fn pages(&self, of_block: u32) -> [u32; MOST] {
        std::array::from_fn(|number| {
            let id = StreamId::new(number);
            if self.has(id) { self.pages_of(id) } else { of_block }
        })
    }

    /// The number by which the place is drawn that a stream's block is filled to at the start: another stream beside it
    /// does not change it.
    pub fn draw_of(&self, id: StreamId) -> u64 {
        match id {
            StreamId::RELOCATED => 2,
            StreamId::PARITY if !self.has(StreamId::AGAIN) => 3,
            StreamId::AGAIN => 3,
            StreamId::MAP => 4,
            id => id.index() as u64 + if id.index() < 2 { 0 } else { 3 },
        }
    }

    /// What one program of a stream takes of a plane's common room, in pages of the chip's own cells.
    #[inline]
    pub fn paced(&self, id: StreamId) -> u32 {
        self.row(id).paced
    }

    /// What programs of the host's data take of it: each number once, the largest last.
    #[inline]
    pub fn prices(&self) -> &[u32] {
        &self.prices
    }

    /// The streams, but for the map's, whose open blocks are a part of a plane's common room.
    #[inline]
    pub fn common(&self) -> &[Stream] {
        &self.common
    }

    /// Whether a stream goes into the SLC cache.
    #[inline]
    pub fn in_slc(&self, id: StreamId) -> bool {
        self.row(id).slc
    }

    /// The stream of what goes past the SLC cache, if a stream goes into that as long as there is room.
    #[inline]
    pub fn past(&self, id: StreamId) -> Option<StreamId> {
        (id.0 < self.cached).then_some(StreamId(id.0 + self.cached))
    }
}
