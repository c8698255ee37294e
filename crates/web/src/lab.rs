//! Questions and their answers; the run that is under way.

use serde_json::{Map, Value, json};
use ssd::run::{Playing, Prepared, findings, open, refused, result};
use ssd::stats::{Finding, die};
use ssd::{Explainer, Explanation, Outcome, RunError, Stage, Timeline, Watch, watch};
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
    run: Box<dyn Playing>,
    watcher: Watcher,
    manifest: Value,
    findings: Vec<Finding>,
    /// Its workload has been played to its end.
    ended: bool,
}

/// Who watches it.
enum Watcher {
    Nobody,
    Explainer(watch::Shared<Explainer>),
    Timeline(watch::Shared<Timeline>, Shared),
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

impl Running {
    /// Opens a run; `asked` says who watches it: `slowest` and `requests` explain some, `windows` shows what resources
    /// do.
    fn open(prepared: Prepared, asked: &Question) -> Result<Running, RunError> {
        let Prepared { config, source, options, manifest, findings, .. } = prepared;
        let windows = asked.words("windows");
        let (slowest, wanted) = (asked.count("slowest"), asked.numbers("requests"));
        let watcher = if !windows.is_empty() {
            let windows = windows.into_iter().map(window).collect::<Result<Vec<_>, _>>()?;
            let shared = Shared::default();
            let timeline = Timeline::new(&config.plan()?, windows, Box::new(shared.clone()));
            Watcher::Timeline(watch::shared(timeline), shared)
        } else if slowest.is_some() || !wanted.is_empty() {
            let wanted = wanted.into_iter().map(|number| number as u64).collect();
            let explainer = Explainer::new(slowest.unwrap_or(0) as usize, wanted, options.warmup);
            Watcher::Explainer(watch::shared(explainer))
        } else {
            Watcher::Nobody
        };
        let watch = match &watcher {
            Watcher::Nobody => None,
            Watcher::Explainer(explainer) => Some(Watch::explaining(explainer)),
            Watcher::Timeline(timeline, _) => Some(Watch::drawing(timeline)),
        };
        let run = open(&config, source, options, None, watch)?;
        Ok(Running { run, watcher, manifest, findings, ended: false })
    }

    /// Plays up to this many requests more; how far it is then.
    fn step(&mut self, requests: u64) -> Result<Value, RunError> {
        let (submitted, _) = self.run.counts();
        // One more than may be played tells that there are more.
        let requests = requests.min((MOST_REQUESTS + 1).saturating_sub(submitted));
        self.ended |= requests > 0 && self.run.step(requests)?;
        let shown = matches!(&self.watcher, Watcher::Timeline(timeline, _) if watch::seen_by(timeline).done());
        let (submitted, completed) = self.run.counts();
        let bounded = submitted > MOST_REQUESTS;
        Ok(json!({
            "ended": self.ended || shown || bounded,
            "bounded": bounded && !self.ended,
            "share": self.run.progress(),
            "submitted": submitted,
            "completed": completed,
            "warms": self.run.warms(),
        }))
    }

    /// Ends the run and gives what it has found out, as far as it has come.
    fn finish(self) -> Result<Value, RunError> {
        let Running { run, watcher, manifest, mut findings, ended } = self;
        let life = match &watcher {
            Watcher::Timeline(..) => None,
            _ => run.end_of_life().map(ToString::to_string),
        };
        if !ended && life.is_none() {
            let (_, completed) = run.counts();
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
        match watcher {
            Watcher::Nobody => {
                let sections = run.sections();
                let mut answer = told.measured(run.finish()?);
                if let Some(all) = answer["result"].as_object_mut() {
                    all.extend(sections);
                }
                Ok(answer)
            }
            Watcher::Explainer(explainer) => {
                let explained: Vec<Value> = watch::seen_by(&explainer).explanations().iter().map(explanation).collect();
                let mut answer = told.measured(run.finish()?);
                answer["explained"] = explained.into();
                Ok(answer)
            }
            Watcher::Timeline(timeline, shared) => {
                let unwritten =
                    |error: std::io::Error| RunError::Output { path: "timeline".into(), problem: error.to_string() };
                watch::seen_by(&timeline).finish(run.drive().now()).map_err(unwritten)?;
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
