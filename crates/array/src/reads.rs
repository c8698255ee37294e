//! Reads of stripes with redundancy: directly, reconstructed from other units where a drive is missing or cannot
//! correct its data, hedged, and bound late.

use ssd::{Drive, RunDrive};
use workload::Request;

use crate::array::{Array, Step};
use crate::hedge::Hedge;
use crate::layout::{Piece, hull};
use crate::locks::Access;
use crate::observer::{ArrayEvent, OpId};
use crate::ops::{Lock, Op, Purpose, ReadOp, ReadPiece, RepairOp, Reply, Sub, Timer};
use crate::slab::Key;
use crate::unit_set::UnitSet;

impl<D: RunDrive + ?Sized> Array<D> {
    pub(crate) fn begin_read(&mut self, request: Key, host: Request) {
        let layout = self.layout.clone();
        layout.split(host.offset.0, host.bytes.0, |stripe, pieces| {
            self.add_part(request);
            let mut op = self.old_reads.pop().unwrap_or_default();
            (op.request, op.stripe) = (request, stripe);
            op.wanted.extend_from_slice(pieces);
            self.start_read(op);
        });
    }

    pub(crate) fn start_read(&mut self, mut op: ReadOp) {
        let key = self.ops.insert(None);
        if let [piece] = op.wanted[..]
            && self.is_plain(&op)
        {
            self.send_read(&mut op, key, piece, Purpose::ReadData);
            op.first = UnitSet::one(piece.unit);
            return self.put_back(key, Some(Op::Read(op)));
        }
        let may_add = self.config.extra_reads > 0 || self.config.hedge != Hedge::None;
        if may_add && op.wanted.len() > 1 {
            // What is read first can be used with what may be read later.
            self.may_reconstruct(&mut op, key);
        }
        let mut left = self.ask(op, key);
        if let Some(op) = &mut left {
            op.first = UnitSet::of(op.asked.iter().map(|read| &read.piece));
            self.ask_for_more(op, key);
            if let Some(span) = self.config.hedge.after(&self.hedging, &mut self.recent) {
                self.set_timer(self.now + span, Timer::Hedge(key));
            }
        }
        self.put_back(key, left.map(Op::Read));
    }

    /// Whether pieces are read where they are, and nothing else: all drives are there, and the host does not go around
    /// any or read more.
    fn is_plain(&self, op: &ReadOp) -> bool {
        let config = &self.config;
        let reads_more = config.hedge != Hedge::None || config.extra_reads > 0;
        self.is_whole && !self.layout.code.copies() && self.windows.is_none() && !reads_more && op.lock == Lock::None
    }

    /// Sends reads until what is under way would be enough. None where so much is lost that the read is over.
    fn ask(&mut self, mut op: ReadOp, key: Key) -> Option<ReadOp> {
        let code = self.layout.code;
        let around = if self.windows.is_some() { self.goes_around(&mut op, key) } else { UnitSet::EMPTY };
        self.counters.reads_around +=
            u64::from(!around.is_empty() && !code.copies() && op.asked.is_empty() && op.got.is_empty());
        let bad = op.failed.or(op.given_up).or(around);
        let is_there = |piece: &Piece| !code.copies() && self.is_stored(op.stripe, piece.unit) && !bad.has(piece.unit);
        let (directly, to_decode): (Vec<Piece>, Vec<Piece>) = op.missing(code, true).into_iter().partition(is_there);
        if !to_decode.is_empty() && !code.copies() {
            if op.lock == Lock::None {
                let held = self.locks.acquire(op.stripe, key, Access::Shared, hull(&op.wanted));
                op.lock = if held { Lock::Held } else { Lock::Waits };
                self.counters.lock_waits += u64::from(!held);
            }
            if op.lock == Lock::Waits {
                return Some(op);
            }
        }
        for piece in directly {
            self.send_read(&mut op, key, piece, Purpose::ReadData);
        }
        if to_decode.is_empty() {
            return Some(op);
        }
        let (start, end) = hull(&to_decode);
        let covering = op.covering(code, start, end);
        let needed = code.data.saturating_sub(covering.count());
        let mut chosen = self.candidates(op.stripe, |unit| !covering.or(bad).has(unit));
        if chosen.len() < needed && bad != op.failed {
            // No other way is left: what drives gave up early is read again, to the end.
            let once_more = op.given_up.or(around).without(covering.or(op.failed));
            chosen.extend(self.candidates(op.stripe, |unit| once_more.has(unit)));
        }
        if chosen.len() < needed {
            return self.read_is_lost(op, key);
        }
        // Of copies, one is as good as another.
        let purpose = if code.copies() && bad.is_empty() { Purpose::ReadData } else { Purpose::ReadReconstruct };
        for unit in chosen.into_iter().take(needed) {
            self.send_read(&mut op, key, Piece { unit, start, end }, purpose);
        }
        Some(op)
    }

    /// Late binding: more units of a stripe that is read whole.
    fn ask_for_more(&mut self, op: &mut ReadOp, key: Key) {
        let (code, extra) = (self.layout.code, usize::from(self.config.extra_reads));
        if extra == 0 || op.lock == Lock::Waits || op.wanted.len() < code.data || !self.may_reconstruct(op, key) {
            return;
        }
        let (start, end) = hull(&op.wanted);
        let tried = op.tried();
        let chosen = self.candidates(op.stripe, |unit| !tried.has(unit));
        for unit in chosen.into_iter().take(extra) {
            op.extra = true;
            self.send_read(op, key, Piece { unit, start, end }, Purpose::ReadExtra);
        }
    }

    /// Whether other units may be read in place of those that are wanted: not while the stripe is being written.
    pub(crate) fn may_reconstruct(&mut self, op: &mut ReadOp, key: Key) -> bool {
        if self.layout.code.copies() || op.lock == Lock::Held {
            return true;
        }
        let held = op.lock == Lock::None && self.locks.try_acquire(op.stripe, key, Access::Shared, hull(&op.wanted));
        if held {
            op.lock = Lock::Held;
        }
        held
    }

    /// The time has come at which a read that is not complete is hedged: as many further units are read as make good
    /// one that is slow.
    pub(crate) fn hedge(&mut self, key: Key) {
        let Some(Op::Read(mut op)) = self.ops.get_mut(key).and_then(Option::take) else { return };
        let code = self.layout.code;
        let (start, end) = hull(&op.missing(code, false));
        let fitting = op.covering(code, start, end).count();
        let needed = code.data.min((code.data + 1).saturating_sub(fitting));
        if needed == 0 {
            // As much is under way already.
            return self.put_back(key, Some(Op::Read(op)));
        }
        let tried = op.tried();
        let chosen = self.candidates(op.stripe, |unit| !tried.has(unit));
        if chosen.len() < needed || !self.may_reconstruct(&mut op, key) {
            self.counters.hedges_left_out += 1;
        } else {
            op.hedged = true;
            self.counters.hedges_sent += 1;
            for unit in chosen.into_iter().take(needed) {
                self.send_read(&mut op, key, Piece { unit, start, end }, Purpose::ReadHedge);
            }
        }
        self.put_back(key, Some(Op::Read(op)));
    }

    fn send_read(&mut self, op: &mut ReadOp, key: Key, piece: Piece, purpose: Purpose) {
        let is_locked = op.lock == Lock::Held;
        op.asked.push(ReadPiece { piece, is_locked });
        let host = self.open.get_mut(op.request).map(|open| open.request);
        let limited = self.has_other_way(op, piece.unit);
        // What the array reads for itself is read to be written elsewhere.
        let is_own = self.own_open > 0 && self.open.get(op.request).is_some_and(|open| open.then.is_some());
        let purpose = if is_own && purpose == Purpose::ReadData { Purpose::ReadBeforeWrite } else { purpose };
        self.send(workload::Op::Read, op.stripe, Sub { is_locked, limited, ..Sub::new(key, piece, purpose) }, host);
    }

    /// Whether the data can still be had where the drive of a unit gives up early.
    fn has_other_way(&self, op: &ReadOp, unit: usize) -> bool {
        let code = self.layout.code;
        let bad = op.failed.or(op.given_up).with(unit);
        if op.given_up.has(unit) || self.is_whole {
            return !op.given_up.has(unit) && code.width() - bad.count() >= code.data;
        }
        let others = (0..code.width()).filter(|other| !bad.has(*other));
        others.filter(|other| self.is_stored(op.stripe, *other)).count() >= code.data
    }

    pub(crate) fn read_replied(&mut self, mut op: ReadOp, sub: Sub, reply: Reply) -> Option<ReadOp> {
        let read = ReadPiece { piece: sub.piece, is_locked: sub.is_locked };
        let asked = op.asked.iter().position(|asked| *asked == read);
        op.asked.swap_remove(asked.expect("Invariant: what is read was asked for"));
        if reply.gave_up || reply.aborted {
            // Where there is no other way it is read again: of a drive whose power was cut when that is ready.
            op.given_up.insert(sub.piece.unit);
            self.counters.reads_given_up += u64::from(reply.gave_up);
            self.counters.reads_failed += u64::from(!reply.gave_up);
            return self.ask(op, sub.op);
        }
        if !reply.is_done() {
            op.failed.insert(sub.piece.unit);
            self.counters.reads_failed += 1;
            return self.ask(op, sub.op);
        }
        if sub.purpose == Purpose::ReadData {
            // Over the link and back, as a hedge waits for it.
            self.recent.add(self.now.since(sub.sent));
        }
        op.got.push(read);
        let drive = sub.drive;
        let ReadPiece { piece, is_locked } = read;
        self.tell(&ArrayEvent::Read { op: OpId(sub.op.number()), drive, stripe: op.stripe, piece, is_locked });
        if !op.is_complete(self.layout.code) {
            return Some(op);
        }
        self.read_is_over(op, sub.op, true)
    }

    pub(crate) fn read_granted(&mut self, mut op: ReadOp, key: Key) -> Option<ReadOp> {
        op.lock = Lock::Held;
        self.ask(op, key)
    }

    fn read_is_lost(&mut self, op: ReadOp, key: Key) -> Option<ReadOp> {
        self.counters.lost_requests += 1;
        self.data_is_lost();
        let page = self.plan().layout.page_size.0;
        let pages = |piece: &Piece| piece.end.div_ceil(page) - piece.start / page;
        let is_own = self.open.get(op.request).is_some_and(|open| open.then.is_some());
        if !is_own {
            self.seen.pages_lost += op.missing(self.layout.code, false).iter().map(pages).sum::<u64>();
        }
        self.mark(op.request, |open| open.uncorrectable = true);
        self.read_is_over(op, key, false)
    }

    fn read_is_over(&mut self, op: ReadOp, key: Key, is_whole: bool) -> Option<ReadOp> {
        let code = self.layout.code;
        let got = UnitSet::of(op.got.iter().map(|read| &read.piece));
        // Pieces that came neither from their own drive nor, of copies, from that which was asked first.
        let directly = if code.copies() { op.first.and(got) } else { got };
        let wanted = if code.copies() { op.first } else { UnitSet::of(&op.wanted) };
        let bad = op.failed.or(op.given_up);
        let indirect = is_whole && !(wanted.without(directly).is_empty() && bad.is_empty());
        if indirect {
            let lost = !bad.is_empty() || (!code.copies() && !UnitSet::of(&op.wanted).without(op.first).is_empty());
            self.counters.reads_reconstructed += u64::from(lost);
            self.counters.hedges_won += u64::from(!lost && op.hedged);
            self.counters.extra_reads_won += u64::from(!lost && !op.hedged && op.extra);
        }
        let request = self.open.get_mut(op.request).map_or(0, |open| open.id);
        let event =
            ArrayEvent::Served { op: OpId(key.number()), request, stripe: op.stripe, wanted: &op.wanted, is_whole };
        self.tell(&event);
        if op.lock != Lock::None {
            self.unlock(op.stripe, key);
        }
        if is_whole && self.config.repair && !op.failed.is_empty() && !self.is_in_order(op.stripe) {
            self.begin_repair(&op);
        }
        self.unpin(op.stripe);
        self.steps.push_back(Step::Part(op.request));
        self.old_reads.push(op.cleared());
        None
    }

    /// What a drive could not correct is written to it again, as it was reconstructed.
    fn begin_repair(&mut self, op: &ReadOp) {
        let is_bad = |unit: usize| op.failed.has(unit);
        let (start, end) = hull(&op.wanted);
        let pieces: Vec<Piece> = if self.layout.code.copies() {
            (0..self.layout.code.width()).filter(|unit| is_bad(*unit)).map(|unit| Piece { unit, start, end }).collect()
        } else {
            op.wanted.iter().filter(|piece| is_bad(piece.unit)).copied().collect()
        };
        if pieces.is_empty() {
            return;
        }
        let key = self.ops.insert(None);
        // Who has it now may write something newer than what was read.
        let held = self.locks.try_acquire(op.stripe, key, Access::Exclusive, (start, end));
        if held && let Some(log) = &mut self.log {
            log.pin(op.stripe);
        }
        let repair = RepairOp { stripe: op.stripe, outstanding: 0 };
        let left = if held { self.repair(repair, pieces, key) } else { None };
        self.put_back(key, left.map(Op::Repair));
    }

    fn repair(&mut self, mut op: RepairOp, pieces: Vec<Piece>, key: Key) -> Option<RepairOp> {
        op.outstanding = self.write_again(op.stripe, key, pieces);
        self.repair_goes_on(op, key)
    }

    /// Writes pieces again that drives could not correct, to those that still have their place; how many.
    fn write_again(&mut self, stripe: u64, key: Key, pieces: impl IntoIterator<Item = Piece>) -> usize {
        let mut written = 0;
        for piece in pieces {
            if self.is_stored(stripe, piece.unit) {
                written += 1;
                self.send(workload::Op::Write, stripe, Sub::new(key, piece, Purpose::WriteRepair), None);
            }
        }
        self.counters.repairs += written as u64;
        written
    }

    /// Writes whole units that drives could not correct again, where the array repairs; returns how many.
    pub(crate) fn repair_units(&mut self, stripe: u64, key: Key, units: UnitSet) -> usize {
        let units = if self.config.repair { units } else { UnitSet::EMPTY };
        let (width, end) = (self.layout.code.width(), self.layout.chunk);
        let bad = (0..width).filter(|unit| units.has(*unit));
        self.write_again(stripe, key, bad.map(|unit| Piece { unit, start: 0, end }))
    }

    pub(crate) fn repair_replied(&mut self, mut op: RepairOp, sub: Sub) -> Option<RepairOp> {
        op.outstanding -= 1;
        self.repair_goes_on(op, sub.op)
    }

    fn repair_goes_on(&mut self, op: RepairOp, key: Key) -> Option<RepairOp> {
        if op.outstanding > 0 {
            return Some(op);
        }
        self.unlock(op.stripe, key);
        self.unpin(op.stripe);
        None
    }
}
