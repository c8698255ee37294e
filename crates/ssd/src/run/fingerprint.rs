//! Files by their content.

use std::io;
use std::path::Path;

use crate::error::RunError;

/// The fingerprint of a file's content, as a run's manifest has it. Whoever prepares runs gives it, and may remember
/// it: only outside is there a clock that tells whether a file has changed.
pub type Fingerprint = fn(&Path) -> io::Result<String>;

/// The fingerprint of a file that a run reads.
pub(super) fn fingerprint_of(path: &Path, fingerprint: Fingerprint) -> Result<String, RunError> {
    fingerprint(path).map_err(|error| RunError::Trace(format!("{}: {error}", path.display())))
}
