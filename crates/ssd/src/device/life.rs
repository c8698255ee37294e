//! The drive's own life: whether it gets on, and how it ends.

use units::Time;

use crate::config::{EndOfLife, Plan};
use crate::error::RunError;
use crate::stats::Counters;

/// Whether the drive gets on, and how its life ends.
pub(crate) struct DriveLife {
    /// When the host's progress is looked at next, and how far it had come when it was looked at last.
    pub progress_due: Time,
    pub progress_seen: u64,
    pub failure: Option<RunError>,
    /// When the drive became read-only, and whether that is still to be carried out.
    pub read_only: Option<Time>,
    pub becomes_read_only: bool,
}

impl DriveLife {
    pub fn new(plan: &Plan) -> DriveLife {
        DriveLife {
            progress_due: plan.config.host.timeout.map_or(Time::NEVER, |span| Time::ZERO + span),
            progress_seen: 0,
            failure: None,
            read_only: None,
            becomes_read_only: false,
        }
    }

    /// The drive has too few good blocks to go on.
    #[cold]
    pub fn wear_out(&mut self, now: Time, plan: &Plan, counters: &Counters) {
        if self.failure.is_some() || self.read_only.is_some() {
            return;
        }
        match DriveLife::worn_out(now, counters) {
            Some(_) if plan.config.wear.end_of_life == EndOfLife::ReadOnly => {
                (self.read_only, self.becomes_read_only) = (Some(now), true);
            }
            worn => {
                self.failure = Some(worn.unwrap_or_else(|| RunError::Broken("relocated data finds no room".into())))
            }
        }
    }

    /// The end of life, if blocks have failed.
    pub fn worn_out(now: Time, counters: &Counters) -> Option<RunError> {
        let (written, retired) = (counters.write_bytes, counters.blocks_retired);
        let failed = retired > 0 || counters.pages_failed > 0;
        failed.then_some(RunError::EndOfLife { time: now, written, retired })
    }
}
