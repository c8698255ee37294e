//! FTLs of one's own: one that decides as the drive's does changes nothing, one that decides otherwise loses nothing,
//! and a wrong answer ends the run with the request that shows it.

use std::sync::Arc;

use nand::PlaneId;
use ssd::policies::own_ftl::{DriveLayout, OwnFtl, Place};
use ssd::policies::{Answer, Blocks, PolicySource, StandIn};
use ssd::run::{Replay, Run, RunOptions};
use ssd::{Config, Device, Drive, RunError};
use testing::own::{Chooses, page_mapped};
use testing::soak::{Case, checked, configuration, draw, resumed, resumed_otherwise, source};
use units::{Bytes, Lpn, Ppn};
use workload::{Op, Request};

/// The statistics of a case.
fn played(config: &Config, case: &Case) -> Result<String, RunError> {
    let source = source(case, config.plan()?.capacity())?;
    let replay = Replay::Closed(case.depth);
    let options = RunOptions { seed: case.seed, requests: Some(case.requests), replay, ..RunOptions::default() };
    let mut run = Run::new(config, source, options, None)?;
    while !run.step(1000)? {}
    Ok(serde_json::Value::Object(run.finish()?.report().to_json()).to_string())
}

#[test]
fn one_that_decides_as_the_drive_does_changes_nothing() {
    let (mut accepted, mut collected) = (0, 0);
    for seed in 1..100 {
        let mut case = draw(seed);
        let fixed = ["ftl.placement=static", "ftl.streams=2", "ftl.hints=0", "gc.victim=greedy", "faults.at=[]"];
        case.device.extend(fixed.map(String::from));
        let Ok(mut config) = configuration(&case) else { continue };
        let built_in = played(&config, &case);
        config.policies.ftl = Some(page_mapped(Chooses::AsBuiltIn, seed, true));
        assert_eq!(played(&config, &case), built_in, "{}", case.command());
        accepted += 1;
        collected += u64::from(built_in.is_ok_and(|found| !found.contains("\"gc_runs\":0,")));
    }
    assert!(accepted > 30 && collected > 10, "{accepted} accepted, {collected} collected");
}

#[test]
fn one_that_decides_at_random_loses_nothing_is_saved_and_goes_on() {
    let (mut accepted, mut went_on, mut others) = (0, 0, 0);
    for seed in 1..60 {
        let case = Case { own: true, ..draw(seed) };
        let Ok(config) = configuration(&case) else { continue };
        let is_even = |error: &RunError| !matches!(error, RunError::Config(_));
        match checked(&case, &config) {
            Ok(ended) => accepted += u32::from(ended),
            Err(error) => assert!(!is_even(&error), "{}\n{error}", case.command()),
        }
        // Where a state is saved the same comes of a drive that goes on from it.
        if seed.is_multiple_of(2) {
            match resumed(&case, &config) {
                Ok(found) => went_on += u32::from(found.is_some()),
                Err(error) => assert!(!is_even(&error), "{}\n{error}", case.command()),
            }
        } else {
            match resumed_otherwise(&case, &config) {
                Ok(ended) => others += u32::from(ended),
                Err(error) => assert!(!is_even(&error), "{}\n{error}", case.command()),
            }
        }
    }
    assert!(accepted > 10 && went_on > 5 && others > 5, "{accepted} ended, {went_on} and {others} went on");
}

/// Answers as it is told to.
#[derive(Clone, Copy)]
struct Wrong {
    plane: u32,
    stream: u16,
    place: Option<u64>,
    block: Option<u32>,
}

impl OwnFtl for Wrong {
    fn write(&mut self, _: Lpn, _: u16, _: PlaneId) -> Answer<Place> {
        Ok(Place { plane: PlaneId(self.plane), stream: self.stream })
    }
    fn placed(&mut self, _: Lpn, _: Ppn, _: bool) -> Answer<()> {
        Ok(())
    }
    fn trimmed(&mut self, _: Lpn) -> Answer<()> {
        Ok(())
    }
    fn locate(&mut self, _: Lpn) -> Answer<Option<Ppn>> {
        Ok(self.place.map(Ppn))
    }
    fn reclaim(&mut self, _: PlaneId, _: Blocks) -> Answer<Option<u32>> {
        Ok(self.block)
    }
}

/// What ends the run of a drive with such an FTL, whose full blocks are listed as a policy asks, on which pages 0 to 3
/// are written and flushed and page 2 is read, and all of it is written over until blocks are reclaimed.
fn mistake(wrong: Wrong, victim: &str) -> String {
    let mut config = Config::default();
    let words = [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=2",
        "geometry.blocks=24",
        "geometry.pages=12",
        "age.fill=0",
        "ftl.over_provisioning=2.0",
        "buffer.size=1MiB",
    ];
    words.iter().for_each(|word| config.set(word).unwrap());
    config.set(victim).unwrap();
    let place = ("mine.py".into(), Some(3));
    let source = PolicySource { file: None, function: "Mine".into(), sha256: String::new(), place };
    let new = move |_: DriveLayout| Ok(Box::new(wrong) as Box<dyn OwnFtl>);
    config.policies.ftl = Some(StandIn { source, ask: Arc::new(new) });
    let mut device = Device::new(&config, 1).unwrap();
    let page = device.plan().layout.page_size.0;
    let mut play = |op, first: u64, pages: u64| -> Result<(), RunError> {
        device.submit(Request::new(device.now(), op, Bytes(first * page), Bytes(pages * page)))?;
        while device.outstanding() > 0 {
            assert!(device.advance_to_completion(units::Time::NEVER)?, "nothing is going to happen");
            device.take_completions();
        }
        device.flush()
    };
    let played = play(Op::Write, 0, 4)
        .and_then(|()| play(Op::Read, 2, 1))
        .and_then(|()| (0..400).try_for_each(|turn| play(Op::Write, turn % 8 * 4, 4)));
    played.expect_err("it was accepted").to_string()
}

#[test]
fn a_wrong_answer_ends_the_run_with_what_shows_it() {
    let right = Wrong { plane: 0, stream: 0, place: None, block: None };
    for (wrong, expected) in [
        (Wrong { plane: 2, ..right }, "write(0, 0, 0) answered plane 2 and stream 0"),
        (Wrong { stream: 1, ..right }, "write(0, 0, 0) answered plane 0 and stream 1"),
        (right, "locate(2) answered None for request 1, and its newest data is at "),
        (Wrong { place: Some(7), ..right }, "locate(2) answered 7 (plane 0, block 0, page 7) for request 1"),
        (Wrong { place: Some(u64::MAX), ..right }, "locate(2) answered 18446744073709551615 for request 1"),
        (Wrong { place: Some(2), ..right }, "reclaim(0) answered None, and the plane takes no more data"),
        (Wrong { place: Some(2), block: Some(99), ..right }, "reclaim(0) answered block 99, which cannot be reclaimed"),
    ] {
        for victim in ["gc.victim=greedy", "gc.victim=fifo"] {
            let found = mistake(wrong, victim);
            assert!(found.contains(expected) && found.contains("mine.py:3"), "{victim}: {found}");
        }
    }
}

#[test]
fn a_page_whose_plane_breaks_while_its_map_entry_is_read_goes_elsewhere() {
    let mut moved = 0;
    for at in (0..60).map(|step| 5 * step) {
        let mut config = Config::default();
        let words = [
            "geometry.channels=1",
            "geometry.chips=1",
            "geometry.dies=2",
            "geometry.planes=1",
            "geometry.blocks=40",
            "geometry.pages=48",
            "age.fill=0.3",
            "ftl.over_provisioning=2.0",
            "mapping.table=cached",
            "mapping.entry_group=64B",
            "mapping.cache=1KiB",
            "buffer.mode=write-through",
            "host.timeout=100ms",
        ];
        words.iter().for_each(|word| config.set(word).unwrap());
        config.set(&format!("faults.at={at}us plane 1")).unwrap();
        config.policies.ftl = Some(page_mapped(Chooses::AsBuiltIn, 1, true));
        let mut device = Device::new(&config, 1).unwrap();
        let page = device.plan().layout.page_size.0;
        // Pages of both planes; no two share an entry group.
        for lpn in (0..8).map(|page| 33 * page) {
            device.submit(Request::new(units::Time(0), Op::Write, Bytes(lpn * page), Bytes(page))).unwrap();
        }
        while device.outstanding() > 0 {
            assert!(device.advance_to_completion(units::Time::NEVER).unwrap(), "at {at} us nothing is going to happen");
            moved += device.take_completions().filter(|done| done.is_done()).count();
        }
        device.flush().unwrap();
        device.check_mapping().unwrap();
    }
    assert_eq!(moved, 60 * 8);
}
