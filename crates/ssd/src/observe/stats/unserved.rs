//! Requests that were not served as asked: whose data could not be had, and what was refused.

use crate::status::Status;

/// Requests that were not served as asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unserved {
    /// Requests some of whose data could not be corrected.
    pub uncorrectable: u64,
    /// Requests that completed before the first of these.
    pub until_uncorrectable: u64,
    /// Of the others, those some of whose data was not read to the end.
    pub given_up: u64,
    /// Requests that a read-only drive refused.
    pub refused: u64,
    /// Requests that zones refused, or that the drive does not know.
    pub refusals: Refusals,
}

impl Unserved {
    /// Adds a request that has completed, served or not.
    pub fn record(&mut self, status: Status, uncorrectable: bool, gave_up: bool, refused: bool) {
        self.uncorrectable += u64::from(uncorrectable);
        self.until_uncorrectable += u64::from(self.uncorrectable == 0);
        self.given_up += u64::from(gave_up && !uncorrectable);
        self.refused += u64::from(refused);
        self.refusals.add(status);
    }

    /// Adds those of requests that completed later.
    pub(super) fn add(&mut self, later: &Unserved) {
        self.until_uncorrectable += if self.uncorrectable == 0 { later.until_uncorrectable } else { 0 };
        self.uncorrectable += later.uncorrectable;
        self.given_up += later.given_up;
        self.refused += later.refused;
        self.refusals.add_all(&later.refusals);
    }
}

/// How many requests a drive has refused, by their status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals([u64; Status::ALL.len()]);

impl Refusals {
    /// Another request has ended with this status.
    pub fn add(&mut self, status: Status) {
        self.0[status as usize] += u64::from(!status.is_success());
    }

    /// Adds those of others.
    pub fn add_all(&mut self, others: &Refusals) {
        self.0.iter_mut().zip(others.0).for_each(|(sum, part)| *sum += part);
    }

    /// How many were refused.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    /// How many were refused with this status.
    #[must_use]
    pub fn of(&self, status: Status) -> u64 {
        self.0[status as usize]
    }

    /// The status with which most were refused, and how many.
    #[must_use]
    pub fn most(&self) -> Option<(Status, u64)> {
        let all = Status::ALL.into_iter().zip(self.0);
        all.rev().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0)
    }
}
