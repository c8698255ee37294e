//! What is gained is what is given: while a block with v valid pages of P is collected, v relocated pages pay for P - v
//! pages of host data. In a steady state this is the least that collection must do for each write (Desnoyers, "Analytic
//! modeling of SSD write performance", SYSTOR'12: v / (P - v) internal writes for each external one), so nothing is
//! lost, and nothing is put off. There is no price while there is more room than the least: blocks that are kept free
//! are no spare. Room below the least, which padding takes, comes back at a price that grows in proportion: twice as
//! dear with a block's worth missing (`assumed`).

use super::contract::{Collection, Price};

pub(super) fn price(collection: Collection) -> Option<Price> {
    let block = i64::from(collection.pages);
    let missing = collection.least - collection.room;
    (missing >= 0).then(|| fair(collection).times(block + missing, block))
}

/// What a collection gains, for what it relocates. A block without anything to gain pays for a page.
pub(super) fn fair(collection: Collection) -> Price {
    let Collection { pages, valid, .. } = collection;
    Price { relocated: valid.into(), host: u64::from(pages - valid).max(1) }
}
