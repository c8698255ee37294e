//! Scrubs: the data of all stripes is read, one stripe after another and once more from the first, so that errors which
//! no read has met are found while the other drives can make good for them. A stripe is locked while it is read and
//! repaired. They go on while the host has requests, or a rebuild does.

use ssd::{Drive, RunDrive};
use units::{Bytes, Span};

use crate::array::Array;
use crate::layout::Piece;
use crate::locks::Access;
use crate::observer::{ArrayEvent, OpId};
use crate::ops::{Op, Phase, Purpose, Reply, Scrub, ScrubOp, Sub, Timer};
use crate::slab::Key;
use crate::unit_set::UnitSet;

impl<D: RunDrive + ?Sized> Array<D> {
    /// The workload begins, and scrubs with it, if there are any.
    pub(crate) fn begin_scrubs(&mut self) {
        if self.config.scrub_rate.is_none() {
            self.scrub = None;
        } else if self.scrub.is_none() {
            self.scrub = Some(Scrub { next: 0, allowed: self.now, sleeps: true });
        }
    }

    /// The host has a request.
    pub(crate) fn wake_scrub(&mut self) {
        let now = self.now;
        let Some(scrub) = self.scrub.as_mut().filter(|scrub| scrub.sleeps) else { return };
        scrub.sleeps = false;
        let at = scrub.allowed.max(now);
        self.set_timer(at, Timer::Scrub);
    }

    /// The next stripe is read.
    pub(crate) fn scrub_goes_on(&mut self) {
        let is_needed = self.outstanding() > 0 || self.is_rebuilding();
        let (now, stripes, code) = (self.now, self.layout.stripes(), self.layout.code);
        let bytes = Bytes(self.layout.chunk * code.width() as u64);
        let (Some(scrub), Some(rate)) = (&mut self.scrub, self.config.scrub_rate) else { return };
        if !is_needed {
            scrub.sleeps = true;
            return;
        }
        let stripe = scrub.next;
        *scrub =
            Scrub { next: (stripe + 1) % stripes, allowed: now + Span(rate.time_for(bytes).0.max(1)), sleeps: false };
        let key = self.ops.insert(None);
        let op = ScrubOp { stripe, phase: Phase::Locking, outstanding: 0, failed: UnitSet::EMPTY };
        let held = self.locks.acquire(stripe, key, Access::Exclusive, (0, self.layout.chunk));
        self.counters.lock_waits += u64::from(!held);
        let left = if held { self.scrub_granted(op, key) } else { Some(op) };
        self.put_back(key, left.map(Op::Scrub));
    }

    pub(crate) fn scrub_granted(&mut self, mut op: ScrubOp, key: Key) -> Option<ScrubOp> {
        let stored: Vec<usize> =
            (0..self.layout.code.width()).filter(|unit| self.is_stored(op.stripe, *unit)).collect();
        (op.phase, op.outstanding) = (Phase::Reading, stored.len());
        for unit in stored {
            let piece = self.whole(unit);
            self.send(workload::Op::Read, op.stripe, Sub::new(key, piece, Purpose::ReadScrub), None);
        }
        self.scrubbed(op, key)
    }

    pub(crate) fn scrub_replied(&mut self, mut op: ScrubOp, sub: Sub, reply: Reply) -> Option<ScrubOp> {
        op.outstanding -= 1;
        let (id, stripe, piece, drive) = (OpId(sub.op.number()), op.stripe, sub.piece, sub.drive);
        match op.phase {
            Phase::Writing if reply.is_done() => {
                self.tell(&ArrayEvent::Rebuilt { op: id, drive, stripe, unit: piece.unit });
            }
            Phase::Writing if reply.refused => self.refuses(drive),
            Phase::Writing => {}
            _ if reply.is_done() => self.tell(&ArrayEvent::Read { op: id, drive, stripe, piece, is_locked: true }),
            // The cut of the drive's power says nothing of its data.
            _ if reply.aborted => {}
            _ => {
                self.counters.scrub_errors += u64::from(reply.uncorrectable);
                op.failed.insert(piece.unit);
            }
        }
        self.scrubbed(op, sub.op)
    }

    /// Where nothing is outstanding: errors are repaired, or the stripe is done.
    fn scrubbed(&mut self, mut op: ScrubOp, key: Key) -> Option<ScrubOp> {
        if op.outstanding > 0 {
            return Some(op);
        }
        if op.phase == Phase::Reading {
            let code = self.layout.code;
            let good = |unit: &usize| !op.failed.has(*unit) && self.is_stored(op.stripe, *unit);
            let left = (0..code.width()).filter(good).count();
            self.counters.stripes_scrubbed += 1;
            if left < code.data {
                self.counters.scrub_lost += 1;
                self.data_is_lost();
            } else {
                (op.phase, op.outstanding) = (Phase::Writing, self.repair_units(op.stripe, key, op.failed));
                if op.outstanding > 0 {
                    return Some(op);
                }
            }
        }
        self.unlock(op.stripe, key);
        let now = self.now;
        if let Some(scrub) = &self.scrub {
            let at = scrub.allowed.max(now);
            self.set_timer(at, Timer::Scrub);
        }
        None
    }

    /// All of a unit.
    pub(crate) fn whole(&self, unit: usize) -> Piece {
        Piece { unit, start: 0, end: self.layout.chunk }
    }
}
