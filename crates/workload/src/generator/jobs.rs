//! A workload: one job or several at once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use units::document::apply_word;
use units::section::Section;
use units::value::nearest;
use units::{Bytes, ConfigError, Document, Stream, Time};

use super::aliases::WithAliases;
use super::job::Job;
use super::options::{Generator, Rw};
use super::phases::{PARTS, Phases, SHARED};
use super::tasks::Tasks;
use crate::error::TraceError;
use crate::kv::Kv;
use crate::log_fs::LogFs;
use crate::request::{ClosedLoop, Request, Source, TaskEnd};

/// What a workload file or preset describes.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// What it is, in a line.
    pub about: String,
    /// Its jobs by name; one without a name where there are no `[job.NAME]` sections.
    pub jobs: Vec<(String, Generator)>,
    /// Of its one job the phases, where there are `[phase.NAME]` sections.
    pub phases: Option<Phases>,
    /// The program whose requests they are, in place of jobs, where there is a section of one.
    pub program: Option<Program>,
}

/// A program that is modelled as a whole.
#[derive(Clone, Debug, PartialEq)]
pub enum Program {
    /// The KV cache of a serving engine (`[kv]`).
    Kv(Kv),
    /// A log-structured file system (`[log_fs]`).
    LogFs(LogFs),
}

impl Program {
    /// The one of a section's name, with its defaults.
    fn named(section: &str) -> Option<Program> {
        match section {
            "kv" => Some(Program::Kv(Kv::default())),
            "log_fs" => Some(Program::LogFs(LogFs::default())),
            _ => None,
        }
    }

    /// What describes it.
    pub fn section(&self) -> &dyn Section {
        match self {
            Program::Kv(kv) => kv,
            Program::LogFs(log_fs) => log_fs,
        }
    }

    fn section_mut(&mut self) -> &mut dyn Section {
        match self {
            Program::Kv(kv) => kv,
            Program::LogFs(log_fs) => log_fs,
        }
    }
}

/// The sections of programs.
pub const PROGRAMS: [&str; 2] = ["kv", "log_fs"];

impl From<Generator> for Workload {
    fn from(generator: Generator) -> Workload {
        Workload { about: String::new(), jobs: vec![(String::new(), generator)], phases: None, program: None }
    }
}

impl From<Program> for Workload {
    fn from(program: Program) -> Workload {
        Workload { about: String::new(), jobs: Vec::new(), phases: None, program: Some(program) }
    }
}

impl Workload {
    /// Reads a document. `words` are further settings, `workload.KEY=VALUE` for all jobs and `job.NAME.KEY=VALUE` for
    /// one; they hold over the document's sections of the same kind. Of a document with `[twin.NAME]` sections, one of
    /// which is a workload, as presets have, `twin` is the one that is meant.
    pub fn read(document: &Document, words: &[&str], twin: Option<&str>) -> Result<Workload, ConfigError> {
        if let Some(section) = PROGRAMS.into_iter().find(|section| !document.keys(section).is_empty()) {
            return Workload::read_program(document, section, words);
        }
        if let Some((word, section)) = words.iter().find_map(|word| Some((word, program_of(word)?))) {
            let remedy = format!("leave it out, or give a workload with a section [{section}]");
            return Err(fail(word, format!("is of [{section}], and the workload is a generator"), remedy));
        }
        let mut common = Generator::default();
        let twins = twin.map(|_| "twin");
        let beside: Vec<&str> = ["about", "job"].into_iter().chain(PARTS).chain(twins).collect();
        document.apply(&mut [&mut WithAliases(&mut common)], &beside)?;
        let mut about = document.text("about")?.unwrap_or_default();
        if let Some(name) = twin {
            document.apply_part("twin", name, &mut WithAliases(&mut common), &["about"])?;
            about = document.part_text("twin", name, "about").unwrap_or(about);
        }
        let (for_one, for_all): (Vec<&str>, Vec<&str>) =
            words.iter().partition(|word| word.trim_start().starts_with("job."));
        for word in &for_all {
            apply_word(word, &mut [&mut WithAliases(&mut common)])?;
        }
        let names = document.parts("job")?;
        let mut jobs = Vec::new();
        for name in &names {
            let mut job = common.clone();
            document.apply_part("job", name, &mut WithAliases(&mut job), &[])?;
            jobs.push((name.clone(), job));
        }
        for word in for_one {
            let Some((name, rest)) = word.trim_start()["job.".len()..].split_once('.') else {
                return Err(fail(word, "names no key".into(), "write job.NAME.KEY=VALUE".into()));
            };
            let Some((_, job)) = jobs.iter_mut().find(|(known, _)| known == name) else {
                let remedy = match nearest(name, names.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if names.is_empty() => "the workload has one job: write workload.KEY=VALUE".into(),
                    None => format!("its jobs are {}", names.join(", ")),
                };
                return Err(fail(word, format!("the workload has no job `{name}`"), remedy));
            };
            apply_word(&format!("workload.{rest}"), &mut [&mut WithAliases(job)])
                .map_err(|error| ConfigError { origin: format!("--set {word}"), ..error })?;
        }
        if jobs.is_empty() {
            jobs.push((String::new(), common));
        }
        let phases = Phases::read(document)?;
        if phases.is_some() && !names.is_empty() {
            let remedy = "write the job's requests as kinds and phases, or leave the phases out".into();
            return Err(document.error_at("job", "job", "is there beside phases, which make one job", remedy));
        }
        Ok(Workload { about, jobs, phases, program: None })
    }

    /// Reads a document with a program's section.
    fn read_program(document: &Document, section: &str, words: &[&str]) -> Result<Workload, ConfigError> {
        let mut program = Program::named(section).expect("Invariant: it is one of the list");
        document.apply(&mut [program.section_mut()], &["about"])?;
        for word in words {
            if program_of(word) != Some(section) {
                let remedy = format!("its keys are {section}.KEY (`ssdlab schema {section}`)");
                return Err(fail(word, format!("is no key of the workload, which has a section [{section}]"), remedy));
            }
            apply_word(word, &mut [program.section_mut()])?;
        }
        Ok(Workload { about: document.text("about")?.unwrap_or_default(), ..Workload::from(program) })
    }

    /// How many requests all jobs make together.
    pub fn requests(&self) -> u64 {
        self.jobs.iter().fold(0, |sum, (_, job)| sum.saturating_add(job.requests.saturating_mul(job.numjobs.into())))
    }

    /// Lets the jobs go on where they make fewer than `requests` together, so that a run of this many does not end
    /// before. Of prompts and operations there are then as many.
    pub fn extend(&mut self, requests: u64) {
        match &mut self.program {
            Some(Program::Kv(kv)) => kv.number = kv.number.max(requests.min(1 << 32)),
            Some(Program::LogFs(log_fs)) => log_fs.operations = log_fs.operations.max(requests.min(1 << 48)),
            None => {}
        }
        if self.requests() < requests {
            for (_, job) in &mut self.jobs {
                job.requests = job.requests.max(requests);
            }
        }
    }

    /// The workload as TOML.
    pub fn to_toml(&self) -> String {
        let keys = |section: &dyn Section| -> String {
            let keys = section.keys();
            keys.iter().filter_map(|key| Some(format!("{} = {}\n", key.name, section.get(key.name)?))).collect()
        };
        if let Some(phases) = &self.phases {
            let shared = |generator: &Generator| -> String {
                SHARED.iter().filter_map(|key| Some(format!("{key} = {}\n", generator.get(key)?))).collect()
            };
            let common = self.jobs.iter().map(|(_, generator)| format!("[workload]\n{}", shared(generator)));
            let parts = phases.sections().into_iter().map(|(name, part)| format!("[{name}]\n{}", keys(part)));
            return common.chain(parts).collect::<Vec<_>>().join("\n");
        }
        if let Some(program) = &self.program {
            return format!("[{}]\n{}", program.section().name(), keys(program.section()));
        }
        let section = |(name, generator): &(String, Generator)| match name.as_str() {
            "" => format!("[workload]\n{}", keys(generator)),
            name => format!("[job.{name}]\n{}", keys(generator)),
        };
        self.jobs.iter().map(section).collect::<Vec<_>>().join("\n")
    }

    /// The requests for a device of `capacity`, or which parameter cannot be met.
    pub fn source(&self, capacity: Bytes, seed: u64) -> Result<Box<dyn Source>, ConfigError> {
        match &self.program {
            Some(Program::Kv(kv)) => return kv.source(capacity, seed),
            Some(Program::LogFs(log_fs)) => return log_fs.source(capacity, seed),
            None => {}
        }
        self.drawn_from(capacity, &|what| Stream::new(seed, what))
    }

    /// The requests that the same load may have made before, or those of them that are no reads, perhaps with reads
    /// among them: the same addresses are popular, and all else is drawn again. They do not end.
    pub fn source_before(&self, capacity: Bytes, seed: u64, reads: bool) -> Result<Box<dyn Source>, ConfigError> {
        self.endless(reads).drawn_from(capacity, &|what| match what {
            "scatter" => Stream::new(seed, what),
            _ => Stream::new(seed, "before").entity(Stream::new(seed, what).bits(0)),
        })
    }

    /// This load without an end, and without its reads unless `reads`.
    pub(super) fn endless(&self, reads: bool) -> Workload {
        let mut endless = self.clone();
        // Reads of one job change nothing of its writes, but for those of a sequence.
        if let ([(_, job)], None) = (endless.jobs.as_mut_slice(), &self.phases)
            && !reads
            && job.rw == Rw::RandRw
            && job.reads() < 1.0
        {
            job.rw = Rw::RandWrite;
        }
        for (_, job) in &mut endless.jobs {
            // Where data goes, and in which order, does not depend on who waits for it.
            (job.batch, job.steps) = (1, 1);
            // As fast as they are taken, unless they have times.
            job.requests = job.rate_iops.map_or(1 << 48, |rate| (rate * LONGEST_PAST_S) as u64).max(1);
        }
        endless
    }

    fn drawn_from(&self, capacity: Bytes, streams: &dyn Fn(&str) -> Stream) -> Result<Box<dyn Source>, ConfigError> {
        let mut jobs = Vec::new();
        let mut queues = 0u32;
        let copies: u64 = self.jobs.iter().map(|(_, job)| u64::from(job.numjobs)).sum();
        if copies > MOST_JOBS
            && let Some((name, _)) = self.jobs.iter().max_by_key(|(_, job)| job.numjobs)
        {
            let key = if name.is_empty() { "workload.numjobs".to_owned() } else { format!("job.{name}.numjobs") };
            let problem = format!("makes {copies} jobs, and a workload has {MOST_JOBS} at most");
            let remedy = "choose fewer; a job keeps more requests under way with iodepth".into();
            return Err(ConfigError { key: Some(key), ..fail("configuration", problem, remedy) });
        }
        for (name, generator) in &self.jobs {
            let section = if name.is_empty() { "workload".to_owned() } else { format!("job.{name}") };
            if let Some(phases) = &self.phases {
                phases.check(generator)?;
            }
            generator.check(capacity, &section)?;
            for copy in 0..generator.numjobs {
                let number = jobs.len() as u64;
                // One job alone draws from the streams themselves, and so does the first of several, unless it parts
                // them further: parts of its own would be those of the other jobs.
                let entity = match number {
                    0 if copies > 1 && generator.parts_streams() => Some(u64::MAX),
                    0 => None,
                    number => Some(number),
                };
                let stream = |what: &str| match entity {
                    None => streams(what),
                    Some(entity) => streams(what).entity(entity),
                };
                let job = Job::new(generator, self.phases.as_ref(), capacity, copy, queues as u16, stream);
                let slots = generator.iodepth.map(|depth| (0..depth).map(|_| Reverse(Time::ZERO)).collect());
                let think = generator.thinktime;
                let tasks = generator.has_tasks().then(|| Tasks::new(generator.batch, generator.steps, think));
                jobs.push(Running { job, slots, think, tasks });
                queues += u32::from(generator.queues);
                if queues > 1 << 16 {
                    let problem = format!("of all jobs make {queues} queues");
                    let remedy = "use fewer jobs, or fewer queues a job".into();
                    let key = Some(format!("{section}.queues"));
                    return Err(ConfigError { key, ..fail("configuration", problem, remedy) });
                }
            }
        }
        let total = jobs.iter().map(|running| running.job.requests as f64).sum();
        let closed = jobs.iter().any(|running| running.slots.is_some() || running.tasks.is_some());
        Ok(Box::new(Jobs { jobs, delivered: 0, total, closed, of_tasks: HashMap::new(), ended: Vec::new() }))
    }
}

/// How many jobs a workload has at most, copies included: each has a table of its own (16 KiB under Zipf's law), and
/// every request looks at all of them.
const MOST_JOBS: u64 = 1024;

/// How long a load has gone on before a run, at most: nine years, as requests can have times.
const LONGEST_PAST_S: f64 = 2.8e8;

/// The section of a program that a setting is of.
fn program_of(word: &str) -> Option<&'static str> {
    let section = word.trim_start().split('.').next();
    PROGRAMS.into_iter().find(|known| section == Some(*known))
}

fn fail(origin: &str, problem: String, remedy: String) -> ConfigError {
    ConfigError { origin: origin.into(), line: None, key: None, problem, remedy }
}

/// A job and what it has under way.
struct Running {
    job: Job,
    /// When each request that may be made next may be, with an iodepth.
    slots: Option<BinaryHeap<Reverse<Time>>>,
    think: units::Span,
    /// Its tasks, where its requests come in tasks.
    tasks: Option<Tasks>,
}

impl Running {
    fn next_time(&self) -> Option<Time> {
        let arrives = self.arrives()?;
        let goes_on = self.tasks.as_ref().and_then(Tasks::next_time);
        match (goes_on, arrives) {
            (Some(goes_on), Some(arrives)) => Some(goes_on.min(arrives)),
            (goes_on, arrives) => goes_on.or(arrives),
        }
    }

    /// When the next request, or task, arrives, if that waits for no completion; none of either where there are no more
    /// requests.
    fn arrives(&self) -> Option<Option<Time>> {
        let arrival = self.job.next_time()?;
        Some(match &self.slots {
            None => Some(arrival),
            Some(slots) => slots.peek().map(|Reverse(free)| arrival.max(*free)),
        })
    }

    /// Makes the next request, at its time, as number `number` of all; of which of its tasks it is.
    fn request(&mut self, number: u64, time: Time) -> (Request, Option<u32>) {
        let goes_on = self.tasks.as_ref().and_then(Tasks::next_time).is_some_and(|at| at <= time);
        if let Some(slots) = self.slots.as_mut().filter(|_| !goes_on) {
            slots.pop();
        }
        let task = self.tasks.as_mut().map(|tasks| {
            if !goes_on {
                self.job.begin_task();
                tasks.begin(time, number);
            }
            tasks.makes()
        });
        (Request { time, ..self.job.request() }, task)
    }
}

/// The requests of several jobs, or of one.
struct Jobs {
    jobs: Vec<Running>,
    delivered: u64,
    total: f64,
    closed: bool,
    /// Requests of tasks that have not completed, by number: the job, and the task.
    of_tasks: HashMap<u64, (usize, u32)>,
    /// Tasks that have ended.
    ended: Vec<TaskEnd>,
}

impl Jobs {
    /// The job whose request is next, and its time.
    fn next(&self) -> Option<(usize, Time)> {
        let times = self.jobs.iter().enumerate().filter_map(|(index, job)| Some((index, job.next_time()?)));
        times.min_by_key(|(_, time)| *time)
    }
}

impl Source for Jobs {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        if let [Running { job, slots: None, tasks: None, .. }] = self.jobs.as_mut_slice() {
            let count = (job.requests - job.next).min(max as u64);
            batch.extend((0..count).map(|_| job.request()));
            self.delivered += count;
            return Ok(());
        }
        for _ in 0..max {
            let Some((index, time)) = self.next() else { break };
            let (request, task) = self.jobs[index].request(self.delivered, time);
            batch.push(request);
            if let Some(task) = task {
                self.of_tasks.insert(self.delivered, (index, task));
            }
            self.delivered += 1;
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(self.delivered as f64 / self.total)
    }

    fn closed_loop(&mut self) -> Option<&mut dyn ClosedLoop> {
        if self.closed { Some(self) } else { None }
    }
}

impl ClosedLoop for Jobs {
    fn next_time(&self) -> Option<Time> {
        self.next().map(|(_, time)| time)
    }

    fn completed(&mut self, number: u64, queue: u16, time: Time) {
        if let Some((index, task)) = self.of_tasks.remove(&number) {
            let Running { tasks: Some(tasks), slots, think, .. } = &mut self.jobs[index] else { return };
            let Some(end) = tasks.completed(task, time) else { return };
            self.ended.push(end);
            if let Some(slots) = slots {
                slots.push(Reverse(time + *think));
            }
            return;
        }
        let at = self.jobs.partition_point(|running| running.job.first_queue <= queue);
        if let Some(Running { slots: Some(slots), think, .. }) = at.checked_sub(1).map(|index| &mut self.jobs[index]) {
            slots.push(Reverse(time + *think));
        }
    }

    fn take_ended(&mut self) -> Vec<TaskEnd> {
        std::mem::take(&mut self.ended)
    }
}
