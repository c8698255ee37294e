//! Policies from outside: one that answers as the built-in choice does changes nothing, and a mistake ends the run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use schemes::{Candidates, Class, Price, ReadReference, ResumeMode};
use ssd::policies::{Answer, Blocks, Policies, PolicySource, StandIn};
use ssd::run::{Replay, Run, RunOptions};
use ssd::{Config, Device, Drive, RunError};
use units::{Span, Time};
use workload::Request;

use testing::soak::{Case, configuration, draw, source};

/// The candidates of a question, as the built-in policies take them.
struct Lent(Blocks);

impl Candidates for Lent {
    fn pages(&self) -> u32 {
        self.0.candidates.pages()
    }
    fn victim_valid_limit(&self) -> u32 {
        self.0.candidates.victim_valid_limit()
    }
    fn least_valid(&self) -> Option<u32> {
        self.0.candidates.least_valid()
    }
    fn oldest(&self, valid: u32) -> Option<u32> {
        self.0.candidates.oldest(valid)
    }
    fn first_filled(&self) -> Option<u32> {
        self.0.candidates.first_filled()
    }
    fn block(&self, block: u32) -> (u32, u32) {
        self.0.candidates.block(block)
    }
    fn random(&self, draw: u64) -> Option<u32> {
        self.0.candidates.random(draw)
    }
}

fn named<F: ?Sized>(ask: Arc<F>) -> Option<StandIn<F>> {
    let source =
        PolicySource { file: None, function: "mine".into(), sha256: String::new(), place: ("mine.py".into(), Some(3)) };
    Some(StandIn { source, ask })
}

/// How often each axis was asked.
type Asked = Arc<Mutex<BTreeMap<&'static str, u64>>>;

/// Stand-ins for all that a configuration chooses, which answer alike.
fn twins(config: &Config, asked: &Asked) -> Policies {
    let counted = |axis: &'static str| {
        let asked = Arc::clone(asked);
        move || *asked.lock().unwrap().entry(axis).or_default() += 1
    };
    let Config { gc, schedule, read, .. } = config;
    let mut policies = Policies::default();
    let (victim, count) = (gc.victim, counted("victim"));
    policies.victim = named(Arc::new(move |blocks| {
        count();
        let lent = Lent(blocks);
        Ok(victim.pick(&lent, || (lent.0.draw)()))
    }));
    let (ranks, count) = (schedule.order.ranks(), counted("order"));
    policies.order = named(Arc::new(move |class| {
        count();
        Ok(ranks[class as usize])
    }));
    let (next, count) = (read.next, counted("next"));
    policies.next = named(Arc::new(move |failed: schemes::Failed<'_>| {
        count();
        Ok(next.after(failed))
    }));
    let (start, count) = (read.start, counted("start"));
    policies.start = named(Arc::new(move |sense: schemes::FirstSense| {
        count();
        Ok(start.step(sense.last, sense.walks))
    }));
    let (program, erase, pacing) = (schedule.suspend_program, schedule.suspend_erase, gc.pacing);
    let count = counted("suspend_program");
    policies.suspend_program = named(Arc::new(move |at| {
        count();
        Ok(program.suspend_point(at))
    }));
    let count = counted("suspend_erase");
    policies.suspend_erase = named(Arc::new(move |at| {
        count();
        Ok(erase.suspend_point(at))
    }));
    let count = counted("pacing");
    policies.pacing = named(Arc::new(move |collection| {
        count();
        Ok(pacing.price(collection))
    }));
    // What is "none", or tracks nothing, has nothing to stand in for.
    policies.start.take_if(|_| !start.tracks());
    policies.suspend_program.take_if(|_| program == schemes::SuspendProgram::None);
    policies.suspend_erase.take_if(|_| erase == schemes::SuspendErase::None);
    policies.pacing.take_if(|_| pacing == schemes::Pacing::None);
    policies
}

/// The statistics of a case, and how the drive's life ended.
fn played(config: &Config, case: &Case) -> Result<(String, Option<RunError>), RunError> {
    let source = source(case, config.plan()?.capacity())?;
    let replay = Replay::Closed(case.depth);
    let options = RunOptions { seed: case.seed, requests: Some(case.requests), replay, ..RunOptions::default() };
    let mut run = Run::new(config, source, options, None)?;
    while !run.step(1000)? {}
    let end = run.end_of_life().cloned();
    Ok((serde_json::Value::Object(run.finish()?.report().to_json()).to_string(), end))
}

#[test]
fn stand_ins_that_answer_like_the_built_in_choices_change_nothing() {
    let asked = Asked::default();
    let mut accepted = 0;
    for seed in 1..120 {
        let case = draw(seed);
        let Ok(mut config) = configuration(&case) else { continue };
        let built_in = played(&config, &case);
        config.policies = twins(&config, &asked);
        assert_eq!(played(&config, &case), built_in, "{}", case.command());
        accepted += 1;
    }
    let asked = asked.lock().unwrap();
    // An FTL of one's own has tests of its own.
    let mut functions = Policies::AXES.iter().filter(|axis| **axis != "ftl");
    let often = functions.all(|axis| asked.get(axis).is_some_and(|times| *times > 10));
    assert!(accepted > 20 && often, "{accepted} devices; {asked:?}");
}

/// A drive on which every axis is asked.
fn busy() -> (Config, Case) {
    let words = [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.blocks=32",
        "geometry.pages=36",
        "ftl.over_provisioning=0.5",
        "buffer.size=1MiB",
        "age.precondition=closed-form",
        "age.pec=2000",
        "age.retention=1y",
        "chip.model=tlc48",
        "chip.t_prog=none",
        "chip.program_loops=8",
        "chip.t_program_pulse=60us",
        "chip.t_program_verify=25us",
        "chip.t_bers=none",
        "chip.erase_loops=3",
        "chip.t_erase_pulse=1ms",
        "chip.t_erase_verify=100us",
        "schedule.order=read-first",
        "schedule.suspend_program=inter-phase",
        "schedule.suspend_erase=pulse-boundary",
        "gc.pacing=proportional",
    ];
    let workload = ["workload.rw=randrw", "workload.rwmixread=5", "workload.bs=16KiB"].map(String::from).to_vec();
    let device = words.map(String::from).to_vec();
    let case = Case { seed: 1, requests: 6000, depth: 16, device, workload, own: false };
    (configuration(&case).unwrap(), case)
}

/// What a run says whose policies are changed so.
fn mistake(change: impl Fn(&mut Config)) -> String {
    let (mut config, case) = busy();
    change(&mut config);
    played(&config, &case).unwrap_err().to_string()
}

#[test]
fn answers_that_make_no_sense_end_the_run_with_their_reason() {
    let next = |answer: Option<ReadReference>| {
        mistake(move |config| config.policies.next = named(Arc::new(move |_: schemes::Failed<'_>| Ok(answer))))
    };
    let suspended = |after: u64, goes: ResumeMode| {
        mistake(move |config| {
            config.policies.suspend_program = named(Arc::new(move |_| Ok(Some((Span(after), goes)))));
        })
    };
    let victim = |block: u32| mistake(move |config| config.policies.victim = named(Arc::new(move |_| Ok(Some(block)))));
    let full = mistake(|config| {
        config.policies.victim = named(Arc::new(|Blocks { candidates, .. }: Blocks| {
            Ok((candidates.victim_valid_limit()..=candidates.pages()).find_map(|valid| candidates.oldest(valid)))
        }));
    });
    let none = mistake(|config| config.policies.victim = named(Arc::new(|_| Ok(None))));
    // On the die, of which the controller sees nothing.
    let on_die = mistake(|config| {
        ["read.predictor=on-die-again", "read.prediction_accuracy=1"].iter().for_each(|word| config.set(word).unwrap());
        config.policies.next = named(Arc::new(|_: schemes::Failed<'_>| Ok(Some(ReadReference::Step(0)))));
    });
    let price = |relocated, host| {
        mistake(move |config| config.policies.pacing = named(Arc::new(move |_| Ok(Some(Price { relocated, host })))))
    };
    for (text, axis, problem, remedy) in [
        (victim(32), "victim", "answered block 32, which cannot be reclaimed", "a block that it was given"),
        (full, "victim", "valid pages: reclaiming it gains nothing", "fewer than"),
        (none, "victim", "answered None although requests wait", "answer a block"),
        (next(Some(ReadReference::Step(200))), "next", "answered step 200", "0 to "),
        (next(Some(ReadReference::Step(0))), "next", "has had a page sensed 1000 times", "answer none"),
        (on_die, "next", "has had a page sensed 1000 times", "answer none"),
        (
            suspended(1, ResumeMode::NextPhase),
            "suspend_program",
            "answered 1 ns and next-phase",
            "until the phase ends",
        ),
        (
            suspended(u64::MAX, ResumeMode::RestOfPhase),
            "suspend_program",
            "rest-of-phase",
            "until the voltages are reset",
        ),
        (price(3, 0), "pacing", "answered 3 relocated pages for 0", "1 page of host data or more"),
        (price(u64::MAX, 1), "pacing", "relocated pages for 1", "up to 1000000000"),
    ] {
        assert!(text.starts_with(&format!("mine.py:3: policies.{axis}: ")), "{text}");
        assert!(text.contains(problem) && text.contains("\n  help: ") && text.contains(remedy), "{text}");
    }
}

#[test]
fn a_mistake_is_asked_for_once_and_the_device_stays_failed() {
    let (mut config, case) = busy();
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    config.policies.next = named(Arc::new(move |_: schemes::Failed<'_>| -> Answer<Option<ReadReference>> {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Some(ReadReference::Step(255)))
    }));
    let source = source(&case, config.plan().unwrap().capacity()).unwrap();
    let mut run = Run::new(&config, source, RunOptions::default(), None).unwrap();
    let mut step = || (0..100).find_map(|_| run.step(100).err()).unwrap();
    let first = step();
    assert!(matches!(first, RunError::Config(_)));
    assert_eq!(step(), first);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[test]
fn a_policy_needs_a_choice_to_stand_in_for_and_ranks_are_asked_for_at_once() {
    let (mut config, _) = busy();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    config.policies.order = named(Arc::new(move |class| {
        seen.lock().unwrap().push(class);
        Ok(0)
    }));
    config.plan().unwrap();
    assert_eq!(*asked.lock().unwrap(), Class::ALL);
    for (key, word) in [
        ("schedule.suspend_program", "schedule.suspend_program=none"),
        ("schedule.suspend_erase", "schedule.suspend_erase=none"),
        ("gc.pacing", "gc.pacing=none"),
    ] {
        let (mut config, _) = busy();
        config.policies = twins(&config, &Asked::default());
        config.set(word).unwrap();
        let error = config.plan().unwrap_err();
        assert_eq!(error.key.as_deref(), Some(key));
        assert!(error.problem.contains("a policy is given for it"), "{error}");
    }
}

#[test]
fn a_checkpoint_goes_on_with_its_policies_and_at_rest_with_any() {
    let (mut config, case) = busy();
    config.policies = twins(&config, &Asked::default());
    let mut device = Device::new(&config, 1).unwrap();
    let mut requests = Vec::new();
    source(&case, device.capacity()).unwrap().fill(&mut requests, 200).unwrap();
    for request in requests {
        device.submit(Request { time: Time::ZERO, ..request }).unwrap();
    }
    device.advance(Time(2_000_000)).unwrap();
    let saved = |device: &Device| {
        let mut bytes = Vec::new();
        device.save(&mut bytes).unwrap();
        bytes
    };
    let (without, mut other) = (busy().0, config.clone());
    other.policies.next.as_mut().unwrap().source.sha256 = "other".into();
    let bytes = saved(&device);
    let mut again = Device::load(&config, &mut &bytes[..]).unwrap();
    again.advance(Time(900_000_000)).unwrap();
    device.advance(Time(900_000_000)).unwrap();
    assert_eq!(saved(&again), saved(&device));
    let refused = |config: &Config| Device::load(config, &mut &bytes[..]).err().unwrap().to_string();
    assert!(refused(&without).contains("policies.victim was mine and is none; policies.order was"));
    assert!(
        refused(&other)
            .contains("is of another drive: policies.next = mine has another text\n  help: give it the policies")
    );
    device.flush().unwrap();
    let rests = saved(&device);
    for config in [&without, &other] {
        Device::load(config, &mut &rests[..]).unwrap();
    }
}
