//! Sizes: of blocks, transfers, queues and names.

/// The formats of namespaces: bytes of a logical block, as powers of two: 512, with which a drive begins, and 4,096.
pub const BLOCK_SHIFTS: [u8; 2] = [9, 12];
/// Namespaces of a drive, at most.
pub(crate) const MOST_NAMESPACES: u32 = 32;
/// The largest transfer of a command \[B]: 2 to the power of MDTS pages of 4 KiB.
pub const LARGEST_TRANSFER: u32 = 4096 << MDTS;
pub(crate) const MDTS: u8 = 6;
/// Entries of a submission queue. With the largest transfer it bounds what a connection may hold: 32 MiB.
pub const QUEUE_ENTRIES: u16 = 128;
/// Data of a capsule \[B].
pub const CAPSULE_DATA: u32 = 8192;
/// I/O queues of a controller, at most: those of the drive (`host.queues`), and this many.
pub const MOST_QUEUES: u16 = 32;

/// The longest name of a subsystem or of a host \[B] (Base 2.0, 4.5 "NVMe Qualified Names").
pub const LONGEST_NAME: usize = 223;
