//! Data whose reads have taken many retries is both read often and read slowly: one bit a cell saves the retries.

use super::BlockReads;

pub fn converts(block: BlockReads, retries: u32) -> bool {
    block.retries >= retries
}
