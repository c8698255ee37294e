//! Windows of drives: opened and closed by turns while the host has requests, and reads that go around drives whose window is open.

use ssd::Drive;
use units::Time;

use crate::array::Array;
use crate::coordinate::{Coordinate, Place};
use crate::layout::Placement;
use crate::ops::{ReadOp, Timer, Windows};
use crate::slab::Key;

impl<D: Drive> Array<D> {
    /// The workload begins, and the turns with it.
    pub(crate) fn begin_windows(&mut self) {
        if self.config.coordinate == Coordinate::None {
            // An array that had them goes on without.
            (0..self.seats.len()).for_each(|place| self.set_window(place, false));
            self.windows = None;
        } else if self.windows.is_none() {
            self.windows = Some(Windows { began: self.now, sleeps: true, open: vec![false; self.seats.len()] });
        }
    }

    /// The host has a request: the turn is that of the present time.
    pub(crate) fn wake_windows(&mut self) {
        if self.windows.as_ref().is_some_and(|windows| windows.sleeps) {
            self.next_turn();
        }
    }

    /// A turn begins, or goes on that nobody has followed; nobody does while nothing goes on.
    pub(crate) fn next_turn(&mut self) {
        let (now, length) = (self.now, self.config.window);
        let is_needed = self.outstanding() > 0 || self.is_rebuilding();
        let Some(windows) = &mut self.windows else { return };
        windows.sleeps = !is_needed;
        if !is_needed {
            return;
        }
        let turn = now.since(windows.began).0 / length.0;
        let ends = Time(windows.began.0 + (turn + 1) * length.0);
        for (place, seen) in self.places() {
            self.set_window(place, self.config.coordinate.is_open(turn, seen));
        }
        self.set_timer(ends, Timer::Turn);
    }

    /// The places, each among those that share stripes with it.
    fn places(&self) -> Vec<(usize, Place)> {
        let code = self.layout.code;
        let sharing = if self.config.placement == Placement::Rotated { code.width() } else { self.seats.len() };
        let mut places: Vec<usize> = (0..self.seats.len()).collect();
        places.sort_by_key(|place| (place / sharing, self.members[self.seats[*place].drive].outstanding));
        let ranked = places.into_iter().zip(0..);
        ranked
            .map(|(place, rank)| {
                (place, Place { number: place % sharing, sharing, spare: code.parity, rank: rank % sharing })
            })
            .collect()
    }

    fn set_window(&mut self, place: usize, open: bool) {
        let drive = self.seats[place].drive;
        let Some(windows) = &mut self.windows else { return };
        if std::mem::replace(&mut windows.open[place], open) == open || self.members[drive].failed.is_some() {
            return;
        }
        let member = &mut self.members[drive];
        // One that had nothing to do was left behind. What happens at the present time is still to come.
        let before = Time(self.now.0.saturating_sub(1));
        let played = if member.drive.now() < before { member.drive.advance(before) } else { Ok(()) };
        member.drive.set_window(open);
        self.is_looked_at_anew(drive);
        if let Err(error) = played {
            self.failure.get_or_insert(error);
        }
    }

    /// Units that a read goes around, as bits: those whose drives' windows are open, where the others suffice and may be read.
    pub(crate) fn goes_around(&mut self, op: &mut ReadOp, key: Key) -> u64 {
        let Some(windows) = &self.windows else { return 0 };
        let code = self.layout.code;
        let stored = (0..code.width()).filter(|unit| self.is_stored(op.stripe, *unit));
        let (mut busy, mut others) = (0u64, 0);
        for unit in stored {
            match windows.open[self.layout.spot(op.stripe, unit).place] {
                true => busy |= 1 << unit,
                false => others += usize::from((op.failed | op.given_up) >> unit & 1 == 0),
            }
        }
        let is_wanted = code.copies() || op.wanted.iter().any(|piece| busy >> piece.unit & 1 == 1);
        if busy == 0 || !is_wanted || others < code.data || !self.may_reconstruct(op, key) {
            return 0;
        }
        busy
    }
}
