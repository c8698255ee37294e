//! Data whose reads have taken many retries is both read often and read slowly: fewer bits a cell save the retries.

use super::BlockReads;

pub fn converts(block: BlockReads, retries: u32) -> bool {
    block.retries >= retries
}
