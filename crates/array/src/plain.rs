//! Requests to drives that need no others: reads and writes of stripes without redundancy, writes of zones in order,
//! trims, flushes.

use ssd::RunDrive;
use units::Bytes;
use workload::Request;

use crate::array::{Array, SeatState, Step};
use crate::layout::Piece;
use crate::ops::{OnDrive, Op, PlainOp, Purpose, Reply, Sub};
use crate::slab::Key;

impl<D: RunDrive + ?Sized> Array<D> {
    /// Hands requests to drives that need no others, and that the host's request waits for. Where no drive is left it
    /// is refused.
    pub(crate) fn plain(&mut self, request: Key, host: Request, to_drives: &[OnDrive]) {
        if to_drives.is_empty() {
            return self.mark(request, |open| open.refused = true);
        }
        self.add_part(request);
        let op = PlainOp { request, outstanding: to_drives.len(), done: false };
        let key = self.ops.insert(Some(Op::Plain(op)));
        let purpose = match host.op {
            workload::Op::Read => Purpose::ReadData,
            workload::Op::Write => Purpose::WriteData,
            _ => Purpose::Other,
        };
        for &OnDrive { drive, offset, bytes } in to_drives {
            let sub = Sub::new(key, Piece { unit: 0, start: offset.0, end: offset.0 + bytes.0 }, purpose);
            self.send_to(drive, Request { time: self.now, offset, bytes, ..host }, sub);
        }
    }

    /// A read or write of stripes without redundancy, or a write of all copies in order: what lies together on a drive
    /// is one request to it.
    pub(crate) fn begin_plain(&mut self, key: Key, request: Request) {
        let chunk = self.layout.chunk;
        let mut to_drives = std::mem::take(&mut self.to_drives);
        to_drives.clear();
        let (layout, seats) = (&self.layout, &self.seats);
        let mut is_lost = false;
        layout.split(request.offset.0, request.bytes.0, |stripe, pieces| {
            for piece in pieces {
                let units = if layout.code.copies() { 0..layout.code.width() } else { piece.unit..piece.unit + 1 };
                let spots = units.map(|unit| layout.spot(stripe, unit));
                let mut there = spots.filter(|spot| !matches!(seats[spot.place].state, SeatState::Missing)).peekable();
                is_lost |= there.peek().is_none();
                for spot in there {
                    let drive = seats[spot.place].drive;
                    let (offset, bytes) = (spot.row * chunk + piece.start, piece.bytes());
                    let ends_here =
                        |range: &&mut OnDrive| range.drive == drive && range.offset.0 + range.bytes.0 == offset;
                    match to_drives.iter_mut().find(ends_here) {
                        Some(range) => range.bytes.0 += bytes,
                        None => to_drives.push(OnDrive { drive, offset: Bytes(offset), bytes: Bytes(bytes) }),
                    }
                }
            }
        });
        if is_lost {
            self.to_drives = to_drives;
            self.counters.lost_requests += 1;
            self.data_is_lost();
            let is_read = request.op == workload::Op::Read;
            return self.mark(key, |open| if is_read { open.uncorrectable = true } else { open.refused = true });
        }
        self.plain(key, request, &to_drives);
        self.to_drives = to_drives;
    }

    pub(crate) fn plain_replied(&mut self, mut op: PlainOp, sub: Sub, mut reply: Reply) -> Option<PlainOp> {
        let is_read = sub.purpose == Purpose::ReadData;
        let host = self.open.get(op.request).map_or(workload::Op::Flush, |open| open.request.op);
        let is_left_out = self.zone_replied(host, &sub, &mut reply);
        // A drive that takes no writes any more has no current data either.
        let is_redundant = self.layout.code.parity > 0;
        if is_redundant && reply.refused {
            self.refuses(sub.drive);
        }
        // Others have what a drive that has failed does not, if any has.
        let of_redundant = is_redundant && (reply.dead || reply.refused || is_left_out);
        op.done |= reply.is_done();
        self.mark(op.request, |open| {
            if of_redundant {
                return;
            }
            if open.status.is_success() {
                open.status = reply.status;
            }
            open.uncorrectable |= reply.uncorrectable || reply.dead && is_read;
            open.refused |= reply.refused || reply.dead && !is_read;
            open.aborted |= reply.aborted;
        });
        op.outstanding -= 1;
        if op.outstanding == 0 {
            if of_redundant && !op.done {
                self.nothing_was_done(op.request, sub.purpose);
            }
            self.steps.push_back(Step::Part(op.request));
            return None;
        }
        Some(op)
    }

    /// All drives that were asked have failed. Another one may still be asked for what it has as they had it.
    fn nothing_was_done(&mut self, key: Key, purpose: Purpose) {
        let request = self.open.get(key).map(|open| open.request);
        if let Some(request) = request.filter(|request| request.op == workload::Op::ZoneReport) {
            return self.begin_report(key, request);
        }
        if purpose == Purpose::WriteData {
            self.counters.lost_requests += 1;
            self.data_is_lost();
        }
        self.mark(key, |open| open.refused = true);
    }

    pub(crate) fn begin_flush(&mut self, key: Key, request: Request) {
        let there = self.seats.iter().filter(|seat| !matches!(seat.state, SeatState::Missing));
        let to_drives: Vec<OnDrive> =
            there.map(|seat| OnDrive { drive: seat.drive, offset: Bytes(0), bytes: Bytes(0) }).collect();
        self.plain(key, request, &to_drives);
    }
}
