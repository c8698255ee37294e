//! The zones of a drive, as Identify tells of them (ZNS 1.1; TP 4076b).

use crate::bytes::Fields;
use crate::limits::{BLOCK_SHIFTS, LARGEST_TRANSFER};

/// The zones of a drive that are written in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zones {
    /// How many there are.
    pub count: u32,
    /// From the beginning of a zone to that of the next one \[B].
    pub size: u64,
    /// Zones that may be open, and active, at once.
    pub max_open: u32,
    /// Zones that may be active at once.
    pub max_active: u32,
    /// The most that an append may bring \[B]; none has no limit but that of transfers.
    pub append_limit: Option<u64>,
    /// A read may go over the boundary between zones.
    pub read_across: bool,
    /// The zone random write area of a zone \[B]; 0 for none.
    pub random_area: u64,
    /// Data there becomes final in multiples of this \[B].
    pub commit_unit: u64,
}

impl Zones {
    /// The Identify Namespace data structure of the command set (ZNS 1.1, 4.1.5.1, with TP 4076b; bytes as in its
    /// table), for blocks of a size.
    pub(crate) fn identify(&self, shift: u8) -> Vec<u8> {
        let limit = |most: u32| if most >= self.count { u32::MAX } else { most - 1 };
        let mut fields = Fields::new(4096);
        if self.random_area > 0 {
            // As many zones may have a zone random write area as may be active; its granularity and its size; ranges
            // are flushed (0).
            fields.u32(44, self.max_active.min(self.count)).u16(48, (self.commit_unit >> shift) as u16);
            fields.u16(50, u16::try_from(self.random_area >> shift).unwrap_or(u16::MAX)).u8(52, 1);
        }
        // Reads across boundaries (OZCS, bit 0), zone random write areas (1).
        fields.u16(2, u16::from(self.read_across) | u16::from(self.random_area > 0) << 1);
        // Active and open resources, from 0; FFFFFFFFh for no limit.
        fields.u32(4, limit(self.max_active)).u32(8, limit(self.max_open));
        // By format: the size of a zone, and no descriptor extensions.
        for (format, shift) in BLOCK_SHIFTS.into_iter().enumerate() {
            fields.u64(2816 + 16 * format, self.size >> shift);
        }
        fields.take()
    }

    /// The Identify Controller data structure of the command set (ZNS 1.1, 4.1.5.2): the append size limit as a power
    /// of two of 4 KiB, 0 for that of transfers.
    pub(crate) fn identify_controller(&self) -> Vec<u8> {
        let pages =
            self.append_limit.filter(|limit| *limit < LARGEST_TRANSFER.into()).map(|limit| (limit >> 12).max(1));
        Fields::new(4096).u8(0, pages.map_or(0, |pages| pages.ilog2() as u8)).take()
    }
}
