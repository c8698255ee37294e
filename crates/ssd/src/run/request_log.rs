//! Where a run's requests are written as they complete. The files themselves are `crates/logs`.

use crate::device::Completion;
use crate::error::RunError;

/// A log of requests, in order of completion.
pub trait RequestLog: Send {
    /// Adds a request.
    fn push(&mut self, completion: &Completion) -> Result<(), RunError>;
    /// Completes the log: how many rows it has, and its bytes where it was kept in memory.
    fn close(self: Box<Self>) -> Result<(u64, Vec<u8>), RunError>;
}
