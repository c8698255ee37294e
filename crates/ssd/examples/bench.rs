//! The benchmark panel: `make bench`.
//!
//! Each case replays a text trace (or a closed loop) on a preset device in a process of its own, so that
//! peak memory is the case's, and prints CPU time per request and per flash page operation. Machines are
//! noisy: compare cases of one run, and see docs/speed.md for what peers need on the same work.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ssd::run::{Replay, Run, RunOptions};
use units::{Bytes, Time};
use workload::{Op, Request, Source, TraceFile, presets};

/// Name, device, workload preset, its settings, replay, further device settings.
struct Case {
    name: &'static str,
    device: &'static str,
    workload: &'static str,
    keys: &'static [&'static str],
    replay: Replay,
    settings: &'static [&'static str],
    /// MQSim's CPU time on the same work [us a request], from its own measurement (docs/speed.md).
    mqsim_us: Option<f64>,
}

const TIMED: Replay = Replay::Timed(1.0);

const fn case(name: &'static str, device: &'static str, workload: &'static str, mqsim_us: Option<f64>) -> Case {
    Case { name, device, workload, keys: &[], replay: TIMED, settings: &[], mqsim_us }
}

/// The panel of the two devices, then what must stay flat: queue length, capacity, dies, queues, trace length; then
/// what is followed beside, each behind the same without.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for device in ["mqsim", "mqsim-ideal"] {
        cases.push(case("random 8-KiB reads, 50k/s", device, "random-read-8k", Some(10.4)));
        cases.push(case("16-KiB 90/10, 10k/s", device, "mixed-90-10-16k", Some(24.3)));
        cases.push(case("16-KiB 90/10, 100k/s (saturated)", device, "mixed-90-10-16k-fast", Some(54.7)));
        cases.push(case("16-KiB 10/90, 25k/s (saturated)", device, "mixed-10-90-16k", Some(44.8)));
        cases.push(case("256-KiB sequential reads, 4k/s", device, "sequential-read-256k", None));
        cases.push(Case {
            replay: Replay::Closed(256),
            ..case("random 8-KiB reads, closed loop 256", device, "random-read-closed", None)
        });
    }
    const WRITES: &[&str] =
        &["workload.rw=randwrite", "workload.bs=4KiB", "workload.align=4KiB", "workload.requests=300000"];
    const WHOLE: &[&str] =
        &["workload.rw=randwrite", "workload.bs=16KiB", "workload.align=16KiB", "workload.requests=300000"];
    // So small that 300,000 requests overwrite it: its blocks are collected.
    const AGED: &[&str] =
        &["age.precondition=closed-form", "geometry.blocks=200", "geometry.pages=48", "ftl.over_provisioning=0.15"];
    for (name, keys) in [("4-KiB random writes, steady state", WRITES), ("16-KiB random writes, steady state", WHOLE)] {
        let replay = Replay::Closed(256);
        cases.push(Case { keys, replay, settings: AGED, ..case(name, "tlc", "random-read-closed", None) });
    }
    cases.push(Case {
        replay: Replay::Closed(256),
        settings: &["mapping.table=cached"],
        ..case("8-KiB reads, map behind 2 MiB", "tlc", "random-read-closed", None)
    });
    // Ten retry steps a read and more: pages read a second, whatever that takes of senses.
    const WORN: &[&str] = &["age.pec=2000", "age.retention=6mo", "mapping.table=ideal"];
    const PIPELINED: &[&str] = &[
        "age.pec=2000",
        "age.retention=6mo",
        "mapping.table=ideal",
        "read.pipeline=cache-read",
        "read.sensing=adaptive",
    ];
    for (name, settings) in [("aged 8-KiB reads, baseline", WORN), ("aged 8-KiB reads, pnar2", PIPELINED)] {
        let (replay, keys) = (Replay::Closed(256), &["workload.requests=300000"]);
        cases.push(Case { replay, keys, settings, ..case(name, "asplos21", "random-read-closed", None) });
    }
    for (name, depth) in
        [("queue: closed loop 16", 16), ("queue: closed loop 1024", 1024), ("queue: closed loop 65536", 65_536)]
    {
        cases.push(Case { replay: Replay::Closed(depth), ..case(name, "mqsim", "random-read-closed", None) });
    }
    const CAPACITIES: [(&str, &[&str]); 5] = [
        ("capacity: 16 GiB", &["geometry.blocks=64", "ftl.over_provisioning=0.3"]),
        ("capacity: 512 GiB", &[]),
        ("capacity: 4 TiB", &["geometry.blocks=4096", "geometry.pages=1024"]),
        ("capacity: 64 TiB", &["geometry.blocks=16384", "geometry.pages=4096"]),
        ("capacity: 256 TiB", &["geometry.blocks=32768", "geometry.pages=8192"]),
    ];
    for (name, settings) in CAPACITIES {
        cases.push(Case { settings, ..case(name, "mqsim-ideal", "random-read-8k", None) });
    }
    const DIES: [(&str, &[&str]); 4] = [
        ("dies: 8", &["geometry.channels=8", "geometry.chips=1", "geometry.dies=1"]),
        ("dies: 64", &[]),
        ("dies: 1024", &["geometry.channels=16", "geometry.chips=8", "geometry.dies=8", "geometry.blocks=256"]),
        ("dies: 2048", &["geometry.channels=32", "geometry.chips=8", "geometry.dies=8", "geometry.blocks=256"]),
    ];
    for (name, settings) in DIES {
        let replay = Replay::Closed(1024);
        cases.push(Case { replay, settings, ..case(name, "mqsim-ideal", "random-read-closed", None) });
    }
    for (name, settings) in [("queues: 1", &["host.queues=1"][..]), ("queues: 64", &["host.queues=64"])] {
        let keys: &[&str] = &["workload.numjobs=64"];
        cases.push(Case { keys, settings, ..case(name, "mqsim-ideal", "random-read-8k", None) });
    }
    cases.push(Case {
        keys: &["workload.requests=250000"],
        ..case("length: 250k requests", "mqsim", "random-read-8k", None)
    });
    cases.push(Case {
        keys: &["workload.requests=4000000"],
        ..case("length: 4M requests", "mqsim", "random-read-8k", None)
    });
    const BESIDE: [(&str, &str, &[&str]); 4] = [
        ("beside: reads", "random-read-8k", &[]),
        ("beside: reads, heat followed", "random-read-8k", &["thermal.resistance=5"]),
        ("beside: 16-KiB 10/90", "mixed-10-90-16k", &[]),
        ("beside: 16-KiB 10/90, journal", "mixed-10-90-16k", &["mapping.checkpoint=1GiB"]),
    ];
    for (name, workload, settings) in BESIDE {
        cases.push(Case { settings, ..case(name, "mqsim-ideal", workload, None) });
    }
    cases
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let cases = cases();
    if let [flag, number, folder, requests @ ..] = arguments.as_slice()
        && flag == "--case"
    {
        // This many requests alone: short enough to count instructions (tests/test_instructions.py).
        let requests = requests.first().map(|number| number.parse::<u64>().expect("a number of requests"));
        play(&cases[number.parse::<usize>().expect("a case number")], Path::new(folder), requests);
        return;
    }
    if arguments == ["--list"] {
        return cases.iter().for_each(|case| println!("{}", case.name));
    }
    let only = arguments.first().map(String::as_str).unwrap_or_default();
    let folder = std::env::temp_dir().join(format!("ssdlab-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the traces");
    println!(
        "{:<13} {:<36} {:>10} {:>9} {:>9} {:>10} {:>8} {:>8} {:>9}",
        "device", "case", "requests/s", "us/req", "ns/page", "events", "RSS MiB", "start ms", "vs MQSim"
    );
    for (number, case) in cases.iter().enumerate().filter(|(_, case)| case.name.contains(only)) {
        let me = std::env::current_exe().expect("this program's path");
        let output =
            Command::new(me).args(["--case", &number.to_string()]).arg(&folder).output().expect("the case runs");
        print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "case {} failed", case.name);
    }
    fs::remove_dir_all(&folder).expect("the traces are removed");
}

/// Runs one case and prints its row.
fn play(case: &Case, folder: &Path, requests: Option<u64>) {
    let mut config = ssd::presets::load(case.device).expect("a preset").config;
    case.settings.iter().for_each(|word| config.set(word).expect("a valid setting"));
    let capacity = config.plan().expect("a possible device").capacity();
    let source: Box<dyn Source> = match case.replay {
        Replay::Timed(_) => Box::new(TraceFile::open(&trace(case, capacity, folder, requests), None).expect("a trace")),
        Replay::Closed(_) => generator(case).source(capacity, 1).expect("a workload"),
    };
    let before = cpu_seconds();
    let plan = RunOptions { replay: case.replay, requests, ..RunOptions::default() };
    let mut run = Run::new(&config, source, plan, None).expect("a run");
    let started = cpu_seconds() - before;
    while !run.step(100_000).expect("the run goes on") {}
    let outcome = run.finish().expect("the laws hold");
    let seconds = cpu_seconds() - before;
    let counters = &outcome.measured.totals.counters;
    let requests = counters.requests_completed as f64;
    let pages = (counters.pages_read + counters.pages_programmed) as f64;
    let us = seconds * 1e6 / requests;
    let against = case.mqsim_us.map_or(String::new(), |theirs| format!("{:.0}x", theirs / us));
    println!(
        "{:<13} {:<36} {:>10.0} {us:>9.3} {:>9.0} {:>10} {:>8.0} {:>8.1} {against:>9}",
        case.device,
        case.name,
        requests / seconds,
        seconds * 1e9 / pages,
        counters.events,
        peak_mib(),
        started * 1e3,
    );
}

fn generator(case: &Case) -> workload::Workload {
    presets::get(case.workload, case.keys).expect("a preset")
}

/// The case's workload as MQSim ASCII text, streamed to a file; this many requests of it, if said.
fn trace(case: &Case, capacity: Bytes, folder: &Path, requests: Option<u64>) -> PathBuf {
    let lines = requests.unwrap_or(u64::MAX);
    let path = folder.join(format!("{}-{}-{}-{lines}.trace", case.workload, capacity.0, case.keys.concat()));
    if !path.exists() {
        let mut source = generator(case).source(capacity, 1).expect("a workload");
        let mut left = lines;
        let (mut batch, mut text) = (Vec::new(), String::new());
        let mut file = std::io::BufWriter::new(fs::File::create(&path).expect("a trace file"));
        loop {
            batch.clear();
            source.fill(&mut batch, left.min(4096) as usize).expect("requests");
            left -= batch.len() as u64;
            if batch.is_empty() {
                break;
            }
            text.clear();
            for Request { time: Time(time), offset, bytes, op, queue, .. } in &batch {
                let read = u8::from(*op == Op::Read);
                writeln!(text, "{time} {queue} {} {} {read}", offset.0 / 512, bytes.0 / 512).expect("text");
            }
            std::io::Write::write_all(&mut file, text.as_bytes()).expect("the trace is written");
        }
    }
    path
}

fn cpu_seconds() -> f64 {
    // Time on a processor [ns], the first field; Linux only.
    let stat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).map_or(f64::NAN, |ns| ns / 1e9)
}

fn peak_mib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}
