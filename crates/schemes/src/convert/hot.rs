//! Data that is read often is worth fast blocks, whatever its errors.

use super::BlockReads;

pub fn converts(block: BlockReads, reads: u32) -> bool {
    block.reads >= reads
}
