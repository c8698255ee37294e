//! Zones: what the host writes in order and resets as a whole (NVMe Zoned Namespace Command Set 1.1). What follows from
//! the keys is in `zone_plan.rs`.

use units::Bytes;

use super::refusal::Check;

units::choices! {
    /// What becomes of the part of a zone that was not written when it is finished.
    pub enum Finish {
        /// It is programmed with padding, to the end of the zone's blocks.
        Pad = "pad",
        /// Only the program that has begun is padded; the rest stays erased until the zone is reset.
        Close = "close",
    }
}

units::choices! {
    /// When the reset of a zone completes.
    pub enum ResetCompletes {
        /// As soon as the zone is empty for its host: what it held is unmapped, and its blocks are erased behind that.
        AtOnce = "at-once",
        /// When all of its blocks have been erased.
        Erased = "erased",
    }
}

units::section! {
    /// Zones (ftl.mapping = "zoned").
    pub struct ZonesConfig in "zones" {
        /// Dies over which a zone lies, each with all of its planes; "none" is all of the drive.
        dies: Option<u32> = None,
        /// Blocks that a zone has on each plane of its dies.
        blocks: u32 = 1,
        /// Addresses from the beginning of a zone to that of the next one; "none" is the capacity of a zone.
        size: Option<Bytes> = None,
        /// What can be written to a zone; "none" is all pages of its blocks.
        capacity: Option<Bytes> = None,
        /// Zones that may be open at once (Maximum Open Resources); "none" has no limit.
        max_open: Option<u32> = Some(14),
        /// Zones that may be active at once, which are open or closed and written in part (Maximum Active Resources);
        /// "none" has no limit.
        max_active: Option<u32> = Some(14),
        /// How many zones, from the first one on, are conventional: they are written anywhere, and collected.
        conventional: u32 = 0,
        /// The most that an append may bring (Zone Append Size Limit); "none" has no limit.
        append_limit: Option<Bytes> = None,
        /// Size of the zone random write area that a zone may be opened with: the part of that size behind its write
        /// pointer is written in any order, and again, until it is committed. 0: none.
        random_area: Bytes = Bytes(0),
        /// What becomes of the part of a zone that was not written when it is finished: pad or close.
        finish: Finish = Finish::Pad,
        /// When a reset completes: at-once, or when the zone's blocks have been erased.
        reset_completes: ResetCompletes = ResetCompletes::AtOnce,
        /// A read may go over the boundary between zones.
        read_across: bool = true,
    }
}

impl Check for ZonesConfig {}
