//! Every key of an array has an effect: a run with it changed differs from the same run without.

use array::{ArrayConfig, MemberDrive};
use ssd::Drive;
use units::section::Section;
use units::{Bytes, Span, Stream, Time};
use workload::{Op, Request};

use crate::server::{Server, config};

const CHUNK: u64 = 64 << 10;

/// A key, the settings that both runs share, and the value that the second run changes.
type Row = (&'static str, &'static [&'static str], &'static str);

const CODED: &[&str] = &["layout=erasure", "parity=2"];
const LOGGED: &[&str] = &["layout=erasure", "parity=2", "rewrite=log", "log_spare=0.4"];
const HEDGED: &[&str] = &["layout=erasure", "parity=2", "hedge=delay", "hedge_delay=150us"];

const ROWS: &[Row] = &[
    ("layout", &[], "raid5"),
    ("chunk", &[], "16KiB"),
    ("copies", &["layout=mirror"], "2"),
    ("data", &["layout=raid5"], "2"),
    ("parity", &["layout=erasure", "parity=1"], "3"),
    ("placement", &["layout=raid5"], "declustered"),
    ("select", &["layout=mirror"], "shortest-queue"),
    ("hedge", &["layout=mirror", "hedge_delay=150us"], "delay"),
    ("hedge_delay", HEDGED, "250us"),
    ("hedge_percentile", &["layout=mirror", "hedge=percentile"], "50"),
    ("extra_reads", CODED, "1"),
    ("coordinate", CODED, "staggered"),
    ("rewrite", CODED, "read-modify-write"),
    ("log_spare", LOGGED, "0.5"),
    ("log_wait", LOGGED, "1ms"),
    ("window", &["layout=erasure", "parity=2", "coordinate=staggered"], "3ms"),
    ("link_bandwidth", &[], "1GB/s"),
    ("link_latency", &[], "3us"),
    ("rebuild_rate", CODED, "50MB/s"),
    ("rebuild_depth", &["layout=erasure", "parity=2", "rebuild_rate=4GB/s"], "1"),
    ("scrub_rate", CODED, "100MB/s"),
    ("repair", CODED, "false"),
];

/// What six drives and a spare one do, of which one fails, and what their host sees.
fn play(words: &[String]) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let config = config(&words);
    let is_redundant = config.layout != array::LayoutKind::Stripe;
    let member = |index: u64| {
        let random = Stream::new(5, "knobs").entity(index);
        let service = move |id, request: &Request| Span(50_000 + random.below(id, 150_000) + request.bytes.0 / 10);
        let server = Server::new(Bytes(60 * CHUNK), service);
        MemberDrive {
            name: format!("drive-{index}"),
            drive: Box::new(server.that_fails(move |id| is_redundant && id % 40 == 39)),
            spare: index == 6,
            mean_life: None,
            fails_at: (index == 2 && is_redundant).then_some(Span::from_ms(20)),
        }
    };
    let drives = (0..if is_redundant { 7 } else { 6 }).map(member).collect();
    let mut array = array::Array::new(&config, drives, 1).unwrap_or_else(|error| panic!("{error}"));
    let random = Stream::new(9, "load");
    let mut text = format!("{}\n", array.capacity());
    array.workload_begins();
    for index in 0..600 {
        let draw = |what: u64, below: u64| random.below(index * 4 + what, below);
        let op = if draw(0, 4) == 0 { Op::Write } else { Op::Read };
        let request = Request::new(Time(index * 200_000), op, Bytes(draw(1, 500) * 4096), Bytes(4096 << draw(2, 8)));
        array.submit(request).unwrap();
    }
    while array.advance_to_completion(Time::NEVER).unwrap() {
        for done in array.take_completions() {
            text.push_str(&format!("{} {} {}\n", done.id, done.finish.0, done.uncorrectable));
        }
    }
    array.check_all().unwrap();
    let drives: Vec<_> = array.drives().map(|drive| (drive.reads, drive.writes)).collect();
    format!("{text}{:?}{drives:?}", array.counters_so_far())
}

#[test]
fn every_key_of_an_array_has_an_effect() {
    let mut failures = Vec::new();
    for (key, shared, value) in ROWS {
        let shared: Vec<String> = shared.iter().map(|word| (*word).to_owned()).collect();
        let changed: Vec<String> = shared.iter().cloned().chain([format!("{key}={value}")]).collect();
        if play(&shared) == play(&changed) {
            failures.push(format!("{key} = {value} changes nothing"));
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

#[test]
fn every_key_of_the_section_has_a_row() {
    for key in ArrayConfig::default().keys() {
        assert!(ROWS.iter().any(|(row, ..)| *row == key.name), "array.{} needs a row that shows its effect", key.name);
    }
}
