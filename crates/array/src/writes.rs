//! Writes of stripes with redundancy: planned with the drives that are there (`plan.rs`), under a lock.

use ssd::RunDrive;
use workload::Request;

use crate::array::{Array, Step};
use crate::layout::{Piece, hull};
use crate::locks::Access;
use crate::observer::{ArrayEvent, OpId};
use crate::ops::{Op, Phase, Purpose, Reply, Sub, WriteOp};
use crate::plan::plan;
use crate::rewrite::WriteKind;
use crate::slab::Key;
use crate::unit_set::UnitSet;

impl<D: RunDrive + ?Sized> Array<D> {
    pub(crate) fn begin_write(&mut self, request: Key, host: Request) {
        let mut stripes: Vec<(u64, Vec<Piece>)> = Vec::new();
        self.layout.split(host.offset.0, host.bytes.0, |stripe, pieces| stripes.push((stripe, pieces.to_vec())));
        self.begin_writes(request, false, stripes);
    }

    /// Trims of stripes with redundancy go to drives where they leave the parity right: whole stripes, and copies.
    /// Others are left out.
    pub(crate) fn begin_trims(&mut self, request: Key, host: Request) {
        let (code, chunk) = (self.layout.code, self.layout.chunk);
        let mut stripes: Vec<(u64, Vec<Piece>)> = Vec::new();
        let mut left_out = 0;
        self.layout.split(host.offset.0, host.bytes.0, |stripe, pieces| {
            let is_whole = pieces.len() == code.data && pieces.iter().all(|piece| piece.bytes() == chunk);
            if is_whole || code.copies() {
                stripes.push((stripe, pieces.to_vec()));
            } else {
                left_out += pieces.iter().map(|piece| piece.bytes()).sum::<u64>();
            }
        });
        self.counters.trims_left_out_bytes += left_out;
        self.begin_writes(request, true, stripes);
    }

    pub(crate) fn begin_writes(&mut self, request: Key, is_trim: bool, stripes: Vec<(u64, Vec<Piece>)>) {
        for (stripe, pieces) in stripes {
            self.add_part(request);
            let range = hull(&pieces);
            let op = WriteOp {
                request,
                is_trim,
                stripe,
                pieces,
                kind: WriteKind::Full,
                writes: Vec::new(),
                phase: Phase::Locking,
                outstanding: 0,
                failed: UnitSet::EMPTY,
                again: false,
            };
            let key = self.ops.insert(None);
            let left = if self.locks.acquire(stripe, key, Access::Exclusive, range) {
                self.write_granted(op, key)
            } else {
                self.counters.lock_waits += 1;
                Some(op)
            };
            self.put_back(key, left.map(Op::Write));
        }
    }

    /// The stripe is locked: what has to be read is read.
    pub(crate) fn write_granted(&mut self, mut op: WriteOp, key: Key) -> Option<WriteOp> {
        let stored = |unit: usize| self.takes_write(&op, unit);
        let readable = |unit: usize| self.is_stored(op.stripe, unit) && !op.failed.has(unit);
        let Some(plan) = plan(self.config.rewrite, self.layout.code, &op.pieces, stored, readable) else {
            return self.write_is_lost(op, key);
        };
        let request = self.open.get_mut(op.request).map_or(0, |open| open.id);
        let logged = self.logged(op.request);
        self.tell(&ArrayEvent::Planned {
            op: OpId(key.number()),
            request,
            stripe: op.stripe,
            kind: plan.kind,
            pieces: &op.pieces,
            logged: &logged,
        });
        (op.kind, op.writes, op.again, op.phase) = (plan.kind, plan.writes, false, Phase::Reading);
        op.outstanding = plan.reads.len();
        let host = self.open.get_mut(op.request).map(|open| open.request);
        for piece in plan.reads {
            let sub = Sub::new(key, piece, Purpose::ReadBeforeWrite);
            self.send(workload::Op::Read, op.stripe, sub, host);
        }
        self.write_goes_on(op, key)
    }

    /// Whether a unit is written, if it is among what has to be: where its place holds its data, or will hold it as all
    /// of the stripe is written.
    fn takes_write(&self, op: &WriteOp, unit: usize) -> bool {
        self.is_stored(op.stripe, unit) || self.writes_whole(op) && self.is_lost(op.stripe, unit)
    }

    /// Whether a whole stripe is written, whatever was there.
    fn writes_whole(&self, op: &WriteOp) -> bool {
        let (code, chunk) = (self.layout.code, self.layout.chunk);
        !op.is_trim && op.pieces.len() == code.data && op.pieces.iter().all(|piece| piece.bytes() == chunk)
    }

    pub(crate) fn write_replied(&mut self, mut op: WriteOp, sub: Sub, reply: Reply) -> Option<WriteOp> {
        let is_done = reply.is_done();
        op.outstanding -= 1;
        if reply.aborted && op.phase == Phase::Writing {
            self.mark(op.request, |open| open.aborted = true);
        }
        let drive = sub.drive;
        let (id, stripe, piece) = (OpId(sub.op.number()), op.stripe, sub.piece);
        match op.phase {
            Phase::Reading if is_done => self.tell(&ArrayEvent::Read { op: id, drive, stripe, piece, is_locked: true }),
            Phase::Reading => {
                self.counters.reads_failed += 1;
                // What the cut of a drive's power has aborted is read again.
                if !reply.aborted {
                    op.failed.insert(piece.unit);
                }
                op.again = true;
            }
            _ if is_done => {
                self.tell(&ArrayEvent::Written { op: id, drive, stripe, piece });
                if !self.is_whole && self.writes_whole(&op) {
                    self.is_no_longer_lost(stripe, piece.unit, drive);
                }
            }
            // A drive that takes no writes any more has no current data either.
            _ if reply.refused => self.refuses(drive),
            _ => {}
        }
        self.write_goes_on(op, sub.op)
    }

    /// Where nothing is outstanding: it is planned again, written, or done.
    fn write_goes_on(&mut self, mut op: WriteOp, key: Key) -> Option<WriteOp> {
        if op.outstanding > 0 {
            return Some(op);
        }
        if op.again {
            return self.write_granted(op, key);
        }
        if op.phase == Phase::Reading {
            op.phase = Phase::Writing;
            self.count(&op);
            let mut writes = std::mem::take(&mut op.writes);
            writes.retain(|piece| self.takes_write(&op, piece.unit));
            op.outstanding = writes.len();
            let host = self.open.get_mut(op.request).map(|open| open.request);
            for piece in writes {
                let (kind, purpose) = match piece.unit < self.layout.code.data {
                    _ if op.is_trim => (workload::Op::Trim, Purpose::Other),
                    true => (workload::Op::Write, Purpose::WriteData),
                    false => (workload::Op::Write, Purpose::WriteParity),
                };
                self.send(kind, op.stripe, Sub::new(key, piece, purpose), host);
            }
            if op.outstanding > 0 {
                return Some(op);
            }
        }
        let there = (0..self.layout.code.width()).filter(|unit| self.is_stored(op.stripe, *unit)).count();
        if there < self.layout.code.data {
            return self.write_is_lost(op, key);
        }
        self.write_is_over(&op, key)
    }

    /// A write has read what it needs, whichever way that was in the end.
    fn count(&mut self, op: &WriteOp) {
        match op.kind {
            _ if op.is_trim => {}
            WriteKind::Full => self.counters.writes_full += 1,
            WriteKind::ReadModifyWrite => self.counters.writes_read_modify += 1,
            WriteKind::Reconstruct => self.counters.writes_reconstruct += 1,
            WriteKind::Decode => self.counters.writes_decode += 1,
        }
    }

    /// Too many drives are missing: what was to be written is not stored.
    fn write_is_lost(&mut self, op: WriteOp, key: Key) -> Option<WriteOp> {
        self.counters.lost_requests += 1;
        self.data_is_lost();
        self.mark(op.request, |open| open.refused = true);
        let request = self.open.get_mut(op.request).map_or(0, |open| open.id);
        self.tell(&ArrayEvent::NotStored { request, stripe: op.stripe });
        self.write_is_over(&op, key)
    }

    fn write_is_over(&mut self, op: &WriteOp, key: Key) -> Option<WriteOp> {
        self.unlock(op.stripe, key);
        self.steps.push_back(Step::Part(op.request));
        None
    }
}
