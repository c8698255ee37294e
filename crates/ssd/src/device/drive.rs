//! A device is a [`Drive`].

use std::io;
use std::vec::Drain;

use units::{Bytes, Conditions, Span, Temperature, Time};
use workload::Request;

use super::power::cut_power;
use super::{Device, Stop, rest};
use crate::buffer::is_full;
use crate::commands::{Command, parts};
use crate::config::{Plan, Precondition};
use crate::drive::Drive;
use crate::error::RunError;
use crate::fdp::FdpSeen;
use crate::host::Completion;
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::series::Sample;
use crate::observe::stats::{Counters, DriveState, Start, Totals};
use crate::persist::{Reader, State, Writer};
use crate::power::PowerSeen;
use crate::window::Window;
use crate::zones::ZonesSeen;

impl<P: Probe> Drive for Device<P> {
    fn plan(&self) -> &Plan {
        &self.back.core.plan
    }
    fn capacity(&self) -> Bytes {
        self.back.core.plan.capacity()
    }
    fn now(&self) -> Time {
        self.back.core.now
    }
    fn latest(&self) -> Time {
        Time(self.back.core.agenda.horizon().0 / 2)
    }

    fn submit(&mut self, request: Request) -> Result<u64, RunError> {
        // Behind an arrival that still waits in the host, a late one changes nothing.
        let earliest = if self.host.arrivals.is_empty() {
            self.host.last_arrival.max(self.back.core.now)
        } else {
            self.host.last_arrival
        };
        if request.time < earliest {
            return Err(RunError::BackInTime { time: request.time, earliest });
        }
        let latest = self.latest();
        if request.time > latest {
            return Err(RunError::BeyondHorizon { time: request.time, latest });
        }
        let end = request.offset.0.checked_add(request.bytes.0);
        let empty = request.bytes.0 == 0 && request.op.has_address();
        if empty || end.is_none_or(|end| end > self.capacity().0) {
            return Err(RunError::OutOfRange {
                offset: request.offset,
                bytes: request.bytes,
                capacity: self.capacity(),
            });
        }
        let id = self.next_id;
        self.begin_life();
        self.next_id += 1;
        self.host.last_arrival = request.time;
        self.back.prefetch(self.plan().page_at(request.offset.0));
        if self.host.arrivals.is_empty() && self.host.stalled.is_none() {
            let core = &mut self.back.core;
            core.agenda.set(core.slots.arrival, request.time + core.plan.config.host.t_submit);
        }
        self.host.arrivals.push_back((id, request));
        Ok(id)
    }
    fn submitted(&self) -> u64 {
        self.next_id
    }
    fn outstanding(&self) -> u64 {
        (self.back.commands.len() + self.host.arrivals.len()) as u64
    }
    fn pending_arrivals(&self) -> usize {
        self.host.arrivals.len()
    }
    fn set_window(&mut self, window: Window) {
        self.begin_life();
        self.back.window_changes(window);
    }
    fn partly_served(&self) -> f64 {
        let page = self.back.core.plan.layout.page_size.0;
        let served = |of: &Command| 1.0 - f64::from(of.remaining) / f64::from(parts(&of.request, page));
        let commands = self.back.commands.ids().map(|id| &self.back.commands[id]);
        commands.filter(|command| command.request.op.moves_data()).map(served).sum()
    }

    /// Visits for refresh count while requests are outstanding.
    fn next_event(&self) -> Option<Time> {
        let next = self.upcoming(Time::NEVER).map(|(time, _)| time);
        let next = next.or_else(|| self.back.stands_still().then_some(self.back.core.now));
        next.filter(|_| self.back.core.life.failure.is_none())
    }
    fn idle(&self) -> bool {
        self.back.core.agenda.peek().is_none()
    }
    fn advance(&mut self, time: Time) -> Result<(), RunError> {
        self.play(time, Stop::Never)?;
        self.back.core.now = self.back.core.now.max(time);
        Ok(())
    }
    fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError> {
        self.play(limit, Stop::Completion)?;
        Ok(!self.host.completions.is_empty())
    }
    fn advance_to_arrivals(&mut self, pending: usize, limit: Time) -> Result<bool, RunError> {
        self.play(limit, Stop::Arrivals(pending))?;
        Ok(self.host.arrivals.len() < pending)
    }
    fn take_completions(&mut self) -> Drain<'_, Completion> {
        self.host.completions.drain(..)
    }
    fn flush(&mut self) -> Result<(), RunError> {
        self.play(Time::NEVER, Stop::AtRest)?;
        let before = self.back.set_draining(true);
        self.back.destage_all();
        self.back.settle();
        let played = self.play(Time::NEVER, Stop::AtRest);
        self.back.set_draining(before);
        played
    }
    fn rest(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError> {
        rest::rest(self, span, at)
    }
    fn failure(&self) -> Option<&RunError> {
        self.back.core.life.failure.as_ref()
    }
    fn write_state(&self, to: &mut Writer) {
        State::save(self, to);
    }
    /// The probe is told how the drive stands from then on.
    fn read_state(&mut self, from: &mut Reader) -> io::Result<()> {
        self.load(from)?;
        self.back.after_load();
        self.check().map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// No part breaks until the workload begins.
    fn workload_is_to_come(&mut self) {
        self.back.flash.faults_count_from(Time::NEVER);
    }
    /// The probe is told.
    fn workload_begins(&mut self) {
        self.back.flash.faults_count_from(self.back.core.now);
        self.back.core.arm_cuts();
        if P::EXPLAINS {
            self.back.core.probe.explain(self.back.core.now, Event::Begins { first: self.next_id });
        }
    }
    /// The probe is told.
    fn counting_begins(&mut self) {
        if P::EXPLAINS {
            self.back.core.probe.explain(self.back.core.now, Event::Counts { first: self.next_id });
        }
    }
    fn start_of_life(&self) -> Start {
        match self.back.core.plan.config.age.precondition {
            Precondition::ClosedForm if self.back.seen().starts_in_mid_life() => Start::MidLife,
            Precondition::ClosedForm => Start::BetweenCollections,
            Precondition::None | Precondition::Write(_) => Start::AsWritten,
        }
    }
    /// Collections that were under way at the start go on, and the write buffer has room.
    fn settles(&self) -> bool {
        let is_full = is_full(self.back.writes.buffer.in_use().into(), self.back.core.plan.slots.into());
        self.back.seen().still_collects_from_start() && !is_full
    }
    fn buffered_pages(&self) -> u32 {
        self.back.writes.buffer.in_use()
    }
    fn end_of_life(&self) -> Option<Time> {
        match self.back.core.life.failure {
            Some(RunError::EndOfLife { time, .. }) => Some(time),
            _ => self.back.core.life.read_only,
        }
    }

    fn zones(&self) -> Option<ZonesSeen<'_>> {
        let (zones, plan) = (self.back.zones.as_deref()?, self.back.core.plan.zones.as_ref()?);
        Some(ZonesSeen { zones, plan })
    }
    fn fdp(&self) -> Option<FdpSeen<'_>> {
        let (plan, counters) = (&self.back.core.plan, self.counters());
        self.back.fdp.as_deref().map(|fdp| FdpSeen { fdp, plan, counters })
    }
    fn power(&self) -> Option<PowerSeen<'_>> {
        self.back.power.as_deref().map(PowerSeen)
    }
    fn cut(&mut self) -> Result<(), RunError> {
        cut_power(self)
    }

    fn conditions(&self, offset: Bytes) -> Option<Conditions> {
        self.conditions_of(self.back.core.plan.page_at(offset.0))
    }
    fn counters(&self) -> Counters {
        let mut counters = self.back.core.counters;
        counters.pages_programmed = self.back.seen().pages_programmed();
        counters
    }
    fn totals(&self) -> Totals {
        Totals {
            counters: self.counters(),
            usage: self.usage(),
            victims: self.victims().clone(),
            steps: self.steps().clone(),
            throttling: self.throttling(),
            energy: None,
        }
    }
    fn pages_of_planes(&self) -> Vec<(u64, u64)> {
        self.back.seen().pages_of_planes()
    }
    fn sample(&self) -> Sample {
        Sample {
            outstanding: self.outstanding() - self.pending_arrivals() as u64,
            buffered_pages: self.buffered_pages(),
            free_blocks: self.free_blocks(),
            smart: self.smart(),
            throttling: self.throttling(),
            idle: self.back.flash.idle_time(self.back.core.now),
        }
    }
    fn state(&self) -> DriveState {
        let seen = self.back.seen();
        DriveState {
            plan: self.plan().clone(),
            start: self.start_of_life(),
            warmed: None,
            waf_before: seen.waf_before(),
            written: self.counters().write_bytes,
            erases: self.erases().collect(),
            effective_pec: self.effective_pec().map(Iterator::collect),
            end_of_life: self.end_of_life(),
            smart: self.smart(),
            free_blocks: self.free_blocks(),
            slc_blocks: seen.cache_blocks(),
            learned: self.back.map.learned.as_ref().map(|learned| seen.learned_size(learned)),
            zones: self.zones().map(|zones| zones.states()),
            tracked_bytes: self.back.flash.reference_bytes(),
            recoveries: self.power().map_or_else(Vec::new, |power| power.recoveries().to_vec()),
        }
    }
    /// Between events; with the ledger of a probe that keeps one, all of it.
    fn check_all(&mut self) -> Result<(), RunError> {
        self.check().map_err(RunError::Broken)?;
        if let Some(mut map) = self.back.ftl.tried_map() {
            map.all();
        }
        if let Some(mistake) = self.back.seen().mistake() {
            return Err(RunError::Config(mistake.clone()));
        }
        if self.back.core.probe.ledger().is_none() || self.back.core.life.failure.is_some() {
            return Ok(());
        }
        let checked = self.check_parts().and_then(|()| self.back.seen().check_tables());
        checked.map(drop).map_err(|violation| self.violated(violation, "the end of the run".into()))
    }
}
