//! Each finding from both sides of its threshold: what a run has measured is set to just below it and to just at it.

use units::{Retention, Span, Time};
use workload::{Number, Op, SourceStatistic};

use super::super::course::{Arrivals, Point};
use super::super::replay::Run;
use super::super::{Replay, RunOptions};
use super::*;
use crate::config::Config;
use crate::observe::stats::{Measured, Outside, Start, SteadyState, Trend, Warmed, die};
use crate::status::Status;

/// A run that nothing puts in doubt: reads of a drive that keeps up.
struct Case {
    measured: Measured,
    course: Vec<Point>,
    arrivals: Arrivals,
}

impl Case {
    fn clean() -> Case {
        let mut config = Config::default();
        let words = ["channels=1", "chips=1", "dies=1", "planes=2", "blocks=64", "pages=66"];
        words.iter().for_each(|word| config.set(&format!("geometry.{word}")).unwrap());
        config.set("ftl.over_provisioning=0.5").unwrap();
        let capacity = config.plan().unwrap().capacity();
        let words = ["workload.rw=randread", "workload.requests=2000", "workload.bs=16KiB"];
        let source = workload::presets::get("default", &words).unwrap().source(capacity, 1).unwrap();
        let options = RunOptions { replay: Replay::Closed(4), ..RunOptions::default() };
        let mut run = Run::new(&config, source, options, None).unwrap();
        while !run.step(1000).unwrap() {}
        let measured = run.finish().unwrap().measured;
        assert_eq!(measured.findings, [], "reads of what is there, by a depth");
        let mut arrivals = Arrivals::default();
        (0..2000).for_each(|n| arrivals.add(Time(n * 1_000_000)));
        let course = (0..=20).map(|n| Point { time: Time(n * 100_000_000), completed: n * 100, ..Point::default() });
        Case { measured, course: course.collect(), arrivals }
    }

    fn ids(&self) -> Vec<&'static str> {
        let Case { measured, course, arrivals } = self;
        find(&Evidence { measured, course, arrivals }).iter().map(|finding| finding.id).collect()
    }

    /// The findings of a clean run with something changed.
    fn with(change: impl FnOnce(&mut Case)) -> Vec<&'static str> {
        let mut case = Case::clean();
        change(&mut case);
        case.ids()
    }

    /// Programs take a share of the dies' time.
    fn writes(&mut self, share: f64) {
        let dies = &mut self.measured.totals.usage.dies;
        *dies = vec![Default::default()];
        dies[0][die::READ] = Span(((1.0 - share) * 1e9).round() as u64);
        dies[0][die::PROGRAM] = Span((share * 1e9).round() as u64);
    }

    /// A course in which pages are programmed and free blocks are left, from each point to the next as `step` says.
    fn programs(&mut self, step: impl Fn(u64) -> (u64, u64), free: impl Fn(u64) -> u64) {
        let page = self.measured.drive.plan.layout.page_size.0;
        let mut now = Point::default();
        for (n, point) in self.course.iter_mut().enumerate() {
            (point.programmed, point.settled) = (now.programmed, now.settled * page);
            point.free_blocks = free(n as u64);
            let (programmed, settled) = step(n as u64);
            (now.programmed, now.settled) = (now.programmed + programmed, now.settled + settled);
        }
    }

    /// The course of a drive that has been programmed over long before, and is in a steady state.
    fn steady(&mut self) {
        self.writes(0.5);
        self.programs(|_| (300, 100), |_| 20);
        let before = 100_000;
        self.course.iter_mut().for_each(|point| point.programmed += before);
    }
}

#[test]
fn a_clean_run_says_nothing() {
    assert_eq!(Case::clean().ids(), [""; 0]);
    assert_eq!(Case::with(Case::steady), [""; 0]);
}

#[test]
fn reads_are_judged_by_what_they_read() {
    let failed = |n| Case::with(|case| case.measured.totals.counters.requests_uncorrectable = n);
    assert_eq!((failed(0), failed(1)), (vec![], vec!["uncorrectable-reads"]));
    // 2,000 reads of a page each.
    let nothing = |n| Case::with(|case| case.measured.totals.counters.unmapped_reads = n);
    assert_eq!((nothing(19), nothing(20)), (vec![], vec!["unwritten-reads"]), "1 %");
    let cached = |n| Case::with(|case| case.measured.totals.counters.read_cache_hits = n);
    assert_eq!((cached(1799), cached(1800)), (vec![], vec!["cache-only"]), "90 %");
    let young = |retention, cold| {
        Case::with(|case| {
            case.measured.drive.plan.retention = Retention::Fixed(retention);
            (case.measured.totals.counters.pages_read, case.measured.totals.counters.cold_reads) = (2000, cold);
        })
    };
    assert_eq!((young(Span(1), 1001), young(Span(1), 1000)), (vec![], vec!["young-data"]), "half");
    assert_eq!(young(Span::ZERO, 0), [""; 0], "no age was asked for");
}

#[test]
fn engines_are_overloaded_where_prompts_ask_for_more_than_they_compute() {
    let asks = |load, backlog| {
        Case::with(|case| {
            let of = [("kv.engine_load", load), ("kv.backlog", backlog), ("kv.wait_ns", 1e9)];
            let statistic = |(name, value)| SourceStatistic { name, unit: "", about: "", value: Number::Amount(value) };
            case.measured.of_source = of.map(statistic).to_vec();
        })
    };
    assert_eq!((asks(1.04, 100.0), asks(1.05, 100.0)), (vec![], vec!["engine-overload"]), "5 % more");
    assert_eq!(
        (asks(2.0, 3.9), asks(2.0, 4.0)),
        (vec![], vec!["engine-overload"]),
        "few prompts are a queue, not a load"
    );
}

#[test]
fn a_drive_is_overloaded_where_its_queue_grows_to_the_end() {
    // Each point: a hundred more arrive, and this many are served.
    let serves = |served: fn(u64) -> u64| {
        Case::with(|case| case.course.iter_mut().enumerate().for_each(|(n, point)| point.completed = served(n as u64)))
    };
    assert_eq!(serves(|n| 96 * n), [""; 0], "80 of 2,000 wait: 4 %");
    assert_eq!(serves(|n| 94 * n), ["overload"], "120 wait: 6 %");
    assert_eq!(serves(|n| (100 * n).saturating_sub(200)), [""; 0], "as many wait all along");
    assert_eq!(
        serves(|n| if n < 10 { 50 * n } else { 500 + 150 * (n - 10) }),
        [""; 0],
        "a burst that is served before the end"
    );
    // What is handed over late waits all the same: the drive's queues hold few.
    assert_eq!(serves(|n| 25 * n), ["overload"]);
    // What comes before has left a queue: the run adds to it, or is all of it waiting when it begins.
    let after = |waiting: u64, begins: u64, served: fn(u64) -> u64| {
        Case::with(|case| {
            case.course.iter_mut().enumerate().for_each(|(n, point)| {
                (point.outstanding, point.completed) = (waiting, served(n as u64));
                point.time = Time(point.time.0 + begins);
            });
        })
    };
    assert_eq!(after(2000, 0, |n| 90 * n), ["overload"], "2,200 wait for 2,000");
    assert_eq!(after(2000, 0, |n| 97 * n), [""; 0], "as many wait all along");
    assert_eq!(
        after(1024, 10_000_000_000, |n| 100 * n),
        ["overload"],
        "the last has come before the first is measured"
    );
    // Few requests are a queue, not a load.
    let few = Case::with(|case| {
        let mut arrivals = Arrivals::default();
        (0..20).for_each(|n| arrivals.add(Time(n * 100_000_000)));
        case.arrivals = arrivals;
        case.course.iter_mut().enumerate().for_each(|(n, point)| point.completed = n as u64 * 8 / 10);
    });
    assert_eq!(few, [""; 0], "four requests wait for one die");
}

#[test]
fn a_buffer_that_takes_what_busy_dies_do_not_is_said_until_it_keeps_up() {
    // Of 2,000 pages written, so many are in the buffer at each of the points; the last request arrives before the
    // twentieth.
    let holds = |idle: f64, buffered: fn(u64) -> u64| {
        Case::with(|case| {
            case.steady();
            let dies = &mut case.measured.totals.usage.dies;
            dies[0] = Default::default();
            dies[0][die::IDLE] = Span((idle * 1e9).round() as u64);
            dies[0][die::READ] = Span(((1.0 - idle) * 1e9).round() as u64);
            let counters = &mut case.measured.totals.counters;
            counters.write_requests = 2000;
            counters.write_bytes = 2000 * case.measured.drive.plan.layout.page_size.0;
            counters.user_pages_programmed = 2000;
            case.course.iter_mut().enumerate().for_each(|(n, point)| point.buffered = buffered(n as u64));
        })
    };
    assert_eq!(holds(0.05, |n| (40 * n).div_ceil(19)), ["buffer-fills"], "2 % are in the buffer at the end");
    assert_eq!(holds(0.05, |n| 39 * n / 19), [""; 0], "39 are not 2 %");
    assert_eq!(holds(0.05, |n| 500 + (40 * n).div_ceil(19)), ["buffer-fills"], "beyond those of the beginning");
    assert_eq!(holds(0.11, |n| (40 * n).div_ceil(19)), [""; 0], "dies that are idle keep up");
    assert_eq!(holds(0.05, |n| (20 * n).min(100)), [""; 0], "it was filled in the first quarter, and keeps up since");
    assert_eq!(holds(0.05, |n| 20 * (20 - n.max(5))), [""; 0], "what was in it goes out");
    // A buffer of 200 pages that is full from the first quarter on.
    let filled = |written: u64, slots| {
        Case::with(|case| {
            case.steady();
            let dies = &mut case.measured.totals.usage.dies;
            dies[0] = Default::default();
            dies[0][die::PROGRAM] = Span(1_000_000_000);
            case.measured.drive.plan.slots = slots;
            let counters = &mut case.measured.totals.counters;
            counters.write_requests = written;
            counters.write_bytes = written * case.measured.drive.plan.layout.page_size.0;
            counters.user_pages_programmed = written;
            case.course.iter_mut().enumerate().for_each(|(n, point)| point.buffered = (40 * n as u64).min(200));
        })
    };
    assert_eq!(filled(2000, 200), ["buffer-fills"], "a tenth of what was written");
    assert_eq!(filled(2001, 200), [""; 0], "less than a tenth");
    assert_eq!(filled(2000, 214), [""; 0], "there is room for more: that is what it holds");
}

#[test]
fn a_drive_that_starts_in_the_middle_of_its_life_needs_no_turnover() {
    let starts = |start, share| {
        Case::with(|case| {
            case.writes(share);
            case.programs(|_| (3, 1), |_| 20);
            case.measured.drive.start = start;
        })
    };
    assert_eq!(starts(Start::AsWritten, 0.5), ["not-steady"], "less than a block of each plane");
    assert_eq!(starts(Start::MidLife, 0.5), ["start-approximate"], "planes in lockstep are not quite in place");
    assert_eq!(starts(Start::BetweenCollections, 0.5), ["start-not-stationary", "not-steady"]);
    assert_eq!(starts(Start::BetweenCollections, 0.009), [""; 0], "writes do not matter");
}

#[test]
fn a_past_that_was_assumed_is_marked_where_its_collections_are_most_of_what_is_programmed() {
    // Two planes of blocks of 66 pages; a page is a program of its own.
    let found = |assumed, (host, all): (u64, u64), load: &str, share: f64| {
        Case::with(|case| {
            case.writes(share);
            case.measured.past_assumed = assumed;
            case.measured.drive.start = Start::MidLife;
            let mut config = case.measured.drive.plan.config.clone();
            [
                "age.precondition=closed-form",
                "buffer.size=16MiB",
                "chip.plane_programs=single",
                "gc.pacing=token",
                load,
            ]
            .iter()
            .for_each(|set| config.set(set).unwrap());
            case.measured.drive.plan = config.plan().unwrap();
            let plan = &case.measured.drive.plan;
            let program = plan.timings.mean_program(plan.layout.bits).as_s();
            // Programs of the host take 5 % of a plane's time.
            let units = host as f64 / f64::from(plan.unit_pages) / 2.0;
            case.measured.totals.usage.elapsed = Span((units * program / 0.05 * 1e9).round() as u64);
            let counters = &mut case.measured.totals.counters;
            (counters.user_pages_programmed, counters.pages_programmed) = (host, all);
        })
        .contains(&"start-of-another-load")
    };
    let full = "age.load=full";
    assert_eq!([0.49, 0.51].map(|share| found(true, (100, 1000), full, share)), [true, false], "dies never rest then");
    assert_eq!(
        ["age.load=0.099", "age.load=0.11"].map(|load| found(true, (100, 1000), load, 0.3)),
        [false, true],
        "half"
    );
    assert_eq!([199, 200].map(|all| found(true, (100, all), full, 0.3)), [false, true], "half of it is relocated");
    let blocks = [3 * 2 * 66 - 1, 3 * 2 * 66].map(|host| found(true, (host, 10_000), full, 0.3));
    assert_eq!(blocks, [true, false], "three blocks of each plane");
    assert!(!found(false, (100, 1000), full, 0.3), "the load's own past");
    assert!(found(true, (0, 1000), "age.load=0.01", 0.002), "a load that writes nothing");
}

/// What a finding recommends can be done.
#[test]
fn a_trace_that_has_ended_is_not_told_to_go_on() {
    let short = |over, words: &[&str], arrivals: u64| {
        let mut case = Case::clean();
        case.steady();
        case.programs(|_| (1, 1), |_| 20);
        case.measured.over = over;
        let mut config = case.measured.drive.plan.config.clone();
        words.iter().for_each(|word| config.set(word).unwrap());
        case.measured.drive.plan = config.plan().unwrap();
        case.arrivals = Arrivals::default();
        (0..arrivals).for_each(|n| case.arrivals.add(Time(n * 1_000_000)));
        let Case { measured, course, arrivals } = &case;
        let found = find(&Evidence { measured, course, arrivals });
        let finding = found.into_iter().find(|finding| finding.id == "not-steady").expect("too short");
        (finding.text, finding.remedy)
    };
    let (text, remedy) = short(false, &[], 2000);
    assert!(
        text.contains("more requests")
            && remedy.contains("--precondition closed-form")
            && remedy.contains("--until-steady")
    );
    let (_, remedy) = short(true, &[], 2000);
    assert!(remedy.contains("--precondition closed-form") && remedy.contains("ssdlab trace fit"), "{remedy}");
    let (_, written) = short(true, &["age.precondition=write:1"], 2000);
    assert!(written.contains("--accept-warnings") && !written.contains("--precondition"), "{written}");
    assert!(!remedy.contains("--until-steady") && !written.contains("--until-steady"));
    // A drive of an array does not know how many requests of the array that takes.
    let (text, _) = short(false, &[], 0);
    assert!(text.contains("times as much again") && !text.contains("requests"), "{text}");
}

#[test]
fn a_start_that_is_known_to_be_off_is_marked_until_that_is_forgotten() {
    // 16 blocks of 66 pages of two planes are 2,112 pages.
    let off = |setting: &str, pages: u64, share: f64| {
        Case::with(|case| {
            case.writes(share);
            case.programs(|n| (if n == 0 { pages } else { 0 }, pages / 3), |_| 20);
            case.measured.drive.start = Start::MidLife;
            let mut config = case.measured.drive.plan.config.clone();
            ["buffer.size=16MiB", "chip.plane_programs=single", "gc.pacing=token", setting]
                .iter()
                .for_each(|set| config.set(set).unwrap());
            case.measured.drive.plan = config.plan().unwrap();
            (case.measured.totals.counters.write_bytes, case.measured.totals.counters.write_requests) = (1 << 20, 32);
        })
    };
    for setting in ["buffer.size=48KiB", "gc.victim=cost-benefit", "ftl.streams=4", "gc.pacing=none"] {
        let found = |pages, share| off(setting, pages, share).contains(&"start-approximate");
        let [before, after, reads] = [found(2111, 0.5), found(2112, 0.5), found(2111, 0.009)];
        assert_eq!([before, after, reads], [true, false, false], "{setting}");
    }
    let together =
        [21_119, 21_120].map(|pages| off("chip.plane_programs=lockstep", pages, 0.5).contains(&"start-approximate"));
    assert_eq!(together, [true, false], "160 blocks of each plane");
    for setting in ["ftl.streams=3", "gc.victim=greedy"] {
        assert!(!off(setting, 100, 0.5).contains(&"start-approximate"), "{setting}");
    }
}

#[test]
fn a_drive_that_was_not_warmed_to_the_end_is_marked() {
    let warmed = |start, reached, share| {
        Case::with(|case| {
            case.writes(share);
            case.programs(|_| (300, 100), |_| 20);
            case.measured.drive.start = start;
            let waf = Warmed { pages: 100, turnover: 60, reached, waf: 3.0, change: 0.02, ..Warmed::default() };
            case.measured.drive.warmed = Some(waf);
        })
    };
    assert_eq!(warmed(Start::MidLife, true, 0.5), [""; 0]);
    assert_eq!(warmed(Start::OnTheWay, false, 0.5), ["start-not-stationary"]);
    assert_eq!(warmed(Start::OnTheWay, false, 0.009), [""; 0], "writes do not matter");
}

#[test]
fn writes_matter_from_a_hundredth_of_the_dies_time_on() {
    let short = |share| {
        Case::with(|case| {
            case.steady();
            case.writes(share);
            case.course.iter_mut().for_each(|point| point.programmed -= 100_000);
            case.programs(|_| (1, 1), |_| 20);
        })
    };
    assert_eq!((short(0.009), short(0.01)), (vec![], vec!["not-steady"]));
}

#[test]
fn three_blocks_of_each_plane_tell_the_long_run() {
    // Two planes of blocks of 66 pages, programmed over 20 steps.
    let programmed = |pages: u64| {
        Case::with(|case| {
            case.writes(0.5);
            case.programs(|n| (if n == 0 { pages } else { 0 }, if n == 0 { pages } else { 0 }), |_| 20);
        })
    };
    assert_eq!((programmed(3 * 2 * 66 - 1), programmed(3 * 2 * 66)), (vec!["not-steady"], vec![]));
}

#[test]
fn free_blocks_that_nobody_collects_are_not_a_steady_state() {
    // 6,000 pages are 94 blocks: a tenth of them is 9.4.
    let used = |blocks: u64| {
        Case::with(|case| {
            case.steady();
            let last = case.course.len() - 1;
            case.course[last].free_blocks = 20 - blocks;
        })
    };
    assert_eq!((used(9), used(10)), (vec![], vec!["not-steady"]));
}

#[test]
fn an_amplification_that_moves_is_not_steady() {
    // 47 blocks in each half: 10 % and 1/sqrt(47) are 25 %.
    let change = |second: u64| {
        Case::with(|case| {
            case.steady();
            case.programs(|n| (300, if n < 10 { 100 } else { second }), |_| 20);
            case.course.iter_mut().for_each(|point| point.programmed += 100_000);
        })
    };
    assert_eq!((change(100), change(80)), (vec![], vec![]), "from 3 to 3.75: 22 %");
    assert_eq!((change(75), change(140)), (vec!["not-steady"], vec!["not-steady"]), "29 % more, 33 % less");
}

#[test]
fn a_steady_state_that_was_looked_for_is_judged_by_its_rule() {
    let found = |reached, rounds| {
        Case::with(|case| {
            let trend = Some(Trend { iops: 1.0, waf: 3.0, spread: 0.3, slope: 0.2 });
            case.measured.steady = Some(SteadyState { reached, rounds, round: Span(1), trend, window: None });
        })
    };
    assert_eq!((found(true, 30), found(false, 30)), (vec![], vec!["not-steady"]));
    // The run has ended before a round had.
    assert_eq!(found(false, 0), vec!["not-steady"]);
}

#[test]
fn what_stays_in_a_cache_is_not_flash() {
    let left = |pages: u64| {
        Case::with(|case| {
            let counters = &mut case.measured.totals.counters;
            counters.write_requests = 1000;
            counters.write_bytes = 1000 * case.measured.drive.plan.layout.page_size.0;
            counters.user_pages_programmed = pages;
        })
    };
    assert_eq!((left(499), left(500)), (vec!["buffer-only"], vec![]));
    let slc = |native, folded| {
        Case::with(|case| {
            case.steady();
            let counters = &mut case.measured.totals.counters;
            (counters.slc_pages, counters.native_pages) = (100, native);
            counters.blocks_relocated[crate::observe::stats::relocation_causes::FOLD] = folded;
        })
    };
    assert_eq!((slc(0, 0), slc(1, 0), slc(0, 1)), (vec!["slc-cache-only"], vec![], vec![]));
}

#[test]
fn what_is_suspended_again_and_again_is_held_off() {
    let suspended = |programs, erases| {
        Case::with(|case| {
            let counters = &mut case.measured.totals.counters;
            (counters.program_suspensions, counters.erase_suspensions) = (programs, erases);
            counters.operations_suspended = 10;
        })
    };
    assert_eq!((suspended(400, 99), suspended(400, 100), suspended(0, 0)), (vec![], vec!["held-off"], vec![]));
}

#[test]
fn percentiles_need_a_thousand_requests_of_each_kind() {
    let writes = |count: u64| {
        Case::with(|case| (0..count).for_each(|_| case.measured.latencies.record(0, Op::Write, Span(1), 1)))
    };
    assert_eq!((writes(999), writes(1000)), (vec!["few-requests"], vec![]));
    assert_eq!(
        (writes(222), writes(223)),
        (vec![], vec!["few-requests"]),
        "of a tenth of the requests they are asked for"
    );
    assert_eq!(Case::with(|case| case.measured.latencies = Default::default()), ["nothing-measured"]);
}

#[test]
fn what_a_run_counts_apart_is_said() {
    let ended = |missing| Case::with(|case| case.measured.missing = missing);
    assert_eq!((ended(None), ended(Some(0)), ended(Some(1))), (vec![], vec![], vec!["workload-ended"]));
    let cut = |lines| Case::with(|case| case.measured.read.cut_lines = lines);
    assert_eq!((cut(0), cut(1)), (vec![], vec!["trace-cut"]));
    let wrapped = |n| Case::with(|case| case.measured.wrapped = n);
    assert_eq!((wrapped(0), wrapped(1)), (vec![], vec!["addresses-wrapped"]));
    let refused = |n| Case::with(|case| case.measured.totals.counters.requests_refused = n);
    assert_eq!((refused(0), refused(1)), (vec![], vec!["read-only"]));
    let end = |read_only| {
        Case::with(|case| {
            case.measured.drive.end_of_life = Some(Time(1));
            case.measured.drive.smart.read_only = read_only;
        })
    };
    assert_eq!((end(false), end(true)), (vec!["worn-out"], vec!["read-only"]));
}

#[test]
fn requests_that_zones_refuse_are_said_with_the_reason() {
    let refused = |failed: u64, statuses: &[(Status, u64)]| {
        let mut case = Case::clean();
        case.measured.totals.counters.requests_completed = 2000;
        case.measured.totals.counters.requests_failed = failed;
        for (status, count) in statuses {
            (0..*count).for_each(|_| case.measured.latencies.unserved.refusals.add(*status));
        }
        let Case { measured, course, arrivals } = &case;
        find(&Evidence { measured, course, arrivals })
    };
    assert_eq!(refused(19, &[(Status::ZoneFull, 19)]), [], "below 1 %");
    let found = refused(20, &[(Status::TooManyOpen, 12), (Status::ZoneInvalidWrite, 8)]);
    let [of] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(of.id, "refused");
    assert!(
        of.text.starts_with("20 of 2,000 requests were refused (1 %), 12 of them with Too Many Open Zones"),
        "{}",
        of.text
    );
    assert!(of.text.contains("zones.max_open is 14") && of.remedy.contains("workload.open_zones"), "{of:?}");
    let found = refused(500, &[(Status::ZoneInvalidWrite, 490), (Status::TooManyActive, 10)]);
    assert!(found[0].text.contains("10 of them with Too Many Active Zones"), "what follows is no cause: {found:?}");
    let found = refused(2000, &[(Status::ZoneInvalidWrite, 2000)]);
    assert!(found[0].text.contains("all of them with Zone Invalid Write"), "{found:?}");
    assert!(found[0].remedy.contains("workload.zone_size"), "{found:?}");
    let codes = refused(2000, &[(Status::Success, 5)]);
    assert_eq!(codes[0].remedy, "docs/zones.md says what zones allow and when", "no status is known");
}

#[test]
fn a_load_that_fills_a_drive_is_said_where_a_share_of_it_was_to_be_full() {
    let beyond = |words: &[&str], bytes: u64, share: f64| {
        Case::with(|case| {
            case.steady();
            case.writes(share);
            let mut config = case.measured.drive.plan.config.clone();
            words.iter().for_each(|word| config.set(word).unwrap());
            case.measured.drive.plan = config.plan().unwrap();
            case.measured.drive.start = Start::MidLife;
            case.measured.outside = Outside { bytes, of: 1000 };
        })
        .contains(&"writes-beyond-fill")
    };
    let half = ["age.precondition=closed-form", "age.fill=0.5"];
    assert_eq!([49, 50].map(|bytes| beyond(&half, bytes, 0.5)), [false, true], "5 % of the bytes");
    assert!(beyond(&["age.precondition=write:1", "age.fill=0.5"], 500, 0.5));
    assert!(!beyond(&half, 500, 0.009), "writes do not matter");
    assert!(!beyond(&["age.precondition=closed-form"], 500, 0.5), "a full drive");
    assert!(!beyond(&["age.precondition=closed-form", "age.fill=0.0"], 500, 0.5), "an empty drive");
    assert!(!beyond(&["age.fill=0.5"], 500, 0.5), "no state was asked for");
}

#[test]
fn power_cuts_that_do_not_come_are_said() {
    let cut = |cut_at: &str, came: usize| {
        Case::with(|case| {
            let mut config = case.measured.drive.plan.config.clone();
            config.set(&format!("power.cut_at={cut_at}")).unwrap();
            case.measured.drive.plan = config.plan().unwrap();
            case.measured.drive.recoveries = vec![Span(1); came];
        })
        .contains(&"cuts-missing")
    };
    assert_eq!([0, 1].map(|came| cut("[op:4000000]", came)), [true, false]);
    assert_eq!([1, 2].map(|came| cut("[op:40, 1ms]", came)), [true, false]);
    assert_eq!([0, 1].map(|came| cut("[random:1s]", came)), [true, false]);
    assert!(!cut("[on-demand]", 0), "nobody has asked for it yet");
}

#[test]
fn handles_that_there_are_not_are_said() {
    let unknown = |requests| Case::with(|case| case.measured.totals.counters.invalid_handles = requests);
    assert_eq!((unknown(0), unknown(1)), (vec![], vec!["unknown-handles"]));
}

#[test]
fn a_stronger_code_is_no_remedy_where_there_is_none() {
    for (code, named) in [(None, false), (Some("qc-ldpc".to_owned()), true)] {
        let mut case = Case::clean();
        case.measured.totals.counters.requests_uncorrectable = 1;
        case.measured.drive.plan.config.ecc.code = code;
        let Case { measured, course, arrivals } = &case;
        let found = find(&Evidence { measured, course, arrivals });
        let lost = found.iter().find(|finding| finding.id == "uncorrectable-reads").unwrap();
        assert_eq!(lost.remedy.contains("ecc.strength"), named, "{}", lost.remedy);
    }
}

/// Findings from elsewhere stand where the table of kinds has them.
#[test]
fn findings_are_ordered_by_the_table() {
    let mut case = Case::clean();
    case.measured.wrapped = 1;
    case.measured.totals.counters.requests_uncorrectable = 1;
    let Case { measured, course, arrivals } = &case;
    let mut found = find(&Evidence { measured, course, arrivals });
    add(&mut found, [finding("machine-dependent-clock", String::new(), &[], ""), interrupted(5)]);
    let ids: Vec<_> = found.iter().map(|finding| finding.id).collect();
    assert_eq!(ids, ["interrupted", "uncorrectable-reads", "machine-dependent-clock", "addresses-wrapped"]);
    let mut known: Vec<_> = KINDS.iter().map(|kind| kind.id).collect();
    known.sort_unstable();
    known.dedup();
    assert_eq!(known.len(), KINDS.len(), "an id names one kind");
}
