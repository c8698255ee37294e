//! What is gained is what is given: while a block with v valid pages of P is collected, v relocated pages pay for P - v pages of
//! host data. In a steady state this is the least that collection must do for each write (Desnoyers, "Analytic modeling of SSD write
//! performance", SYSTOR'12: v / (P - v) internal writes for each external one), so nothing is lost, and nothing is put off. While host
//! data may open more than one free block there is no price: blocks that are kept free are no spare.

use super::contract::{Collection, Price};

pub(super) fn price(collection: Collection) -> Option<Price> {
    (collection.free <= collection.reserve + 1).then(|| fair(collection))
}

/// What a collection gains, for what it relocates. A block without anything to gain pays for a page.
pub(super) fn fair(collection: Collection) -> Price {
    Price { relocated: collection.valid, host: (collection.pages - collection.valid).max(1) }
}
