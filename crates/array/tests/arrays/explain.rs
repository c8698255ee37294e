//! Where the time of an array's requests went: to the nanosecond, and without a gap.

use array::{Array, ArrayExplanation, MemberDrive, Purpose};
use ssd::run::{Run, RunOptions};
use ssd::watch::shared;
use ssd::{Device, Drive, Explainer, Followed, Watch};
use units::{Bytes, Span, Time};
use workload::{Op, Request};

use crate::devices::small;
use crate::server::{Server, array, config, played};

const CHUNK: u64 = 64 << 10;

/// What time went into, for how long \[ns], and which drive that was, asked for what.
type Stretch = (&'static str, u64, Option<(usize, Purpose)>);

/// What became of a lone request to drives whose services take 100 us and 1 ns a byte, the first with 1 ms more: what
/// the time went into, for how long, which drive that was, and what it was asked for.
fn alone(words: &[&str], drives: usize, request: Request) -> Vec<Stretch> {
    let server = |index: usize| {
        let more = if index == 0 { 1_000_000 } else { 0 };
        Server::new(Bytes(64 * CHUNK), move |_, request| Span(100_000 + request.bytes.0 + more))
    };
    let followed = (0..drives).map(|_| Followed::default()).collect();
    let mut array = array(words, (0..drives).map(server).collect()).explained(1, Vec::new(), 0, followed);
    array.workload_begins();
    played(&mut array, &[request]);
    let explained = array.explanations();
    assert_eq!((explained.len(), explained[0].request), (1, request));
    whole(&explained[0]);
    let stage = |of: &array::ArrayStage| (of.stage.what, of.stage.took().0, of.drive.zip(of.purpose));
    explained[0].stages.iter().map(stage).collect()
}

/// Its stages lie one behind another, from arrival to completion.
fn whole(of: &ArrayExplanation) {
    let mut at = of.arrival;
    for stage in &of.stages {
        assert_eq!(stage.stage.from, at, "{of:?}");
        at = stage.stage.to;
    }
    assert_eq!(at, of.finish, "{of:?}");
}

#[test]
fn the_drives_that_a_request_waited_for_follow_one_another() {
    let link = ["link_bandwidth=1GB/s", "link_latency=2us"];
    let read = |drives: usize, words: &[&str]| {
        let words: Vec<&str> = link.iter().chain(words).copied().collect();
        alone(&words, drives, Request::new(Time(7), Op::Read, Bytes(0), Bytes(4096)))
    };
    let of = |drive, purpose| Some((drive, purpose));
    let slow = of(0, Purpose::ReadData);
    let expected = vec![("to drive", 2_000, slow), ("drive", 1_104_096, slow), ("from drive", 6_096, slow)];
    assert_eq!(read(4, &["layout=stripe"]), expected);
    // The copy that is asked later is there first.
    let hedge = of(1, Purpose::ReadHedge);
    let ways = [("to drive", 2_000, hedge), ("drive", 104_096, hedge), ("from drive", 6_096, hedge)];
    let expected = [vec![("stripe", 300_000, None)], ways.to_vec()].concat();
    assert_eq!(read(2, &["layout=mirror", "hedge=delay", "hedge_delay=300us"]), expected);
    // The old data is read, then the new one written.
    let write = Request::new(Time(7), Op::Write, Bytes(0), Bytes(4096));
    let (before, after) = (of(0, Purpose::ReadBeforeWrite), of(0, Purpose::WriteData));
    assert_eq!(alone(&["layout=raid5"], 5, write), [("drive", 1_104_096, before), ("drive", 1_104_096, after)]);
}

/// Of simulated drives, which say themselves where the time went.
#[test]
fn the_stages_of_every_request_add_up_to_its_latency() {
    for words in [
        &["layout=raid5", "hedge=delay", "hedge_delay=100us", "chunk=16KiB", "scrub_rate=50MB/s"][..],
        &["layout=mirror", "select=shortest-queue", "extra_reads=1", "link_bandwidth=1GB/s"],
        &["layout=stripe", "link_latency=3us"],
    ] {
        let mut followed = Vec::new();
        let member = |seed| {
            let (explainer, of_drive) = Explainer::followed();
            followed.push(of_drive);
            let drive = Device::watched(&small(), seed, Watch::explaining(&shared(explainer))).unwrap();
            let fails_at = (seed == 3 && words[0] == "layout=raid5").then_some(Span::from_ms(3));
            MemberDrive {
                name: format!("drive-{seed}"),
                drive: Box::new(drive),
                spare: false,
                fails_at,
                mean_life: None,
            }
        };
        let drives = (1..=4).map(member).collect();
        let array = Array::new(&config(words), drives, 1).unwrap();
        let size = array.capacity();
        let load = ["workload.rw=randrw", "workload.rate_iops=30000", "workload.bs=8KiB"];
        let source = workload::presets::get("default", &load).unwrap().source(size, 7).unwrap();
        let options = RunOptions { requests: Some(500), ..RunOptions::default() };
        let array = array.explained(20, (0..500).collect(), 0, followed.clone());
        let mut run = Run::on(array, source, options, None).unwrap();
        while !run.step(100).unwrap() {}
        let explained = run.device().explanations();
        assert_eq!(explained.len(), 500);
        explained.iter().for_each(whole);
        let stages = || explained.iter().flat_map(|of| &of.stages);
        for what in ["sense", "transfer", "store"] {
            assert!(stages().any(|of| of.stage.what == what && of.drive.is_some()), "{what} of {words:?}");
        }
        assert!(stages().all(|of| of.stage.what != "drive"), "each drive says more");
        // Nobody else asks for what is left.
        assert!((0..9).all(|request| followed.iter().all(|of| of.take(request).is_none())));
    }
}
