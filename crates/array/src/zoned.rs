//! What an array of drives with zones does with requests: the array admits what its host asks for by the states of its
//! own zones, and its drives are asked in the same order, all in one queue, so that each of them meets its write
//! pointer.

use ssd::zones::Allowed;
use ssd::{RunDrive, Status};
use units::Bytes;
use workload::{Op, Request, ZoneAction};

use crate::array::{Array, SeatState, Step};
use crate::layout::Piece;
use crate::ops::{self, FinishOp, OnDrive, Open, Purpose, Reply, Sub};
use crate::slab::Key;

/// The queue of drives in which zones are written.
const QUEUE: u16 = 0;

impl<D: RunDrive + ?Sized> Array<D> {
    /// A request to an array with zones, which may refuse it.
    pub(crate) fn begin_zoned(&mut self, key: Key, request: Request) {
        let Some(zones) = &mut self.zones else { return };
        match zones.spread.allow(&request) {
            Err(status) => self.mark(key, |open| open.status = status),
            Ok(Allowed::Anywhere) => self.begin_anywhere(key, request),
            Ok(Allowed::InOrder { zone, offset }) => {
                self.mark(key, |open| open.in_order = Some((zone, offset)));
                self.begin_plain(key, Request { op: Op::Write, offset, ..request.on(QUEUE) });
            }
            Ok(Allowed::Action(chosen)) => {
                let to_drives: Vec<OnDrive> = chosen.iter().flat_map(|zone| self.on_drives(*zone)).collect();
                if to_drives.is_empty() {
                    chosen.iter().for_each(|zone| self.zone_fails(*zone));
                }
                if !chosen.is_empty() {
                    self.plain(key, request.on(QUEUE), &to_drives);
                }
            }
            Ok(Allowed::Later) => {
                zones.waiting.push(key);
                self.add_part(key);
            }
        }
    }

    /// A report of zones, which all drives have alike, is moved from one of them.
    pub(crate) fn begin_report(&mut self, key: Key, request: Request) {
        let there = self.seats.iter().find(|seat| !matches!(seat.state, SeatState::Missing));
        let Some(drive) = there.map(|seat| seat.drive) else {
            return self.mark(key, |open| open.refused = true);
        };
        let bytes = request.bytes.min(self.members[drive].drive.capacity());
        self.plain(key, request, &[OnDrive { drive, offset: Bytes(0), bytes }]);
    }

    /// A request has ended: of a write in order the zone is known to have come so far, and what has waited for that
    /// goes on.
    pub(crate) fn zone_goes_on(&mut self, open: &Open) {
        let (Some(zones), Some((zone, _))) = (&mut self.zones, open.in_order) else { return };
        zones.spread.ended(zone, open.request.bytes);
        let waiting = std::mem::take(&mut zones.waiting);
        if open.refused || open.aborted || !open.status.is_success() {
            self.zone_fails(zone);
        }
        for key in waiting {
            let Some(request) = self.open.get(key).map(|open| open.request) else { continue };
            self.begin_zoned(key, request);
            self.steps.push_back(Step::Part(key));
        }
    }

    /// Whether a drive has done what it was asked for, where it is an action on a zone that it may be without: of a
    /// zone that the array has opened and that holds nothing of the drive's yet there is nothing to be closed, one that
    /// is full on this drive, or was so when it was asked, is not opened there, and only those that can be read alone
    /// go offline. A zone that fails is found by the next write.
    fn is_needless(op: Op, reply: &Reply) -> bool {
        let may_be_without = matches!(op, Op::Zone(ZoneAction::Close | ZoneAction::Offline | ZoneAction::Open));
        may_be_without && reply.status == Status::InvalidTransition
    }

    /// The zone in which a byte of a drive lies.
    fn zone_of_drive(&self, offset: u64) -> Option<u32> {
        self.zones.as_ref().map(|zones| (offset / zones.spread.of_drive().0.0) as u32)
    }

    /// A zone can be written no further. Where each drive has data of its own the others are done with their parts of
    /// it, which would keep what open and active zones take.
    fn zone_fails(&mut self, zone: u32) {
        let Some(zones) = &mut self.zones else { return };
        let was_active = zones.spread.seen().zone(zone).is_some_and(|zone| zone.state.is_active());
        zones.spread.fails(zone);
        if self.layout.code.parity > 0 || !was_active {
            return;
        }
        let to_drives = self.on_drives(zone);
        if to_drives.is_empty() {
            return;
        }
        let key = self.ops.insert(Some(ops::Op::Finish(FinishOp { outstanding: to_drives.len() })));
        for OnDrive { drive, offset, bytes } in to_drives {
            let piece = Piece { unit: 0, start: offset.0, end: offset.0 + bytes.0 };
            let request = Request::new(self.now, Op::Zone(ZoneAction::Finish), offset, bytes).on(QUEUE);
            self.send_to(drive, request, Sub::new(key, piece, Purpose::Other));
        }
    }

    /// A drive has answered, whatever it has said: it may have been the one whose zone has failed.
    pub(crate) fn finish_replied(op: FinishOp) -> Option<FinishOp> {
        (op.outstanding > 1).then(|| FinishOp { outstanding: op.outstanding - 1 })
    }

    /// The parts of a zone.
    fn on_drives(&self, zone: u32) -> Vec<OnDrive> {
        let size = self.zones.as_ref().map_or(Bytes(0), |zones| zones.spread.of_drive().0);
        let there = self.seats.iter().filter(|seat| !matches!(seat.state, SeatState::Missing));
        there.map(|seat| OnDrive { drive: seat.drive, offset: Bytes(u64::from(zone) * size.0), bytes: size }).collect()
    }

    /// A drive has answered what zones are asked for: whether others make good for it. One of several with the same
    /// data is left out if it has not done it; of one without others the zone can be written no further.
    pub(crate) fn zone_replied(&mut self, op: Op, sub: &Sub, reply: &mut Reply) -> bool {
        if Self::is_needless(op, reply) {
            reply.status = Status::Success;
        }
        let is_change = !matches!(op, Op::Read | Op::Flush | Op::ZoneReport);
        let Some(zone) = self.zone_of_drive(sub.piece.start).filter(|_| is_change && !reply.is_done()) else {
            return false;
        };
        if self.layout.code.parity > 0 {
            self.refuses(sub.drive);
            return true;
        }
        if matches!(op, Op::Zone(_)) {
            self.zone_fails(zone);
        }
        false
    }

    /// Whether a stripe lies in a zone that is written in order, so that nothing of it is written again.
    pub(crate) fn is_in_order(&self, stripe: u64) -> bool {
        let offset = Bytes(stripe * self.layout.code.data as u64 * self.layout.chunk);
        self.zones.as_ref().is_some_and(|zones| zones.spread.is_in_order(offset))
    }
}
