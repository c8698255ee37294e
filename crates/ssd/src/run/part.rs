//! How a drive went that is one of several which are played as one: what is judged of each by itself.

use super::course::{Arrivals, Course, Point};
use super::findings::{self, Evidence};
use crate::drive::Drive;
use crate::observe::stats::{Finding, Measured};

/// The course of one of several drives.
#[derive(Clone, Default)]
pub struct PartCourse(Course);

impl PartCourse {
    /// What is measured begins now.
    pub fn start(&mut self, drive: &(impl Drive + ?Sized)) {
        self.0.start(Point::of(drive));
    }

    /// Looks at the drive.
    pub fn look(&mut self, drive: &(impl Drive + ?Sized)) {
        self.0.add(Point::of(drive));
    }

    /// What puts in doubt what was measured of the drive, of the kinds that are about one.
    pub fn findings(&self, drive: &(impl Drive + ?Sized), measured: &Measured) -> Vec<Finding> {
        let course = self.0.until(Point::of(drive));
        let found = findings::find(&Evidence { measured, course: &course, arrivals: &Arrivals::default() });
        found.into_iter().filter(|finding| findings::is_of_one_drive(finding.id)).collect()
    }
}
