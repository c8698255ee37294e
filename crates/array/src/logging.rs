//! An array whose writes go to a log (`log.rs`): requests of the host become blocks of it, slices of stripes are
//! written whole, and stripes are cleaned.
//!
//! What the array asks of itself meanwhile is a request of its own: one of the host's, for all that follows, but nobody
//! is answered.

use std::collections::BTreeMap;

use ssd::RunDrive;
use units::Bytes;
use workload::{Op, Request};

use crate::array::{Array, Step};
use crate::layout::Piece;
use crate::log::{BLOCK, Batch, Found, Log, Origin};
use crate::observer::{ArrayEvent, Logged, LoggedFrom};
use crate::ops::{Open, ReadOp, Then, Timer};
use crate::slab::Key;

/// A part of a block of the log.
struct InBlock {
    slot: u64,
    from: u64,
    to: u64,
}

impl<D: RunDrive + ?Sized> Array<D> {
    fn the_log(&mut self) -> &mut Log {
        self.log.as_mut().expect("Invariant: the array has a log")
    }

    /// A request of the array's own.
    fn ask_itself(&mut self, op: Op, bytes: u64, then: Then) -> Key {
        self.own_requests += 1;
        let (id, request) = (u64::MAX - self.own_requests, Request::new(self.now, op, Bytes(0), Bytes(bytes)));
        let then = Some(Box::new(then));
        self.own_open += 1;
        self.open.insert(Open::new(id, request, then))
    }

    /// The host reads: blocks that have not been written yet it has, and for those which are trimmed no drive is asked.
    pub(crate) fn begin_log_read(&mut self, key: Key, request: Request) {
        let (start, end) = (request.offset.0, request.offset.0 + request.bytes.0);
        let id = self.open.get_mut(key).map_or(0, |open| open.id);
        let mut slots = Vec::new();
        for block in start / BLOCK..end.div_ceil(BLOCK) {
            let found = self.the_log().find(block);
            if let Found::Slot(slot) = found {
                let first = start.saturating_sub(block * BLOCK);
                let last = (end - block * BLOCK).min(BLOCK);
                slots.push(InBlock { slot, from: first, to: last });
            }
            let found = match found {
                Found::Slot(slot) => Ok(self.the_log().piece(slot)),
                Found::Memory(request) | Found::Trimmed(request) => Err(request),
            };
            self.tell(&ArrayEvent::Found { request: id, block, found });
        }
        self.read_slots(key, &slots);
    }

    /// Reads ranges of blocks, stripe by stripe.
    fn read_slots(&mut self, key: Key, slots: &[InBlock]) {
        let mut stripes: BTreeMap<u64, Vec<Piece>> = BTreeMap::new();
        for InBlock { slot, from, to } in slots {
            let (stripe, Piece { unit, start, .. }) = self.the_log().piece(*slot);
            stripes.entry(stripe).or_default().push(Piece { unit, start: start + from, end: start + to });
        }
        for (stripe, mut pieces) in stripes {
            pieces.sort_by_key(|piece| (piece.unit, piece.start));
            pieces.dedup_by(|next, last| {
                let joins = next.unit == last.unit && next.start <= last.end;
                if joins {
                    last.end = last.end.max(next.end);
                }
                joins
            });
            self.the_log().pin(stripe);
            self.add_part(key);
            self.start_read(ReadOp { request: key, stripe, wanted: pieces, ..ReadOp::default() });
        }
    }

    /// The host writes. Of a block that it writes in part the rest is read first.
    pub(crate) fn begin_log_write(&mut self, key: Key, request: Request) {
        let (start, end) = (request.offset.0, request.offset.0 + request.bytes.0);
        let mut in_part = Vec::new();
        if !start.is_multiple_of(BLOCK) {
            in_part.push(start / BLOCK);
        }
        if !end.is_multiple_of(BLOCK) && in_part.first() != Some(&(end / BLOCK)) {
            in_part.push(end / BLOCK);
        }
        let slots = in_part.into_iter().filter_map(|block| match self.the_log().find(block) {
            Found::Slot(slot) => Some(InBlock { slot, from: 0, to: BLOCK }),
            _ => None,
        });
        let slots: Vec<_> = slots.collect();
        if slots.is_empty() {
            return self.gather(key);
        }
        self.add_part(key);
        let first = self.ask_itself(Op::Read, slots.len() as u64 * BLOCK, Then::Gather { request: key });
        self.read_slots(first, &slots);
        self.steps.push_back(Step::Part(first));
    }

    /// The blocks of a request of the host wait to be written.
    fn gather(&mut self, key: Key) {
        let open = self.open.get_mut(key).expect("Invariant: the request waits");
        let Request { offset, bytes, .. } = open.request;
        let blocks = offset.0 / BLOCK..(offset.0 + bytes.0).div_ceil(BLOCK);
        open.parts += (blocks.end - blocks.start) as u32;
        let id = open.id;
        blocks.for_each(|block| self.the_log().gather(block, key, id));
        self.log_goes_on();
    }

    /// Blocks that are trimmed whole are nowhere.
    pub(crate) fn begin_log_trim(&mut self, key: Key, request: Request) {
        let id = self.open.get_mut(key).map_or(0, |open| open.id);
        let (start, end) = (request.offset.0, request.offset.0 + request.bytes.0);
        let blocks = start.div_ceil(BLOCK)..(end / BLOCK).max(start.div_ceil(BLOCK));
        self.counters.trims_left_out_bytes += request.bytes.0 - (blocks.end - blocks.start) * BLOCK;
        for block in blocks {
            self.the_log().trim(block, id);
            self.tell(&ArrayEvent::Trimmed { request: id, block });
        }
        self.log_goes_on();
    }

    /// What fills slices is written, and stripes are cleaned.
    fn log_goes_on(&mut self) {
        loop {
            if let Some(batch) = self.the_log().next_batch(false) {
                self.write_slices(batch);
            } else if let Some((stripe, blocks)) = self.the_log().next_victim() {
                self.clean(stripe, blocks);
            } else {
                break;
            }
        }
        for refused in self.the_log().refused() {
            self.counters.lost_requests += 1;
            self.host_block_ends(refused.origin, true);
        }
        let at = self.now + self.config.log_wait;
        let log = self.the_log();
        if log.has_less_than_a_slice() && !std::mem::replace(&mut log.woken, true) {
            self.set_timer(at, Timer::Gather);
        }
    }

    /// What has waited for long enough is written, though it fills no slice.
    pub(crate) fn gathered(&mut self) {
        self.the_log().woken = false;
        while let Some(batch) = self.the_log().next_batch(true) {
            self.write_slices(batch);
        }
        self.log_goes_on();
    }

    fn write_slices(&mut self, batch: Batch) {
        let count = |is: fn(&Origin) -> bool| batch.entries.iter().filter(|entry| is(&entry.origin)).count() as u64;
        self.counters.log_blocks_written += count(|origin| matches!(origin, Origin::Host { .. }));
        self.counters.log_blocks_moved += count(|origin| matches!(origin, Origin::Moved { .. }));
        self.counters.log_blocks_padded += count(|origin| matches!(origin, Origin::Padding));
        let (stripe, bytes) = (batch.stripe, batch.entries.len() as u64 * BLOCK);
        let (start, end) = (batch.first * BLOCK, (batch.first + batch.slices) * BLOCK);
        let pieces = (0..self.layout.code.data).map(|unit| Piece { unit, start, end }).collect();
        let key = self.ask_itself(Op::Write, bytes, Then::Written { batch });
        self.begin_writes(key, false, vec![(stripe, pieces)]);
        self.steps.push_back(Step::Part(key));
    }

    fn clean(&mut self, stripe: u64, blocks: Vec<(u64, u64)>) {
        self.counters.log_stripes_cleaned += 1;
        if blocks.is_empty() {
            return;
        }
        let slots: Vec<InBlock> = blocks.iter().map(|(_, slot)| InBlock { slot: *slot, from: 0, to: BLOCK }).collect();
        let key = self.ask_itself(Op::Read, blocks.len() as u64 * BLOCK, Then::Moves { stripe, blocks });
        self.read_slots(key, &slots);
        self.steps.push_back(Step::Part(key));
    }

    /// A request of the array's own is done.
    pub(crate) fn own_request_ends(&mut self, open: Open, then: Then) {
        self.own_open -= 1;
        let is_done = !(open.uncorrectable || open.refused || open.aborted);
        match then {
            Then::Gather { request } => {
                if is_done {
                    self.gather(request);
                } else {
                    self.mark(request, |open| open.refused = true);
                }
                self.steps.push_back(Step::Part(request));
            }
            Then::Moves { stripe, blocks } => {
                if is_done {
                    self.the_log().moves(&blocks, open.id);
                } else {
                    self.the_log().keeps(stripe);
                }
            }
            Then::Written { batch } => {
                self.the_log().written(&batch, is_done);
                batch.entries.iter().for_each(|entry| self.host_block_ends(entry.origin, !is_done));
            }
        }
        self.log_goes_on();
    }

    /// A block of the host's is written, or will not be.
    fn host_block_ends(&mut self, origin: Origin, is_refused: bool) {
        if let Origin::Host { request, .. } = origin {
            if is_refused {
                self.mark(request, |open| open.refused = true);
            }
            self.steps.push_back(Step::Part(request));
        }
    }

    /// What is read or written of a stripe of a log is over.
    pub(crate) fn unpin(&mut self, stripe: u64) {
        if self.log.is_some() {
            self.the_log().unpin(stripe);
            self.log_goes_on();
        }
    }

    /// What is written of a stripe of a log, for those who follow where data is.
    pub(crate) fn logged(&mut self, request: Key) -> Vec<Logged> {
        let Some(log) = self.log.as_ref().filter(|_| self.is_observed()) else { return Vec::new() };
        let Some(Then::Written { batch }) = self.open.get(request).and_then(|open| open.then.as_deref()) else {
            return Vec::new();
        };
        let each = log.slots(batch).zip(&batch.entries);
        each.map(|(slot, entry)| {
            let (_, Piece { unit, start, .. }) = log.piece(slot);
            let from = match entry.origin {
                Origin::Host { request, .. } => {
                    LoggedFrom::Host { request: self.open.get(request).map_or(0, |open| open.id) }
                }
                Origin::Moved { from, read } => {
                    let (stripe, Piece { unit, start, .. }) = log.piece(from);
                    LoggedFrom::Stripe { read, stripe, unit, start }
                }
                Origin::Padding => LoggedFrom::Nothing,
            };
            Logged { unit, start, from }
        })
        .collect()
    }
}
