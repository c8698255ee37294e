//! Write amplification against theory, what the policies and streams buy, and the aged start against a written one.

use ssd::{Config, Device, Drive};
use units::{Bytes, Lpn, Stream, Time};
use workload::{Op, Request};

/// A device whose timing says little: one die, small blocks, many of them, pages written through as they come.
fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let base = [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=1",
        "geometry.blocks=2000",
        "geometry.pages=32",
        "geometry.page_size=4KiB",
        "chip.program_unit=page",
        "chip.t_prog=10us",
        "chip.t_read=1us",
        "chip.t_bers=10us",
        "ecc.codeword=4KiB",
        "ecc.t_decode=1us",
        "buffer.size=64KiB",
        "ftl.streams=1",
        "ftl.erase_when=reclaimed",
        "gc.start=2",
        "gc.stop=2",
        "gc.relocations=8",
    ];
    base.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

/// Writes `pages` pages one after another, as `next` says which.
fn write(device: &mut Device, pages: u64, mut next: impl FnMut(u64) -> u64) {
    let page = device.plan().layout.page_size.0;
    let mut submitted = 0;
    while submitted < pages {
        while submitted < pages && device.outstanding() < 16 {
            let (time, offset) = (device.now(), Bytes(next(submitted) * page));
            device.submit(Request::new(time, Op::Write, offset, Bytes(page))).unwrap();
            submitted += 1;
        }
        device.advance_to_completion(Time::NEVER).unwrap();
        device.take_completions();
    }
}

/// Write amplification of `pages` more writes.
fn amplification(device: &mut Device, pages: u64, next: impl FnMut(u64) -> u64) -> f64 {
    let before = device.counters();
    write(device, pages, next);
    let done = device.counters().since(&before);
    device.check().unwrap();
    done.pages_programmed as f64 / done.user_pages_programmed as f64
}

fn uniform(pages: u64, name: &str) -> impl Fn(u64) -> u64 + use<> {
    let random = Stream::new(7, name);
    move |index| random.below(index, pages)
}

/// A = alpha / (alpha + W(-alpha exp(-alpha))), by bisection of 1 - 1/A = exp(-alpha / A).
fn theory(alpha: f64) -> f64 {
    let (mut low, mut high) = (1.0f64, 1e6);
    for _ in 0..200 {
        let a = (low + high) / 2.0;
        if 1.0 - 1.0 / a < (-alpha / a).exp() { low = a } else { high = a }
    }
    (low + high) / 2.0
}

/// Blocks that can hold data over logical capacity: all but the free reserve.
fn alpha(device: &Device, config: &Config) -> f64 {
    let layout = device.plan().layout;
    let blocks = f64::from(layout.blocks - config.gc.start);
    blocks * f64::from(layout.pages) / device.plan().logical_pages as f64
}

/// Write amplification in the steady state that uniform writing reaches, from the aged start of the closed form.
fn steady(settings: &[&str]) -> (f64, f64) {
    let config = config(&[&["age.precondition=closed-form"], settings].concat());
    let mut device = Device::new(&config, 1).unwrap();
    let pages = device.plan().logical_pages;
    write(&mut device, pages, uniform(pages, "warm-up"));
    (amplification(&mut device, 2 * pages, uniform(pages, "measured")), theory(alpha(&device, &config)))
}

#[test]
fn fifo_amplifies_uniform_writes_as_theory_says() {
    for spare in ["0.12", "0.25", "0.5"] {
        let (measured, expected) = steady(&["gc.victim=fifo", &format!("ftl.over_provisioning={spare}")]);
        println!("fifo, over-provisioning {spare}: {measured:.3} measured, {expected:.3} expected");
        assert!((measured / expected - 1.0).abs() < 0.03, "{spare}: {measured:.3} measured, {expected:.3} expected");
    }
}

#[test]
fn greedy_amplifies_less_than_fifo_and_d_choices_lie_between() {
    let of = |victim: &str| steady(&[victim, "ftl.over_provisioning=0.15"]).0;
    let (greedy, ten, two, fifo) =
        (of("gc.victim=greedy"), of("gc.victim=d-choices"), of("gc.victim=d-choices:2"), of("gc.victim=fifo"));
    println!("greedy {greedy:.3}, d-choices of 10 {ten:.3} and of 2 {two:.3}, fifo {fifo:.3}");
    assert!(greedy < ten && ten < two, "{greedy} {ten} {two}");
    assert!(greedy < 0.97 * fifo, "{greedy} {fifo}");
}

/// Nine of ten writes go to a tenth of the pages.
fn skewed(pages: u64, name: &str) -> impl Fn(u64) -> u64 + use<> {
    let random = Stream::new(8, name);
    move |index| {
        let hot = random.below(3 * index, 10) < 9;
        // The hot pages are spread over the address space.
        let tenth = pages / 10;
        if hot {
            random.below(3 * index + 1, tenth) * 10
        } else {
            random.below(3 * index + 2, tenth * 9) / 9 * 10 + 1 + index % 9
        }
    }
}

/// The mean of two drives, whose streams differ by a percent or two by chance.
fn skewed_amplification(settings: &[&str]) -> f64 {
    [1, 2].map(|seed| skewed_amplification_of(settings, seed)).iter().sum::<f64>() / 2.0
}

fn skewed_amplification_of(settings: &[&str], seed: u64) -> f64 {
    let base =
        ["ftl.over_provisioning=0.2", "age.precondition=closed-form", "geometry.blocks=500", "gc.start=4", "gc.stop=4"];
    let mut device = Device::new(&config(&[&base, settings].concat()), seed).unwrap();
    let pages = device.plan().logical_pages;
    write(&mut device, 8 * pages, skewed(pages, &format!("warm-up {seed}")));
    amplification(&mut device, 4 * pages, skewed(pages, &format!("measured {seed}")))
}

#[test]
fn under_hot_and_cold_traffic_streams_pay_and_cost_benefit_beats_greedy() {
    let greedy = ["ftl.streams=1", "ftl.streams=2", "ftl.streams=3", "ftl.streams=4"]
        .map(|streams| skewed_amplification(&[streams]));
    assert!(greedy[..3].is_sorted_by(|a, b| a > b), "1 to 3 streams: {greedy:?}");
    // Data that moves again is hardly another: a fourth stream changes less than chance does.
    assert!((greedy[3] / greedy[2] - 1.0).abs() < 0.02, "3 and 4 streams: {greedy:?}");
    let benefit = skewed_amplification(&["gc.victim=cost-benefit", "ftl.streams=2"]);
    println!("skewed: greedy with 1 to 4 streams {greedy:.3?}, cost-benefit with 2 {benefit:.3}");
    assert!(benefit < greedy[1], "{benefit} {greedy:?}");
}

/// Valid pages of all blocks that hold any, sorted.
fn profile(device: &Device) -> Vec<u32> {
    let layout = device.plan().layout;
    let mut valid = vec![0u32; layout.blocks as usize];
    for lpn in (0..device.plan().logical_pages).map(Lpn) {
        if let Some(ppn) = device.flash_page(lpn) {
            valid[layout.unpack(ppn).block as usize] += 1;
        }
    }
    valid.sort_unstable();
    valid
}

#[test]
fn the_closed_form_start_is_the_state_that_writing_leads_to() {
    for victim in ["gc.victim=fifo", "gc.victim=greedy"] {
        let settings = [victim, "ftl.over_provisioning=0.2"];
        let mut formula =
            Device::new(&config(&[&settings[..], &["age.precondition=closed-form"]].concat()), 1).unwrap();
        let mut written = Device::new(&config(&settings), 1).unwrap();
        let pages = formula.plan().logical_pages;
        write(&mut written, 4 * pages, uniform(pages, "written"));
        let distance = |a: &Device, b: &Device| {
            let (a, b) = (profile(a), profile(b));
            let sum: u32 = a.iter().zip(&b).map(|(a, b)| a.abs_diff(*b)).sum();
            f64::from(sum) / a.len() as f64
        };
        // A mean difference of one page of 32 a block, between states whose pages were drawn at random.
        assert!(
            distance(&formula, &written) < 1.5,
            "{victim}: {} pages a block at the start",
            distance(&formula, &written)
        );
        // From the first write on it amplifies as the written one does.
        let (a, b) = (
            amplification(&mut formula, pages, uniform(pages, "next")),
            amplification(&mut written, pages, uniform(pages, "next")),
        );
        println!("{victim}: {a:.3} from the closed form, {b:.3} from writing");
        assert!((a / b - 1.0).abs() < 0.03, "{victim}: {a:.3} from the closed form, {b:.3} from writing");
        // Written over completely it is the same state.
        write(&mut formula, pages, |index| index);
        write(&mut written, pages, |index| index);
        write(&mut formula, 3 * pages, uniform(pages, "end"));
        write(&mut written, 3 * pages, uniform(pages, "end"));
        assert!(
            distance(&formula, &written) < 0.35,
            "{victim}: {} pages a block at the end",
            distance(&formula, &written)
        );
    }
}

/// Fewest and most erases of any block after skewed writes.
fn erases(settings: &[&str]) -> (u32, u32) {
    let base = ["ftl.over_provisioning=0.3", "geometry.blocks=150", "gc.start=4", "gc.stop=4", "ftl.streams=2"];
    let mut device = Device::new(&config(&[&base, settings].concat()), 1).unwrap();
    let pages = device.plan().logical_pages;
    // A third of the drive is never written again.
    write(&mut device, 60 * pages, uniform(2 * pages / 3, "wear"));
    device.check().unwrap();
    (device.erases().min().unwrap(), device.erases().max().unwrap())
}

#[test]
fn wear_levelling_narrows_the_spread_of_erases() {
    let none = erases(&["wear.free_block=oldest"]);
    let dynamic = erases(&["wear.free_block=least-worn"]);
    let both = erases(&["wear.free_block=least-worn", "wear.static_spread=10"]);
    assert_eq!((none.0, dynamic.0), (0, 0), "cold blocks are never erased without static levelling");
    assert!(dynamic.1 <= none.1, "{dynamic:?} {none:?}");
    println!("fewest and most erases: oldest {none:?}, least worn {dynamic:?}, and static levelling {both:?}");
    assert!(both.0 > 20 && both.1 - both.0 <= 10 + 2, "{both:?}");
}

#[test]
fn old_data_and_often_read_blocks_move_and_are_counted() {
    let settings = [
        "geometry.blocks=60",
        "ftl.over_provisioning=0.5",
        "age.fill=0.5",
        "age.retention=30d",
        "refresh.period=20s",
        "chip.t_prog=100us",
    ];
    let mut device = Device::new(&config(&settings), 1).unwrap();
    let old = device.conditions_of(Lpn(5)).unwrap().retention;
    device.advance(Time(25_000_000_000)).unwrap();
    let counters = device.counters();
    assert_eq!(counters.pages_relocated[2], device.plan().logical_pages / 2, "every old page moved once");
    assert!(counters.blocks_erased > 0 && device.conditions_of(Lpn(5)).unwrap().retention < old);
    device.check_mapping().unwrap();

    let mut device =
        Device::new(&config(&["geometry.blocks=60", "ftl.over_provisioning=0.5", "refresh.reads=200"]), 1).unwrap();
    let before = device.flash_page(Lpn(0));
    for index in 0..199 {
        let request = Request::new(Time(index * 10_000), Op::Read, Bytes(0), Bytes(4096));
        device.submit(request).unwrap();
    }
    device.advance(Time(1_000_000_000)).unwrap();
    assert_eq!((device.counters().pages_relocated[3], device.flash_page(Lpn(0))), (0, before));
    let last = Request::new(Time(2_000_000_000), Op::Read, Bytes(0), Bytes(4096));
    device.submit(last).unwrap();
    device.advance(Time(3_000_000_000)).unwrap();
    assert_eq!(device.counters().pages_relocated[3], 32, "the whole block moved");
    assert_ne!(device.flash_page(Lpn(0)), before);
}

/// Nothing asks again for a block that comes to the limit while it is written: it moves when it is full, with what has
/// been written to it since.
#[test]
fn a_block_that_was_read_often_while_it_was_open_moves_once_it_is_full() {
    let settings =
        ["geometry.blocks=60", "ftl.over_provisioning=0.5", "refresh.reads=200", "age.fill=0", "age.staggered=false"];
    let mut device = Device::new(&config(&settings), 1).unwrap();
    let read = |device: &mut Device| {
        for _ in 0..300 {
            device.submit(Request::new(device.now(), Op::Read, Bytes(0), Bytes(4096))).unwrap();
            device.advance_to_completion(Time::NEVER).unwrap();
            device.take_completions();
        }
    };
    write(&mut device, 16, |page| page);
    device.flush().unwrap();
    read(&mut device);
    read(&mut device);
    write(&mut device, 15, |page| 16 + page);
    device.flush().unwrap();
    assert_eq!(device.counters().pages_relocated[3], 0, "a page is missing");
    write(&mut device, 1, |_| 31);
    device.flush().unwrap();
    device.advance(Time(device.now().0 + 1_000_000_000)).unwrap();
    assert_eq!(device.counters().pages_relocated[3], 32);
    device.check_mapping().unwrap();
}

#[test]
fn an_idle_die_collects_and_a_busy_drive_finds_free_blocks() {
    let settings = [
        "geometry.blocks=60",
        "ftl.over_provisioning=0.5",
        "age.precondition=closed-form",
        "gc.idle=1ms",
        "gc.idle_stop=9",
    ];
    let mut device = Device::new(&config(&settings), 1).unwrap();
    assert!(device.free_blocks().1 < 4, "{}", device.free_blocks().1);
    // One write wakes the die.
    write(&mut device, 1, |_| 0);
    device.advance(Time(1_000_000_000)).unwrap();
    assert_eq!(device.free_blocks().1, 9);
    assert!(device.counters().background_runs >= 7);
}

#[test]
fn dies_of_a_staggered_drive_collect_one_after_another() {
    let settings = [
        "geometry.chips=16",
        "geometry.blocks=60",
        "geometry.pages=256",
        "age.precondition=closed-form",
        "ftl.streams=2",
    ];
    let spare = ["gc.start=3", "gc.stop=3", "ftl.over_provisioning=0.25"];
    let run = |staggered: &str| {
        let config = config(&[&settings[..], &spare, &[staggered]].concat());
        let mut device = Device::new(&config, 1).unwrap();
        device.check_mapping().unwrap();
        let pages = device.plan().logical_pages;
        // So much that a die opens a block and no more: the share of what is collected in the busiest eighth of it.
        let eighths: Vec<u64> = (0..8)
            .map(|_| {
                let before = device.counters().blocks_relocated.iter().sum::<u64>();
                write(&mut device, 16 * 32, uniform(pages, "eighth"));
                device.counters().blocks_relocated.iter().sum::<u64>() - before
            })
            .collect();
        let most = *eighths.iter().max().unwrap() as f64 / eighths.iter().sum::<u64>() as f64;
        (most, amplification(&mut device, pages, uniform(pages, "measured")))
    };
    let ((together, one), (apart, other)) = (run("age.staggered=false"), run("age.staggered=true"));
    assert!(together > 1.5 * apart, "{together} {apart}");
    assert!((one / other - 1.0).abs() < 0.03, "{one} {other}");
}

/// A cache on flash (CacheLib): a large log that is overwritten cyclically, in which small objects are overwritten at
/// random where they stand. Every other write is of an object; each has its own hint.
fn cache_amplification(settings: &[&str]) -> f64 {
    let base = ["ftl.over_provisioning=0.15", "geometry.blocks=300", "gc.start=4", "gc.stop=4", "ftl.streams=2"];
    let mut device = Device::new(&config(&[&base, settings].concat()), 1).unwrap();
    let (pages, page) = (device.plan().logical_pages, device.plan().layout.page_size.0);
    let (objects, random) = (pages / 25, Stream::new(7, "objects"));
    let mut half = |from: u64, writes: u64| {
        let before = device.counters();
        for index in from..from + writes {
            let (lpn, hint) = match index % 2 {
                0 => (objects + index / 2 % (pages - objects), 0),
                _ => (random.below(index, objects), 1),
            };
            let request = Request::new(device.now(), Op::Write, Bytes(lpn * page), Bytes(page));
            device.submit(request.hinted(hint)).unwrap();
            device.advance_to_completion(Time::NEVER).unwrap();
            device.take_completions();
        }
        let done = device.counters().since(&before);
        done.pages_programmed as f64 / done.user_pages_programmed as f64
    };
    half(0, 6 * pages);
    let found = half(6 * pages, 6 * pages);
    device.check().unwrap();
    found
}

#[test]
fn a_handle_for_the_log_and_one_for_the_objects_amplify_less_than_one_for_both() {
    let found = ["ftl.hints=0", "ftl.hints=1", "ftl.hints=2"].map(|hints| cache_amplification(&[hints]));
    println!("cache: without hints, with one handle and with two {found:.3?}");
    assert_eq!(found[0], found[1], "one handle for all is none");
    assert!(found[2] - 1.0 < 0.7 * (found[1] - 1.0), "{found:?}");
}

/// Writes at a time: fewer than there are planes, so that they wait for collections and not for one another.
const DEPTH: u64 = 4;

/// Latencies of overwrites at random, `DEPTH` at a time, on a drive in a steady state; the time that they took, and
/// what they programmed.
fn overwrites(pacing: &str) -> (Vec<u64>, f64, f64) {
    let pacing = format!("gc.pacing={pacing}");
    let settings =
        ["geometry.channels=4", "geometry.planes=2", "geometry.blocks=300", "ftl.over_provisioning=0.12", "gc.start=4"];
    let mut device = Device::new(
        &config(
            &[
                &settings[..],
                &[
                    "ftl.streams=2",
                    "age.precondition=closed-form",
                    "gc.stop=5",
                    "chip.t_prog=300us",
                    "chip.t_bers=2ms",
                    &pacing,
                ],
            ]
            .concat(),
        ),
        1,
    )
    .unwrap();
    let pages = u64::from(device.plan().logical_pages as u32);
    let next = uniform(pages, "paced");
    let mut submitted = 0u64;
    let mut play = |device: &mut Device, count: u64| {
        let mut latencies = Vec::new();
        while (latencies.len() as u64) < count {
            while device.outstanding() < DEPTH {
                let (time, offset) = (device.now(), Bytes(next(submitted) * 4096));
                device.submit(Request::new(time, Op::Write, offset, Bytes(4096))).unwrap();
                submitted += 1;
            }
            device.advance_to_completion(Time::NEVER).unwrap();
            latencies.extend(device.take_completions().map(|done| done.latency().0));
        }
        latencies
    };
    play(&mut device, pages);
    let (before, begun) = (device.counters(), device.now());
    let mut latencies = play(&mut device, 2 * pages);
    latencies.sort_unstable();
    device.check().unwrap();
    let done = device.counters().since(&before);
    let amplification = done.pages_programmed as f64 / done.user_pages_programmed as f64;
    (latencies, device.now().since(begun).0 as f64, amplification)
}

#[test]
fn paced_writes_wait_for_two_collections_at_most_and_cost_nothing() {
    let ((free, time, amplification), mut waits) = (overwrites("none"), Vec::new());
    for pacing in ["token", "proportional"] {
        let (paced, paced_time, paced_amplification) = overwrites(pacing);
        let of =
            |latencies: &[u64], share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize] as f64 / 1e6;
        println!(
            "{pacing}: p99.9 {:.1} ms of {:.1}, max {:.1} of {:.1}; time {:.3}, write amplification {paced_amplification:.3} of {amplification:.3}",
            of(&paced, 0.999),
            of(&free, 0.999),
            of(&paced, 1.0),
            of(&free, 1.0),
            paced_time / time
        );
        assert!((paced_time / time - 1.0).abs() < 0.05 && (paced_amplification / amplification - 1.0).abs() < 0.05);
        // Of a block that is collected 25 of 32 pages are valid, each is programmed for 0.3 ms, and the block is erased
        // for 2 ms.
        let collection = 25.0 * 0.3 + 2.0;
        assert!(of(&paced, 1.0) < 2.0 * collection, "{} ms", of(&paced, 1.0));
        waits.push(of(&paced, 0.999) / of(&free, 0.999));
    }
    assert!(waits.iter().all(|share| *share < 0.5), "{waits:?}");
}

#[test]
fn a_hundred_thousand_empty_blocks_are_reclaimed_one_after_another() {
    // The drive is written over from its start to its end, so that collection, which begins late and ends late, finds
    // stale blocks alone, and where blocks are erased when they are opened each is free at once: all in one event, on a
    // test's stack of 2 MiB.
    const EMPTY: u64 = 100_000;
    let config = config(&[
        "geometry.blocks=112000",
        "geometry.pages=4",
        "geometry.page_size=64KiB",
        "chip.model=none",
        "age.fill=0",
        "ftl.over_provisioning=10",
        "ftl.erase_when=opened",
        "gc.stop=100500",
    ]);
    let mut device = Device::new(&config, 1).unwrap();
    let pages = device.plan().logical_pages;
    write(&mut device, 4 * 112_000 + 100, |index| index % pages);
    let collected = device.counters().blocks_relocated[0];
    assert!(collected >= EMPTY, "{collected} blocks");
    assert_eq!(device.counters().pages_relocated.iter().sum::<u64>(), 0);
    device.check().unwrap();
}
