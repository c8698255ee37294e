//! What a drive is to those who play requests on it: a run, a server, another simulator. [`Device`] is one; what is
//! made of devices, or stands in for one, is another.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::vec::Drain;

use serde_json::{Map, Value};
use units::{Bytes, Conditions, ConfigError, Lpn, Span, Temperature, Time};
use workload::{Past, Request};

use super::batch::{self, BatchError};
use super::checkpoint;
use super::refusal::refused;
use super::warming::{Played, Warming};
use crate::config::{Config, Plan};
use crate::device::{Completion, Device, PowerSeen, cut_power};
use crate::error::RunError;
use crate::fdp::FdpSeen;
use crate::observe::probe::Probe;
use crate::observe::stats::series::Sample;
use crate::observe::stats::{Counters, DriveState, Finding, Start, Totals, Warmed};
use crate::observe::watch::Watch;
use crate::persist::{Reader, State, Writer};
use crate::window::Window;
use crate::zones::ZonesSeen;

/// A drive.
///
/// Contract: requests are submitted in the order of time, none before [`Drive::now`] unless others still wait to
/// arrive; time goes on by `advance` alone, and completions are taken in the order in which they came. The same
/// requests at the same times give the same completions.
pub trait Drive {
    /// Logical capacity.
    fn capacity(&self) -> Bytes;
    /// The present simulated time.
    fn now(&self) -> Time;
    /// The latest time for which a request can be submitted.
    fn latest(&self) -> Time;

    /// Hands a request over, which arrives at `request.time`; returns its number, which counts from 0.
    ///
    /// # Errors
    /// It comes too late or lies beyond the capacity: nothing has changed. The drive has failed.
    fn submit(&mut self, request: Request) -> Result<u64, RunError>;
    /// Hands several over, as one by one; returns their numbers.
    ///
    /// # Errors
    /// See [`Drive::submit`]: of the first that is refused. Those before it have been submitted, those after it have
    /// not.
    fn submit_all(&mut self, requests: &[Request]) -> Result<Range<u64>, BatchError> {
        batch::submit_all(self.submitted(), requests, |request| self.submit(request))
    }
    /// Requests that have been submitted.
    fn submitted(&self) -> u64;
    /// Requests that have been submitted and have not completed.
    fn outstanding(&self) -> u64;
    /// Those among them that have not arrived yet: what a caller keeps few.
    fn pending_arrivals(&self) -> usize;
    /// What has been done of the requests that it works on, in requests: of each the share of its pages.
    fn partly_served(&self) -> f64 {
        0.0
    }

    /// When something happens next, if nothing is submitted before. None where nothing happens until then.
    fn next_event(&self) -> Option<Time>;
    /// Whether nothing is going to happen until a request is submitted.
    fn idle(&self) -> bool {
        self.next_event().is_none()
    }
    /// Plays everything that happens up to and including `time`, which is the present then.
    ///
    /// # Errors
    /// The drive fails, or its life ends: what has completed until then can be taken.
    fn advance(&mut self, time: Time) -> Result<(), RunError>;
    /// Plays until requests complete, or until nothing happens up to `limit`; whether completions can be taken.
    ///
    /// # Errors
    /// See [`Drive::advance`].
    fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError>;
    /// Plays until fewer than `pending` arrivals wait, or until nothing happens up to `limit`; whether so few wait.
    /// Time does not go on from there: what is submitted next is not too late.
    ///
    /// # Errors
    /// See [`Drive::advance`].
    fn advance_to_arrivals(&mut self, pending: usize, limit: Time) -> Result<bool, RunError>;
    /// Takes the requests that have completed, in the order of completion.
    fn take_completions(&mut self) -> Drain<'_, Completion>;
    /// Puts everything buffered on flash, and plays until all is idle.
    ///
    /// # Errors
    /// See [`Drive::advance`].
    fn flush(&mut self) -> Result<(), RunError>;
    /// Is left alone for `span`, powered and idle: at a temperature, or at that of its rest.
    ///
    /// # Errors
    /// See [`Drive::advance`].
    fn rest(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError>;
    /// Why it cannot go on, if it has failed.
    fn failure(&self) -> Option<&RunError> {
        None
    }
    /// What a checkpoint says of it: what it is built from, and where it stands (`time_ns`).
    fn header(&self) -> Value;
    /// Writes its whole state.
    fn write_state(&self, to: &mut Writer);
    /// Takes a state that was written, where it was built from the same.
    ///
    /// # Errors
    /// It was written by another build, or of another drive.
    fn read_state(&mut self, from: &mut Reader) -> io::Result<()>;
    /// Writes a checkpoint to a file.
    ///
    /// # Errors
    /// It has failed, or the file cannot be written.
    fn save_as(&self, path: &Path) -> Result<(), RunError> {
        checkpoint::write(self, path)
    }

    /// What of a load that has gone on before is to be played through its FTL alone, where requests are `paced` or not
    /// ([`Drive::warm`]).
    ///
    /// # Errors
    /// A parameter of the load cannot be met.
    fn warming(&mut self, _past: &dyn Past, _paced: bool) -> Result<Played, RunError> {
        Ok(Played::Nothing)
    }
    /// Plays some requests more of it; what came of it, once that has ended.
    ///
    /// # Errors
    /// The load cannot be read.
    fn warm(&mut self, _load: &mut Warming, _requests: u64) -> Result<Option<Warmed>, RunError> {
        Ok(None)
    }
    /// It is made of several drives, which are to begin as a load has left them; whether anything is to be played for
    /// that ([`Drive::comes_into_its_state`]).
    ///
    /// # Errors
    /// See [`Drive::warming`].
    fn begins_after(&mut self, _past: &dyn Past, _paced: bool) -> Result<bool, RunError> {
        Ok(false)
    }
    /// What came of that.
    fn warmed(&self) -> Option<Warmed> {
        None
    }
    /// Whether it is still to bring itself into its state before the workload.
    fn is_on_its_way(&self) -> bool {
        false
    }
    /// Plays some requests more of what does; whether that has ended.
    ///
    /// # Errors
    /// See [`Drive::advance`].
    fn comes_into_its_state(&mut self, _requests: u64) -> Result<bool, RunError> {
        Ok(true)
    }
    /// Its host opens or closes a window for what need not be done now, or uses windows no more.
    fn set_window(&mut self, _window: Window) {}
    /// What is submitted from now on only brings it into its state.
    fn workload_is_to_come(&mut self) {}
    /// The workload begins: what was submitted before brought it into its state.
    fn workload_begins(&mut self) {}
    /// What is measured is counted from now on.
    fn counting_begins(&mut self) {}
    /// Where in its life it was at the start.
    fn start_of_life(&self) -> Start {
        Start::AsWritten
    }
    /// Whether what it began with still goes on: a load settles when it does not, or where that makes no difference any
    /// more.
    fn settles(&self) -> bool {
        false
    }
    /// Pages in its write buffer.
    fn buffered_pages(&self) -> u32 {
        0
    }
    /// When its life ended, if it has.
    fn end_of_life(&self) -> Option<Time> {
        None
    }
    /// It is looked at, some hundred times in a run.
    fn is_looked_at(&mut self) {}
    /// What puts the numbers of the drives in doubt that it is made of; none where it is one drive, and is judged as
    /// that.
    fn findings_of_parts(&self) -> Option<Vec<Finding>> {
        None
    }

    /// Its zones, where it has any.
    fn zones(&self) -> Option<ZonesSeen<'_>> {
        None
    }
    /// Its reclaim units, where it takes placement hints.
    fn fdp(&self) -> Option<FdpSeen<'_>> {
        None
    }
    /// What power cuts have done to it, where its power can be cut or its map is kept for the case.
    fn power(&self) -> Option<PowerSeen<'_>> {
        None
    }
    /// Cuts its power now; it comes back at once. What was under way is aborted.
    ///
    /// # Errors
    /// Its power cannot be cut: nothing has changed. It fails.
    fn cut(&mut self) -> Result<(), RunError> {
        Err(refused("array", "is served, and the power of an array cannot be cut", "serve a drive").into())
    }
    /// Sections of a result that it adds.
    fn sections(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Bytes of its flash.
    fn raw_bytes(&self) -> Bytes {
        self.plan().layout.raw_bytes()
    }
    /// The conditions of the flash page behind a byte address; none where it was never written.
    fn conditions(&self, _offset: Bytes) -> Option<Conditions> {
        None
    }
    /// Its worked-out configuration.
    fn plan(&self) -> &Plan;
    /// Counts of what has happened since its start.
    fn counters(&self) -> Counters;
    /// All that it has counted since its start.
    fn totals(&self) -> Totals;
    /// Of each plane, the pages programmed since its start, and those of host data among them.
    fn pages_of_planes(&self) -> Vec<(u64, u64)>;
    /// How it stands, for a time series.
    fn sample(&self) -> Sample;
    /// How it stands at the end of a run.
    fn state(&self) -> DriveState;
    /// Checks what must hold at the end of a run.
    ///
    /// # Errors
    /// What does not hold: a defect.
    fn check_all(&mut self) -> Result<(), RunError>;
}

/// Any drive.
pub type AnyDrive = dyn Drive + Send;

/// Builds a drive in its initial state, watched or not.
///
/// # Errors
/// The key at fault.
pub fn build(config: &Config, seed: u64, watch: Option<Watch>) -> Result<Box<AnyDrive>, ConfigError> {
    Ok(match watch {
        Some(watch) => Box::new(Device::watched(config, seed, watch)?),
        None => Box::new(Device::new(config, seed)?),
    })
}

impl<P: Probe> Drive for Device<P> {
    fn capacity(&self) -> Bytes {
        Device::capacity(self)
    }
    fn now(&self) -> Time {
        Device::now(self)
    }
    fn latest(&self) -> Time {
        Device::latest(self)
    }

    fn submit(&mut self, request: Request) -> Result<u64, RunError> {
        Device::submit(self, request)
    }
    fn submitted(&self) -> u64 {
        Device::submitted(self)
    }
    fn outstanding(&self) -> u64 {
        Device::outstanding(self).0
    }
    fn pending_arrivals(&self) -> usize {
        Device::pending_arrivals(self)
    }
    fn set_window(&mut self, window: Window) {
        self.begin_life();
        self.window_changes(window);
    }
    fn partly_served(&self) -> f64 {
        Device::partly_served(self)
    }

    fn next_event(&self) -> Option<Time> {
        Device::next_event(self)
    }
    fn idle(&self) -> bool {
        Device::idle(self)
    }
    fn advance(&mut self, time: Time) -> Result<(), RunError> {
        Device::advance(self, time)
    }
    fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError> {
        Device::advance_to_completion(self, limit)
    }
    fn advance_to_arrivals(&mut self, pending: usize, limit: Time) -> Result<bool, RunError> {
        Device::advance_to_arrivals(self, pending, limit)
    }
    fn take_completions(&mut self) -> Drain<'_, Completion> {
        Device::take_completions(self)
    }
    fn flush(&mut self) -> Result<(), RunError> {
        Device::flush(self)
    }
    fn rest(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError> {
        Device::rest(self, span, at)
    }
    fn failure(&self) -> Option<&RunError> {
        Device::failure(self)
    }
    fn header(&self) -> Value {
        checkpoint::header_of(self)
    }
    fn write_state(&self, to: &mut Writer) {
        State::save(self, to);
    }
    fn read_state(&mut self, from: &mut Reader) -> io::Result<()> {
        self.restore(from)?;
        self.check().map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn warming(&mut self, past: &dyn Past, paced: bool) -> Result<Played, RunError> {
        Warming::of(past, paced, self)
    }
    fn warm(&mut self, load: &mut Warming, requests: u64) -> Result<Option<Warmed>, RunError> {
        let ended = load.play(self, requests)?;
        Ok(load.warmed().filter(|_| ended))
    }

    /// No part breaks until the workload begins.
    fn workload_is_to_come(&mut self) {
        Device::workload_is_to_come(self);
    }
    fn workload_begins(&mut self) {
        Device::workload_begins(self);
    }
    fn counting_begins(&mut self) {
        Device::counting_begins(self);
    }
    fn start_of_life(&self) -> Start {
        Device::start_of_life(self)
    }
    /// Collections that were under way at the start go on, and the write buffer has room.
    fn settles(&self) -> bool {
        self.seen().still_collects_from_start() && !self.buffer_is_full()
    }
    fn buffered_pages(&self) -> u32 {
        Device::buffered_pages(self)
    }
    fn end_of_life(&self) -> Option<Time> {
        Device::end_of_life(self)
    }

    fn zones(&self) -> Option<ZonesSeen<'_>> {
        Device::zones(self)
    }
    fn fdp(&self) -> Option<FdpSeen<'_>> {
        Device::fdp(self)
    }
    fn power(&self) -> Option<PowerSeen<'_>> {
        self.power_seen()
    }
    fn cut(&mut self) -> Result<(), RunError> {
        cut_power(self)
    }

    fn conditions(&self, offset: Bytes) -> Option<Conditions> {
        Device::conditions(self, Lpn(offset.0 / Device::plan(self).layout.page_size.0))
    }
    fn plan(&self) -> &Plan {
        Device::plan(self)
    }
    fn counters(&self) -> Counters {
        Device::counters(self)
    }
    fn totals(&self) -> Totals {
        Totals {
            counters: Device::counters(self),
            usage: self.usage(),
            victims: self.victims().clone(),
            steps: self.steps().clone(),
            throttling: self.throttling(),
            energy: None,
        }
    }
    fn pages_of_planes(&self) -> Vec<(u64, u64)> {
        self.seen().pages_of_planes()
    }
    fn sample(&self) -> Sample {
        Sample {
            outstanding: Drive::outstanding(self) - self.pending_arrivals() as u64,
            buffered_pages: self.buffered_pages(),
            free_blocks: self.free_blocks(),
            smart: self.smart(),
            throttling: self.throttling(),
            idle: self.idle_time(),
        }
    }
    fn state(&self) -> DriveState {
        let (tracked_bytes, learned) = self.tables();
        DriveState {
            plan: self.plan().clone(),
            start: self.start_of_life(),
            warmed: None,
            waf_before: self.seen().waf_before(),
            written: self.counters().write_bytes,
            erases: self.erases().collect(),
            effective_pec: self.effective_pec().map(Iterator::collect),
            end_of_life: self.end_of_life(),
            smart: self.smart(),
            free_blocks: self.free_blocks(),
            slc_blocks: self.slc_blocks(),
            learned,
            zones: self.zones().map(|zones| zones.states()),
            tracked_bytes,
            recoveries: self.power_seen().map_or_else(Vec::new, |power| power.recoveries().to_vec()),
        }
    }
    fn check_all(&mut self) -> Result<(), RunError> {
        Device::check_all(self)
    }
}
