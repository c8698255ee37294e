//! What the flash, its buses and its ECC engines have used.

use super::{Counters, Usage, die};
use crate::config::Plan;

/// Energy by what it went into \[nJ].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Sensing.
    pub sense: f64,
    /// Data over the channels, out of dies and into them.
    pub transfer: f64,
    /// Of this, data out of dies.
    pub transfer_out: f64,
    /// Programming.
    pub program: f64,
    /// Erasing.
    pub erase: f64,
    /// Decoding.
    pub decode: f64,
    /// Predicting whether pages can be corrected.
    pub predict: f64,
    /// The rest of the drive, whatever it does.
    pub idle: f64,
}

impl Energy {
    /// What `usage` and `counters` stand for on a drive.
    pub fn of(plan: &Plan, counters: &Counters, usage: &Usage) -> Energy {
        let energy = &plan.config.energy;
        // 1 mW for 1 ns is 1 pJ.
        let array =
            |cause: usize, power: f64| usage.dies.iter().map(|times| times[cause].0 as f64).sum::<f64>() * power / 1e3;
        let kib = |bytes: u64| bytes as f64 / 1024.0;
        let programmed = counters.pages_transferred_in * plan.layout.page_size.0;
        Energy {
            // While a die predicts its array rests.
            // What a sense that has just begun predicts is counted already.
            sense: (array(die::READ, energy.sense_mw) - counters.predicting_ns as f64 * energy.sense_mw / 1e3).max(0.0),
            transfer: kib(counters.bytes_read + programmed) * energy.transfer_nj,
            transfer_out: kib(counters.bytes_read) * energy.transfer_nj,
            program: array(die::PROGRAM, energy.program_mw),
            erase: array(die::ERASE, energy.erase_mw),
            decode: (kib(counters.bytes_read) - kib(counters.undecoded_bytes)) * energy.decode_nj,
            predict: counters.predictions as f64 * energy.prediction_nj,
            idle: usage.elapsed.0 as f64 * energy.idle_mw / 1e3,
        }
    }

    /// Moving data over a channel \[pJ].
    pub(crate) fn moves(plan: &Plan, bytes: u64) -> f64 {
        bytes as f64 / 1024.0 * plan.config.energy.transfer_nj * 1e3
    }

    /// Moving data out of a die, and decoding it \[pJ].
    pub(crate) fn leaves(plan: &Plan, bytes: u64, decodes: bool) -> f64 {
        let decoding = if decodes { Energy::decodes(plan, bytes) } else { 0.0 };
        Energy::moves(plan, bytes) + decoding
    }

    /// Decoding data \[pJ].
    pub(crate) fn decodes(plan: &Plan, bytes: u64) -> f64 {
        bytes as f64 / 1024.0 * plan.config.energy.decode_nj * 1e3
    }

    /// What has been used since `before`.
    #[must_use]
    pub fn since(&self, before: &Energy) -> Energy {
        self.with(before, |now, before| now - before)
    }

    /// What both have used.
    #[must_use]
    pub fn plus(&self, other: &Energy) -> Energy {
        self.with(other, |one, other| one + other)
    }

    fn with(&self, other: &Energy, both: fn(f64, f64) -> f64) -> Energy {
        Energy {
            sense: both(self.sense, other.sense),
            transfer: both(self.transfer, other.transfer),
            transfer_out: both(self.transfer_out, other.transfer_out),
            program: both(self.program, other.program),
            erase: both(self.erase, other.erase),
            decode: both(self.decode, other.decode),
            predict: both(self.predict, other.predict),
            idle: both(self.idle, other.idle),
        }
    }

    /// All of it \[nJ].
    pub fn total(&self) -> f64 {
        self.sense + self.transfer + self.program + self.erase + self.decode + self.predict + self.idle
    }
}
