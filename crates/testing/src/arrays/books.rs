//! The host's books of an array: what it has asked for and been told, against what the oracle has seen.

use std::collections::BTreeMap;

use array::{Array, Layout};
use ssd::{Completion, Drive, RunDrive, RunError};
use units::{Bytes, Stream, Time};
use workload::{Op, Request};

use super::oracle::{BLOCK, Oracle};

/// What must hold of an array in the end.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// No request was refused, and all data is there.
    pub nothing_lost: bool,
    /// Drives have read and written what they were asked for until they failed: what is left is exact.
    pub exact: bool,
    /// And no error waits where nothing was written: what is given up is not there.
    pub nothing_given_up: bool,
}

/// The books. Versions are the numbers of requests, from 1.
#[derive(Default)]
pub struct Books {
    requests: Vec<Request>,
    /// By the numbers of requests.
    pub completions: BTreeMap<u64, Completion>,
    /// The newest version of each block that has been acknowledged.
    current: BTreeMap<u64, u64>,
    /// Of each request, the versions of its blocks that had been acknowledged when it came.
    acknowledged: Vec<BTreeMap<u64, u64>>,
    last: Time,
    /// How many requests came before all data was read.
    of_load: usize,
}

/// The blocks of a request.
fn blocks(request: &Request) -> std::ops::Range<u64> {
    request.offset.0 / BLOCK..(request.offset.0 + request.bytes.0) / BLOCK
}

impl Books {
    /// Hands a request over at the array's present or later.
    pub fn submit<D: RunDrive>(&mut self, array: &mut Array<D>, request: Request) -> Result<(), RunError> {
        let versions = blocks(&request).map(|block| (block, self.current.get(&block).copied().unwrap_or(0)));
        self.acknowledged.push(versions.collect());
        self.requests.push(request);
        array.submit(request).map(drop)
    }

    /// Takes what has completed: each request once, in the order of time.
    pub fn take<D: RunDrive>(&mut self, array: &mut Array<D>) {
        for completion in array.take_completions() {
            assert!(completion.finish >= self.last, "in the order of time");
            self.last = completion.finish;
            let request = completion.request;
            assert_eq!(request, self.requests[completion.id as usize]);
            assert!(self.completions.insert(completion.id, completion).is_none(), "once");
            if request.op == Op::Write && !completion.refused && !completion.aborted {
                for block in blocks(&request) {
                    let version = self.current.entry(block).or_default();
                    *version = (*version).max(completion.id + 1);
                }
            }
        }
    }

    /// Plays an array to its end, rebuilds included, and then reads every byte of it.
    pub fn play_to_the_end<D: RunDrive>(&mut self, array: &mut Array<D>, seed: u64) -> Result<(), RunError> {
        array.flush()?;
        self.take(array);
        self.of_load = self.requests.len();
        let (random, blocks) = (Stream::new(seed, "reads of all"), array.capacity().0 / BLOCK);
        let mut first = 0;
        while first < blocks {
            let count = (1 + random.below(first, 20)).min(blocks - first);
            let read = Request::new(array.now(), Op::Read, Bytes(first * BLOCK), Bytes(count * BLOCK));
            self.submit(array, read)?;
            while array.outstanding() > 0 && array.advance_to_completion(Time::NEVER)? {
                self.take(array);
            }
            first += count;
        }
        array.flush()?;
        self.take(array);
        array.check_all()
    }

    /// The version that each block has when all requests have been done in their order: those of writes, and of trims
    /// where the array has handed them on. What is not there was never written.
    fn in_order(&self, layout: &Layout, oracle: &Oracle) -> BTreeMap<u64, u64> {
        let mut versions = BTreeMap::new();
        let changes = |request: &Request| [Op::Write, Op::Trim].contains(&request.op);
        for (id, request) in (0..).zip(&self.requests).filter(|(_, request)| changes(request)) {
            layout.split(request.offset.0, request.bytes.0, |stripe, pieces| {
                if !oracle.planned.contains(&(id, stripe)) {
                    return;
                }
                for piece in pieces {
                    let start = (stripe * layout.code.data as u64 + piece.unit as u64) * layout.chunk + piece.start;
                    versions.extend((start / BLOCK..(start + piece.bytes()) / BLOCK).map(|block| (block, id + 1)));
                }
            });
        }
        versions
    }

    /// The version of each block after all writes and trims of an array that writes to a log, which does them in their
    /// order. Blocks of refused requests have none: they may have been written or not.
    fn in_order_of_log(&self) -> BTreeMap<u64, Option<u64>> {
        let changes = |request: &Request| [Op::Write, Op::Trim].contains(&request.op);
        let each = (0..).zip(&self.requests).filter(|(_, request)| changes(request));
        let version = |id: u64| (!self.completions[&id].refused).then_some(id + 1);
        each.flat_map(|(id, request)| blocks(request).map(move |block| (block, version(id)))).collect()
    }

    /// Checks what was read against what was written.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check<D: RunDrive>(&self, array: &Array<D>, oracle: &Oracle, expected: Expected) -> Result<(), String> {
        if self.completions.len() != self.requests.len() || array.outstanding() != 0 {
            return Err(format!("{} of {} requests have completed", self.completions.len(), self.requests.len()));
        }
        let lost = self.completions.values().find(|done| done.refused || done.uncorrectable);
        if let Some(lost) = lost.filter(|_| expected.nothing_lost) {
            return Err(format!("lost, and need not be: {lost:?}"));
        }
        if let Some(given_up) = oracle.given_up.as_ref().filter(|_| expected.nothing_given_up) {
            return Err(given_up.clone());
        }
        // What the array reads for itself has numbers beyond those.
        let of_host = || oracle.served.range(..(self.requests.len() as u64, 0));
        of_host().try_for_each(|((id, block), version)| self.check_read(*id, *block, *version))?;
        if !expected.exact {
            return Ok(());
        }
        let layout = array.placement();
        let is_log = array.capacity() != layout.capacity();
        let in_place = (!is_log).then(|| self.in_order(layout, oracle));
        let there = oracle.check(&array.drives_in_place(), in_place.as_ref());
        let versions = match in_place {
            Some(versions) => versions.into_iter().map(|(block, version)| (block, Some(version))).collect(),
            None => self.in_order_of_log(),
        };
        if expected.nothing_lost && there != layout.stripes() {
            return Err(format!("{there} of {} stripes are there", layout.stripes()));
        }
        // And what the host has read in the end of what is left is just that.
        let is_left = |block: u64| oracle.is_there(layout.locate(block * BLOCK).stripe);
        for ((id, block), version) in of_host().filter(|((id, _), _)| *id as usize >= self.of_load) {
            let Some(newest) = versions.get(block).copied().unwrap_or(Some(0)) else { continue };
            // Of a log, what is lost is so by its place.
            let is_left = if is_log { version.is_some() } else { is_left(*block) };
            if *version != Some(newest) && is_left {
                return Err(format!("read {id} of block {block} is given version {version:?} of {newest}"));
            }
        }
        Ok(())
    }

    /// The version that was acknowledged when a read came, or a later one of those that had come before it completed.
    fn check_read(&self, id: u64, block: u64, version: Option<u64>) -> Result<(), String> {
        let done = &self.completions[&id];
        let Some(version) = version else {
            return if done.uncorrectable { Ok(()) } else { Err(format!("read {id} is lost and told as whole")) };
        };
        let least = self.acknowledged[id as usize][&block];
        let is_sound = version == 0 || {
            let write = &self.requests[version as usize - 1];
            let changes = [Op::Write, Op::Trim].contains(&write.op);
            changes && blocks(write).contains(&block) && write.time <= done.finish
        };
        if version >= least && is_sound {
            return Ok(());
        }
        Err(format!("read {id} of block {block} is given version {version}, and {least} was acknowledged"))
    }
}
