//! Files by their content.

use std::io;
use std::path::Path;

use crate::error::RunError;

/// The fingerprint of a file's content. Whoever prepares runs gives it, and may remember it: only outside is there a clock that
/// tells whether a file has changed.
pub type Fingerprint = fn(&Path) -> io::Result<u64>;

/// A file's content, as a run's manifest has it.
pub(super) fn fingerprint_of(path: &Path, fingerprint: Fingerprint) -> Result<String, RunError> {
    match fingerprint(path) {
        Ok(hash) => Ok(format!("fnv1a64:{hash:016x}")),
        Err(error) => Err(RunError::Trace(format!("{}: {error}", path.display()))),
    }
}
