//! What a run had counted at some moments of it: from it follows whether what it measured went on as it began.

use units::Time;

use crate::device::Device;
use crate::observe::probe::Probe;

/// Every other point is dropped when there would be more.
const MOST_POINTS: usize = 4096;

/// What had been counted at a moment since the start of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub time: Time,
    /// Host requests that had completed.
    pub completed: u64,
    /// Requests that had arrived and not completed.
    pub backlog: u64,
    /// Pages programmed.
    pub programmed: u64,
    /// Bytes that the host wrote and that had left the write buffer.
    pub settled: u64,
    /// Free blocks of all planes.
    pub free_blocks: u64,
}

impl Point {
    pub fn of<P: Probe>(device: &Device<P>) -> Point {
        let counters = device.counters();
        Point {
            time: device.now(),
            completed: counters.requests_completed,
            backlog: device.outstanding().0 - device.pending_arrivals() as u64,
            programmed: counters.pages_programmed,
            settled: counters.bytes_settled,
            free_blocks: device.free_blocks().0,
        }
    }
}

/// The points of what is measured, in the order of time; a bounded number of them, whatever a run's length.
#[derive(Clone, Default)]
pub(super) struct Course {
    points: Vec<Point>,
}

impl Course {
    /// What is measured begins with this point.
    pub fn start(&mut self, point: Point) {
        self.points.clear();
        self.points.push(point);
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

    /// The points, with where the run is now.
    pub fn until(&self, now: Point) -> Vec<Point> {
        self.points.iter().copied().chain([now]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
