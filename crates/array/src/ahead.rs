//! Drives that are played ahead of the others. Where nothing that one drive completes can lead to a request to another one, each is played
//! by itself until the next moment at which the array may ask it for something. What it answers meanwhile waits, and goes on in the order of
//! time: results are those of drives that are played event by event. (Where a drive's life ends and the run with it, the others may have been played on.)

use ssd::Drive;
use units::Time;

use crate::array::{Array, Stop};

impl<D: Drive> Array<D> {
    /// Whether what drives complete reaches the host alone, which does not wait for it: without redundancy nothing is reconstructed, hedged, or
    /// written after it was read.
    pub(crate) fn goes_apart(&self, stop: Stop) -> bool {
        let is_looked_at = self.is_looked_at_closely || self.goes_in_step;
        self.layout.code.parity == 0 && !is_looked_at && !matches!(stop, Stop::Completion)
    }

    /// Until when nothing is asked of a drive that it has not been given, where the array itself does something next at `own`. The host may
    /// submit further requests for the time of the last one.
    pub(crate) fn undisturbed(&self, own: Time) -> Time {
        Time(own.min(self.last_arrival).0.saturating_sub(1))
    }

    /// Hands requests that are to arrive until `limit` to their drives, which wait for their times: which drives these are depends on
    /// nothing that happens before.
    pub(crate) fn begin_ahead(&mut self, limit: Time) {
        let knows_its_drives = self.link.is_ideal() && self.counters.drives_failed == 0;
        while knows_its_drives
            && let Some((_, request)) = self.arrivals.front()
            && request.op.is_of_every_drive()
            && (self.now..=limit).contains(&request.time)
            && self.timers.peek().is_none_or(|due| request.time < due.time)
        {
            let arrival = self.arrivals.pop_front().expect("Invariant: it is there");
            let now = std::mem::replace(&mut self.now, arrival.1.time);
            self.begin(arrival);
            self.now = now;
            while let Some(step) = self.steps.pop_front() {
                self.go_on(step);
            }
        }
    }

    /// Plays a drive up to `until`. Where that comes to its end, the others come to that time first.
    pub(crate) fn play_ahead(&mut self, index: usize, until: Time) {
        let member = &mut self.members[index];
        while let Ok(true) = member.drive.advance_to_completion(until) {
            member.take_answers();
        }
        member.take_answers();
        self.is_looked_at_anew(index);
    }
}
