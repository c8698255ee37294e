//! Windows of drives: opened and closed by turns while the host has requests, and reads that go around drives whose
//! window is open.

use ssd::{Drive, RunDrive, Window};
use units::Time;

use crate::array::Array;
use crate::coordinate::{Coordinate, Place};
use crate::layout::Placement;
use crate::ops::{ReadOp, Timer, Windows};
use crate::slab::Key;
use crate::unit_set::UnitSet;

impl<D: RunDrive + ?Sized> Array<D> {
    /// The workload begins, and the turns with it.
    pub(crate) fn begin_windows(&mut self) {
        if self.config.coordinate == Coordinate::None {
            // An array that had them goes on without.
            if self.windows.take().is_some() {
                (0..self.seats.len()).for_each(|place| self.tell_window(self.seats[place].drive, Window::Unused));
            }
        } else if self.windows.is_none() {
            self.windows = Some(Windows { began: self.now, sleeps: true, open: vec![false; self.seats.len()] });
            (0..self.seats.len()).for_each(|place| self.tell_window(self.seats[place].drive, Window::Closed));
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
        if std::mem::replace(&mut windows.open[place], open) != open {
            self.tell_window(drive, if open { Window::Open } else { Window::Closed });
        }
    }

    /// A drive takes a place: its window is that of the place.
    pub(crate) fn takes_window(&mut self, place: usize) {
        if let Some(windows) = &self.windows {
            let window = if windows.open[place] { Window::Open } else { Window::Closed };
            self.tell_window(self.seats[place].drive, window);
        }
    }

    fn tell_window(&mut self, drive: usize, window: Window) {
        let member = &mut self.members[drive];
        if member.failed.is_some() {
            return;
        }
        // One that had nothing to do was left behind. What happens at the present time is still to come.
        let before = Time(self.now.0.saturating_sub(1));
        let played = if member.drive.now() < before { member.drive.advance(before) } else { Ok(()) };
        if let Err(error) = played {
            return self.cannot_go_on(drive, error);
        }
        member.drive.set_window(window);
        self.is_looked_at_again(drive);
    }

    /// Units that a read goes around, those whose drives' windows are open, where the others suffice and may be read.
    pub(crate) fn goes_around(&mut self, op: &mut ReadOp, key: Key) -> UnitSet {
        let Some(windows) = &self.windows else { return UnitSet::EMPTY };
        let code = self.layout.code;
        let stored = (0..code.width()).filter(|unit| self.is_stored(op.stripe, *unit));
        let (mut busy, mut others, bad) = (UnitSet::EMPTY, 0, op.failed.or(op.given_up));
        for unit in stored {
            match windows.open[self.layout.spot(op.stripe, unit).place] {
                true => busy.insert(unit),
                false => others += usize::from(!bad.has(unit)),
            }
        }
        let is_wanted = code.copies() || op.wanted.iter().any(|piece| busy.has(piece.unit));
        if busy.is_empty() || !is_wanted || others < code.data || !self.may_reconstruct(op, key) {
            return UnitSet::EMPTY;
        }
        busy
    }
}
