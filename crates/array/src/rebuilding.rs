//! Rebuilds: the units of a lost drive are worked out of the others, row by row, and written to a spare one while the
//! host goes on. A unit that has not been rebuilt counts as missing.

use ssd::RunDrive;
use units::{Bytes, Span};
use workload::Request;

use crate::array::{Array, Seat, SeatState};
use crate::layout::{Piece, Spot};
use crate::locks::Access;
use crate::observer::{ArrayEvent, OpId};
use crate::ops::{Op, Phase, Purpose, Reply, RowOp, Sub, Timer};
use crate::rebuild::{Rebuild, RebuildRecord};
use crate::slab::Key;
use crate::unit_set::UnitSet;

impl<D: RunDrive + ?Sized> Array<D> {
    /// Whether a spare drive is being written.
    pub(crate) fn is_rebuilding(&self) -> bool {
        let goes_on = |(place, seat): (usize, &Seat)| match &seat.state {
            SeatState::Rebuilding(rebuild) => rebuild.ended < self.layout.rows_of(place),
            _ => false,
        };
        self.seats.iter().enumerate().any(goes_on)
    }

    /// A spare drive takes a place.
    pub(crate) fn begin_rebuild(&mut self, place: usize, drive: usize) {
        self.seats[place] = Seat { drive, state: SeatState::Rebuilding(Rebuild::new(self.now)) };
        let record = RebuildRecord { drive, began: self.now, ended: None, rows: 0, lost: 0 };
        self.counters.rebuilds.push(record);
        self.set_timer(self.now, Timer::Rebuild(place));
        self.takes_window(place);
        self.life_begins(drive);
    }

    /// Begins rows, as many as may be under way, no faster than the rate allows.
    pub(crate) fn rebuild_goes_on(&mut self, place: usize) {
        let interval = self.config.rebuild_rate.time_for(Bytes(self.layout.chunk));
        let (now, depth, rows) = (self.now, usize::from(self.config.rebuild_depth), self.layout.rows_of(place));
        let Seat { drive, state: SeatState::Rebuilding(rebuild) } = &mut self.seats[place] else { return };
        if rebuild.allowed <= now {
            rebuild.waits = false;
        }
        if rebuild.next == rows || rebuild.under_way.len() == depth || rebuild.waits {
            return;
        }
        if rebuild.allowed > now {
            rebuild.waits = true;
            let at = rebuild.allowed;
            return self.set_timer(at, Timer::Rebuild(place));
        }
        let (row, drive) = (rebuild.next, *drive);
        rebuild.next += 1;
        rebuild.allowed = now + Span(interval.0.max(1));
        rebuild.waits = true;
        let at = rebuild.allowed;
        self.set_timer(at, Timer::Rebuild(place));
        self.begin_row(place, drive, row);
    }

    fn begin_row(&mut self, place: usize, drive: usize, row: u64) {
        let (stripe, unit) = self.layout.at(Spot { place, row });
        let phase = Phase::Locking;
        let op = RowOp {
            place,
            drive,
            row,
            stripe,
            unit,
            phase,
            outstanding: 0,
            failed: UnitSet::EMPTY,
            again: false,
            lost: false,
        };
        let key = self.ops.insert(None);
        if let SeatState::Rebuilding(rebuild) = &mut self.seats[place].state {
            rebuild.under_way.push(key);
        }
        let held = self.locks.acquire(stripe, key, Access::Exclusive, (0, self.layout.chunk));
        self.counters.lock_waits += u64::from(!held);
        let left = if held { self.row_granted(op, key) } else { Some(op) };
        self.put_back(key, left.map(Op::Row));
    }

    /// The drive of a rebuild has failed: what is under way is of no use.
    pub(crate) fn rebuild_ends(&mut self, rebuild: Rebuild) {
        for key in rebuild.under_way {
            // That which has found it out ends by itself.
            if let Some(Some(Op::Row(RowOp { stripe, .. }))) = self.ops.get_mut(key) {
                let stripe = *stripe;
                self.ops.remove(key);
                self.unlock(stripe, key);
            }
        }
    }

    /// The stripe is locked: as many units are read as give the lost one.
    pub(crate) fn row_granted(&mut self, mut op: RowOp, key: Key) -> Option<RowOp> {
        let (code, chunk) = (self.layout.code, self.layout.chunk);
        let bad = op.failed.with(op.unit);
        let chosen = self.candidates(op.stripe, |unit| !bad.has(unit));
        if chosen.len() < code.data {
            self.data_is_lost();
            return self.row_is_over(&op, key, true);
        }
        (op.phase, op.again, op.outstanding) = (Phase::Reading, false, code.data);
        for unit in chosen.into_iter().take(code.data) {
            let sub = Sub::new(key, Piece { unit, start: 0, end: chunk }, Purpose::ReadRebuild);
            self.send(workload::Op::Read, op.stripe, sub, None);
        }
        Some(op)
    }

    pub(crate) fn row_replied(&mut self, mut op: RowOp, sub: Sub, reply: Reply) -> Option<RowOp> {
        op.outstanding -= 1;
        let (id, stripe, piece) = (OpId(sub.op.number()), op.stripe, sub.piece);
        if op.phase == Phase::Writing {
            if reply.is_done() {
                self.tell(&ArrayEvent::Rebuilt { op: id, drive: sub.drive, stripe, unit: piece.unit });
            } else if reply.refused {
                self.refuses(sub.drive);
            }
            let is_rebuilt = sub.purpose != Purpose::WriteRebuild || reply.is_done();
            op.lost |= !is_rebuilt && !reply.aborted;
            op.again |= !is_rebuilt && reply.aborted;
            if op.outstanding > 0 {
                return Some(op);
            }
            if op.again && !op.lost {
                // The power of the spare drive was cut.
                return self.row_granted(op, sub.op);
            }
            let lost = op.lost;
            return self.row_is_over(&op, sub.op, lost);
        }
        let drive = sub.drive;
        if reply.is_done() {
            self.tell(&ArrayEvent::Read { op: id, drive, stripe, piece, is_locked: true });
        } else {
            self.counters.reads_failed += 1;
            // What the cut of a drive's power has aborted is read again.
            if !reply.aborted {
                op.failed.insert(piece.unit);
            }
            op.again = true;
        }
        if op.outstanding > 0 {
            return Some(op);
        }
        if op.again {
            return self.row_granted(op, sub.op);
        }
        if self.members[op.drive].failed.is_some() {
            return self.row_is_over(&op, sub.op, true);
        }
        let chunk = self.layout.chunk;
        let request = Request::new(self.now, workload::Op::Write, Bytes(op.row * chunk), Bytes(chunk));
        self.send_to(op.drive, request, Sub::new(sub.op, self.whole(op.unit), Purpose::WriteRebuild));
        // What could not be read on the way is worked out too.
        (op.phase, op.outstanding) = (Phase::Writing, 1 + self.repair_units(op.stripe, sub.op, op.failed));
        Some(op)
    }

    /// Whether the place of a unit was rebuilt without it, since too little of its stripe could be read: what a whole
    /// stripe is written with can be stored there again.
    pub(crate) fn is_lost(&self, stripe: u64, unit: usize) -> bool {
        let spot = self.layout.spot(stripe, unit);
        matches!(&self.seats[spot.place].state, SeatState::Rebuilding(rebuild) if rebuild.has_lost(spot.row))
    }

    /// A unit of a stripe that was written whole is on this drive. If it was lost it is no longer.
    pub(crate) fn is_no_longer_lost(&mut self, stripe: u64, unit: usize, drive: usize) {
        let spot = self.layout.spot(stripe, unit);
        let (rows, seat) = (self.layout.rows_of(spot.place), &mut self.seats[spot.place]);
        if let SeatState::Rebuilding(rebuild) = &mut seat.state
            && seat.drive == drive
            && rebuild.has_lost(spot.row)
        {
            rebuild.is_written(spot.row);
            if rebuild.is_whole(rows) {
                seat.state = SeatState::Present;
                self.seats_change();
            }
        }
    }

    /// A row has been rebuilt, or is lost, or the spare drive is.
    fn row_is_over(&mut self, op: &RowOp, key: Key, is_lost: bool) -> Option<RowOp> {
        let (rows, now) = (self.layout.rows_of(op.place), self.now);
        let seat = &mut self.seats[op.place];
        if let SeatState::Rebuilding(rebuild) = &mut seat.state
            && seat.drive == op.drive
        {
            rebuild.row_ends(key, op.row, is_lost);
            let (has_ended, is_whole) = (rebuild.ended == rows, rebuild.is_whole(rows));
            let records = &mut self.counters.rebuilds;
            let record = records.iter_mut().find(|record| record.drive == op.drive);
            let record = record.expect("Invariant: a rebuild is recorded");
            record.rows += u64::from(!is_lost);
            record.lost += u64::from(is_lost);
            if has_ended {
                record.ended = Some(now);
                if is_whole {
                    seat.state = SeatState::Present;
                }
            } else {
                self.set_timer(now, Timer::Rebuild(op.place));
            }
        }
        self.seats_change();
        self.unlock(op.stripe, key);
        None
    }
}
