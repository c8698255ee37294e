//! Requests of a host that knows zones, as fio's `zonemode=zbd` makes them: writes go on where the last one in their
//! zone ended, and a zone is reset before it is written from its beginning.

use units::Stream;

use crate::request::{Op, ZoneAction};

/// What is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub op: Op,
    pub offset: u64,
    pub bytes: u64,
}

/// A zone that is being written.
#[derive(Clone, Copy)]
struct Open {
    zone: u64,
    /// Bytes that have been written; none before its reset.
    written: Option<u64>,
}

/// The zones of a job.
pub(super) struct Zoned {
    /// The first byte of the first one, and how many there are.
    start: u64,
    zones: u64,
    /// Bytes from one to the next, and those that can be written.
    size: u64,
    capacity: u64,
    open: Vec<Open>,
    /// The zone that is opened next.
    next: u64,
    appends: bool,
    in_order: bool,
    /// What comes before a zone is written again.
    reset: Op,
}

impl Zoned {
    pub fn new(
        start: u64,
        range: u64,
        (size, capacity): (u64, u64),
        open: u64,
        appends: bool,
        in_order: bool,
    ) -> Zoned {
        let zones = range / size;
        let open = if in_order { 1 } else { open.min(zones) };
        let first = (0..open).map(|zone| Open { zone, written: None }).collect();
        Zoned {
            start,
            zones,
            size,
            capacity,
            open: first,
            next: open % zones,
            appends,
            in_order,
            reset: Op::Zone(ZoneAction::Reset),
        }
    }

    /// Zones that are written again behind an `op` of another kind.
    pub fn renewed_by(self, op: Op) -> Zoned {
        Zoned { reset: op, ..self }
    }

    /// The next write, or the reset that has to come before it.
    pub fn write(&mut self, addresses: Stream, number: u64, bytes: u64) -> Asked {
        let place = if self.in_order { 0 } else { addresses.below(number, self.open.len() as u64) as usize };
        let Open { zone, written } = self.open[place];
        let begins = self.start + zone * self.size;
        let Some(written) = written else {
            self.open[place].written = Some(0);
            return Asked { op: self.reset, offset: begins, bytes: self.size };
        };
        let bytes = bytes.min(self.capacity - written);
        if written + bytes == self.capacity {
            self.opens_next(place);
        } else {
            self.open[place].written = Some(written + bytes);
        }
        if self.appends {
            Asked { op: Op::Append, offset: begins, bytes }
        } else {
            Asked { op: Op::Write, offset: begins + written, bytes }
        }
    }

    /// Another zone takes the place of one that is full: the next one that is not open in another place.
    fn opens_next(&mut self, place: usize) {
        let is_open = |zone: u64| self.open.iter().enumerate().any(|(at, open)| at != place && open.zone == zone);
        let mut zone = self.next;
        while is_open(zone) {
            zone = (zone + 1) % self.zones;
        }
        self.next = (zone + 1) % self.zones;
        self.open[place] = Open { zone, written: None };
    }

    /// A read of any zone: any part of what can be written of it.
    pub fn read(&self, addresses: Stream, number: u64, align: u64, bytes: u64) -> Asked {
        let bytes = bytes.min(self.capacity);
        let slots = (self.capacity - bytes) / align + 1;
        let slot = addresses.below(number, self.zones * slots);
        let offset = self.start + slot / slots * self.size + slot % slots * align;
        Asked { op: Op::Read, offset, bytes }
    }

    /// The reset of the next zone, or of any (what trims are to zones).
    pub fn reset(&mut self, addresses: Stream, number: u64) -> Asked {
        let zone = if self.in_order { self.next } else { addresses.below(number, self.zones) };
        self.next = (zone + 1) % self.zones;
        for open in self.open.iter_mut().filter(|open| open.zone == zone) {
            open.written = None;
        }
        Asked { op: self.reset, offset: self.start + zone * self.size, bytes: self.size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_follow_one_another_in_their_zone_and_begin_with_its_reset() {
        let mut zoned = Zoned::new(1000, 400, (100, 90), 2, false, true);
        let stream = Stream::new(1, "zones");
        let asked: Vec<Asked> = (0..9).map(|number| zoned.write(stream, number, 40)).collect();
        let reset = |offset| Asked { op: Op::Zone(ZoneAction::Reset), offset, bytes: 100 };
        let write = |offset, bytes| Asked { op: Op::Write, offset, bytes };
        let zone = |at| [reset(at), write(at, 40), write(at + 40, 40), write(at + 80, 10)];
        assert_eq!(asked[..8], [zone(1000), zone(1100)].concat());
        assert_eq!(asked[8], reset(1200));
    }

    #[test]
    fn a_drive_without_zones_is_told_of_a_removed_file_by_a_trim() {
        let mut files = Zoned::new(0, 200, (100, 100), 1, false, true).renewed_by(Op::Trim);
        let stream = Stream::new(1, "files");
        let asked: Vec<Asked> = (0..9).map(|number| files.write(stream, number, 50)).collect();
        let trim = |offset| Asked { op: Op::Trim, offset, bytes: 100 };
        let write = |offset| Asked { op: Op::Write, offset, bytes: 50 };
        let file = |at| [trim(at), write(at), write(at + 50)];
        assert_eq!(asked, [file(0), file(100), file(0)].concat());
        assert_eq!(files.reset(stream, 9), trim(0), "trims of such a job too");
    }

    #[test]
    fn a_zone_is_open_once_and_written_in_its_order() {
        for (zones, open) in [(2, 2), (3, 3), (4, 3), (6, 4), (40, 4)] {
            let mut zoned = Zoned::new(0, zones * 100, (100, 80), open, false, false);
            let (stream, mut pointers) = (Stream::new(zones, "zones"), vec![80; zones as usize]);
            for number in 0..2_000 {
                // Zones are reset at times, as trims of a job do.
                let Asked { op, offset, bytes } =
                    if number % 50 == 49 { zoned.reset(stream, number) } else { zoned.write(stream, number, 30) };
                let pointer = &mut pointers[(offset / 100) as usize];
                match op {
                    Op::Write => {
                        assert_eq!(offset % 100, *pointer, "{zones} zones, {open} open, write {number}");
                        *pointer += bytes;
                    }
                    _ => *pointer = 0,
                }
            }
        }
    }

    #[test]
    fn random_writes_go_to_so_many_zones_and_reads_stay_within_their_capacity() {
        let mut zoned = Zoned::new(0, 800, (100, 80), 3, true, false);
        let stream = Stream::new(1, "zones");
        for number in 0..500 {
            let Asked { op, offset, bytes } = zoned.write(stream, number, 30);
            assert!(offset % 100 == 0 && (op == Op::Append && bytes <= 30 || op == Op::Zone(ZoneAction::Reset)));
            let Asked { offset, bytes, .. } = zoned.read(stream, number, 10, 20);
            assert!(offset % 100 + bytes <= 80);
        }
        assert_eq!(zoned.open.len(), 3);
    }
}
