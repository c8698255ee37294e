//! A run whose requests come from outside: another simulator, a server, a program.

use std::ops::Range;
use std::path::Path;

use units::{Bytes, ConfigError, Span, Temperature, Time};
use workload::Request;

use super::drive::{AnyDrive, RunDrive};
use super::measured::MeasuredDrive;
use super::options::RunOptions;
use super::outcome::Outcome;
use super::past_load;
use super::reading::Reading;
use super::refusal::refused;
use super::request_log::RequestLog;
use crate::config::Config;
use crate::device::{Completion, Device};
use crate::drive::{self, BatchError, Drive};
use crate::error::RunError;
use crate::observe::probe::Probe;
use crate::observe::stats::Measured;

/// A run without a workload. It books what a replayed run books: with the last completion, where a replay ends, the
/// same requests at the same times have the same result. A warm-up that ends while many requests wait for room in the
/// drive's queues is the exception: a replay counts it as ended when it hands the next request over, which is later.
///
/// Its time starts at 0, after the overwriting that `age.precondition` asks for.
pub struct Live<D: RunDrive = Device> {
    measured: MeasuredDrive<D>,
    completions: Vec<Completion>,
    /// The time of the last request: the next one is not earlier.
    last: Time,
    /// The drive's number of its first request.
    first_id: u64,
}

/// Writes before the workload that are played at once.
const PRECONDITIONING: u64 = 1 << 16;

impl<P: Probe> Live<Device<P>> {
    /// Builds a device and brings it into the state in which it meets its first request. Of the options, `seed`,
    /// `warmup` and `checkpoint` are taken.
    pub fn open(
        config: &Config,
        options: &RunOptions,
        log: Option<Box<dyn RequestLog>>,
        probe: P,
    ) -> Result<Live<Device<P>>, RunError> {
        check(options)?;
        let decided = past_load::decided(config, options, None, true);
        let mut measured = MeasuredDrive::of_device(&decided.config, options, log, probe, None)?;
        measured.past_assumed = decided.assumed;
        Live::of(measured, options)
    }
}

impl<D: RunDrive> Live<D> {
    /// A run on a drive as it stands. Of the options, `warmup` is taken; `seed` and `checkpoint` are the drive's own.
    pub fn on(drive: D, options: &RunOptions, log: Option<Box<dyn RequestLog>>) -> Result<Live<D>, RunError> {
        check(options)?;
        let mut measured = MeasuredDrive::new(drive, options, log);
        measured.begin_in_its_state();
        Live::of(measured, options)
    }

    fn of(mut measured: MeasuredDrive<D>, options: &RunOptions) -> Result<Live<D>, RunError> {
        while measured.preconditions() {
            measured.precondition(PRECONDITIONING)?;
        }
        if options.warmup == 0 {
            measured.warmup_ends();
        }
        let first_id = measured.drive.submitted();
        Ok(Live { measured, completions: Vec::new(), last: Time::ZERO, first_id })
    }

    /// Submits a request for `request.time`, which lies neither before [`Live::now`] nor before the last request;
    /// returns its number, from 0. The first request after the warm-up plays the run up to its time.
    pub fn submit(&mut self, request: Request) -> Result<u64, RunError> {
        let (time, earliest) = (request.time, self.last.max(self.now()));
        if time < earliest {
            return Err(RunError::BackInTime { time, earliest });
        }
        let at = self.of_device(time)?;
        let completions = &mut self.completions;
        let submitted = self.measured.submit(request, at, |completion| completions.push(*completion));
        let id = self.with_the_last(submitted)?;
        self.last = time;
        Ok(id)
    }

    /// Submits several, as [`Live::submit`] does one by one; returns their numbers. Of the first that is refused the
    /// error has the index: those before it have been submitted, those after it have not.
    pub fn submit_all(&mut self, requests: &[Request]) -> Result<Range<u64>, BatchError> {
        drive::submit_all(self.submitted(), requests, |request| self.submit(request))
    }

    /// The present.
    pub fn now(&self) -> Time {
        Time(self.measured.drive.now().0 - self.measured.origin.0)
    }

    /// Logical capacity.
    pub fn capacity(&self) -> Bytes {
        self.measured.drive.capacity()
    }

    /// Requests that were submitted and have not completed.
    pub fn outstanding(&self) -> u64 {
        self.measured.drive.outstanding()
    }

    /// Requests that have been submitted.
    pub fn submitted(&self) -> u64 {
        self.measured.submitted
    }

    /// The number that the drive has given the run's request 0: what came before has filled it, or was another run.
    /// What the drive says of requests names them by its own numbers.
    pub fn first_id(&self) -> u64 {
        self.first_id
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.measured.drive
    }

    /// What was played so far has loaded the drive, which is now left alone for so long: at a temperature, or at that
    /// of its rest ([`Drive::rest`]). What is measured begins after it, as after a warm-up.
    pub fn rest(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError> {
        let completions = &mut self.completions;
        let played = self.measured.rest(span, at, |completion| completions.push(*completion));
        self.with_the_last(played)
    }

    /// When something happens next, if nothing is submitted before: nothing completes earlier. None where nothing
    /// completes until another request is submitted.
    pub fn next_event(&self) -> Option<Time> {
        self.measured.drive.next_event().map(|time| Time(time.0 - self.measured.origin.0))
    }

    /// Plays everything that happens up to and including `to`. Where that lies in the past, nothing happens.
    pub fn advance(&mut self, to: Time) -> Result<(), RunError> {
        let to = self.of_device(to)?;
        if to < self.measured.drive.now() {
            return Ok(());
        }
        let completions = &mut self.completions;
        let played = self.measured.advance(to, |completion| completions.push(*completion));
        self.with_the_last(played)
    }

    /// Plays until something has completed that was not taken, or up to `limit`, which may be [`Time::NEVER`]; returns
    /// whether something has.
    pub fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError> {
        let limit = if limit == Time::NEVER { limit } else { self.of_device(limit)? };
        if self.completions.is_empty() && limit >= self.measured.drive.now() {
            let completions = &mut self.completions;
            let each = |completion: &Completion| completions.push(*completion);
            let play = |drive: &mut D, limit| drive.advance_to_completion(limit);
            let mut looks = u64::MAX;
            let played = self.measured.advance_by(limit, &mut looks, play, each);
            self.with_the_last(played)?;
        }
        Ok(!self.completions.is_empty())
    }

    /// Takes the requests that have completed, in order of completion.
    pub fn take_completions(&mut self) -> std::vec::Drain<'_, Completion> {
        self.completions.drain(..)
    }

    /// Takes the first `most` of them.
    pub fn take_first(&mut self, most: usize) -> std::vec::Drain<'_, Completion> {
        self.completions.drain(..most.min(self.completions.len()))
    }

    /// A time of the run as the device counts it.
    fn of_device(&self, time: Time) -> Result<Time, RunError> {
        let latest = Time(self.measured.drive.latest().0.saturating_sub(self.measured.origin.0));
        if time > latest {
            return Err(RunError::BeyondHorizon { time, latest });
        }
        Ok(Time(self.measured.origin.0 + time.0))
    }

    /// What was played; where the drive's life has ended in it, what completed until then is booked as well.
    fn with_the_last<T>(&mut self, played: Result<T, RunError>) -> Result<T, RunError> {
        if let Err(RunError::EndOfLife { .. }) = played {
            let completions = &mut self.completions;
            self.measured.collect(|completion| completions.push(*completion))?;
        }
        played
    }
}

impl<D: RunDrive> Live<D> {
    /// Cuts the power now; it comes back at once. What was under way is aborted.
    pub fn cut(&mut self) -> Result<(), RunError> {
        let completions = &mut self.completions;
        let cut = self.measured.drive.cut();
        let booked = self.measured.collect(|completion| completions.push(*completion));
        cut?;
        booked
    }

    /// Writes a checkpoint of the drive while the run goes on: everything buffered is written first, as at its end.
    pub fn save(&mut self, path: &Path) -> Result<(), RunError> {
        let completions = &mut self.completions;
        let played = self.measured.drive.flush();
        let booked = self.measured.collect(|completion| completions.push(*completion));
        self.with_the_last(played)?;
        booked?;
        self.measured.drive.save_as(path)
    }

    /// What was measured up to now.
    pub fn measured(&self) -> Measured {
        self.measured.so_far(Reading::default())
    }

    /// Ends the run, checks the conservation laws and gives what was found out. What was submitted and has not
    /// completed is left out.
    pub fn finish(self) -> Result<Outcome<D>, RunError> {
        self.measured.finish(Reading::default())
    }
}

/// What is done with a [`Live`] on any drive.
pub trait Attended: Send {
    /// See [`Live::submit`].
    fn submit(&mut self, request: Request) -> Result<u64, RunError>;
    /// See [`Live::now`].
    fn now(&self) -> Time;
    /// See [`Live::submitted`].
    fn submitted(&self) -> u64;
    /// See [`Live::first_id`].
    fn first_id(&self) -> u64;
    /// The drive.
    fn drive(&self) -> &dyn Drive;
    /// See [`Live::rest`].
    fn rest(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError>;
    /// See [`Live::next_event`].
    fn next_event(&self) -> Option<Time>;
    /// See [`Live::advance`].
    fn advance(&mut self, to: Time) -> Result<(), RunError>;
    /// See [`Live::advance_to_completion`].
    fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError>;
    /// See [`Live::take_completions`].
    fn take_completions(&mut self) -> std::vec::Drain<'_, Completion>;
    /// See [`Live::cut`].
    fn cut(&mut self) -> Result<(), RunError>;
    /// See [`Live::save`].
    fn save(&mut self, path: &Path) -> Result<(), RunError>;
    /// See [`Live::finish`].
    fn finish(self: Box<Self>) -> Result<Outcome<Box<AnyDrive>>, RunError>;
}

impl<D: RunDrive + Send + 'static> Attended for Live<D> {
    fn submit(&mut self, request: Request) -> Result<u64, RunError> {
        Live::submit(self, request)
    }
    fn now(&self) -> Time {
        Live::now(self)
    }
    fn submitted(&self) -> u64 {
        Live::submitted(self)
    }
    fn first_id(&self) -> u64 {
        Live::first_id(self)
    }
    fn drive(&self) -> &dyn Drive {
        self.device()
    }
    fn rest(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError> {
        Live::rest(self, span, at)
    }
    fn next_event(&self) -> Option<Time> {
        Live::next_event(self)
    }
    fn advance(&mut self, to: Time) -> Result<(), RunError> {
        Live::advance(self, to)
    }
    fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError> {
        Live::advance_to_completion(self, limit)
    }
    fn take_completions(&mut self) -> std::vec::Drain<'_, Completion> {
        Live::take_completions(self)
    }
    fn cut(&mut self) -> Result<(), RunError> {
        Live::cut(self)
    }
    fn save(&mut self, path: &Path) -> Result<(), RunError> {
        Live::save(self, path)
    }
    fn finish(self: Box<Self>) -> Result<Outcome<Box<AnyDrive>>, RunError> {
        Ok(Live::finish(*self)?.with(|drive| -> Box<AnyDrive> { Box::new(drive) }))
    }
}

/// Refuses options that say how a workload is played.
fn check(options: &RunOptions) -> Result<(), ConfigError> {
    let RunOptions { seed, warmup, checkpoint, .. } = options.clone();
    let taken = RunOptions { seed, warmup, checkpoint, ..RunOptions::default() };
    let given = options.values().into_iter().zip(taken.values()).find(|(given, taken)| given != taken);
    given.map_or(Ok(()), |((name, _), _)| {
        let option = format!("--{}", name.replace('_', "-"));
        Err(refused(
            &option,
            "is given, and requests come from outside",
            "leave it out; seed, warmup and checkpoint are taken",
        ))
    })
}
