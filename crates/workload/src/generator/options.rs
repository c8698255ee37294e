//! The options of one job, in fio's words, and what of them cannot be met.

use units::{Bytes, ConfigError, Fraction, Span};

use super::arrivals::Arrivals;
use super::distribution::Distribution;
use super::sizes::{Alignment, Sizes};
use super::zoned::Zoned;
use crate::request::{LARGEST_REQUEST, Op, ZoneAction};

units::section! {
    /// The requests of a generator. What stands in [workload] holds for every job; [job.NAME] sections hold what
    /// differs.
    pub struct Generator in "workload" {
        /// How many requests.
        requests: u64 = 200_000,
        /// What is done: reads, writes, trims, or reads and writes mixed (rw, randrw), in sequence or at random.
        rw: Rw = Rw::RandRw,
        /// Share of reads among the requests of rw and randrw; the others are writes.
        read_ratio: Fraction = Fraction(0.7),
        /// Share of the reads that go to data which the workload never writes; "none" lets reads and writes go to the
        /// same addresses.
        cold_read_ratio: Option<Fraction> = None,
        /// With a cold-read ratio: the share of the footprint, from its start, that is written.
        written: Fraction = Fraction(0.5),
        /// How random accesses are distributed over the footprint; uniform ("random") as in fio if not set.
        random_distribution: Distribution = Distribution::Random,
        /// Size of requests.
        bs: Sizes = Sizes::Fixed(Bytes::from_kib(16)),
        /// Requests start at multiples of this; "bs" is their smallest size, "1B" gives requests that are unaligned to
        /// everything.
        align: Alignment = Alignment::Of(Bytes::from_kib(4)),
        /// Where on the device the addresses begin.
        offset: Bytes = Bytes(0),
        /// The requests stay within this much behind the offset; "none" is the rest of the device.
        footprint: Option<Bytes> = None,
        /// Mean arrivals a second; "none" puts all at time 0, which suits a closed loop only.
        rate_iops: Option<f64> = Some(40_000.0),
        /// How arrivals are spaced at that rate.
        arrivals: Arrivals = Arrivals::Poisson,
        /// The most requests under way, or tasks where there are tasks (steps, batch): a further one waits until
        /// another completes; "none" has no bound.
        iodepth: Option<u32> = None,
        /// With an iodepth: the time between a completion and the request that takes its place; within a task that
        /// between its batches.
        thinktime: Span = Span(0),
        /// Requests that a task makes at once: it waits for all of them. Above 1 requests come in tasks, whose time
        /// from the first request to the last completion is reported (host.task).
        batch: u32 = 1,
        /// Batches of a task, each made when the last one has completed and the thinktime has passed: reads that depend
        /// on those before.
        steps: u32 = 1,
        /// Submission queues, to which requests are dealt in turn.
        queues: u16 = 1,
        /// Placement hint of the requests, for devices that take hints (ftl.hints); 0 is none.
        hint: u16 = 0,
        /// Distance of zones, for zoned drives: writes go on where the last one in their zone ended, and each zone is
        /// reset before it is written again (fio's zonemode=zbd); "none" knows no zones.
        zone_size: Option<Bytes> = None,
        /// With a zone size: bytes of a zone that are written; "none" is all of it.
        zone_capacity: Option<Bytes> = None,
        /// With a zone size: what comes before a zone is written again, "reset" (zoned drives) or "trim" (files,
        /// regions or segments that a host removes from a drive without zones).
        zone_reset: ZoneReset = ZoneReset::Reset,
        /// With a zone size: zones that are written at the same time, by random writes.
        open_zones: u32 = 1,
        /// With a zone size: writes are appends.
        append: bool = false,
        /// Copies of the job, each with queues, addresses (one behind the other) and random numbers of its own.
        numjobs: u16 = 1,
    }
}

units::choices! {
    /// What is done, in fio's words.
    pub enum Rw {
        /// Reads of one address after another, again from the start at the end of the footprint.
        Read = "read",
        /// Writes, likewise.
        Write = "write",
        /// Reads and writes in one sequence.
        Rw = "rw",
        /// Trims of one address after another.
        Trim = "trim",
        /// Reads at random addresses.
        RandRead = "randread",
        /// Writes at random addresses.
        RandWrite = "randwrite",
        /// Reads and writes at random addresses.
        RandRw = "randrw",
        /// Trims of random addresses.
        RandTrim = "randtrim",
    }
}

units::choices! {
    /// What comes before a zone is written again.
    pub enum ZoneReset {
        /// The reset of the zone (NVMe Zone Management Send).
        Reset = "reset",
        /// A trim of its addresses, as a file system sends when a file is removed.
        Trim = "trim",
    }
}

impl ZoneReset {
    pub(crate) fn op(self) -> Op {
        match self {
            ZoneReset::Reset => Op::Zone(ZoneAction::Reset),
            ZoneReset::Trim => Op::Trim,
        }
    }
}

impl Rw {
    pub(super) fn is_sequential(self) -> bool {
        matches!(self, Rw::Read | Rw::Write | Rw::Rw | Rw::Trim)
    }
}

impl Generator {
    /// Share of reads.
    pub(super) fn reads(&self) -> f64 {
        match self.rw {
            Rw::Read | Rw::RandRead => 1.0,
            Rw::Write | Rw::RandWrite | Rw::Trim | Rw::RandTrim => 0.0,
            Rw::Rw | Rw::RandRw => self.read_ratio.0,
        }
    }

    /// What its requests start at multiples of.
    pub(super) fn alignment(&self) -> Bytes {
        self.bs.aligned(self.align)
    }

    /// Whether its writes, if it has any, come to every `unit` of their range with the same probability at any time.
    pub(super) fn draws_evenly(&self, unit: Bytes) -> bool {
        let align = self.alignment();
        matches!(self.rw, Rw::RandWrite | Rw::RandRw)
            && self.zone_size.is_none()
            && self.random_distribution == Distribution::Random
            && (align <= unit || self.bs.are_multiples_of(align))
    }

    /// The bytes that one copy of this job covers on a device of `capacity`.
    pub(super) fn range(&self, capacity: Bytes) -> Bytes {
        let rest = capacity.0.saturating_sub(self.offset.0) / u64::from(self.numjobs.max(1));
        let grain = self.zone_size.unwrap_or(self.alignment()).0.max(1);
        self.footprint.unwrap_or(Bytes(if self.numjobs > 1 { rest / grain * grain } else { rest }))
    }

    /// Which parameter of the job whose keys stand in `section` cannot be met.
    pub(super) fn check(&self, capacity: Bytes, section: &str) -> Result<(), ConfigError> {
        let refuse = |wrong: bool, key: &str, problem: String, remedy: &str| {
            refuse(wrong, format!("{section}.{key}"), problem, remedy)
        };
        let range = self.range(capacity);
        refuse(self.requests == 0, "requests", "makes no requests".into(), "ask for at least 1")?;
        let share = |key, share: f64| {
            refuse(!(0.0..=1.0).contains(&share), key, format!("{share} is not a share"), "choose from 0 to 1")
        };
        share("read_ratio", self.read_ratio.0)?;
        share("cold_read_ratio", self.cold_read_ratio.map_or(0.0, |cold| cold.0))?;
        refuse(
            self.alignment().0 == 0 || self.alignment() > LARGEST_REQUEST,
            "align",
            format!("{} is no alignment", self.alignment()),
            "choose from 1B to 1GiB; \"1B\" lets requests start at any byte",
        )?;
        if let Some((problem, remedy)) = self.bs.refusal(self.alignment()) {
            refuse(true, "bs", problem, remedy)?;
        }
        refuse(self.numjobs == 0, "numjobs", "is no job".into(), "choose at least 1")?;
        let wanted = range.0.checked_mul(u64::from(self.numjobs)).and_then(|all| all.checked_add(self.offset.0));
        refuse(
            wanted.is_none_or(|wanted| wanted > capacity.0 || wanted > 1 << 63),
            if self.footprint.is_some() { "footprint" } else { "offset" },
            match (self.footprint, self.numjobs) {
                (None, _) => format!("{} lies beyond the device's {capacity}", self.offset),
                (Some(_), 1) if self.offset.0 == 0 => format!("{range} is more than the device's {capacity}"),
                (Some(_), jobs) => {
                    format!("{jobs} times {range} behind {} is more than the device's {capacity}", self.offset)
                }
            },
            "choose a smaller footprint, or \"none\" for the whole device",
        )?;
        self.check_zones(range, refuse)?;
        let most = self.bs.bounds(self.alignment()).1;
        refuse(
            most > range,
            "bs",
            format!("{most} is more than the footprint of {range}"),
            "choose smaller requests or a larger footprint",
        )?;
        self.check_cold(range, most, refuse)?;
        self.check_rate(refuse)?;
        refuse(
            self.iodepth.is_some_and(|depth| depth == 0 || depth > 1 << 20),
            "iodepth",
            format!("{} requests cannot be kept outstanding", self.iodepth.unwrap_or(0)),
            "choose from 1 to 1048576, or \"none\"",
        )?;
        refuse(
            self.iodepth.is_none() && !self.has_tasks() && self.thinktime.0 > 0,
            "thinktime",
            "is the time behind a completion, and nothing waits for completions".into(),
            "set iodepth too, or steps",
        )?;
        self.check_tasks(refuse)?;
        refuse(self.queues == 0, "queues", "has no queue for the requests".into(), "choose at least 1")
    }

    fn check_zones(
        &self,
        range: Bytes,
        refuse: impl Fn(bool, &str, String, &str) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let Some(size) = self.zone_size else {
            let trims = self.zone_reset == ZoneReset::Trim;
            let given = self.append || trims || self.zone_capacity.is_some();
            let key = match (self.append, trims) {
                (true, _) => "append",
                (false, true) => "zone_reset",
                (false, false) => "zone_capacity",
            };
            return refuse(given, key, "is set, and there are no zones".into(), "set zone_size too");
        };
        refuse(
            size.0 == 0 || size > range || !self.offset.0.is_multiple_of(size.0),
            "zone_size",
            format!("is {size}, and the addresses are {range} behind {}", self.offset),
            "choose the zone size of the drive, and an offset that is a multiple of it",
        )?;
        let capacity = self.zone_capacity.unwrap_or(size);
        refuse(
            capacity.0 == 0 || capacity > size,
            "zone_capacity",
            format!("is {capacity}, and a zone has {size}"),
            "choose no more, or \"none\" for all of it",
        )?;
        refuse(
            self.append && self.zone_reset == ZoneReset::Trim,
            "zone_reset",
            "is \"trim\", which resets no zone, and writes are appends to zones".into(),
            "set it to \"reset\", or append = false",
        )?;
        refuse(self.open_zones == 0, "open_zones", "leaves no zone to write".into(), "choose at least 1")?;
        refuse(
            self.cold_read_ratio.is_some(),
            "cold_read_ratio",
            "is set, and zones are written one after another".into(),
            "set it to \"none\"",
        )
    }

    /// Whether its requests come in tasks.
    pub(super) fn has_tasks(&self) -> bool {
        self.requests_of_task() > 1
    }

    /// Requests of a task.
    pub(super) fn requests_of_task(&self) -> u64 {
        u64::from(self.batch) * u64::from(self.steps)
    }

    fn check_tasks(
        &self,
        refuse: impl Fn(bool, &str, String, &str) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        for (key, number) in [("batch", self.batch), ("steps", self.steps)] {
            refuse(number == 0 || number > MOST_OF_TASK, key, "makes no task".into(), "choose from 1 to 1048576")?;
        }
        let all = self.requests_of_task();
        refuse(
            all > self.requests,
            if self.batch > self.steps { "batch" } else { "steps" },
            format!("makes tasks of {all} requests, and there are {}", self.requests),
            "raise requests, or choose smaller tasks",
        )
    }

    fn check_rate(
        &self,
        refuse: impl Fn(bool, &str, String, &str) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let Some(rate) = self.rate_iops else { return Ok(()) };
        refuse(
            !(rate > 0.0 && rate <= 1e9),
            "rate_iops",
            format!("{rate} requests/s cannot be spaced"),
            "choose above 0 and at most 1e9, or \"none\" for a closed loop",
        )?;
        let within = if let Arrivals::Batches(_, gap) = self.arrivals { gap.0 as f64 / 1e9 } else { 0.0 };
        refuse(
            within > 0.0 && within >= 1.0 / rate,
            "arrivals",
            format!("has batches with gaps of {within} s, and requests come every {} s on average", 1.0 / rate),
            "make the gap within batches shorter than the mean one",
        )?;
        refuse(
            self.requests as f64 / rate > LONGEST_RUN_S,
            "rate_iops",
            format!("{} requests at {rate}/s take more than ten years", self.requests),
            "raise rate_iops or lower requests",
        )
    }

    fn check_cold(
        &self,
        range: Bytes,
        most: Bytes,
        refuse: impl Fn(bool, &str, String, &str) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let Some(cold) = self.cold_read_ratio else { return Ok(()) };
        refuse(
            self.rw.is_sequential(),
            "cold_read_ratio",
            format!("is set, and \"{}\" reads what it writes", self.rw.word()),
            "set rw = \"randrw\", or cold_read_ratio = \"none\"",
        )?;
        refuse(
            self.reads() == 1.0 && cold.0 < 1.0,
            "cold_read_ratio",
            "asks for reads of data that is written, and nothing is".into(),
            "set it to 1 or \"none\", or lower read_ratio",
        )?;
        let written = self.written_bytes(range).0;
        let needed = |share: f64, room: u64| share > 0.0 && room < most.0;
        refuse(
            needed(1.0 - self.reads(), written) || needed(self.reads() * cold.0, range.0 - written.min(range.0)),
            "written",
            format!("{} of {range} leaves one of its parts less than a request of {most}", self.written.0),
            "choose between 0 and 1, with room for requests on both sides",
        )
    }

    /// The zones of one copy of the job. Invariant: it has been checked, and has some.
    pub(super) fn zoned(&self, start: u64, range: Bytes) -> Zoned {
        let size = self.zone_size.unwrap_or(range);
        let sizes = (size.0, self.zone_capacity.unwrap_or(size).0);
        Zoned::new(start, range.0, sizes, self.open_zones.into(), self.append, self.rw.is_sequential())
            .renewed_by(self.zone_reset.op())
    }

    /// Whether a job of it draws its addresses from more than one part of their stream.
    pub(super) fn parts_streams(&self) -> bool {
        self.cold_read_ratio.is_some()
            || matches!(self.random_distribution, Distribution::Normal(_) | Distribution::Zoned(_))
    }

    /// What is written of a range, under a cold-read ratio.
    pub(super) fn written_bytes(&self, range: Bytes) -> Bytes {
        Bytes((range.0 as f64 * self.written.0) as u64 / self.alignment().0 * self.alignment().0)
    }
}

/// Ten years: even with the longest gaps that can be drawn, times stay far below 64 bits of ns.
pub(crate) const LONGEST_RUN_S: f64 = 10.0 * 365.0 * 86_400.0;

/// The largest batch, and the most batches of a task.
const MOST_OF_TASK: u32 = 1 << 20;

/// The error that `key` cannot be met, where something is wrong with it.
pub(super) fn refuse(wrong: bool, key: String, problem: String, remedy: &str) -> Result<(), ConfigError> {
    if !wrong {
        return Ok(());
    }
    let (origin, remedy) = ("configuration".into(), remedy.to_owned());
    Err(ConfigError { origin, line: None, key: Some(key), problem, remedy })
}
