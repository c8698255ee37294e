//! Small text files that a user names: read whole, up to a limit.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest file that is read whole \[bytes]. Devices, workloads, chips and tables are pages of text; what is larger
/// is something else, such as a trace.
pub const LARGEST_TEXT: u64 = 16 << 20;

/// The text of a file, or what is wrong with it, to stand behind its name. Pipes and devices end at the limit too.
pub fn read_text(path: &Path) -> Result<String, String> {
    let fail = |error: std::io::Error| format!("cannot be read: {error}");
    let file = File::open(path).map_err(fail)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_TEXT + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > LARGEST_TEXT {
        return Err(format!("is larger than {} MiB", LARGEST_TEXT >> 20));
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("is no UTF-8 text from byte {} on", error.utf8_error().valid_up_to()))
}
