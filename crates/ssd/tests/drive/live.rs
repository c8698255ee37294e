//! A run whose requests come from outside has the result of the run that replays them.

use ssd::run::{Live, Outcome, Run, RunOptions};
use ssd::stats::series::Row;
use ssd::{Completion, Config, RunError, Unwatched};
use units::{Bytes, Stream, Time};
use workload::{Op, Request, Source, TraceError};

use testing::KeptLog;
use testing::soak::{Case, configuration, draw, source};
use testing::worn_out_soon;

/// Requests as a source.
struct Listed(Vec<Request>);

impl Source for Listed {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        batch.extend(self.0.drain(..max.min(self.0.len())));
        Ok(())
    }
    fn progress(&self) -> Option<f64> {
        None
    }
}

/// Everything that a run has found out, and why it ended early.
type Found = (String, Vec<Row>, Vec<Completion>, Option<RunError>);

fn found(outcome: Outcome, log: KeptLog, end: Option<RunError>) -> Found {
    let statistics = serde_json::Value::Object(outcome.report().to_json()).to_string();
    let rows = outcome.series.rows().to_vec();
    drop(outcome);
    (statistics, rows, log.completions(), end)
}

fn replayed(config: &Config, options: &RunOptions, requests: &[Request]) -> Result<Found, RunError> {
    let log = KeptLog::default();
    let source = Box::new(Listed(requests.to_vec()));
    let mut run = Run::new(config, source, options.clone(), Some(Box::new(log.clone())))?;
    while !run.step(50)? {}
    let end = run.end_of_life().cloned();
    Ok(found(run.finish()?, log, end))
}

/// Submits requests now and then ahead of their time, and stops at any times between them.
fn driven(config: &Config, options: &RunOptions, requests: &[Request], seed: u64) -> Result<Found, RunError> {
    let log = KeptLog::default();
    let mut live = Live::open(config, options, Some(Box::new(log.clone())), Unwatched)?;
    let mut taken = Vec::new();
    let end = drive(&mut live, requests, &Stream::new(seed, "driver"), &mut taken).err();
    taken.extend(live.take_completions());
    let found = found(live.finish()?, log, end);
    // What a power cut has aborted is told of, and in no log.
    taken.retain(|completion| !completion.aborted);
    assert_eq!(taken, found.2, "what is given is what is logged");
    Ok(found)
}

fn drive(live: &mut Live, requests: &[Request], draws: &Stream, taken: &mut Vec<Completion>) -> Result<(), RunError> {
    let mut drawn = 0;
    let mut below = |n: u64| {
        drawn += 1;
        draws.below(drawn, n)
    };
    for (number, request) in requests.iter().enumerate() {
        // Some are submitted together.
        while live.now() < request.time && below(5) > 0 {
            let left = request.time.0 - live.now().0;
            match below(4) {
                0 => live.advance(request.time)?,
                1 => live.advance(Time(live.now().0 + below(left + 1)))?,
                2 => drop(live.advance_to_completion(request.time)?),
                _ => to_next_event(live, request.time, taken)?,
            }
            taken.extend(live.take_completions());
        }
        assert_eq!(live.submit(*request)?, number as u64);
    }
    while live.outstanding() > 0 {
        taken.extend(live.take_completions());
        assert!(live.advance_to_completion(Time::NEVER)?);
    }
    Ok(())
}

/// Nothing completes before what happens next.
fn to_next_event(live: &mut Live, limit: Time, taken: &mut Vec<Completion>) -> Result<(), RunError> {
    let next = live.next_event().unwrap_or(Time::NEVER);
    if next > live.now() {
        taken.extend(live.take_completions());
        live.advance(Time(next.0 - 1).min(limit))?;
        assert_eq!(live.take_completions().count(), 0);
    }
    live.advance(next.min(limit))
}

/// As another simulator does it: it plays up to what happens next, be it in the drive or a request. Gives what has
/// completed.
fn driven_by_events(config: &Config, options: &RunOptions, requests: &[Request]) -> Result<Vec<Completion>, RunError> {
    let mut live = Live::open(config, options, None, Unwatched)?;
    let mut taken = Vec::new();
    let mut requests = requests.iter().peekable();
    while requests.peek().is_some() || live.outstanding() > 0 {
        let arrival = requests.peek().map_or(Time::NEVER, |request| request.time);
        let next = live.next_event().unwrap_or(Time::NEVER).min(arrival);
        assert_ne!(next, Time::NEVER, "requests are outstanding and nothing happens");
        let played = live.advance(next);
        taken.extend(live.take_completions());
        match played {
            Err(RunError::EndOfLife { .. }) => break,
            played => played?,
        }
        if next == arrival {
            live.submit(*requests.next().unwrap())?;
        }
    }
    taken.retain(|completion| !completion.aborted);
    Ok(taken)
}

/// Requests of a case at random times, many of them at once.
fn requests(case: &Case, capacity: Bytes) -> Vec<Request> {
    let gaps = Stream::new(case.seed, "gaps");
    let mut requests = Vec::new();
    let mut source = source(case, capacity).unwrap();
    while requests.len() < case.requests as usize {
        source.fill(&mut requests, 64).unwrap();
    }
    let mut time = 0;
    for (request, number) in requests.iter_mut().zip(0..) {
        let longest = [1, 3000, 400_000, 2_000_000][gaps.below(2 * number, 4) as usize];
        time += if number == 0 { 0 } else { gaps.below(2 * number + 1, longest) };
        request.time = Time(time);
        if gaps.below(3 * number, 40) == 0 {
            (request.op, request.bytes, request.offset) = (Op::Flush, Bytes(0), Bytes(0));
        }
    }
    requests
}

#[test]
fn requests_from_outside_have_the_result_of_their_replay() {
    let (mut accepted, mut ended) = (0, 0);
    for seed in 1..80 {
        let case = draw(seed);
        let Ok(config) = configuration(&case) else { continue };
        let requests = requests(&case, config.plan().unwrap().capacity());
        let options = RunOptions { seed, warmup: [0, 7, 60][seed as usize % 3], ..RunOptions::default() };
        let replayed = replayed(&config, &options, &requests);
        let driven = driven(&config, &options, &requests, seed);
        let (Ok(replayed), Ok(driven)) = (&replayed, &driven) else {
            assert_eq!(replayed.err(), driven.err(), "what ends seed {seed}");
            continue;
        };
        assert_eq!(replayed.0, driven.0, "statistics of seed {seed}");
        assert_eq!(replayed.1, driven.1, "time series of seed {seed}");
        assert_eq!(replayed.2, driven.2, "requests of seed {seed}");
        assert_eq!(replayed.3, driven.3, "end of seed {seed}");
        assert_eq!(Ok(&replayed.2), driven_by_events(&config, &options, &requests).as_ref(), "events of seed {seed}");
        accepted += 1;
        ended += u32::from(replayed.3.is_some());
    }
    assert!(accepted > 30 && ended > 0, "{accepted} devices, {ended} to their ends");
}

#[test]
fn what_does_not_come_in_time_is_refused_and_the_run_goes_on() {
    let config = ssd::presets::load("tlc").unwrap().config;
    let open = |options| Live::open(&config, &options, None, Unwatched);
    let refused = open(RunOptions { requests: Some(5), ..RunOptions::default() }).err().unwrap().to_string();
    assert!(refused.starts_with("--requests: is given, and requests come from outside"), "{refused}");
    let mut live = open(RunOptions::default()).unwrap();
    let read = |time| Request::new(Time(time), Op::Read, Bytes(0), Bytes(4096));
    live.advance(Time(1000)).unwrap();
    assert_eq!((live.now(), live.next_event()), (Time(1000), None));
    assert_eq!(live.submit(read(999)), Err(RunError::BackInTime { time: Time(999), earliest: Time(1000) }));
    assert_eq!(live.submit(read(2000)), Ok(0));
    assert_eq!(live.submit(read(1999)), Err(RunError::BackInTime { time: Time(1999), earliest: Time(2000) }));
    assert!(matches!(live.advance(Time::NEVER), Err(RunError::BeyondHorizon { .. })));
    assert!(matches!(live.submit(read(u64::MAX)), Err(RunError::BeyondHorizon { .. })));
    assert_eq!(live.outstanding(), 1);
    assert!(!live.advance_to_completion(Time(2000)).unwrap());
    assert!(live.advance_to_completion(Time::NEVER).unwrap());
    let finish = live.now();
    assert!(live.advance_to_completion(Time::NEVER).unwrap(), "it has not been taken");
    live.advance(Time::ZERO).unwrap();
    let completions: Vec<Completion> = live.take_completions().collect();
    assert_eq!(completions.iter().map(|c| (c.id, c.finish)).collect::<Vec<_>>(), [(0, finish)]);
    assert!(!live.advance_to_completion(Time::NEVER).unwrap());
    assert_eq!((live.now(), live.outstanding()), (finish, 0));
}

#[test]
fn what_happens_next_is_known_where_a_drive_becomes_read_only() {
    for mode in ["write-back", "write-through"] {
        let settings = ["wear.end_of_life=read-only", &format!("buffer.mode={mode}"), "gc.preemptible=false"];
        let config = worn_out_soon(&settings);
        let pages = Stream::new(1, "pages");
        let write = |number| {
            let page = pages.below(number, config.plan().unwrap().logical_pages);
            Request::new(Time(number / 16 * 20_000_000), Op::Write, Bytes(page * 16_384), Bytes(16_384))
        };
        let requests: Vec<Request> = (0..12_000).map(write).collect();
        let options = RunOptions::default();
        let replayed = replayed(&config, &options, &requests).unwrap();
        assert!(replayed.2.iter().any(|completion| completion.refused), "it becomes read-only");
        assert_eq!(Ok(replayed.2), driven_by_events(&config, &options, &requests));
    }
}
