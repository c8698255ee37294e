//! What a run had counted at some moments of it: from it follows whether what it measured went on as it began.

use units::Time;

use crate::drive::Drive;
use crate::observe::stats::series::Sample;

/// Every other point is dropped when there would be more.
const MOST_POINTS: usize = 4096;

/// What had been counted at a moment since the start of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub time: Time,
    /// Host requests that had completed.
    pub completed: u64,
    /// Requests that the drive had been handed and that had not completed.
    pub outstanding: u64,
    /// Pages programmed.
    pub programmed: u64,
    /// Bytes that the host wrote and that had left the write buffer.
    pub settled: u64,
    /// Free blocks of all planes.
    pub free_blocks: u64,
    /// Pages in the write buffer.
    pub buffered: u64,
}

impl Point {
    pub fn of(drive: &(impl Drive + ?Sized)) -> Point {
        Point::with(drive, &drive.sample())
    }

    /// The point of a drive with this sample.
    pub fn with(drive: &(impl Drive + ?Sized), sample: &Sample) -> Point {
        let counters = drive.counters();
        Point {
            time: drive.now(),
            completed: counters.requests_completed,
            outstanding: sample.outstanding,
            programmed: counters.pages_programmed,
            settled: counters.bytes_settled,
            free_blocks: sample.free_blocks.0,
            buffered: u64::from(sample.buffered_pages),
        }
    }
}

/// The points of what is measured, in the order of time, and the arrivals; a bounded number of them, whatever a run's
/// length.
#[derive(Clone, Default)]
pub(super) struct Course {
    points: Vec<Point>,
    arrivals: Arrivals,
}

/// When requests that count arrive. A drive whose queues are full is handed them later.
#[derive(Clone, Default)]
pub(super) struct Arrivals {
    /// Of the first request, and of each one of this many, a power of two less 1.
    times: Vec<Time>,
    mask: u64,
    last: Time,
    count: u64,
}

impl Arrivals {
    /// Another request arrives at `time`, no earlier than the one before.
    #[inline]
    pub fn add(&mut self, time: Time) {
        if self.count & self.mask == 0 {
            self.keep(time);
        }
        self.last = time;
        self.count += 1;
    }

    #[cold]
    fn keep(&mut self, time: Time) {
        if self.times.len() == MOST_POINTS {
            self.times = self.times.iter().step_by(2).copied().collect();
            self.mask = 2 * self.mask + 1;
        }
        // The last one kept may just have become one that is not.
        if self.count & self.mask == 0 {
            self.times.push(time);
        }
    }

    /// How many had arrived at `time`, to the nearest that is kept.
    pub fn until(&self, time: Time) -> u64 {
        if time >= self.last {
            return self.count;
        }
        self.times.partition_point(|other| *other <= time) as u64 * (self.mask + 1)
    }

    /// All of them.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// When the first and the last one arrive.
    pub fn ends(&self) -> Option<(Time, Time)> {
        self.times.first().map(|first| (*first, self.last))
    }
}

impl Course {
    /// What is measured begins with this point, whatever there was before.
    pub fn start(&mut self, point: Point) {
        *self = Course { points: vec![point], arrivals: Arrivals::default() };
    }

    /// Adds a point, once what is measured has begun.
    pub fn add(&mut self, point: Point) {
        if self.points.is_empty() {
            return;
        }
        if self.points.len() == MOST_POINTS {
            self.points = self.points.iter().step_by(2).copied().collect();
        }
        self.points.push(point);
    }

    /// A request that counts arrives.
    #[inline]
    pub fn arrives(&mut self, time: Time) {
        if !self.points.is_empty() {
            self.arrivals.add(time);
        }
    }

    /// The arrivals.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// The points, with where the run is now.
    pub fn until(&self, now: Point) -> Vec<Point> {
        self.points.iter().copied().chain([now]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_stay_bounded_and_are_counted_to_one_in_a_thousand() {
        let mut arrivals = Arrivals::default();
        (0..1000).for_each(|n| arrivals.add(Time(n * 10)));
        assert_eq!(
            [0, 9, 10, 4995, 9990].map(|time| arrivals.until(Time(time))),
            [1, 1, 2, 500, 1000],
            "exact where all are kept"
        );
        (1000..1_000_000).for_each(|n| arrivals.add(Time(n * 10)));
        assert!(arrivals.times.len() <= MOST_POINTS);
        assert_eq!((arrivals.ends(), arrivals.count()), (Some((Time(0), Time(9_999_990))), 1_000_000));
        for time in [100_000, 1_234_560, 9_000_000] {
            let (found, exact) = (arrivals.until(Time(time)), time / 10 + 1);
            assert!(found.abs_diff(exact) <= 1000, "{found} for {exact}");
        }
    }

    #[test]
    fn points_stay_bounded_and_the_first_is_kept() {
        let mut course = Course::default();
        let at = |time| Point { time: Time(time), ..Point::default() };
        course.add(at(1));
        assert_eq!(course.until(at(2)), [at(2)], "what comes before the warm-up ends is left out");
        course.start(at(10));
        (11..100_000).for_each(|time| course.add(at(time)));
        let points = course.until(at(100_000));
        assert!(points.len() <= MOST_POINTS + 1);
        assert_eq!((points[0], points[points.len() - 1]), (at(10), at(100_000)));
        assert!(points.is_sorted_by(|a, b| a.time < b.time));
    }
}
