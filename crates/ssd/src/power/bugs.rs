//! Mistakes that a drive can be told to make, to see that they are found out. No configuration reaches them.

/// A planted mistake.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A flush completes before the journal is on flash.
    JournalFlushSkipped,
    /// A flush completes before the data is on flash.
    FlushAcknowledgedEarly,
    /// A write-through write completes before its data is on flash.
    ThroughAcknowledgedEarly,
    /// What an interrupted program left of a page is taken for the page.
    DamagedPageAccepted,
    /// What an interrupted program left of a translation page is taken for all of it.
    TornMapPageAccepted,
    /// The numbers of the programs that opened every other block are lost.
    BlockNumberLost,
    /// Blocks that are written are not scanned.
    OpenBlockNotScanned,
    /// The journal begins anew before the pages of the checkpoint are programmed.
    CheckpointBeforeItsPages,
    /// Trims are not written into the journal.
    TrimForgotten,
    /// What comes last counts, whatever its sequence number.
    JournalOutOfOrder,
    /// The buffer is lost although capacitors kept it.
    BufferNotRestored,
}

impl Bug {
    /// Every one.
    pub const ALL: [Bug; 11] = [
        Bug::JournalFlushSkipped,
        Bug::FlushAcknowledgedEarly,
        Bug::ThroughAcknowledgedEarly,
        Bug::DamagedPageAccepted,
        Bug::TornMapPageAccepted,
        Bug::BlockNumberLost,
        Bug::OpenBlockNotScanned,
        Bug::CheckpointBeforeItsPages,
        Bug::TrimForgotten,
        Bug::JournalOutOfOrder,
        Bug::BufferNotRestored,
    ];
}
