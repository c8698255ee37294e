//! The fingerprint of a file's content, for manifests of runs.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// FNV-1a, 64 bits, of the raw bytes of the file (compressed files as they are), read through a fixed buffer.
///
/// It distinguishes traces; it is no protection against forgery. Constants: Fowler, Noll, Vo,
/// <http://www.isthe.com/chongo/tech/comp/fnv/>.
pub fn content_hash(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 64 << 10];
    let mut hash = OFFSET_BASIS;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hash),
            Ok(length) => hash = extend(hash, &buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

fn extend(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        // Published test vectors (draft-eastlake-fnv).
        assert_eq!(extend(OFFSET_BASIS, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(extend(OFFSET_BASIS, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(extend(OFFSET_BASIS, b"foobar"), 0x8594_4171_f739_67e8);
    }
}
