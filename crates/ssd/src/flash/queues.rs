//! The queues of a die: their numbers, and in which order they are served.

use schemes::{Class, Order};

use crate::config::Config;
use crate::write_class;

/// Queues are numbered row x 8 + plane, so that a set of queues is one word. Rows: host reads, the drive's own
/// reads, programs by lane, erases.
pub const PLANES: usize = nand::geometry::MAX_PLANES as usize;
pub(super) const QUEUES: usize = 8 * PLANES;
/// Host reads alone, and all reads.
pub(super) const USER_READS: u64 = 0xFF;
pub(super) const READS: u64 = 0xFFFF;
pub(super) const HOST_PROGRAMS: u64 = 0xFFFF << 16;
pub(super) const PROGRAMS: u64 = 0xFF_FFFF_FFFF << 16;
pub(super) const ERASES: u64 = 0xFF << 56;
/// Everything of the drive's own.
pub(super) const INTERNAL: u64 = 0xFF << 8 | (PROGRAMS & !HOST_PROGRAMS) | ERASES;
/// The row of lane 0, and of erases.
pub(super) const FIRST_WRITE_CLASS: usize = 2;
pub(super) const ERASE_ROW: usize = FIRST_WRITE_CLASS + write_class::COUNT;
const _: () = assert!(ERASE_ROW * PLANES + PLANES == QUEUES && QUEUES == 64);

/// The queue of a lane's programs on a plane.
pub(super) fn program_queue(write_class: usize, plane: usize) -> usize {
    (FIRST_WRITE_CLASS + write_class) * PLANES + plane
}

/// The lane of a queue of programs.
pub(crate) fn write_class_of(queue: usize) -> usize {
    queue / PLANES - FIRST_WRITE_CLASS
}

/// In which order a die serves its queues.
pub(super) struct Ranks {
    /// Of each class: the smaller goes first.
    pub of: [u8; Class::COUNT],
    /// The queues of each rank.
    pub queues: Vec<u64>,
    /// The queues that rank better than host reads, and than the drive's own reads.
    above_reads: [u64; 2],
}

impl Ranks {
    /// Behind a full write queue no read passes a write, as under FIFO.
    pub fn new(config: &Config, write_queue_full: bool) -> Ranks {
        let of = if write_queue_full { Order::Fifo.ranks() } else { config.schedule.order.ranks() };
        let levels = usize::from(*of.iter().max().expect("Invariant: there are classes")) + 1;
        let mut queues = vec![0; levels];
        for class in Class::ALL {
            queues[usize::from(of[class as usize])] |= match class {
                Class::UserRead => USER_READS,
                Class::InternalRead => 0xFF << 8,
                Class::UserProgram => HOST_PROGRAMS,
                Class::InternalProgram => PROGRAMS & !HOST_PROGRAMS,
                Class::Erase => ERASES,
            };
        }
        let above = |class: Class| queues[..usize::from(of[class as usize])].iter().sum();
        Ranks { of, above_reads: [Class::UserRead, Class::InternalRead].map(above), queues }
    }

    /// The queues that rank better than a read.
    #[inline]
    pub fn above_reads(&self, of_host: bool) -> u64 {
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
