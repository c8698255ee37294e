//! Arrays of drives under random loads, and an oracle of where their data is.

mod oracle;

use std::collections::BTreeMap;

use array::{Array, Layout};
use ssd::Drive;
use units::{Bytes, Stream};
use workload::{Op, Request};

pub use oracle::{BLOCK, Oracle, Watching};

/// Reads of every byte of an array, now: each of some blocks, one behind another.
pub fn reads_of_all<D: Drive>(array: &Array<D>, seed: u64) -> Vec<Request> {
    let (random, blocks) = (Stream::new(seed, "reads of all"), array.capacity().0 / BLOCK);
    let mut requests = Vec::new();
    let mut first = 0;
    while first < blocks {
        let count = (1 + random.below(first, 20)).min(blocks - first);
        requests.push(Request::new(array.now(), Op::Read, Bytes(first * BLOCK), Bytes(count * BLOCK)));
        first += count;
    }
    requests
}

/// The version that each block has when requests that came in this order have been done: those of writes, and of trims where the array has
/// handed them on. What is not there was never written.
pub fn current(layout: &Layout, oracle: &Oracle, requests: &[Request]) -> BTreeMap<u64, u64> {
    let mut current = BTreeMap::new();
    for (id, request) in (0..).zip(requests).filter(|(_, request)| [Op::Write, Op::Trim].contains(&request.op)) {
        layout.split(request.offset.0, request.bytes.0, |stripe, pieces| {
            if !oracle.planned.contains(&(id, stripe)) {
                return;
            }
            for piece in pieces {
                let start = (stripe * layout.code.data as u64 + piece.unit as u64) * layout.chunk + piece.start;
                current.extend((start / BLOCK..(start + piece.bytes()) / BLOCK).map(|block| (block, id + 1)));
            }
        });
    }
    current
}
