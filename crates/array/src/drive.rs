//! The array as a drive.

use std::io;
use std::vec::Drain;

use serde_json::{Map, Value};
use ssd::persist::{Reader, Writer};
use ssd::run::Played;
use ssd::stats::latency::Latencies;
use ssd::stats::series::Sample;
use ssd::stats::{Counters, DriveState, Finding, Start, Totals, Warmed};
use ssd::zones::ZonesSeen;
use ssd::{Completion, Drive, Plan, RunDrive, RunError};
use units::{Bytes, Conditions, Span, Temperature, Time};
use workload::{Past, Request};

use crate::array::{Array, Stop};
use crate::member::Member;
use crate::share::Share;
use crate::{merge, report};

impl<D: RunDrive + ?Sized> Array<D> {
    /// The drives that have not failed.
    fn alive(&self) -> impl Iterator<Item = &Member<D>> {
        self.members.iter().filter(|member| member.failed.is_none())
    }

    /// All drives, for what is asked of each.
    fn all(&self) -> impl Iterator<Item = &D> {
        self.members.iter().map(|member| &*member.drive)
    }

    /// Does something with each drive that has not failed, whose events are different then. Whether one has failed
    /// meanwhile: what follows from that is still to be played.
    pub(crate) fn each_alive(
        &mut self,
        mut does: impl FnMut(&mut D) -> Result<(), RunError>,
    ) -> Result<bool, RunError> {
        let before = self.counters.drives_failed;
        for drive in 0..self.members.len() {
            let member = &mut self.members[drive];
            if member.failed.is_none() {
                match does(&mut member.drive) {
                    Ok(()) => self.is_looked_at_again(drive),
                    Err(error) => self.goes_on_without(drive, error)?,
                }
            }
        }
        self.now = self.alive().map(|member| member.drive.now()).max().unwrap_or(self.now).max(self.now);
        Ok(self.counters.drives_failed > before)
    }

    /// Plays on until nothing goes on that ends.
    fn play_until_quiet(&mut self) -> Result<(), RunError> {
        self.play(self.now, Stop::Never)?;
        while !self.is_quiet() {
            let next = self.next_own().min(self.nexts.first().0);
            if next == Time::NEVER {
                return Err(RunError::Broken(
                    "something is under way in an array and nothing is going to happen".into(),
                ));
            }
            self.play(next, Stop::Never)?;
        }
        Ok(())
    }

    /// The counts of the drives together, with what the host has seen in place of what it has not.
    fn in_place(&self, of_drives: Counters) -> Counters {
        let counters = self.seen.in_place(of_drives);
        match self.layout.code.parity {
            0 => counters,
            _ => Counters { host_pages_lost: self.seen.pages_lost, ..counters },
        }
    }

    /// Latencies of a drive's requests: reads, writes, trims, flushes.
    pub fn latencies_of(&self, drive: usize) -> [Latencies; workload::Op::COUNT] {
        self.members[drive].latencies.total()
    }
}

impl<D: RunDrive + ?Sized> Drive for Array<D> {
    fn capacity(&self) -> Bytes {
        self.log.as_ref().map_or(self.layout.capacity(), |log| log.capacity())
    }
    fn now(&self) -> Time {
        self.now
    }
    fn latest(&self) -> Time {
        self.latest
    }

    fn submit(&mut self, request: Request) -> Result<u64, RunError> {
        let is_first = self.pending_arrivals() == 0;
        let earliest = if is_first { self.last_arrival.max(self.now) } else { self.last_arrival };
        if request.time < earliest {
            return Err(RunError::BackInTime { time: request.time, earliest });
        }
        let latest = self.latest();
        if request.time > latest {
            return Err(RunError::BeyondHorizon { time: request.time, latest });
        }
        let Request { offset, bytes, .. } = request;
        let end = offset.0.checked_add(bytes.0);
        let is_empty = bytes.0 == 0 && request.op.has_address();
        if is_empty || end.is_none_or(|end| end > self.capacity().0) {
            return Err(RunError::OutOfRange { offset, bytes, capacity: self.capacity() });
        }
        self.last_arrival = request.time;
        self.arrivals.push_back((self.next_id, request));
        self.next_id += 1;
        Ok(self.next_id - 1)
    }
    fn submitted(&self) -> u64 {
        self.next_id
    }
    fn outstanding(&self) -> u64 {
        (self.arrivals.len() + self.open.len() - self.own_open) as u64
    }
    fn pending_arrivals(&self) -> usize {
        self.arrivals.len() + self.pending
    }
    fn partly_served(&self) -> f64 {
        if self.members.len() == 1 { self.members[0].drive.partly_served() } else { 0.0 }
    }

    fn next_event(&self) -> Option<Time> {
        let own = Some(self.next_own()).filter(|time| *time != Time::NEVER);
        self.alive().filter_map(|member| member.drive.next_event()).chain(own).min()
    }
    fn idle(&self) -> bool {
        self.next_own() == Time::NEVER && self.alive().all(|member| member.drive.idle())
    }
    fn advance(&mut self, time: Time) -> Result<(), RunError> {
        self.play(time, Stop::Never)?;
        while self.each_alive(|drive| drive.advance(time))? {
            self.play(time, Stop::Never)?;
        }
        // Also where no drive is left.
        self.now = self.now.max(time);
        Ok(())
    }
    fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError> {
        self.play(limit, Stop::Completion)?;
        Ok(!self.completions.is_empty())
    }
    fn advance_to_arrivals(&mut self, pending: usize, limit: Time) -> Result<bool, RunError> {
        self.play(limit, Stop::Arrivals(pending))?;
        Ok(Drive::pending_arrivals(self) < pending)
    }
    fn take_completions(&mut self) -> Drain<'_, Completion> {
        self.completions.drain(..)
    }
    /// Rebuilds go on to their end; drives that are to fail later are not waited for.
    fn flush(&mut self) -> Result<(), RunError> {
        self.play_until_quiet()?;
        while self.each_alive(Drive::flush)? {
            self.play_until_quiet()?;
        }
        Ok(())
    }
    /// What follows from a drive that fails meanwhile comes after it.
    fn rest(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError> {
        self.play_until_quiet()?;
        if self.each_alive(|drive| drive.rest(span, at))? { self.flush() } else { Ok(()) }
    }
    fn failure(&self) -> Option<&RunError> {
        self.failure.as_ref().or_else(|| self.alive().find_map(|member| member.drive.failure()))
    }
    fn write_state(&self, to: &mut Writer) {
        self.save_all(to);
    }
    fn read_state(&mut self, from: &mut Reader) -> io::Result<()> {
        self.load_all(from)
    }

    fn workload_is_to_come(&mut self) {
        self.members.iter_mut().for_each(|member| member.drive.workload_is_to_come());
    }
    fn workload_begins(&mut self) {
        self.origin = self.now;
        self.members.iter_mut().for_each(|member| member.drive.workload_begins());
        self.set_failures();
        if let Some(explaining) = &mut self.explaining {
            explaining.begin(self.now, self.next_id);
        }
        self.begin_scrubs();
        self.begin_windows();
    }
    fn counting_begins(&mut self) {
        if let Some(explaining) = &mut self.explaining {
            explaining.counts_from(self.next_id);
        }
        self.counters_before = self.counters.clone();
        self.link.counting_begins();
        self.members.iter_mut().for_each(Member::counting_begins);
    }
    fn start_of_life(&self) -> Start {
        let mut starts = self.all().map(Drive::start_of_life);
        let first = starts.next().unwrap_or(Start::AsWritten);
        if starts.all(|start| start == first) { first } else { Start::OnTheWay }
    }
    fn settles(&self) -> bool {
        self.alive().any(|member| member.drive.settles())
    }
    fn buffered_pages(&self) -> u32 {
        self.all().map(Drive::buffered_pages).sum()
    }
    /// That of a drive, where no other one makes good for it.
    fn end_of_life(&self) -> Option<Time> {
        if self.layout.code.parity > 0 { None } else { self.all().filter_map(Drive::end_of_life).min() }
    }

    fn is_looked_at(&mut self) {
        if self.members.len() > 1 {
            self.members.iter_mut().for_each(Member::is_looked_at);
        }
    }
    /// Of drives that nothing was read from or written to there is nothing to be said.
    fn findings_of_parts(&self) -> Option<Vec<Finding>> {
        (self.members.len() > 1).then(|| report::findings(&self.members))
    }

    /// That of its first drive.
    fn raw_bytes(&self) -> Bytes {
        Bytes(self.drives().map(|drive| drive.raw_bytes().0).sum())
    }
    fn conditions(&self, offset: Bytes) -> Option<Conditions> {
        self.conditions_at(offset)
    }
    fn plan(&self) -> &Plan {
        self.members[0].drive.plan()
    }
    fn counters(&self) -> Counters {
        self.in_place(merge::counters(self.all()))
    }
    fn totals(&self) -> Totals {
        let mut totals = merge::totals(self.all());
        totals.counters = self.in_place(totals.counters);
        // Time goes on where no drive is left.
        totals.usage.elapsed = totals.usage.elapsed.max(self.now.since(Time::ZERO));
        totals
    }
    fn pages_of_planes(&self) -> Vec<(u64, u64)> {
        self.all().flat_map(Drive::pages_of_planes).collect()
    }
    fn zones(&self) -> Option<ZonesSeen<'_>> {
        self.zones.as_ref().map(|zones| zones.seen())
    }
    fn sections(&self) -> Map<String, Value> {
        Map::from_iter([("array".to_owned(), self.section())])
    }

    fn sample(&self) -> Sample {
        let sample = merge::sample(self.all());
        // Of one drive, those that its queues have taken.
        if self.members.len() == 1 {
            sample
        } else {
            Sample { outstanding: (self.open.len() - self.own_open) as u64, ..sample }
        }
    }
    fn state(&self) -> DriveState {
        let mut state = merge::state(self.all());
        state.end_of_life = self.end_of_life();
        state.zones = Drive::zones(self).map(|zones| zones.states());
        // The others go on without a drive that takes no writes any more.
        state.smart.read_only &= self.layout.code.parity == 0;
        state
    }
    fn check_all(&mut self) -> Result<(), RunError> {
        for member in self.members.iter_mut().filter(|member| member.failed.is_none()) {
            member.drive.check_all()?;
        }
        if let Some(log) = &self.log {
            log.check().map_err(RunError::Broken)?;
        }
        if let Some(zones) = &self.zones {
            zones.check().map_err(RunError::Broken)?;
        }
        if self.outstanding() == 0 && !self.is_rebuilding() && self.ops.len() == 0 && !self.locks.is_empty() {
            return Err(RunError::Broken("stripes of an array are locked and nothing is under way".into()));
        }
        Ok(())
    }
}

impl<D: RunDrive + ?Sized> RunDrive for Array<D> {
    fn header(&self) -> Value {
        self.saved_header()
    }

    /// Each drive has its part of the load. Parity that a load protects which has overwritten the whole address space
    /// alike is taken to have been overwritten like the data.
    fn begins_after(&mut self, past: &dyn Past, paced: bool) -> Result<bool, RunError> {
        let (plan, code) = (self.plan(), self.layout.code);
        let filled = Bytes((self.capacity().0 as f64 * plan.config.age.fill.0) as u64);
        // A log overwrites all stripes alike, whatever the host does.
        let is_uniform = || past.is_uniform(filled, plan.layout.page_size);
        if code.parity > 0 && !code.copies() && (self.log.is_some() || is_uniform()) {
            return Ok(false);
        }
        for (place, seat) in self.seats.iter().enumerate() {
            let member = &mut self.members[seat.drive];
            let share = Share { whole: past, layout: self.layout.clone(), place };
            match member.drive.warming(&share, paced)? {
                Played::Nothing => {}
                Played::TooLong(warmed) => member.warmed = Some(warmed),
                Played::Load(load) => member.warming = Some(load),
            }
        }
        Ok(self.members.iter().any(|member| member.warming.is_some()))
    }
    /// Of all of them: sums, the mean write amplification, and of what changes the most.
    fn warmed(&self) -> Option<Warmed> {
        let each = || self.members.iter().filter_map(|member| member.warmed);
        let pages = each().map(|warmed| warmed.pages).sum::<u64>();
        let together = |one: Warmed, other: Warmed| Warmed {
            pages,
            turnover: one.turnover + other.turnover,
            needed: one.needed + other.needed,
            reached: one.reached && other.reached,
            waf: one.waf + other.waf,
            change: if one.change.abs() < other.change.abs() { other.change } else { one.change },
        };
        let all = each().reduce(together)?;
        Some(Warmed { waf: all.waf / each().count() as f64, ..all })
    }
    fn is_on_its_way(&self) -> bool {
        self.members.iter().any(Member::is_on_its_way)
    }
    /// One drive after another comes into its state. Then all of them stand at the time of the last.
    fn comes_into_its_state(&mut self, requests: u64) -> Result<bool, RunError> {
        if let Some(member) = self.members.iter_mut().find(|member| member.is_on_its_way()) {
            member.comes_into_its_state(requests)?;
        }
        if self.is_on_its_way() {
            return Ok(false);
        }
        let latest = self.all().map(Drive::now).max().unwrap_or(self.now);
        // Where nothing has taken time, their lives begin with the workload.
        if latest > Time::ZERO {
            self.each_alive(|drive| drive.advance(latest))?;
        }
        Ok(true)
    }
}
