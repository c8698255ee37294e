//! Checkpoints: a device that was saved and loaded goes on as if it had never stopped.

use std::cell::RefCell;
use std::rc::Rc;

use ssd::run::checkpoint::{Checkpoint, write};
use ssd::run::{Live, Replay, Run, RunOptions, keep_warmed};
use ssd::stats::die::CAUSES;
use ssd::{Config, Device, Drive, Event, RunError, Unwatched};
use units::{Bytes, ConfigError, Span, Time};
use workload::{Op, Request};

use testing::soak::{Case, configuration, draw, resumed, resumed_otherwise};
use testing::{KeptLog, Watcher, cases, probe};

/// The first random devices, this many of them, that are accepted.
fn accepted(wanted: u32) -> impl Iterator<Item = (Case, Config)> {
    let configured = |case: Case| configuration(&case).ok().map(|config| (case, config));
    (1..).map(draw).filter_map(configured).take(wanted as usize)
}

#[test]
fn a_device_that_was_saved_goes_on_as_if_it_had_never_stopped() {
    let wanted = cases(160).cases;
    let (mut found, mut busy, mut met) = (0, 0, [0; 10]);
    for (case, config) in accepted(wanted) {
        let resumed = resumed(&case, &config).unwrap_or_else(|error| panic!("{error}: {}", case.command()));
        let Some((c, rested)) = resumed else { continue };
        (found, busy) = (found + 1, busy + u32::from(!rested));
        let more = [c.pages_retried, c.predictions, c.soft_decodings, c.speculative_senses, c.fill_reads, c.map_reads];
        let own =
            [c.program_suspensions, c.erase_suspensions, c.blocks_relocated[0], c.blocks_relocated[1..].iter().sum()];
        met.iter_mut().zip(more.into_iter().chain(own)).for_each(|(sum, count)| *sum += count);
    }
    assert!(2 * busy > found, "{busy} of {found} devices were at work");
    assert!(wanted < 160 || met.iter().all(|count| *count > 0), "not everything was met: {met:?}");
}

#[test]
fn a_device_at_rest_goes_on_under_other_policies() {
    let wanted = cases(60).cases;
    let mut played = 0;
    for (case, config) in accepted(wanted) {
        let resumed = resumed_otherwise(&case, &config).unwrap_or_else(|error| panic!("{error}: {}", case.command()));
        played += u32::from(resumed);
    }
    assert!(8 * played > wanted, "{played} of {wanted} devices went on under other policies");
}

fn small(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let base = ["channels=2", "chips=1", "dies=1", "planes=1", "blocks=64", "pages=48"];
    base.iter().for_each(|word| config.set(&format!("geometry.{word}")).unwrap());
    config.set("ftl.over_provisioning=1.0").unwrap();
    settings.iter().for_each(|word| config.set(word).unwrap());
    config
}

/// A device with work under way, as bytes.
fn at_work(config: &Config) -> Vec<u8> {
    let mut device = Device::new(config, 7).unwrap();
    for page in 0..40 {
        device.submit(Request::new(Time(0), Op::Write, Bytes(page * 16_384), Bytes(16_384))).unwrap();
    }
    device.advance(Time(400_000)).unwrap();
    assert!(!device.rests());
    let mut bytes = Vec::new();
    device.save(&mut bytes).unwrap();
    bytes
}

fn refusal(config: &Config, bytes: &[u8]) -> String {
    Device::load(config, &mut &bytes[..]).err().expect("it is refused").to_string()
}

#[test]
fn what_is_damaged_or_of_another_build_or_drive_is_refused_with_the_reason() {
    let config = small(&[]);
    let bytes = at_work(&config);
    assert!(Device::load(&config, &mut &bytes[..]).is_ok());
    let header = bytes.windows(8).position(|part| part == b"\"format\"").unwrap();
    // A byte of every part, and a file that ends anywhere.
    for place in [0, 5, 19, header + 200, bytes.len() / 2, bytes.len() - 33, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1;
        let text = refusal(&config, &damaged);
        assert!(text.contains("is damaged") || text.contains("is no checkpoint"), "{place}: {text}");
    }
    for length in [0, 10, 20, header, bytes.len() / 2, bytes.len() - 1] {
        let text = refusal(&config, &bytes[..length]);
        assert!(text.contains("is damaged") || text.contains("is no checkpoint"), "{length}: {text}");
    }
    let mut older = bytes.clone();
    let version = bytes.windows(17).position(|part| part == b"\"results_version\"").unwrap() + 18;
    older[version] = b'0' + (older[version] - b'0' + 1) % 10;
    assert!(refusal(&config, &older).contains("was written by another build: its results_version is "));
    for (word, text) in [
        ("gc.victim=fifo", "gc.victim was \"greedy\" and is \"fifo\""),
        ("geometry.blocks=65", "geometry.blocks was 64 and is 65"),
        ("read.next=oracle", "give it the policies that it had, or save a drive at rest"),
    ] {
        assert!(refusal(&small(&[word]), &bytes).contains(text), "{word}: {}", refusal(&small(&[word]), &bytes));
    }
}

#[test]
fn a_checkpoint_that_several_runs_go_on_from_is_read_once() {
    let config = small(&["age.precondition=closed-form"]);
    let path = std::env::temp_dir().join(format!("ssdlab-read-once-{}.ckpt", std::process::id()));
    write(&Device::load(&config, &mut &at_work(&config)[..]).unwrap(), &path).unwrap();
    let checkpoint = Checkpoint::open(&path).unwrap();
    let played_from = |checkpoint: &Checkpoint| {
        let mut device = checkpoint.device(&config)?;
        for page in 20..60 {
            device.submit(Request::new(device.now(), Op::Write, Bytes(page * 16_384), Bytes(16_384))).unwrap();
        }
        device.advance_to_completion(Time::NEVER).unwrap();
        let mut bytes = Vec::new();
        device.save(&mut bytes).unwrap();
        Ok::<_, ConfigError>(bytes)
    };
    let played = || played_from(&checkpoint);
    let alone = played().unwrap();
    keep_warmed(Bytes(1 << 30));
    // Read for the first and the second time; then the file is damaged, but for its digest.
    assert!((0..2).all(|_| played().unwrap() == alone));
    let whole = std::fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() - 100] ^= 1;
    std::fs::write(&path, &damaged).unwrap();
    assert!((0..2).all(|_| played().unwrap() == alone), "it is in memory");
    // Another drive's takes its place, and is in memory as well.
    let mut later = Device::load(&config, &mut &at_work(&config)[..]).unwrap();
    later.advance(Time(500_000)).unwrap();
    write(&later, &path).unwrap();
    let other = Checkpoint::open(&path).unwrap();
    assert!((0..2).all(|_| played_from(&other).unwrap() != alone));
    assert_eq!(played().unwrap(), played_from(&other).unwrap(), "what is in the file now, whole");
    std::fs::write(&path, &damaged).unwrap();
    keep_warmed(Bytes(0));
    let error = played().unwrap_err().to_string();
    assert!(error.contains("is damaged"), "{error}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_device_that_has_failed_is_not_saved() {
    let config = small(&["wear.endurance=1", "age.fill=1.0"]);
    let mut device = Device::new(&config, 1).unwrap();
    let failed = (0..100_000).find_map(|write| {
        let offset = Bytes(write * 7 % 900 * 16_384);
        device.take_completions();
        let played = device.submit(Request::new(device.now(), Op::Write, offset, Bytes(16_384)));
        played.and_then(|_| device.advance_to_completion(Time::NEVER)).err()
    });
    assert!(matches!(failed, Some(RunError::EndOfLife { .. })), "{failed:?}");
    let error = device.save(&mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("it has failed: the drive's life has ended"), "{error}");
}

/// The statistics of a run, and when its first and last requests came and completed.
fn played(mut run: Run) -> (Vec<String>, [Option<u64>; 2]) {
    while !run.step(1000).unwrap() {}
    let outcome = run.finish().unwrap();
    let values = outcome.report().0.into_iter().map(|statistic| format!("{} {}", statistic.name, statistic.value));
    let rows = outcome.series.rows();
    (values.collect(), [rows.first(), rows.last()].map(|row| row.map(|row| row.time_ns)))
}

#[test]
fn a_run_from_a_checkpoint_has_the_result_of_the_run_that_it_was_taken_from() {
    let config = small(&["age.precondition=write:0.7", "host.queues=3"]);
    let words = ["workload.rw=randrw", "workload.queues=3", "workload.requests=3000", "workload.rate_iops=20000"];
    let source =
        || workload::presets::get("default", &words).unwrap().source(config.plan().unwrap().capacity(), 3).unwrap();
    let path = std::env::temp_dir().join(format!("ssdlab-{}.checkpoint", std::process::id()));
    for options in [
        RunOptions::default(),
        RunOptions { replay: Replay::Closed(9), warmup: 500, ..RunOptions::default() },
        RunOptions { until_steady: Some(ssd::run::Round::Of(Span::from_ms(20))), ..RunOptions::default() },
    ] {
        let mut run = Run::new(&config, source(), options.clone(), None).unwrap();
        // The drive has been overwritten, and nothing of the workload is submitted yet.
        run.step(u64::MAX / 2).unwrap();
        write(run.device(), &path).unwrap();
        let from = RunOptions { checkpoint: Some(path.clone()), seed: 99, ..options };
        let again = Run::new(&config, source(), from, None).unwrap();
        assert_eq!(played(run), played(again));
    }
    std::fs::remove_file(path).unwrap();
}

/// The time of a die by cause; since when it is in a state, in which, and what follows when.
type Spent = ([u64; CAUSES.len()], Time, usize, Option<(Time, usize)>);

/// Where the time of dies goes, as a probe is told it.
#[derive(Clone)]
struct Dies(Rc<RefCell<Vec<Spent>>>);

impl Dies {
    fn enter(&mut self, die: usize, now: Time, cause: usize, until: Option<(Time, usize)>) {
        let (spent, since, was, will) = &mut self.0.borrow_mut()[die];
        if let Some((end, next)) = will.filter(|(end, _)| *end <= now) {
            spent[*was] += end.since(*since).0;
            (*since, *was) = (end, next);
        }
        spent[*was] += now.since(*since).0;
        (*since, *was, *will) = (now, cause, until);
    }
}

impl Watcher for Dies {
    fn notes_waits(&self) -> bool {
        true
    }
    fn explain(&mut self, now: Time, event: Event) {
        if let Event::Die { die, cause, until } = event {
            self.enter(usize::from(die.0), now, cause, until);
        }
    }
}

#[test]
fn a_probe_that_comes_later_is_told_what_dies_do() {
    let config = small(&[]);
    let bytes = at_work(&config);
    let loaded = Device::load(&config, &mut &bytes[..]).unwrap();
    let (start, before) = (loaded.now(), loaded.usage());
    let mut dies = Dies(Rc::new(RefCell::new(vec![([0; CAUSES.len()], start, 0, None); 2])));
    let mut device = loaded.watched_by(probe(dies.clone()));
    device.advance(Time(30_000_000)).unwrap();
    let used = device.usage().since(&before);
    let now = device.now();
    (0..2).for_each(|die| dies.enter(die, now, 0, None));
    let told: Vec<_> = dies.0.borrow().iter().map(|die| die.0.map(Span)).collect();
    assert_eq!(told, used.dies);
    assert!(used.dies[0][0] < now.since(start), "a die has worked");
}

#[test]
fn a_checkpoint_in_the_middle_of_a_run_leaves_it_alone_and_its_requests_are_nobodys() {
    let config = small(&[]);
    let words = ["workload.rw=randrw", "workload.requests=2000"];
    let source =
        || workload::presets::get("default", &words).unwrap().source(config.plan().unwrap().capacity(), 3).unwrap();
    let options = RunOptions { replay: Replay::Closed(16), ..RunOptions::default() };
    let path = std::env::temp_dir().join(format!("ssdlab-{}-middle.checkpoint", std::process::id()));
    let plain = played(Run::new(&config, source(), options.clone(), None).unwrap());
    let mut run = Run::new(&config, source(), options.clone(), None).unwrap();
    run.save_after(Span::from_us(3_333), path.clone());
    assert!(run.saves());
    assert_eq!(played(run), plain);
    let device = Device::load(&config, &mut std::fs::File::open(&path).unwrap()).unwrap();
    assert_eq!((device.now(), device.outstanding()), (Time(3_333_000), 16));
    let log = KeptLog::default();
    let from = RunOptions { checkpoint: Some(path.clone()), requests: Some(100), ..options };
    played(Run::new(&config, source(), from, Some(Box::new(log.clone()))).unwrap());
    let mut kept = log.completions();
    kept.sort_unstable_by_key(|completion| completion.id);
    assert_eq!(kept.iter().map(|completion| completion.id).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    assert!(
        kept.iter().all(|completion| completion.request.time < completion.finish) && kept[0].request.time == Time::ZERO
    );
    // So it is where requests come from outside.
    let options = RunOptions { checkpoint: Some(path.clone()), ..RunOptions::default() };
    let mut live = Live::open(&config, &options, None, Unwatched).unwrap();
    assert_eq!((live.now(), live.outstanding()), (Time(0), 0));
    assert_eq!(live.submit(Request::new(Time(0), Op::Read, Bytes(0), Bytes(4096))).unwrap(), 0);
    std::fs::remove_file(path).unwrap();
}
