//! Suspension of programs and erases, to the nanosecond: fast12 sections 4.1 and 4.2 with the SLC and MLC chips of its
//! Table 1, on a drive in which nothing else takes time.

use std::cell::RefCell;
use std::rc::Rc;

use nand::DieId;
use ssd::{Config, Device, Drive};
use testing::{Entry, Watch, Watcher, one_plane, watched};
use units::{Bytes, Ppn, Stream, Time};
use workload::{Op, Request};

const SLC: &[&str] = &[
    "chip.t_read=10us",
    "chip.program_loops=5",
    "chip.t_program_pulse=20us",
    "chip.t_program_verify=8us",
    "chip.t_erase_pulse=1500us",
    "chip.t_erase_verify=8us",
];
const MLC: &[&str] = &[
    "chip.t_read=25us",
    "chip.program_loops=15",
    "chip.t_program_pulse=20us",
    "chip.t_program_verify=24us",
    "chip.t_erase_pulse=3300us",
    "chip.t_erase_verify=24us",
];
/// A full drive that collects from its first block on, and suspends everything.
const COLLECTING: &[&str] = &[
    "schedule.suspend_program=inter-phase",
    "schedule.suspend_erase=reset-and-resume",
    "ftl.erase_when=reclaimed",
    "age.fill=1.0",
    "age.precondition=closed-form",
];

fn config(chip: &[&str], settings: &[&str]) -> Config {
    let mut config = one_plane();
    for word in [
        "geometry.pages=12",
        "ftl.over_provisioning=1.0",
        "chip.t_prog=none",
        "chip.t_bers=none",
        "chip.erase_loops=1",
        "chip.program_unit=page",
        "chip.cache_read=false",
        "chip.cache_program=false",
        "bus.bandwidth=none",
        "bus.t_dma=20us",
        "bus.t_command=0us",
        "bus.transfer=page",
        "ecc.t_decode=0us",
        "ecc.buffer=1000",
        "host.t_submit=0us",
        "host.t_complete=0us",
        "host.link_bandwidth=1000GB/s",
        "buffer.dram_bandwidth=1000GB/s",
        "ftl.erase_when=opened",
        "age.fill=0.5",
    ]
    .iter()
    .chain(chip)
    .chain(settings)
    {
        config.set(word).unwrap();
    }
    config
}

const PAGE: u64 = 16_384;

/// Writes the first pages and reads others at the given times; what the die does, and the reads' sense starts.
fn play(config: &Config, writes: u64, reads: &[u64]) -> Vec<Entry> {
    let watch = Watch::default();
    let mut device = watched(config, 1, watch.clone());
    let mut requests: Vec<Request> = Vec::new();
    for page in 0..writes {
        requests.push(Request::new(Time(0), Op::Write, Bytes(page * PAGE), Bytes(PAGE)));
    }
    for (index, time) in reads.iter().enumerate() {
        let offset = Bytes((20 + index as u64) * PAGE);
        requests.push(Request::new(Time(*time), Op::Read, offset, Bytes(PAGE)));
    }
    requests.sort_by_key(|request| request.time);
    for request in requests {
        device.submit(request).unwrap();
    }
    device.flush().unwrap();
    assert_eq!(device.outstanding(), 0);
    device.check().unwrap();
    watch.0.take()
}

/// When the first program begins and ends without reads.
fn alone(config: &Config, kind: &str) -> (u64, u64) {
    let all = play(config, 1, &[]);
    let (_, start, end) = all.iter().find(|(what, ..)| *what == kind).unwrap();
    (*start, *end)
}

/// A read comes `offset` after an operation has begun: how long it waits for its sense, and how much longer the
/// operation takes than alone, beyond the time from the suspension to the resumption.
fn meets(config: &Config, kind: &str, offset: u64) -> (u64, i64) {
    let (start, end) = alone(config, kind);
    let all = play(config, 1, &[start + offset]);
    let of = |what: &str| all.iter().find(|(found, ..)| *found == what).copied();
    let sense = of("sense").unwrap();
    let added = match (of("suspend"), of("resume")) {
        (Some((_, from, _)), Some((_, to, ends))) => (ends - end) as i64 - (to - from) as i64,
        _ => 0,
    };
    (sense.1 - (start + offset), added)
}

#[test]
fn inter_phase_suspension_waits_for_the_end_of_the_phase_and_loads_the_buffer() {
    for (chip, pulse, verify, loops) in [(SLC, 20_000, 8_000, 5), (MLC, 20_000, 24_000, 15)] {
        let config = config(chip, &["schedule.suspend_program=inter-phase"]);
        let cycle = pulse + verify;
        let mut points = std::collections::BTreeSet::new();
        for offset in (0..cycle * loops - 1).step_by(997) {
            let within = offset % cycle;
            let left = if within < pulse { pulse - within } else { cycle - within };
            let (wait, added) = meets(&config, "program", offset);
            assert_eq!(wait, left, "{offset}");
            points.insert(offset + left);
            // T_buffer, unless the program has ended anyway.
            assert_eq!(added, if offset + left < cycle * loops { 3_000 } else { 0 }, "{offset}");
        }
        // fast12 section 4.2: 2 x N_w_cycle points, the last of which is the end.
        assert_eq!(points.len() as u64, 2 * loops);
    }
}

#[test]
fn intra_phase_cancellation_waits_for_the_voltage_reset_at_most() {
    for (chip, pulse, verify, loops) in [(SLC, 20_000u64, 8_000u64, 5u64), (MLC, 20_000, 24_000, 15)] {
        let config = config(chip, &["schedule.suspend_program=intra-phase"]);
        let (cycle, reset, buffer) = (pulse + verify, 4_000u64, 3_000u64);
        for offset in (0..cycle * loops - 1).step_by(997) {
            let within = offset % cycle;
            let (elapsed, length) = if within < pulse { (within, pulse) } else { (within - pulse, verify) };
            let left = length - elapsed;
            let (wait, added) = meets(&config, "program", offset);
            assert_eq!(wait, left.min(reset), "{offset}");
            let lost = if left <= reset {
                0
            } else if within < pulse {
                elapsed + reset + verify
            } else {
                elapsed + reset
            };
            let ends = offset + left >= cycle * loops && left <= reset;
            assert_eq!(added, if ends { 0 } else { (lost + buffer) as i64 }, "{offset}");
        }
    }
}

#[test]
fn an_erase_pulse_keeps_its_progress_and_a_verify_is_done_again() {
    for (chip, pulse, verify) in [(SLC, 1_500_000u64, 8_000u64), (MLC, 3_300_000, 24_000)] {
        let config = config(chip, &["schedule.suspend_erase=reset-and-resume"]);
        for offset in (0..pulse + verify - 1).step_by(49_999).chain((pulse..pulse + verify - 1).step_by(501)) {
            let (left, in_pulse) =
                if offset < pulse { (pulse - offset, true) } else { (pulse + verify - offset, false) };
            let (wait, added) = meets(&config, "erase", offset);
            assert_eq!(wait, left.min(4_000), "{offset}");
            let expected = match (left <= 4_000, in_pulse) {
                (true, _) => 0,
                // The voltages are reset and set again.
                (false, true) => 8_000,
                (false, false) => (offset - pulse) + 4_000,
            };
            assert_eq!(added, expected as i64, "{offset}");
        }
    }
    let boundary = config(SLC, &["schedule.suspend_erase=pulse-boundary", "chip.erase_loops=3"]);
    assert_eq!(meets(&boundary, "erase", 700_000), (800_000, 0));
    assert_eq!(meets(&boundary, "erase", 1_503_000), (5_000, 0));
}

#[test]
fn an_erase_goes_on_to_its_next_safe_point() {
    // Every 300 us of a pulse of 1.5 ms, where the voltages are reset in 4 us and set again.
    let safe = config(SLC, &["schedule.suspend_erase=safe-points", "schedule.safe_points=5"]);
    for (offset, wait) in [(0, 304_000), (299_999, 4_001), (300_001, 303_999), (700_000, 204_000), (1_199_999, 4_001)] {
        assert_eq!(meets(&safe, "erase", offset), (wait, 8_000), "{offset}");
    }
    // What goes on comes to the next one, however soon a read is there.
    let (start, _) = alone(&safe, "erase");
    let all = play(&safe, 1, &[start, start + 336_000]);
    let times =
        |kind: &str| all.iter().filter(|(found, ..)| *found == kind).map(|entry| entry.1 - start).collect::<Vec<_>>();
    assert_eq!(times("suspend"), [304_000, 638_000 + 4_000]);
    // The last one is the end of the pulse; a verify is brought to its end, and with it the erase.
    assert_eq!(meets(&safe, "erase", 1_200_001), (299_999, 0));
    assert_eq!(meets(&safe, "erase", 1_502_000), (6_000, 0));
}

#[test]
fn without_a_shadow_buffer_the_data_is_sent_again() {
    let config = config(SLC, &["schedule.suspend_program=inter-phase", "chip.shadow_buffer=false"]);
    // The bus takes 20 us a page instead of the buffer's 3.
    let (wait, added) = meets(&config, "program", 25_000);
    assert_eq!((wait, added), (3_000, 20_000));
    // Which counts as what prolongs it, and must leave something to spare.
    for (budget, suspends) in [("20us", false), ("20001ns", true)] {
        let mut config = config.clone();
        config.set(&format!("schedule.suspend_budget={budget}")).unwrap();
        let start = alone(&config, "program").0;
        let all = play(&config, 1, &[start + 25_000]);
        assert_eq!(all.iter().any(|(what, ..)| *what == "suspend"), suspends, "{budget}");
    }
}

#[test]
fn operations_are_suspended_again_and_again_within_their_bound() {
    let all_of = |settings: &[&str]| {
        let config = config(SLC, settings);
        let (start, _) = alone(&config, "program");
        // A read every 60 us, and another as soon as the program has gone on.
        let reads: Vec<u64> = (0..40).map(|index| start + 1_000 + index * 60_000).collect();
        play(&config, 1, &reads)
    };
    let count = |all: &[(&str, u64, u64)], what: &str| all.iter().filter(|(found, ..)| *found == what).count();
    let free = all_of(&["schedule.suspend_program=intra-phase"]);
    assert!(count(&free, "suspend") > 4, "{free:?}");
    assert_eq!(count(&free, "suspend"), count(&free, "resume"));
    let bound = all_of(&["schedule.suspend_program=intra-phase", "schedule.suspensions=2"]);
    assert_eq!(count(&bound, "suspend"), 2);
    let end = |all: &[(&str, u64, u64)]| all.iter().rev().find(|(what, ..)| *what == "resume").unwrap().2;
    assert!(end(&bound) < end(&free), "the bound ends the program earlier");
    let none = all_of(&["schedule.suspend_program=none"]);
    assert_eq!(count(&none, "suspend"), 0);
}

#[test]
fn what_ends_soon_is_not_suspended() {
    let erase = config(SLC, &["schedule.suspend_erase=reset-and-resume", "schedule.suspend_erase_left=700us"]);
    // 1.508 ms in all.
    for (offset, wait) in [(100_000, 4_000), (808_000, 4_000), (808_001, 699_999), (1_400_000, 108_000)] {
        assert_eq!(meets(&erase, "erase", offset).0, wait, "{offset}");
    }
    let program = config(SLC, &["schedule.suspend_program=intra-phase", "schedule.suspend_program_left=100us"]);
    // 140 us in all.
    for (offset, wait) in [(10_000, 4_000), (40_000, 4_000), (40_001, 99_999)] {
        assert_eq!(meets(&program, "program", offset).0, wait, "{offset}");
    }
}

#[test]
fn a_read_waits_as_long_as_it_may_before_it_suspends() {
    let settings = ["schedule.suspend_erase=reset-and-resume", "schedule.suspend_after=100us"];
    let late = config(SLC, &settings);
    // The voltages are reset in 4 us, and set again; what ends before is left alone.
    for (offset, met) in [(200_000, (104_000, 8_000)), (1_408_000, (100_000, 0)), (1_450_000, (58_000, 0))] {
        assert_eq!(meets(&late, "erase", offset), met, "{offset}");
    }
    // It is the oldest read that counts.
    let (start, _) = alone(&late, "erase");
    let all = play(&late, 1, &[start + 200_000, start + 290_000]);
    let suspends: Vec<u64> = all.iter().filter(|(what, ..)| *what == "suspend").map(|(_, at, _)| at - start).collect();
    assert_eq!(suspends, [304_000]);
}

#[test]
fn what_goes_on_gets_on_before_it_is_suspended_again() {
    // A read every 50 us, which takes 30: a program of 140 us goes on between two of them, and is suspended by the
    // next.
    let all_of = |settings: &[&str]| {
        let config = config(SLC, &[&["schedule.suspend_program=inter-phase"], settings].concat());
        let (start, _) = alone(&config, "program");
        let reads: Vec<u64> = (0..100).map(|index| start + 1_000 + index * 50_000).collect();
        play(&config, 1, &reads)
    };
    let runs = |all: &[Entry]| -> Vec<u64> {
        let of = |kind: &str| all.iter().filter(|(what, ..)| *what == kind).map(|(_, at, _)| *at).collect::<Vec<u64>>();
        let (suspends, resumes) = (of("suspend"), of("resume"));
        resumes.iter().zip(&suspends[1..]).map(|(resume, suspend)| suspend - resume).collect()
    };
    // Loading the buffer takes 3 us; then it goes to the end of a phase, of 8 or 20 us, from 60 us on.
    let free = all_of(&[]);
    assert!(runs(&free).iter().any(|run| *run < 60_000), "{free:?}");
    let gets_on = all_of(&["schedule.suspend_progress=60us"]);
    let lengths = runs(&gets_on);
    assert!(!lengths.is_empty() && lengths.iter().all(|run| (63_000..=83_000).contains(run)), "{gets_on:?}");
}

#[test]
fn suspensions_prolong_an_operation_by_no_more_than_their_budget() {
    // A read every 25 us, which takes 30 and a transfer: the erase goes on when none waits, or when it must.
    let erased = |budget: &str| {
        let budget = format!("schedule.suspend_budget={budget}");
        let config = config(SLC, &["schedule.suspend_erase=reset-and-resume", &budget]);
        let (start, end) = alone(&config, "erase");
        let reads: Vec<u64> = (0..200).map(|index| start + 200_000 + index * 25_000).collect();
        let all = play(&config, 1, &reads);
        let of = |kind: &str| all.iter().filter(|(what, ..)| *what == kind).copied().collect::<Vec<Entry>>();
        let senses: Vec<u64> = of("sense").iter().map(|(_, at, _)| at - start).collect();
        let (suspends, resumes) = (of("suspend"), of("resume"));
        let at = |all: &[Entry]| all.iter().map(|(_, at, _)| at - start).collect::<Vec<u64>>();
        (at(&suspends), at(&resumes), resumes.last().map_or(0, |(_, _, ends)| ends - end), senses)
    };
    let (suspends, resumes, added, _) = erased("none");
    assert!(suspends[0] == 204_000 && resumes[0] > 5_000_000 && added > 4_800_000, "{suspends:?} {resumes:?}");
    // The voltages are set again in 4 us: it is to go on 496 us after it has got so far, and the read that has begun by
    // then ends.
    let (suspends, resumes, added, senses) = erased("500us");
    let by = 200_000 + 500_000 - 4_000;
    let last = senses.iter().rfind(|at| **at < resumes[0]).unwrap();
    assert_eq!(suspends, [204_000]);
    assert!(*last < by && resumes[0] >= by && resumes[0] <= last + 60_000, "{last} {resumes:?}");
    assert_eq!(added, resumes[0] - 200_000 + 4_000);
    // Resetting the pulse's voltages and setting them again takes 8 us, which must leave something to spare; repeating
    // the verify takes 4.
    assert_eq!(erased("8us").0, [1_504_000]);
    assert_eq!(erased("8001ns").0[0], 204_000);
}

#[test]
fn passes_of_a_program_are_one_operation() {
    // Two passes, of 500 and 900 us; a read every 40 us, which takes 30 and suspends.
    let passes = [
        "chip.t_read=10us",
        "chip.t_prog=[500us,900us]",
        "chip.program_passes=2",
        "chip.program_unit=wordline",
        "buffer.mode=write-through",
        "chip.t_erase_pulse=1500us",
        "chip.t_erase_verify=8us",
    ];
    let played = |settings: &[&str]| {
        let config = config(&passes, &[&["schedule.suspend_program=inter-phase"], settings].concat());
        let (start, _) = alone(&config, "program");
        let mut device = Device::new(&config, 1).unwrap();
        device.submit(Request::new(Time(0), Op::Write, Bytes(0), Bytes(PAGE))).unwrap();
        for index in 0..150 {
            let time = Time(start + 1_000 + index * 40_000);
            device.submit(Request::new(time, Op::Read, Bytes((20 + index % 20) * PAGE), Bytes(PAGE))).unwrap();
        }
        device.flush().unwrap();
        device.check().unwrap();
        let counters = device.counters();
        // The erase of the opened block is the other operation.
        assert_eq!((counters.operations, counters.operations_suspended), (2, 1), "{settings:?}");
        assert_eq!(counters.suspended_nominal_ns, 1_400_000, "{settings:?}");
        (counters.program_suspensions, counters.suspended_ns - 1_400_000)
    };
    let (times, added) = played(&[]);
    assert!(times > 8, "{times}");
    assert_eq!(played(&["schedule.suspensions=1"]).0, 1);
    assert_eq!(played(&["schedule.suspensions=7"]).0, 7);
    // It goes on when it must, behind the read that has begun.
    let (fewer, within) = played(&["schedule.suspend_budget=100us"]);
    assert!(fewer < times && within < added && within <= 100_000 + 60_000, "{fewer} {within} of {times} {added}");
}

#[test]
fn one_die_of_a_chip_has_suspended_something_at_a_time() {
    let dies = ["schedule.suspend_program=intra-phase", "geometry.dies=2", "bus.die_interleaving=true"];
    let of = |all: &[Entry], kind: &str| {
        all.iter().filter(|(what, ..)| *what == kind).map(|(_, at, _)| *at).collect::<Vec<u64>>()
    };
    // Both dies program, and a read waits at each.
    let start = of(&play(&config(SLC, &dies), 2, &[]), "program")[1];
    let reads = [start + 10_000, start + 10_000];
    let each = play(&config(SLC, &dies), 2, &reads);
    assert_eq!(of(&each, "suspend"), [start + 14_000; 2], "{each:?}");
    let one = play(&config(SLC, &[&dies[..], &["schedule.suspend_one_of_chip=true"]].concat()), 2, &reads);
    let (suspends, resumes) = (of(&one, "suspend"), of(&one, "resume"));
    assert_eq!(suspends[0], start + 14_000, "{one:?}");
    assert!(suspends.get(1).is_none_or(|second| *second >= resumes[0] + 4_000), "{one:?}");
}

#[test]
fn an_erase_lets_programs_of_the_host_go_first() {
    let played = |settings: &[&str], extra: Option<u64>| {
        let watch = Watch::default();
        let mut device = watched(&config(SLC, &[COLLECTING, settings].concat()), 1, watch.clone());
        let mut writes: Vec<u64> = (0..40).map(|index| 1_000_000 + index * 5_000_000).collect();
        writes.extend(extra);
        writes.sort_unstable();
        for (index, time) in writes.iter().enumerate() {
            let offset = Bytes(index as u64 * 11 % 60 * PAGE);
            device.submit(Request::new(Time(*time), Op::Write, offset, Bytes(PAGE))).unwrap();
        }
        device.flush().unwrap();
        device.check().unwrap();
        device.check_mapping().unwrap();
        watch.0.take()
    };
    let (start, end) = {
        let all = played(&[], None);
        let (_, start, end) = all.iter().find(|(what, ..)| *what == "erase").copied().unwrap();
        (start, end)
    };
    let writes = Some(start + 500_000);
    let from = |all: &[Entry], kind: &str| all.iter().find(|(what, at, _)| *what == kind && *at > start).copied();
    // For reads alone the write waits for the erase.
    let reads = played(&[], writes);
    assert_eq!(from(&reads, "suspend"), None);
    assert!(from(&reads, "program").unwrap().1 >= end, "{reads:?}");
    let both = played(&["schedule.suspend_erase_for=reads-and-writes"], writes);
    let (_, suspended, _) = from(&both, "suspend").unwrap();
    let (_, program, programmed) = from(&both, "program").unwrap();
    let (_, resumed, erased) = from(&both, "resume").unwrap();
    // The voltages are reset in 4 us, the data takes 20 us, and the erase goes on as soon as it is programmed: its
    // voltages are set again.
    assert!((start + 500_000..start + 530_000).contains(&(suspended - 4_000)), "{both:?}");
    assert_eq!((program, programmed, resumed), (suspended + 20_000, program + 140_000, programmed), "{both:?}");
    assert_eq!(erased, end + (resumed - suspended) + 8_000);
}

#[test]
fn a_suspended_program_leaves_errors_in_its_pages_alone() {
    let settings = ["schedule.suspend_program=inter-phase", "chip.model=tlc48", "chip.suspended_program_errors=1000"];
    let config = config(SLC, &settings);
    let (start, end) = alone(&config, "program");
    // Two pages are programmed, one of them suspended; then both are read.
    let lost = |offset: u64| {
        let mut device = Device::new(&config, 1).unwrap();
        let far = end + 10_000_000;
        for request in [
            Request::new(Time(0), Op::Write, Bytes(0), Bytes(PAGE)),
            Request::new(Time(start + offset), Op::Read, Bytes(20 * PAGE), Bytes(PAGE)),
            Request::new(Time(far), Op::Write, Bytes(PAGE), Bytes(PAGE)),
            Request::new(Time(2 * far), Op::Read, Bytes(0), Bytes(PAGE)),
            Request::new(Time(3 * far), Op::Read, Bytes(PAGE), Bytes(PAGE)),
            Request::new(Time(4 * far), Op::Write, Bytes(0), Bytes(PAGE)),
            Request::new(Time(5 * far), Op::Read, Bytes(0), Bytes(PAGE)),
        ] {
            device.submit(request).unwrap();
        }
        device.flush().unwrap();
        device.check().unwrap();
        device.take_completions().map(|done| done.uncorrectable).collect::<Vec<_>>()
    };
    let mut expected = [false; 7];
    assert_eq!(lost(end), expected);
    expected[3] = true;
    assert_eq!(lost(10_000), expected);
}

#[test]
fn only_user_reads_suspend_and_only_where_the_order_lets_them_go_first() {
    let fifo = config(SLC, &["schedule.suspend_program=intra-phase", "schedule.order=fifo"]);
    let (start, end) = alone(&fifo, "program");
    assert_eq!(meets(&fifo, "program", 10_000).0, end - start - 10_000);
    // A suspended die takes no other program: the second starts when the first has ended.
    let two = config(SLC, &["schedule.suspend_program=intra-phase"]);
    let all = play(&two, 2, &[start + 10_000]);
    let ends = all.iter().find(|(what, ..)| *what == "resume").unwrap().2;
    let programs: Vec<u64> = all.iter().filter(|(what, ..)| *what == "program").map(|(_, start, _)| *start).collect();
    assert!(programs.len() == 2 && programs[1] >= ends, "{all:?}");
}

#[test]
fn the_mean_wait_is_that_of_equation_1() {
    // fast12 Eq. 1: 8.29 us for SLC, 11.09 us for MLC.
    for (chip, total, published) in [(SLC, 140_000u64, 8.29), (MLC, 660_000, 11.09)] {
        let config = config(chip, &["schedule.suspend_program=inter-phase"]);
        let draws = Stream::new(1, "offsets");
        let sum: u64 = (0..3_000).map(|index| meets(&config, "program", draws.below(index, total)).0).sum();
        let mean = sum as f64 / 3e6;
        assert!((mean / published - 1.0).abs() < 0.03, "{mean} for {published}");
    }
}

#[test]
fn a_full_write_queue_is_served_in_order() {
    let all_of = |settings: &[&str]| play(&config(SLC, settings), 6, &[50_000, 100_000, 150_000, 400_000, 500_000]);
    let ipc = "schedule.suspend_program=intra-phase";
    let fifo = all_of(&["schedule.order=fifo"]);
    assert_eq!(all_of(&[ipc, "schedule.write_queue=0"]), fifo);
    assert_eq!(all_of(&[ipc, "schedule.write_queue=7"]), all_of(&[ipc]));
    // Six pages wait at first: with a limit of three, the first reads come after three programs.
    let limited = all_of(&[ipc, "schedule.write_queue=3"]);
    let before = limited.iter().take_while(|(what, ..)| *what != "sense");
    assert!(
        before.filter(|(what, ..)| *what == "program").count() >= 3 && limited != fifo && limited != all_of(&[ipc]),
        "{limited:?}"
    );
}

#[test]
fn a_loaded_program_waits_in_the_cache_registers_while_its_die_is_suspended() {
    let settings = ["schedule.suspend_program=intra-phase", "chip.cache_program=true", "chip.cache_read=true"];
    let (start, end) = alone(&config(SLC, &settings), "program");
    // The second page's data is in when the read comes.
    let all = play(&config(SLC, &settings), 2, &[start + 60_000, start + 60_000]);
    let of = |what: &str| all.iter().filter(|(found, ..)| *found == what).copied().collect::<Vec<_>>();
    let (senses, resume) = (of("sense"), of("resume"));
    assert!(senses[0].1 <= start + 64_000, "{all:?}");
    // The page leaves from the page register: the second sense waits for the bus's 20 us, and the program for both.
    assert_eq!(senses[1].1, senses[0].2 + 20_000, "{all:?}");
    assert_eq!((resume.len(), resume[0].1), (1, senses[1].2 + 20_000), "{all:?}");
    let programs = of("program");
    assert_eq!((programs.len(), programs[1].1), (2, resume[0].2), "the loaded program follows at once");
    assert!(resume[0].2 > end);
    // Without a shadow buffer there is no place for the data of the first.
    let bare = play(&config(SLC, &[&settings[..], &["chip.shadow_buffer=false"]].concat()), 2, &[start + 60_000]);
    assert!(bare.iter().all(|(what, now, _)| *what != "suspend" || *now > end), "{bare:?}");
}

#[test]
fn the_drives_own_programs_and_erases_are_suspended_for_user_reads() {
    let settings = [COLLECTING, &["gc.idle=100us", "gc.idle_stop=20"]].concat();
    let watch = Watch::default();
    let mut device = watched(&config(SLC, &settings), 1, watch.clone());
    for index in 0..2_000u64 {
        let offset = Bytes(index * 7 % 300 * PAGE);
        let time = Time(1_000_000 + index * 130_000);
        device.submit(Request::new(time, Op::Read, offset, Bytes(PAGE))).unwrap();
    }
    device.flush().unwrap();
    device.check().unwrap();
    let counters = device.counters();
    assert_eq!(counters.user_pages_programmed, 0);
    assert!(counters.program_suspensions > 10 && counters.erase_suspensions > 0, "{counters:?}");
}

#[test]
fn the_statistics_say_what_suspension_did() {
    // A read 25 us after the program's beginning: at the end of the verify, 3 us on, it is suspended, for 10 us of
    // sense and 20 us of transfer, and loses T_buffer.
    let config = config(SLC, &["schedule.suspend_program=inter-phase"]);
    let (start, _) = alone(&config, "program");
    let mut device = Device::new(&config, 1).unwrap();
    for (time, page, op) in [(0, 0, Op::Write), (start + 25_000, 20, Op::Read), (10_000_000, 1, Op::Write)] {
        let request = Request::new(Time(time), op, Bytes(page * PAGE), Bytes(PAGE));
        device.submit(request).unwrap();
    }
    device.flush().unwrap();
    let counters = device.counters();
    assert_eq!((counters.program_suspensions, counters.erase_suspensions), (1, 0));
    // Two programs, and the erase of the block that they opened.
    assert_eq!((counters.operations_suspended, counters.operations), (1, 3));
    assert_eq!((counters.suspended_ns, counters.suspended_nominal_ns), (140_000 + 33_000, 140_000));
}

/// Follows one operation at a time of a die: inter-phase programs to the nanosecond, erases within their bounds.
#[derive(Clone, Default)]
struct Ledger(Rc<RefCell<Account>>);

#[derive(Default)]
struct Account {
    /// Of the operation: whether it is a program, its full length, since when it runs and until when, what it has done
    /// up to then, what it must do first, and the active time so far.
    program: bool,
    length: u64,
    since: u64,
    end: u64,
    done: u64,
    setup: u64,
    active: u64,
    times: u64,
    suspended: bool,
    reads_in_progress: u64,
    suspensions: u64,
}

impl Account {
    fn begin(&mut self, program: bool, start: Time, end: Time) {
        assert!(!self.suspended && start.0 >= self.end, "one operation at a time");
        let (reads_in_progress, suspensions) = (self.reads_in_progress + 1, self.suspensions);
        *self = Account {
            program,
            length: end.0 - start.0,
            since: start.0,
            end: end.0,
            reads_in_progress,
            suspensions,
            ..*self
        };
        (self.done, self.setup, self.active, self.times) = (0, 0, 0, 0);
    }
}

impl Watcher for Ledger {
    fn program(&mut self, start: Time, end: Time, _: DieId, _: u8) {
        self.0.borrow_mut().begin(true, start, end);
    }
    fn erase(&mut self, start: Time, end: Time, _: DieId, _: u8) {
        self.0.borrow_mut().begin(false, start, end);
    }
    fn sense(&mut self, start: Time, _: Time, _: DieId, _: Ppn) {
        let account = self.0.borrow();
        assert!(account.suspended || start.0 >= account.end, "a sense while the array is busy");
    }
    fn suspend(&mut self, now: Time, _: DieId) {
        let account = &mut *self.0.borrow_mut();
        assert!(!account.suspended && now.0 < account.end, "what has ended is not suspended");
        let stretch = now.0 - account.since;
        // A voltage reset while the buffer was being loaded: it has not got on.
        let stuck = account.setup > 0 && stretch < account.setup + 4_000;
        if account.program && !stuck {
            account.done += stretch - account.setup;
            assert!(matches!(account.done % 28_000, 0 | 20_000), "between phases");
        }
        account.active += stretch;
        (account.suspended, account.times, account.suspensions) = (true, account.times + 1, account.suspensions + 1);
    }
    fn resume(&mut self, now: Time, end: Time, _: DieId) {
        let account = &mut *self.0.borrow_mut();
        assert!(account.suspended, "what goes on was suspended");
        account.suspended = false;
        let left = end.0 - now.0;
        if account.program {
            assert_eq!(left, 3_000 + account.length - account.done);
            account.setup = 3_000;
        } else {
            // Each suspension resets the voltages and sets them again, or does a verify of 8 us again.
            let total = account.active + left;
            assert!((account.length..=account.length + account.times * 12_000).contains(&total), "{total}");
        }
        (account.since, account.end) = (now.0, end.0);
    }
}

#[test]
fn a_million_suspensions_lose_nothing_and_do_nothing_twice() {
    let settings = [COLLECTING, &["buffer.size=192KiB"]].concat();
    let ledger = Ledger::default();
    let mut device = watched(&config(SLC, &settings), 1, ledger.clone());
    let draws = Stream::new(3, "suspensions");
    let (mut time, mut index, mut requests, mut completed) = (0, 0u64, 0u64, 0u64);
    while ledger.0.borrow().suspensions < 1_000_000 {
        for _ in 0..10_000 {
            time += draws.below(3 * index, 90_000);
            let op = if draws.below(3 * index + 1, 20) == 0 { Op::Write } else { Op::Read };
            let offset = Bytes(draws.below(3 * index + 2, 380) * PAGE);
            device.submit(Request::new(Time(time), op, offset, Bytes(PAGE))).unwrap();
            (index, requests) = (index + 1, requests + 1);
        }
        device.flush().unwrap();
        completed += device.take_completions().count() as u64;
        assert!(!ledger.0.borrow().suspended, "something waits for ever");
        time = time.max(device.now().0);
    }
    let counters = device.counters();
    let account = ledger.0.borrow();
    assert_eq!(completed, requests);
    assert_eq!(
        (account.reads_in_progress, account.suspensions),
        (counters.operations, counters.program_suspensions + counters.erase_suspensions)
    );
    assert!(counters.erase_suspensions > 1_000 && counters.blocks_erased > 100, "{counters:?}");
    device.check().unwrap();
}
