//! The queues of a die: which there are, sets of them, and in which order they are served.

use nand::geometry::MAX_PLANES;
use schemes::Class;

use crate::config::Plan;
use crate::persist::{Reader, Stored, Writer};
use crate::write_class::WriteClass;

/// Planes of a die, at most.
pub const PLANES: usize = MAX_PLANES as usize;

/// The rows of queues, each with a queue for every plane: what their operations are, and of programs what they write. Whoever
/// needs another row adds it here; where they are more than eight, [`Word`] is `u128`.
const ROWS: [(Class, Option<WriteClass>); 8] = [
    (Class::UserRead, None),
    (Class::InternalRead, None),
    (Class::UserProgram, Some(WriteClass::Host)),
    (Class::UserProgram, Some(WriteClass::HostCold)),
    (Class::InternalProgram, Some(WriteClass::Relocated)),
    (Class::InternalProgram, Some(WriteClass::RelocatedAgain)),
    (Class::InternalProgram, Some(WriteClass::Map)),
    (Class::Erase, None),
];

/// A bit for each queue.
type Word = u64;

/// Queues of a die.
pub(super) const QUEUES: usize = ROWS.len() * PLANES;
const _: () = assert!(QUEUES <= Word::BITS as usize, "a set of queues fits its word");

/// A queue of a die: of a row, and of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueId(u8);

/// The row of a class; of programs, the one of what they write.
const fn row(class: Class, writes: Option<WriteClass>) -> usize {
    let mut row = 0;
    loop {
        let same = match (writes, ROWS[row].1) {
            (Some(these), Some(those)) => these as u8 == those as u8,
            (None, None) => class as u8 == ROWS[row].0 as u8,
            _ => false,
        };
        if same {
            return row;
        }
        row += 1;
    }
}

impl QueueId {
    /// Reads of a class, on a plane.
    #[inline]
    pub fn of_reads(class: Class, plane: usize) -> QueueId {
        const ROW: [usize; 2] = [row(Class::UserRead, None), row(Class::InternalRead, None)];
        QueueId((ROW[class as usize] * PLANES + plane) as u8)
    }

    /// Programs of a write class, on a plane.
    #[inline]
    pub fn of_programs(writes: WriteClass, plane: usize) -> QueueId {
        const FIRST: usize = row(Class::UserProgram, Some(WriteClass::Host));
        const _: () = assert!(row(Class::InternalProgram, Some(WriteClass::Map)) == FIRST + WriteClass::Map as usize);
        QueueId(((FIRST + writes as usize) * PLANES + plane) as u8)
    }

    /// Erases of blocks that were reclaimed, on a plane.
    pub fn of_erases(plane: usize) -> QueueId {
        QueueId((row(Class::Erase, None) * PLANES + plane) as u8)
    }

    /// The place of its plane in the die.
    #[inline]
    pub fn plane(self) -> usize {
        usize::from(self.0) % PLANES
    }

    /// What its operations are.
    #[inline]
    pub fn class(self) -> Class {
        ROWS[usize::from(self.0) / PLANES].0
    }

    /// What its programs write; none where it has none.
    #[inline]
    pub fn writes(self) -> Option<WriteClass> {
        ROWS[usize::from(self.0) / PLANES].1
    }

    #[inline]
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// Where it is kept: those of a plane stand together.
    #[inline]
    pub fn place(self) -> usize {
        usize::from(self.0) % PLANES * ROWS.len() + usize::from(self.0) / PLANES
    }
}

/// Some queues of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueSet(Word);

pub(super) const USER_READS: QueueSet = QueueSet::of(Class::UserRead);
pub(super) const READS: QueueSet = USER_READS.or(QueueSet::of(Class::InternalRead));
pub(super) const HOST_PROGRAMS: QueueSet = QueueSet::of(Class::UserProgram);
/// Everything of the drive's own.
pub(super) const INTERNAL: QueueSet = QueueSet(!USER_READS.or(HOST_PROGRAMS).0);

impl QueueSet {
    pub const NONE: QueueSet = QueueSet(0);

    /// Every queue of a class.
    const fn of(class: Class) -> QueueSet {
        let (mut set, mut row) = (0, 0);
        while row < ROWS.len() {
            if ROWS[row].0 as u8 == class as u8 {
                set |= 0xFF << (row * PLANES);
            }
            row += 1;
        }
        QueueSet(set)
    }

    /// The programs of some write classes.
    pub fn of_programs(classes: &[WriteClass]) -> QueueSet {
        classes
            .iter()
            .fold(QueueSet::NONE, |set, class| set.or(QueueSet(0xFF << QueueId::of_programs(*class, 0).index())))
    }

    /// The queues of a set of planes.
    #[inline]
    pub const fn on(planes: u8) -> QueueSet {
        // A byte a row: the planes, in each of them.
        QueueSet(Word::MAX / 0xFF * planes as Word)
    }

    #[inline]
    pub const fn or(self, other: QueueSet) -> QueueSet {
        QueueSet(self.0 | other.0)
    }

    #[inline]
    pub const fn and(self, other: QueueSet) -> QueueSet {
        QueueSet(self.0 & other.0)
    }

    #[inline]
    pub const fn without(self, other: QueueSet) -> QueueSet {
        QueueSet(self.0 & !other.0)
    }

    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub const fn has(self, queue: QueueId) -> bool {
        self.0 >> queue.0 & 1 != 0
    }

    /// Puts a queue in, or takes it out.
    #[inline]
    pub const fn set(&mut self, queue: QueueId, in_it: bool) {
        self.0 = self.0 & !(1 << queue.0) | (in_it as Word) << queue.0;
    }

    /// Takes the first queue out.
    #[inline]
    pub fn pop(&mut self) -> Option<QueueId> {
        let queue = QueueId(self.0.trailing_zeros() as u8);
        (self.0 != 0).then(|| {
            self.0 &= self.0 - 1;
            queue
        })
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
        Word::read(from).map(QueueSet)
    }
}
