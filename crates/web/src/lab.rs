//! Questions and their answers; the run that is under way.

use serde_json::{Map, Value, json};
use ssd::run::{Playing, Prepared, findings, open, refused, result};
use ssd::stats::{Finding, die};
use ssd::{Device, Explainer, Explanation, Outcome, Run, RunError, Stage, Timeline};
use units::{ConfigError, Span, Time};

use crate::question::{Options, Question};
use crate::slices::{self, Shared};
use crate::{catalogue, chips};

/// Requests that a run submits at most: it ends there as if it had been interrupted, and its result says so.
pub(crate) const MOST_REQUESTS: u64 = 200_000;

/// What is kept in memory of FTLs that loads have been played through (assumed: one or two states of a paper's drive).
const KEPT_WARMED: units::Bytes = units::Bytes(128 << 20);

/// The laboratory: it answers questions, and keeps the run that is under way.
#[derive(Default)]
pub struct Lab {
    run: Option<Running>,
}

/// A run under way, and what is known of it beforehand.
struct Running {
    watched: Watched,
    manifest: Value,
    findings: Vec<Finding>,
    /// Its workload has been played to its end.
    ended: bool,
}

/// A run, by who watches it.
enum Watched {
    By(Box<dyn Playing>),
    Explained(Box<Run<Device<Explainer>>>),
    Shown(Box<Run<Device<Timeline>>>, Shared),
}

/// What a question asks that cannot be answered.
type Refusal = RunError;

impl Lab {
    /// A laboratory in which nothing is under way.
    pub fn new() -> Lab {
        ssd::run::keep_warmed(KEPT_WARMED);
        Lab::default()
    }

    /// Answers a question: `{"ok": …}`, or `{"error": …}` with the text that a native run would give.
    pub fn ask(&mut self, question: &str) -> String {
        let answer = match serde_json::from_str::<Value>(question) {
            Ok(Value::Object(fields)) => self.answer(&Question(&fields)),
            _ => Err(refused("question", "is no JSON object", "ask {\"do\": \"catalogue\"}").into()),
        };
        match answer {
            Ok(ok) => json!({ "ok": ok }),
            Err(error) => json!({ "error": error.to_string() }),
        }
        .to_string()
    }

    fn answer(&mut self, question: &Question) -> Result<Value, Refusal> {
        let empty = Map::new();
        let options = || Options::read(&question.within("options", &empty));
        match question.word("do").unwrap_or_default() {
            "catalogue" => Ok(catalogue::catalogue()?),
            "device" => Ok(catalogue::device(&options()?.prepare()?)),
            "open" => {
                // What was under way is given up first: its memory is free for the next.
                self.run = None;
                let prepared = options()?.prepare()?;
                let (manifest, note) = (prepared.manifest.clone(), prepared.note.clone());
                self.run = Some(Running::open(prepared, &question.within("watch", &empty))?);
                Ok(json!({ "manifest": manifest, "note": note }))
            }
            "step" => self.under_way()?.step(question.count("requests").unwrap_or(256)),
            "finish" => {
                self.under_way()?;
                self.run.take().map_or(Ok(Value::Null), Running::finish)
            }
            "close" => {
                self.run = None;
                Ok(Value::Null)
            }
            "chip" => Ok(chips::chip(question)?),
            "retries" => Ok(chips::retries(question)?),
            "lifetime" => Ok(chips::lifetime(question)?),
            other => {
                let known = "catalogue, device, open, step, finish, close, chip, retries and lifetime";
                Err(refused("do", &format!("is {other:?}"), &format!("the questions are {known}")).into())
            }
        }
    }

    fn under_way(&mut self) -> Result<&mut Running, ConfigError> {
        self.run.as_mut().ok_or_else(|| refused("run", "is not open", "open one first"))
    }
}

/// What is done with a run, whoever watches it.
macro_rules! of_any {
    ($watched:expr, $run:ident => $result:expr) => {
        match $watched {
            Watched::By($run) => $result,
            Watched::Explained($run) => $result,
            Watched::Shown($run, _) => $result,
        }
    };
}

impl Running {
    /// Opens a run; `watch` says who watches it: `slowest` and `requests` explain some, `windows` shows what resources
    /// do.
    fn open(prepared: Prepared, watch: &Question) -> Result<Running, RunError> {
        let Prepared { config, source, options, manifest, findings, .. } = prepared;
        let windows = watch.words("windows");
        let (slowest, wanted) = (watch.count("slowest"), watch.numbers("requests"));
        let watched = if !windows.is_empty() {
            let windows = windows.into_iter().map(window).collect::<Result<Vec<_>, _>>()?;
            let shared = Shared::default();
            let timeline = Timeline::new(&config.plan()?, windows, Box::new(shared.clone()));
            Watched::Shown(Box::new(Run::watched(&config, source, options, None, timeline)?), shared)
        } else if slowest.is_some() || !wanted.is_empty() {
            let wanted = wanted.into_iter().map(|number| number as u64).collect();
            let explainer = Explainer::new(slowest.unwrap_or(0) as usize, wanted, options.warmup);
            Watched::Explained(Box::new(Run::watched(&config, source, options, None, explainer)?))
        } else {
            Watched::By(open(&config, source, options, None, false)?)
        };
        Ok(Running { watched, manifest, findings, ended: false })
    }

    /// Plays up to this many requests more; how far it is then.
    fn step(&mut self, requests: u64) -> Result<Value, RunError> {
        let (submitted, _) = of_any!(&self.watched, run => run.counts());
        // One more than may be played tells that there are more.
        let requests = requests.min((MOST_REQUESTS + 1).saturating_sub(submitted));
        self.ended |= requests > 0 && of_any!(&mut self.watched, run => run.step(requests))?;
        let shown = matches!(&self.watched, Watched::Shown(run, _) if run.device().probe().done());
        let (submitted, completed) = of_any!(&self.watched, run => run.counts());
        let bounded = submitted > MOST_REQUESTS;
        Ok(json!({
            "ended": self.ended || shown || bounded,
            "bounded": bounded && !self.ended,
            "share": of_any!(&self.watched, run => run.progress()),
            "submitted": submitted,
            "completed": completed,
            "warms": of_any!(&self.watched, run => run.warms()),
        }))
    }

    /// Ends the run and gives what it has found out, as far as it has come.
    fn finish(self) -> Result<Value, RunError> {
        let Running { watched, manifest, mut findings, ended } = self;
        let life = match &watched {
            Watched::By(run) => run.end_of_life().map(ToString::to_string),
            Watched::Explained(run) => run.end_of_life().map(ToString::to_string),
            Watched::Shown(..) => None,
        };
        if !ended && life.is_none() {
            let (_, completed) = of_any!(&watched, run => run.counts());
            if completed == 0 {
                return Err(refused(
                    "finish",
                    "comes before any request has completed",
                    "go on with \"step\", or \"close\"",
                )
                .into());
            }
            findings.push(findings::interrupted(completed));
        }
        let told = Told { manifest, findings, life };
        match watched {
            Watched::By(run) => {
                let sections = run.sections();
                let mut answer = told.measured(run.finish()?);
                if let Some(all) = answer["result"].as_object_mut() {
                    all.extend(sections);
                }
                Ok(answer)
            }
            Watched::Explained(run) => {
                let explained: Vec<Value> = run.device().probe().explanations().iter().map(explanation).collect();
                let mut answer = told.measured(run.finish()?);
                answer["explained"] = explained.into();
                Ok(answer)
            }
            Watched::Shown(run, shared) => {
                let device = run.into_device();
                let now = device.now();
                let unwritten =
                    |error: std::io::Error| RunError::Output { path: "timeline".into(), problem: error.to_string() };
                device.into_probe().finish(now).map_err(unwritten)?;
                slices::tracks(&shared.take()).map_err(|error| unwritten(error.into()))
            }
        }
    }
}

/// What goes into a result beside what was measured.
struct Told {
    manifest: Value,
    findings: Vec<Finding>,
    /// How the drive's life has ended, where it has.
    life: Option<String>,
}

impl Told {
    /// The result of a run, and the distributions of its latencies.
    fn measured<D>(self, mut outcome: Outcome<D>) -> Value {
        findings::add(&mut outcome.measured.findings, self.findings);
        let [reads, writes, ..] = outcome.measured.latencies.total();
        json!({
            "result": result(&self.manifest, &outcome.measured, &outcome.report()),
            "ended": self.life,
            "reads": reads.distribution(),
            "writes": writes.distribution(),
        })
    }
}

fn explanation(of: &Explanation) -> Value {
    let stages = |of: &Vec<Stage>| of.iter().map(stage).collect::<Vec<Value>>();
    json!({
        "request": of.request,
        "op": format!("{:?}", of.op).to_lowercase(),
        "bytes": of.bytes,
        "arrival_ns": of.arrival.0,
        "finish_ns": of.finish.0,
        "stages": stages(&of.stages),
        "parts": of.parts.iter().map(stages).collect::<Vec<_>>(),
    })
}

fn stage(stage: &Stage) -> Value {
    let spent = stage.die.into_iter().flat_map(|spent| die::names().zip(spent));
    let spent: Map<String, Value> =
        spent.filter(|(_, span)| span.0 > 0).map(|(name, span)| (name.to_owned(), json!(span.0))).collect();
    json!({ "what": stage.what, "step": stage.step, "from_ns": stage.from.0, "to_ns": stage.to.0, "die": spent })
}

/// A window of a timeline, `FROM:TO`.
fn window(word: &str) -> Result<(Time, Time), ConfigError> {
    let remedy = "write two times with their units, such as 10ms:12ms";
    let (from, to) =
        word.split_once(':').ok_or_else(|| refused(&format!("--window {word}"), "is not accepted", remedy))?;
    let (from, to): (Span, Span) = (ssd::run::parse("--window", from)?, ssd::run::parse("--window", to)?);
    if from >= to {
        return Err(refused(&format!("--window {word}"), "ends before it begins", remedy));
    }
    Ok((Time(from.0), Time(to.0)))
}
