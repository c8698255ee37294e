//! A drive with what every run keeps of it, whoever submits the requests: latencies, time series, request log, and the
//! overwriting before the workload.

use std::path::PathBuf;

use units::{Span, Temperature, Time};
use workload::{Op, Past, Request, TaskEnd};

use super::before::{Before, OfItsOwn};
use super::checkpoint::Checkpoint;
use super::course::{Course, Point};
use super::drive::RunDrive;
use super::options::RunOptions;
use super::precondition::Overwriting;
use super::request_log::RequestLog;
use super::settling::{self, Settling};
use super::steady::Steady;
use super::warming::{self, Warming};
use crate::config::Config;
use crate::device::{Completion, Device};
use crate::drive::Drive;
use crate::error::RunError;
use crate::observe::probe::Probe;
use crate::observe::stats::latency::ByQueue;
use crate::observe::stats::series::Series;
use crate::observe::stats::{Outside, Start, Totals, Warmed};

/// A drive whose requests are measured. Its times are the drive's own; what it reports of completions is counted from
/// the beginning of the workload.
pub(super) struct MeasuredDrive<D: RunDrive> {
    pub drive: D,
    warmup: u64,
    /// The load is played until it has settled, before anything counts; and the requests that were played so.
    settling: Option<Settling>,
    pub settled: u64,
    settled_at: Time,
    pub submitted: u64,
    pub latencies: ByQueue,
    /// The first address behind the data that the drive holds at the start.
    filled: u64,
    /// What the requests that count write, and where no data was at the start.
    pub outside: Outside,
    pub series: Series,
    pub log: Option<Box<dyn RequestLog>>,
    /// What the device had counted when the workload began, and when the warm-up ended.
    pub begun: Totals,
    pub baseline: Option<Totals>,
    /// How what is measured went on.
    pub course: Course,
    /// What brings the drive into its state before the workload, while that goes on.
    before: Option<Box<dyn Before<D>>>,
    /// It is a load that goes on in the workload.
    leads: bool,
    /// What came of a load that was played through the FTL alone.
    pub warmed: Option<Warmed>,
    /// Of the load nothing was known before the run: the drive starts as another one, which is assumed, has left it.
    pub past_assumed: bool,
    /// When the device began with the workload, and the number of its first request.
    pub origin: Time,
    first_id: u64,
    pub steady: Option<Steady>,
    /// A steady state has been found, or none will be: nothing more is to be submitted.
    pub steady_ended: bool,
    /// A checkpoint that is to be written.
    pub saving: Option<Saving>,
    queues: u16,
}

/// What playing came to.
pub(super) enum Played {
    /// What it was played to.
    Came,
    /// The time up to which it was to be played, or nothing outstanding any more.
    Over,
    /// As many looks at the device as were allowed: there is more to play.
    Paused,
}

/// A checkpoint that is to be written when the workload has gone on for so long.
pub(super) struct Saving {
    pub after: Span,
    pub path: PathBuf,
}

impl<P: Probe> MeasuredDrive<Device<P>> {
    /// A device in its initial state, or in that of the checkpoint that the options name. Of the load that is to be
    /// played the past may be known, and whether its requests are paced.
    pub fn of_device(
        config: &Config,
        options: &RunOptions,
        log: Option<Box<dyn RequestLog>>,
        probe: P,
        past: Option<(&dyn Past, bool)>,
    ) -> Result<MeasuredDrive<Device<P>>, RunError> {
        let device = match &options.checkpoint {
            None => Device::watched(config, options.seed, probe)?,
            Some(path) => Checkpoint::open(path)?.settled(config)?.watched_by(probe),
        };
        let overwrites = options.checkpoint.is_none().then(|| Overwriting::new(device.plan(), options.seed)).flatten();
        let is_new = device.submitted() == 0 && device.now() == Time::ZERO;
        let mut measured = MeasuredDrive::new(device, options, log);
        if let Some(writes) = overwrites {
            measured.drive.workload_is_to_come();
            measured.before = Some(Box::new(writes));
        } else if let Some((past, paced)) = past.filter(|_| is_new) {
            match Warming::of(past, paced, &mut measured.drive)? {
                warming::Played::Nothing => {}
                warming::Played::TooLong(warmed) => measured.warmed = Some(warmed),
                warming::Played::Load(load) => {
                    measured.before = Some(load);
                    measured.leads = true;
                }
            }
        }
        if measured.before.is_none() {
            measured.begin();
        }
        Ok(measured)
    }
}

impl<D: RunDrive> MeasuredDrive<D> {
    /// A drive as it stands.
    pub fn new(drive: D, options: &RunOptions, log: Option<Box<dyn RequestLog>>) -> MeasuredDrive<D> {
        let queues = drive.plan().config.host.queues;
        // A drive that goes on from a checkpoint holds what its past has written.
        let filled = match options.checkpoint {
            None => (drive.capacity().0 as f64 * drive.plan().config.age.fill.0) as u64,
            Some(_) => u64::MAX,
        };
        MeasuredDrive {
            steady: options.until_steady.map(|round| Steady::new(round, usize::from(queues), &drive)),
            drive,
            warmup: options.warmup,
            settling: None,
            settled: 0,
            settled_at: Time::ZERO,
            submitted: 0,
            latencies: ByQueue::new(usize::from(queues)),
            filled,
            outside: Outside::default(),
            series: Series::new(),
            log,
            baseline: None,
            begun: Totals::default(),
            course: Course::default(),
            before: None,
            leads: false,
            warmed: None,
            past_assumed: false,
            origin: Time::ZERO,
            first_id: 0,
            steady_ended: false,
            saving: None,
            queues,
        }
    }

    /// A load has gone on before the one that is to be played: what a drive makes of it that is made of several.
    pub fn begin_after(&mut self, past: &dyn Past, paced: bool) -> Result<(), RunError> {
        if self.drive.submitted() == 0 && self.drive.now() == Time::ZERO {
            self.leads = self.drive.begins_after(past, paced)?;
            self.warmed = self.drive.warmed();
        }
        Ok(())
    }

    /// The workload begins, once the drive has brought itself into its state.
    pub fn begin_in_its_state(&mut self) {
        if self.drive.is_on_its_way() {
            self.drive.workload_is_to_come();
            self.before = Some(Box::new(OfItsOwn));
        } else {
            self.begin();
        }
    }

    /// The workload begins now.
    pub fn begin(&mut self) {
        self.origin = self.drive.now();
        self.settled_at = self.origin;
        self.first_id = self.drive.submitted();
        self.drive.workload_begins();
        let sample = self.drive.sample();
        self.series.start(self.origin, sample.idle, sample.throttling);
        self.begun = self.drive.totals();
        match &mut self.steady {
            // Rounds begin behind the warm-up.
            Some(steady) if self.warmup > 0 => steady.wait(),
            Some(steady) => steady.start(&self.drive, false),
            None => {}
        }
    }

    /// The load is played until it has settled, and counts from then on: where the drive starts in the middle of its
    /// life, and nothing else is asked for that comes before what counts. It waits for collections no longer than for
    /// as many requests as count. Where a steady state is looked for, that is for a load that overwrites evenly, as the
    /// drive has been: any other one has to come to its own steady state.
    pub fn settle_first(&mut self, counted: u64, evenly: bool) {
        let apart = self.warmup > 0 || self.before.is_some() && !self.leads || self.drive.now() > Time::ZERO;
        let stationary = evenly && !self.leads && self.drive.plan().config.age.fill.0 == 1.0;
        let changes = self.steady.is_some() && !stationary;
        let in_mid_life = self.leads || self.drive.start_of_life() == Start::MidLife;
        if apart || changes || !in_mid_life {
            return;
        }
        self.settling = Some(Settling::new(counted));
        if let Some(steady) = &mut self.steady {
            steady.wait();
        }
    }

    /// Where in its life the drive was at the start.
    pub fn start(&self) -> Start {
        match self.warmed {
            Some(warmed) if warmed.reached => Start::MidLife,
            Some(_) => Start::OnTheWay,
            None => self.drive.start_of_life(),
        }
    }

    /// Pages of host data that have been played through the FTL alone so far, and the write amplification, while that
    /// goes on.
    pub fn warms(&self) -> Option<(u64, f64)> {
        self.before.as_ref().and_then(|before| before.so_far())
    }

    /// When what is asked for begins: never, before the load has settled.
    pub fn counts_from(&self) -> Time {
        if self.settling.is_some() { Time::NEVER } else { self.settled_at }
    }

    /// Of this many requests that are asked for, those that are submitted.
    pub fn all_requests(&self, counted: u64) -> u64 {
        if self.settling.is_some() { u64::MAX } else { counted.saturating_add(self.settled) }
    }

    /// Whether the drive is still to be overwritten, or warmed, before the workload.
    pub fn preconditions(&self) -> bool {
        self.before.is_some()
    }

    /// Overwrites the drive before the workload, or warms it, some requests at a time.
    pub fn precondition(&mut self, requests: u64) -> Result<(), RunError> {
        let Some(mut before) = self.before.take() else { return Ok(()) };
        if before.play(&mut self.drive, requests)? {
            self.warmed = before.warmed().or_else(|| self.drive.warmed()).or(self.warmed);
            self.begin();
        } else {
            self.before = Some(before);
        }
        Ok(())
    }

    /// Submits a request at `time`. The first one after the warm-up plays the device up to then.
    pub fn submit(&mut self, mut request: Request, time: Time, each: impl FnMut(&Completion)) -> Result<u64, RunError> {
        request.time = time;
        // A drive that has come to its end meanwhile settles no more: all of its life counts.
        self.settling.take_if(|_| self.drive.end_of_life().is_some());
        if let Some(settling) = &mut self.settling
            && (settling.settles(self.drive.buffered_pages(), || !self.drive.settles())
                || self.submitted == settling::MOST)
        {
            // What had been measured is what there is of a run that ends before.
            (self.settling, self.settled, self.baseline) = (None, self.submitted, None);
            self.settled_at = time;
            self.measure_from_here();
        }
        if self.submitted == self.warmup && self.baseline.is_none() {
            if self.warmup > 0 {
                self.advance(time, each)?;
                self.look()?;
            }
            self.warmup_ends();
            if let Some(steady) = self.steady.as_mut().filter(|_| self.warmup > 0) {
                steady.start(&self.drive, self.settled > 0);
            }
        }
        if request.op == Op::Write && self.submitted >= self.warmup {
            let (bytes, end) = (request.bytes.0, request.offset.0 + request.bytes.0);
            self.outside.of += bytes;
            self.outside.bytes += end.saturating_sub(self.filled.max(request.offset.0));
        }
        self.course.arrives(time);
        let id = self.drive.submit(request)? - self.first_id;
        self.submitted += 1;
        Ok(id)
    }

    /// What is measured is counted from now on.
    pub fn warmup_ends(&mut self) {
        self.drive.counting_begins();
        self.baseline = Some(self.drive.totals());
        self.course.start(Point::of(&self.drive));
    }

    /// The drive is left alone for so long ([`Drive::rest`]). What was played until then has loaded it: it is not
    /// measured.
    pub fn rest(&mut self, span: Span, at: Option<Temperature>, each: impl FnMut(&Completion)) -> Result<(), RunError> {
        self.drive.rest(span, at)?;
        self.collect(each)?;
        self.measure_from_here();
        self.warmup_ends();
        Ok(())
    }

    /// What has been submitted until now was a warm-up, which was not known when it completed.
    fn measure_from_here(&mut self) {
        self.warmup = self.submitted;
        self.latencies = ByQueue::new(usize::from(self.queues));
        self.outside = Outside::default();
    }

    /// Books tasks that have ended, and began with what is measured.
    pub fn book(&mut self, tasks: impl IntoIterator<Item = TaskEnd>) {
        for TaskEnd { kind, first, began, ended } in tasks {
            if first >= self.warmup {
                let took = ended.since(began);
                self.latencies.record_task(kind, took);
                if let Some(steady) = &mut self.steady {
                    steady.latencies().record_task(kind, took);
                }
            }
        }
    }

    /// Plays up to `time`, closing the time series' intervals that end before it.
    pub fn advance(&mut self, time: Time, mut each: impl FnMut(&Completion)) -> Result<(), RunError> {
        while self.next_look() < time {
            self.drive.advance(self.next_look())?;
            self.collect(&mut each)?;
            self.look()?;
        }
        self.drive.advance(time)?;
        self.collect(each)
    }

    /// Plays until `play` says that what it plays to has come, or to `time`, closing the intervals that end before: no
    /// more than `looks` of these, which it counts down.
    pub fn advance_by(
        &mut self,
        time: Time,
        looks: &mut u64,
        play: impl Fn(&mut D, Time) -> Result<bool, RunError>,
        mut each: impl FnMut(&Completion),
    ) -> Result<Played, RunError> {
        while *looks > 0 {
            let limit = self.next_look().min(time);
            if play(&mut self.drive, limit)? {
                self.collect(each)?;
                return Ok(Played::Came);
            }
            if time == Time::NEVER && self.drive.outstanding() == 0 {
                return Ok(Played::Over);
            }
            if time == Time::NEVER && self.drive.idle() {
                let broken = || RunError::Broken("requests are outstanding and nothing is going to happen".into());
                return Err(self.drive.plan().config.policies.stands_still().map_or_else(broken, RunError::Config));
            }
            self.drive.advance(limit)?;
            self.collect(&mut each)?;
            if limit == time {
                return Ok(Played::Over);
            }
            self.look()?;
            *looks -= 1;
        }
        Ok(Played::Paused)
    }

    /// When the time series or a round needs to look at the device next.
    fn next_look(&self) -> Time {
        let round = self.steady.as_ref().map_or(Time::NEVER, |steady| steady.round_end());
        let saving = self.saving.as_ref().map_or(Time::NEVER, |saving| self.origin + saving.after);
        self.series.next_end().min(round).min(saving)
    }

    /// Looks at the device, if it has been played up to the time of the next look.
    pub fn look(&mut self) -> Result<(), RunError> {
        let now = self.drive.now();
        if let Some(saving) = self.saving.take_if(|saving| now >= self.origin + saving.after) {
            self.drive.save_as(&saving.path)?;
        }
        if now >= self.series.next_end() {
            self.close_interval();
        }
        if let Some(steady) = &mut self.steady
            && now >= steady.round_end()
            && (steady.close(&self.drive) || self.drive.end_of_life().is_some())
        {
            self.steady_ended = true;
        }
        Ok(())
    }

    /// Ends the time series' present interval.
    pub fn close_interval(&mut self) {
        self.drive.is_looked_at();
        let sample = self.drive.sample();
        self.series.close(self.drive.now(), sample);
        self.course.add(Point::with(&self.drive, &sample));
    }

    /// Books what has completed, and gives `each`.
    pub fn collect(&mut self, mut each: impl FnMut(&Completion)) -> Result<(), RunError> {
        for mut completion in self.drive.take_completions() {
            completion.id -= self.first_id;
            completion.finish = Time(completion.finish.0 - self.origin.0);
            completion.request.time = Time(completion.request.time.0 - self.origin.0);
            let Completion { id, request, .. } = completion;
            each(&completion);
            if completion.aborted {
                continue;
            }
            if completion.is_done() {
                self.series.completed(request.op, request.bytes.0);
            }
            if id >= self.warmup {
                count(&mut self.latencies, &completion, self.queues);
                if let Some(steady) = &mut self.steady {
                    count(steady.latencies(), &completion, self.queues);
                }
            }
            if let Some(log) = &mut self.log {
                log.push(&completion)?;
            }
        }
        Ok(())
    }
}

/// Counts a request that has completed.
fn count(latencies: &mut ByQueue, completion: &Completion, queues: u16) {
    let Completion { request, status, uncorrectable, gave_up, refused, .. } = *completion;
    latencies.unserved.record(status, uncorrectable, gave_up, refused);
    if completion.is_done() {
        latencies.record(usize::from(request.queue % queues), request.op, completion.latency(), request.bytes.0);
    }
}
