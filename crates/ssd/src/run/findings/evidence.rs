//! What findings are made from: what a run has measured, and how it went.

use workload::Number;

use super::super::course::{Arrivals, Point};
use crate::observe::stats::{Finding, Measured, die};

/// What a run leaves to be judged.
pub(in crate::run) struct Evidence<'a> {
    /// What it has measured.
    pub measured: &'a Measured,
    /// How it went, from the end of the warm-up to its end; at least these two points.
    pub course: &'a [Point],
    /// When the requests that count arrived.
    pub arrivals: &'a Arrivals,
}

impl Evidence<'_> {
    /// Where what is measured began.
    pub fn first(&self) -> Point {
        self.course.first().copied().unwrap_or_default()
    }

    /// Where it ended.
    pub fn last(&self) -> Point {
        self.course.last().copied().unwrap_or_default()
    }

    /// Blocks of all planes that this many pages fill.
    pub fn blocks(&self, pages: u64) -> f64 {
        pages as f64 / self.measured.drive.plan.layout.pages as f64
    }

    /// The drive's planes.
    pub fn planes(&self) -> f64 {
        f64::from(self.measured.drive.plan.layout.planes)
    }

    /// The share of the dies' time that goes into programs and erases. It is of all their time: what reads take says
    /// nothing of how many of them meet a program, and schemes that read faster are to be judged alike.
    pub fn write_share(&self) -> f64 {
        self.die_share(die::LOAD) + self.die_share(die::PROGRAM) + self.die_share(die::ERASE)
    }

    /// The share of the dies' time that goes into a cause; none where no time has passed.
    pub fn die_share(&self, cause: usize) -> f64 {
        let sum = |cause: usize| self.measured.totals.usage.dies.iter().map(|die| die[cause].0 as f64).sum::<f64>();
        let all: f64 = (0..die::CAUSES.len()).map(sum).sum();
        if all > 0.0 { sum(cause) / all } else { 0.0 }
    }

    /// A statistic of the workload's source, where it has it.
    pub fn of_source(&self, name: &str) -> Option<f64> {
        let found = self.measured.of_source.iter().find(|statistic| statistic.name == name)?;
        Some(match found.value {
            Number::Count(count) => count as f64,
            Number::Amount(amount) => amount,
        })
    }

    /// Pages that host reads asked for.
    pub fn pages_asked(&self) -> f64 {
        self.measured.totals.counters.read_bytes as f64 / self.measured.drive.plan.layout.page_size.0 as f64
    }
}

/// A finding from its parts.
pub(super) fn finding(
    id: &'static str,
    text: String,
    numbers: &[(&'static str, f64)],
    remedy: impl Into<String>,
) -> Finding {
    Finding { id, text, numbers: numbers.to_vec(), remedy: remedy.into() }
}

/// A count with commas between its thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share as people read it: 12 %, 5 %, 0.3 %.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let digits = if percent.abs() >= 10.0 { 1.0 } else { 100.0 };
    format!("{} %", (percent * digits).round() / digits)
}
