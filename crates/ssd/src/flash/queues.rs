//! The queues of a die: which there are, sets of them, and in which order they are served.

use nand::geometry::MAX_PLANES;
use schemes::Class;

use crate::config::Plan;
use crate::persist::{Reader, Stored, Writer};
use crate::streams::{HOSTS, MOST, StreamId};

/// Planes of a die, at most.
pub const PLANES: usize = MAX_PLANES as usize;

/// The rows of queues, each with a queue for every plane: reads, erases of blocks that were reclaimed, and what is
/// programmed, by stream.
const ROWS: [Class; 3 + MOST] = {
    let mut rows = [Class::InternalProgram; 3 + MOST];
    (rows[USER_READ], rows[INTERNAL_READ], rows[ERASE]) = (Class::UserRead, Class::InternalRead, Class::Erase);
    let mut stream = 0;
    while stream < HOSTS {
        rows[PROGRAMS + stream] = Class::UserProgram;
        stream += 1;
    }
    rows
};
const USER_READ: usize = 0;
const INTERNAL_READ: usize = 1;
const ERASE: usize = 2;
const PROGRAMS: usize = 3;

/// Queues of a die.
pub(super) const QUEUES: usize = ROWS.len() * PLANES;
/// Bits for the queues: a word is quicker to look at than half of a longer one.
const WORDS: usize = 2;
const _: () = assert!(QUEUES <= WORDS * u64::BITS as usize, "a set of queues fits its words");

/// A queue of a die: of a row, and of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueId(pub(super) u8);

impl QueueId {
    const fn new(row: usize, plane: usize) -> QueueId {
        QueueId((row * PLANES + plane) as u8)
    }

    /// Reads of a class, on a plane.
    #[inline]
    pub fn of_reads(class: Class, plane: usize) -> QueueId {
        const _: () = assert!(Class::UserRead as usize == USER_READ && Class::InternalRead as usize == INTERNAL_READ);
        QueueId::new(class as usize, plane)
    }

    /// Programs of a stream, on a plane.
    #[inline]
    pub const fn of_programs(stream: StreamId, plane: usize) -> QueueId {
        QueueId::new(PROGRAMS + stream.index(), plane)
    }

    /// Erases of blocks that were reclaimed, on a plane.
    pub fn of_erases(plane: usize) -> QueueId {
        QueueId::new(ERASE, plane)
    }

    /// The place of its plane in the die.
    #[inline]
    pub fn plane(self) -> usize {
        usize::from(self.0) % PLANES
    }

    /// What its operations are.
    #[inline]
    pub fn class(self) -> Class {
        ROWS[usize::from(self.0) / PLANES]
    }

    /// The stream of its programs; none where it has none.
    #[inline]
    pub fn writes(self) -> Option<StreamId> {
        (usize::from(self.0) / PLANES).checked_sub(PROGRAMS).map(StreamId::new)
    }
}

/// Some queues of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueSet([u64; WORDS]);

pub(super) const USER_READS: QueueSet = QueueSet::of(Class::UserRead);
pub(super) const READS: QueueSet = USER_READS.or(QueueSet::of(Class::InternalRead));
pub(super) const HOST_PROGRAMS: QueueSet = QueueSet::of(Class::UserProgram);
/// Everything of the drive's own.
pub(super) const INTERNAL: QueueSet = QueueSet::ALL.without(USER_READS.or(HOST_PROGRAMS));

impl QueueSet {
    pub const NONE: QueueSet = QueueSet([0; WORDS]);
    const ALL: QueueSet = QueueSet([u64::MAX; WORDS]);
    /// Programs of relocated data.
    pub const RELOCATED: QueueSet = QueueSet::of_programs(StreamId::RELOCATED)
        .or(QueueSet::of_programs(StreamId::AGAIN))
        .or(QueueSet::of_programs(StreamId::CONVERTED));
    /// Programs of the host's data and of the map.
    pub const NOT_RELOCATED: QueueSet = HOST_PROGRAMS.or(QueueSet::of_programs(StreamId::MAP));

    /// Every queue of a row.
    const fn of_row(row: usize) -> QueueSet {
        let (mut set, mut plane) = (QueueSet::NONE, 0);
        while plane < PLANES {
            set.set(QueueId::new(row, plane), true);
            plane += 1;
        }
        set
    }

    /// Every queue of a class.
    const fn of(class: Class) -> QueueSet {
        let (mut set, mut row) = (QueueSet::NONE, 0);
        while row < ROWS.len() {
            if ROWS[row] as u8 == class as u8 {
                set = set.or(QueueSet::of_row(row));
            }
            row += 1;
        }
        set
    }

    /// The programs of a stream.
    pub const fn of_programs(stream: StreamId) -> QueueSet {
        QueueSet::of_row(PROGRAMS + stream.index())
    }

    /// The queues of a set of planes.
    #[inline]
    pub const fn on(planes: u8) -> QueueSet {
        // A byte a row: the planes, in each of them.
        QueueSet([u64::MAX / 0xFF * planes as u64; WORDS])
    }

    #[inline]
    pub const fn or(self, QueueSet([c, d]): QueueSet) -> QueueSet {
        let QueueSet([a, b]) = self;
        QueueSet([a | c, b | d])
    }

    #[inline]
    pub const fn and(self, QueueSet([c, d]): QueueSet) -> QueueSet {
        let QueueSet([a, b]) = self;
        QueueSet([a & c, b & d])
    }

    #[inline]
    pub const fn without(self, QueueSet([c, d]): QueueSet) -> QueueSet {
        let QueueSet([a, b]) = self;
        QueueSet([a & !c, b & !d])
    }

    #[inline]
    pub const fn is_empty(self) -> bool {
        let QueueSet([a, b]) = self;
        a | b == 0
    }

    /// The queue of reads that is the only one in it, where there is such a one.
    #[inline]
    pub(super) fn only_read(self) -> Option<QueueId> {
        const _: () = assert!(READS.0[1] == 0, "reads are in the first word");
        let QueueSet([first, second]) = self;
        let only = first & first.wrapping_sub(1) | second | first & !READS.0[0] == 0 && first != 0;
        only.then(|| QueueId(first.trailing_zeros() as u8))
    }

    /// Whether some queue is in both.
    #[inline]
    pub const fn meets(self, QueueSet([c, d]): QueueSet) -> bool {
        let QueueSet([a, b]) = self;
        a & c | b & d != 0
    }

    #[inline]
    pub const fn has(self, queue: QueueId) -> bool {
        self.0[queue.0 as usize / 64 % WORDS] >> (queue.0 % 64) & 1 != 0
    }

    /// Puts a queue in, or takes it out.
    #[inline]
    pub const fn set(&mut self, queue: QueueId, in_it: bool) {
        let word = &mut self.0[queue.0 as usize / 64 % WORDS];
        *word = *word & !(1 << (queue.0 % 64)) | (in_it as u64) << (queue.0 % 64);
    }

    /// Takes the first queue out.
    #[inline]
    pub fn pop(&mut self) -> Option<QueueId> {
        let place = usize::from(self.0[0] == 0);
        let word = self.0[place];
        self.0[place] = word & word.wrapping_sub(1);
        (word != 0).then(|| QueueId(place as u8 * 64 + word.trailing_zeros() as u8))
    }
}

/// In which order a die serves its queues.
pub(super) struct Ranks {
    /// Of each class: the smaller goes first.
    pub of: [u8; Class::COUNT],
    /// The queues of each rank.
    pub queues: Vec<QueueSet>,
    /// The queues that rank better than host reads, and than the drive's own reads.
    above_reads: [QueueSet; 2],
}

impl Ranks {
    pub fn new(plan: &Plan, write_queue_full: bool) -> Ranks {
        let behind_full_queue = || plan.config.schedule.order.ranks_behind_full_queue();
        let of = if write_queue_full { behind_full_queue() } else { plan.ranks };
        let levels = usize::from(*of.iter().max().expect("Invariant: there are classes")) + 1;
        let mut queues = vec![QueueSet::NONE; levels];
        for class in Class::ALL {
            let level = &mut queues[usize::from(of[class as usize])];
            *level = level.or(QueueSet::of(class));
        }
        let above = |class: Class| {
            queues[..usize::from(of[class as usize])].iter().fold(QueueSet::NONE, |all, level| all.or(*level))
        };
        Ranks { of, above_reads: [Class::UserRead, Class::InternalRead].map(above), queues }
    }

    /// The queues that rank better than a read.
    #[inline]
    pub fn above_reads(&self, of_host: bool) -> QueueSet {
        self.above_reads[usize::from(!of_host)]
    }
}

/// The planes of a set.
#[inline]
pub fn planes(set: u8) -> impl Iterator<Item = usize> {
    let mut left = set;
    std::iter::from_fn(move || {
        (left != 0).then(|| {
            let plane = left.trailing_zeros() as usize;
            left &= left - 1;
            plane
        })
    })
}

impl Stored for QueueId {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }
    fn read(from: &mut Reader) -> std::io::Result<QueueId> {
        u8::read(from).map(QueueId)
    }
}

impl Stored for QueueSet {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }
    fn read(from: &mut Reader) -> std::io::Result<QueueSet> {
        Stored::read(from).map(QueueSet)
    }
}
