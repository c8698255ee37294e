//! Windows of a drive, which its host opens and closes.

use crate::config::EraseWhen;
use crate::observe::stats::relocation_causes;
use crate::persist::stored_enum;

/// When a drive may do what need not be done now (the Non-Deterministic Window of NVMe's Predictable Latency Mode).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// Whenever it likes: its host opens and closes no windows.
    #[default]
    Unused,
    /// Now: planes collect until `gc.idle_stop` of their blocks are free, and erase free blocks.
    Open,
    /// Not now: planes collect when they must; refresh and wear levelling wait until it is open, and blocks are erased
    /// when they are opened.
    Closed,
}

impl Window {
    /// Whether a relocation for this cause waits until it is open. Reclaim of much read blocks does not: their errors
    /// grow with the reads.
    pub(crate) fn holds_back(self, cause: usize) -> bool {
        self == Window::Closed && matches!(cause, relocation_causes::REFRESH | relocation_causes::WEAR_LEVELLING)
    }

    /// Whether a block is erased as soon as it has been emptied for this cause. A reset of a zone may wait for that
    /// (`zones.reset_completes`).
    pub(crate) fn erases(self, cause: usize, usually: EraseWhen) -> bool {
        match self {
            Window::Open => true,
            Window::Closed if cause != relocation_causes::RESET => false,
            _ => usually == EraseWhen::Reclaimed,
        }
    }
}

stored_enum! {
    Window { 0 = Unused, 1 = Open, 2 = Closed, }
}
