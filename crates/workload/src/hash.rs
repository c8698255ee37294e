//! The fingerprint of a file's content, for manifests of runs.

use std::fs::File;
use std::io;
use std::path::Path;

/// The BLAKE3 digest of the raw bytes of the file (compressed files as they are), with its name in front.
pub fn content_hash(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(format!("blake3:{}", hasher.finalize().to_hex()))
}
