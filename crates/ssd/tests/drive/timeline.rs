//! A timeline is what the device's own usage statistics sum up, to the nanosecond, for any device and load and in any
//! window; and shows a retried read as what it is.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use prost::Message;
use ssd::stats::{Usage, channel, die};
use ssd::timeline::perfetto::{EventType, Trace};
use ssd::{Completion, Config, Device, Drive, Timeline, Watch, watch};
use testing::{cases, config, devices, living_devices, loads, one_plane, requests};
use units::{Bytes, Span, Time};
use workload::{Op, Request};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Clone, Debug)]
struct Slice {
    name: String,
    from: u64,
    to: u64,
    depth: usize,
    flows: Vec<u64>,
    notes: BTreeMap<String, u64>,
}

/// The slices of a track's path, such as `drive/channel 0/die 1`, parents before what is in them; values of counters.
struct Shown {
    tracks: BTreeMap<String, Vec<Slice>>,
    counters: BTreeMap<String, Vec<(u64, i64)>>,
}

impl Shown {
    /// Reads a file as the format says: names and parents of tracks, and slices that begin and end in turn on each.
    fn read(file: &[u8]) -> Shown {
        let trace = Trace::decode(file).expect("the file is a trace");
        let (mut names, mut open) = (BTreeMap::new(), BTreeMap::<u64, Vec<usize>>::new());
        let mut shown = Shown { tracks: BTreeMap::new(), counters: BTreeMap::new() };
        let mut lanes = BTreeMap::<String, u64>::new();
        let mut last = BTreeMap::<u64, u64>::new();
        for packet in trace.packet {
            if let Some(track) = packet.track_descriptor {
                let own = track.name.unwrap();
                let path = match track.parent_uuid {
                    Some(parent) => format!("{}/{own}", names.get(&parent).expect("a parent comes first")),
                    None => own,
                };
                // Lanes have a name in common.
                let count = lanes.entry(path.clone()).or_default();
                *count += 1;
                let path = if *count > 1 { format!("{path}#{count}") } else { path };
                names.insert(track.uuid.unwrap(), path);
                continue;
            }
            let (time, event) = (packet.timestamp.unwrap(), packet.track_event.unwrap());
            let track = event.track_uuid.unwrap();
            let path = names[&track].clone();
            assert!(last.insert(track, time).is_none_or(|before| before <= time), "{path} is in order at {time}");
            let open = open.entry(track).or_default();
            match EventType::try_from(event.r#type.unwrap()).unwrap() {
                EventType::SliceBegin => {
                    let slices = shown.tracks.entry(path).or_default();
                    let notes = event.debug_annotations.into_iter();
                    slices.push(Slice {
                        name: event.name.unwrap(),
                        from: time,
                        to: u64::MAX,
                        depth: open.len(),
                        flows: event.flow_ids,
                        notes: notes.filter_map(|note| Some((note.name?, note.uint_value?))).collect(),
                    });
                    open.push(slices.len() - 1);
                }
                EventType::SliceEnd => {
                    let index = open.pop().expect("a slice has begun");
                    shown.tracks.get_mut(&path).unwrap()[index].to = time;
                }
                EventType::Counter => {
                    shown.counters.entry(path).or_default().push((time, event.counter_value.unwrap()));
                }
                EventType::Instant => panic!("there are none"),
            }
        }
        assert!(open.values().all(Vec::is_empty), "every slice ends");
        shown
    }

    /// The outer slices of the tracks whose path begins and ends so.
    fn slices<'a>(&'a self, begin: &'a str, end: &'a str) -> impl Iterator<Item = &'a Slice> {
        let found = self.tracks.iter().filter(move |(path, _)| {
            let path = path.split('#').next().unwrap_or(path);
            path.starts_with(begin) && path.ends_with(end)
        });
        found.flat_map(|(_, slices)| slices).filter(|slice| slice.depth == 0)
    }

    /// The time that a track's slices of a name take within a window.
    fn time(&self, path: &str, name: &str, window: (u64, u64)) -> u64 {
        let slices = self.tracks.get(path).into_iter().flatten();
        slices.filter(|slice| slice.depth == 0 && slice.name == name).map(|slice| within(slice, window)).sum()
    }

    /// Compares everything that the usage statistics know with them.
    fn check(&self, config: &Config, usage: &Usage, before: Option<&Usage>, window: (u64, u64)) {
        let less = |time: Span, before: Option<Span>| time.0 - before.map_or(0, |span| span.0);
        let per_channel = usage.dies.len() / usage.channels.len();
        for (index, times) in usage.dies.iter().enumerate() {
            let path = format!("drive/channel {}/die {index}", index / per_channel);
            for (cause, (name, _)) in die::CAUSES.iter().enumerate().skip(1) {
                let expected = less(times[cause], before.map(|usage| usage.dies[index][cause]));
                assert_eq!(self.time(&path, name, window), expected, "{path} {name}");
            }
        }
        for (index, times) in usage.channels.iter().enumerate() {
            let path = format!("drive/channel {index}");
            for (cause, (name, _)) in channel::CAUSES.iter().enumerate().skip(1) {
                let expected = less(times[cause], before.map(|usage| usage.channels[index][cause]));
                assert_eq!(self.time(&path, name, window), expected, "{path} {name}");
            }
            if before.is_none() {
                let engine = format!("{path}/ECC engine {index}/");
                let busy: u64 = self.slices(&engine, "decoder").map(|slice| within(slice, window)).sum();
                assert_eq!(busy / u64::from(config.ecc.decoders), usage.decoders[index].0, "{engine}");
            }
        }
        let servers = [
            ("link in", usage.link_in, before.map(|usage| usage.link_in)),
            ("link out", usage.link_out, before.map(|usage| usage.link_out)),
            ("DRAM", usage.dram, before.map(|usage| usage.dram)),
        ];
        for (name, time, before) in servers {
            assert_eq!(self.time(&format!("drive/{name}"), "transfer", window), less(time, before), "{name}");
        }
        // The host has a request in the drive from when the device works on it until it completes.
        let with_request = self.tracks.iter().filter(|(path, _)| path.starts_with("drive/queue"));
        let mut stretches = Vec::new();
        for (_, slices) in with_request {
            let mut at = 0;
            for slice in slices {
                match slice.depth {
                    0 => stretches.push((slice.from, slice.to)),
                    _ if slice.name == "host queue" => stretches.last_mut().unwrap().0 = slice.to,
                    _ => assert!(slice.from == at || stretches.last().unwrap().0 >= slice.from, "no gap"),
                }
                at = slice.to;
            }
        }
        let expected = less(usage.host, before.map(|usage| usage.host));
        assert_eq!(union(stretches, window).iter().map(|(from, to)| to - from).sum::<u64>(), expected, "host");
    }

    /// Programs on planes are the dies' time for programming; senses lie within their time for reading.
    fn check_planes(&self, usage: &Usage) {
        let all = (0, u64::MAX);
        for (index, times) in usage.dies.iter().enumerate() {
            let die = format!("/die {index}/plane");
            let on_planes = |wanted: &dyn Fn(&str) -> bool| {
                let planes = self.tracks.iter().filter(|(path, _)| path.contains(&die));
                let slices = planes.flat_map(|(_, slices)| slices).filter(|s| s.depth == 0 && wanted(&s.name));
                union(slices.map(|slice| (slice.from, slice.to)).collect(), all)
            };
            let programs: u64 = on_planes(&|name| name.starts_with("program")).iter().map(|(a, b)| b - a).sum();
            assert_eq!(programs, times[die::PROGRAM].0, "{die}");
            let own = self.tracks.iter().find(|(path, _)| path.ends_with(&format!("/die {index}")));
            let causes: Vec<&Slice> = own.map_or(Vec::new(), |(_, slices)| slices.iter().collect());
            for (what, cause) in [("erase", "erase"), ("", "read")] {
                let wanted = |name: &str| {
                    if cause == "erase" {
                        name.starts_with(what)
                    } else {
                        !name.starts_with("program") && !name.starts_with("erase")
                    }
                };
                let times = causes.iter().filter(|slice| slice.name == cause).map(|slice| (slice.from, slice.to));
                let times = union(times.collect(), all);
                for (from, to) in on_planes(&wanted) {
                    assert!(times.iter().any(|(a, b)| *a <= from && to <= *b), "{die}: {cause} {from}..{to}");
                }
            }
        }
    }
}

fn within(slice: &Slice, window: (u64, u64)) -> u64 {
    slice.to.min(window.1).saturating_sub(slice.from.max(window.0))
}

/// Stretches of time as one set.
fn union(mut stretches: Vec<(u64, u64)>, window: (u64, u64)) -> Vec<(u64, u64)> {
    stretches.sort_unstable();
    let mut found: Vec<(u64, u64)> = Vec::new();
    for (from, to) in stretches {
        let (from, to) = (from.max(window.0), to.min(window.1));
        match found.last_mut() {
            _ if from >= to => {}
            Some(last) if last.1 >= from => last.1 = last.1.max(to),
            _ => found.push((from, to)),
        }
    }
    found
}

/// Plays requests to the end under a timeline of some windows: what it shows, and the usage at both ends of the first
/// window and at the end.
fn played(config: &Config, requests: &[Request], window: Option<(u64, u64)>) -> (Shown, [Usage; 3], Vec<Completion>) {
    let file = Shared::default();
    let windows = vec![window.map_or((Time::ZERO, Time::NEVER), |(from, to)| (Time(from), Time(to)))];
    let timeline = watch::shared(Timeline::new(&config.plan().unwrap(), windows, Box::new(file.clone())));
    let mut device = Device::watched(config, 1, Watch::drawing(&timeline)).unwrap();
    device.workload_begins();
    for request in requests {
        device.submit(*request).unwrap();
    }
    let mut usages = [Usage::default(), Usage::default(), Usage::default()];
    if let Some((from, to)) = window {
        for (usage, time) in usages.iter_mut().zip([from, to]) {
            device.advance(Time(time)).unwrap();
            *usage = device.usage();
        }
    }
    device.flush().unwrap();
    let completions = device.take_completions().collect();
    let now = device.now();
    usages[2] = device.usage();
    let size = watch::seen_by(&timeline).finish(now).unwrap();
    let file = file.0.lock().unwrap();
    assert_eq!(size, file.len() as u64);
    (Shown::read(&file), usages, completions)
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn a_timeline_is_the_usage_statistics(
        settings in prop_oneof![devices(), living_devices()],
        load in loads(),
        window in (0.0..1.0f64, 0.0..1.0f64),
    ) {
        let config = config(&settings);
        let capacity = Device::new(&config, 1).unwrap().capacity().0;
        let requests: Vec<Request> =
            requests(&load).into_iter().filter(|request| request.offset.0 + request.bytes.0 <= capacity).collect();
        let (shown, [_, _, usage], completions) = played(&config, &requests, None);
        // The DRAM may still store, for the read cache, what the last read brought along.
        shown.check(&config, &usage, None, (0, usage.elapsed.0));
        shown.check_planes(&usage);
        let of: BTreeMap<u64, &Slice> = shown
            .slices("drive/queue", "requests")
            .map(|slice| (slice.notes["request"], slice))
            .collect();
        prop_assert_eq!(of.len(), completions.len());
        let mut arrows = BTreeMap::<u64, Vec<&Slice>>::new();
        for slice in shown.tracks.iter().filter(|(path, _)| path.contains("/plane")).flat_map(|(_, slices)| slices) {
            slice.flows.iter().for_each(|flow| arrows.entry(*flow).or_default().push(slice));
        }
        for done in &completions {
            let slice = of[&done.id];
            prop_assert_eq!((slice.from, slice.to), (done.request.time.0, done.finish.0));
            prop_assert_eq!(slice.notes["latency_ns"], done.latency().0);
            if done.request.op == Op::Read {
                for flow in &slice.flows {
                    let senses = &arrows[flow];
                    prop_assert!(senses.iter().all(|sense| sense.notes["request"] == done.id), "{:?}", senses);
                    prop_assert!(senses[0].from >= slice.from && senses[0].name.contains("sense"), "{:?}", senses);
                }
            }
        }
        let end = usage.elapsed.0 as f64;
        let (from, to) = ((window.0.min(window.1) * end) as u64, (window.0.max(window.1) * end) as u64);
        let (shown, [before, after, _], _) = played(&config, &requests, Some((from, to)));
        shown.check(&config, &after, Some(&before), (from, to));
    }
}

/// Without CACHE READ nothing is speculative, what the controller reads of sentinel cells included, which is not
/// decoded.
#[test]
fn retries_that_wait_for_what_was_before_are_not_called_speculative() {
    let mut config = one_plane();
    let model = format!("chip.model={}", testing::measured_steps());
    for word in ["ftl.over_provisioning=1.0", "read.next=sentinel", "read.pipeline=off", &model] {
        config.set(word).unwrap();
    }
    let (shown, _, _) = played(&config, &testing::lone_reads(), None);
    let names: Vec<&str> =
        shown.tracks["drive/channel 0/die 0/plane 0"].iter().map(|slice| slice.name.as_str()).collect();
    assert!(names.iter().any(|name| name.contains("sentinel cells")), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("retry 2")), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("speculative")), "{names:?}");
}

/// One retried read: its senses by name, the speculative one that was in vain, RESET, and a suspended erase with its
/// pulses.
#[test]
fn retries_speculation_and_suspensions_have_names() {
    let mut config = one_plane();
    let model = format!("chip.model={}", testing::measured_steps());
    for word in [
        "ftl.over_provisioning=1.0",
        "chip.t_read=60us",
        "read.pipeline=cache-read",
        "chip.t_rst=5us",
        "chip.cache_read=true",
        &model,
    ] {
        config.set(word).unwrap();
    }
    let reads = testing::lone_reads();
    let (shown, _, _) = played(&config, &reads, None);
    let plane = &shown.tracks["drive/channel 0/die 0/plane 0"];
    let mut longest = 0;
    for read in 0..40 {
        let names: Vec<&str> =
            plane.iter().filter(|s| s.notes.get("request") == Some(&read)).map(|s| s.name.as_str()).collect();
        assert_eq!(names[0], "sense", "{names:?}");
        let retries = names.len() as u64 - 1;
        longest = longest.max(retries);
        if retries > 0 {
            // The one after the last that was needed had begun.
            assert_eq!(names[names.len() - 1], format!("speculative retry {retries}, in vain"), "{names:?}");
        }
    }
    assert!(longest > 3, "some page is retried: {longest}");
    assert!(plane.iter().any(|slice| slice.name == "RESET" && slice.to - slice.from == 5_000));

    let mut config = one_plane();
    for word in [
        "geometry.pages=12",
        "ftl.over_provisioning=1.0",
        "ftl.erase_when=opened",
        "chip.t_read=60us",
        "chip.t_bers=none",
        "chip.erase_loops=3",
        "chip.t_erase_pulse=1ms",
        "chip.t_erase_verify=100us",
        "schedule.suspend_erase=pulse-boundary",
        "schedule.order=read-first",
        "buffer.mode=write-through",
    ] {
        config.set(word).unwrap();
    }
    let write = Request::new(Time(0), Op::Write, Bytes(0), Bytes(16_384));
    let read = Request { time: Time(500_000), offset: Bytes(1 << 20), op: Op::Read, ..write };
    let (shown, _, _) = played(&config, &[write, read], None);
    let plane = &shown.tracks["drive/channel 0/die 0/plane 0"];
    let names: Vec<(usize, &str, u64)> = plane.iter().map(|s| (s.depth, s.name.as_str(), s.to - s.from)).collect();
    let erase = &names[..9];
    let found: Vec<&str> = erase.iter().map(|(_, name, _)| *name).collect();
    let expected =
        ["erase", "pulse 1", "sense", "erase, resumed", "verify 1", "pulse 2", "verify 2", "pulse 3", "verify 3"];
    assert_eq!(found, expected, "{names:?}");
    assert_eq!(erase[1], (1, "pulse 1", 1_000_000));
    let suspended = &shown.tracks["drive/channel 0/die 0/suspended"];
    assert_eq!(suspended.len(), 1);
    assert_eq!(suspended[0].name, "erase suspended");
    // The write's arrow leads to its program.
    let program = plane.iter().find(|slice| slice.name == "program").unwrap();
    let request = shown.slices("drive/queue", "requests").find(|slice| slice.name.starts_with("write")).unwrap();
    assert_eq!(program.flows, request.flows);
}
