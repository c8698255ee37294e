//! The SLC cache: exact times of what it programs, folds and reads; where its cliff is and how fast a drive writes
//! before and behind it, in closed form; and what it costs.

use std::collections::HashSet;

use ssd::stats::relocation_causes::{COLLECTION, CONVERSION, FOLD, REFRESH};
use ssd::{Config, Device, Drive};
use units::{Bytes, Lpn, Stream, Time};
use workload::{Op, Request};

use testing::{Watch, watched};

const PAGE: u64 = 16_384;
/// Times of the small drives below [us].
const PROGRAM: u64 = 1_200;
const SLC_PROGRAM: u64 = 200;
const SLC_READ: u64 = 25;
const SLC_ERASE: u64 = 2_000;

/// Four dies of one plane of 60 blocks of 60 TLC pages (20 wordlines), programmed by wordlines; nothing but the arrays
/// and 1-GB/s buses takes time.
fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let small = [
        "geometry.channels=2",
        "geometry.chips=1",
        "geometry.dies=2",
        "geometry.planes=1",
        "geometry.blocks=60",
        "geometry.pages=60",
        "chip.t_read=50us",
        "chip.t_prog=1200us",
        "chip.t_bers=3ms",
        "slc.t_read=25us",
        "slc.t_prog=200us",
        "slc.t_bers=2ms",
        "bus.bandwidth=1GB/s",
        "bus.t_command=0ns",
        "bus.transfer=page",
        "ecc.t_decode=0ns",
        "host.t_submit=0ns",
        "host.t_complete=0ns",
        "host.link_bandwidth=1000GB/s",
        "buffer.dram_bandwidth=1000GB/s",
        "buffer.size=1MiB",
        "ftl.over_provisioning=1.0",
        "ftl.erase_when=reclaimed",
        "age.fill=0",
    ];
    small.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

/// Writes pages in order from the start, all at once; the times at which they completed [ns], in their order.
fn fill(device: &mut Device, pages: u64) -> Vec<u64> {
    for page in 0..pages {
        device.submit(Request::new(Time(0), Op::Write, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
    }
    let mut done = Vec::new();
    while done.len() < pages as usize {
        assert!(device.advance_to_completion(Time::NEVER).unwrap());
        done.extend(device.take_completions().map(|completion| completion.finish.0));
    }
    device.check().unwrap();
    device.check_mapping().unwrap();
    done
}

/// Pages per second between two of the completions.
fn rate(done: &[u64], from: usize, to: usize) -> f64 {
    (to - from) as f64 / (done[to] - done[from]) as f64 * 1e9
}

#[test]
fn a_write_into_the_cache_and_its_folding_take_what_their_formulas_say() {
    // A page crosses the bus in 16.384 us; one plane, whose blocks have two wordlines: 2 pages in the cache.
    let one = ["geometry.channels=1", "geometry.dies=1", "geometry.pages=6", "buffer.mode=write-through"];
    for (fold, program_pages) in [("controller", 3), ("copyback", 0)] {
        let fold = format!("slc.fold={fold}");
        let settings =
            [&one[..], &["ftl.slc_cache=static", "ftl.over_provisioning=2", "slc.fold_idle=1ms", &fold]].concat();
        let watch = Watch::default();
        let mut device = watched(&config(&settings), 1, watch.clone());
        for (page, at) in [(0, 0), (1, 500_000)] {
            device.submit(Request::new(Time(at), Op::Write, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
        }
        device.advance(Time(20_000_000)).unwrap();
        let done: Vec<u64> = device.take_completions().map(|done| done.finish.0).collect();
        // The link, the bus, tPROG of one bit.
        let stored = 17;
        let write = |at: u64| at + stored + PAGE + SLC_PROGRAM * 1_000;
        assert_eq!(done, [write(0), write(500_000)]);
        let mut expected =
            vec![("program", stored + PAGE, write(0)), ("program", 500_000 + stored + PAGE, write(500_000))];
        // Both pages are full; the host is idle from the second write's end on.
        let begin = write(500_000) + 1_000_000;
        let end = if program_pages > 0 {
            // Two senses one after the other, as the cache register lets the second begin; each leaves over the bus.
            let sensed = [begin + SLC_READ * 1_000, begin + 2 * SLC_READ * 1_000];
            expected.extend([("sense", begin, sensed[0]), ("sense", sensed[0], sensed[1])]);
            let loaded = sensed[1] + PAGE + program_pages * PAGE;
            expected.push(("program", loaded, loaded + PROGRAM * 1_000));
            loaded + PROGRAM * 1_000
        } else {
            // The die senses both pages itself: no bus. The probe is told of the program as a whole.
            let end = begin + 2 * SLC_READ * 1_000 + PROGRAM * 1_000;
            expected.push(("program", begin, end));
            end
        };
        expected.extend([("planes", 1, 0), ("erase", end, end + SLC_ERASE * 1_000)]);
        assert_eq!(*watch.0.borrow(), expected, "{fold}");
        let counters = device.counters();
        assert_eq!((counters.blocks_relocated[FOLD], counters.pages_relocated[FOLD]), (1, 2));
        assert_eq!((counters.slc_pages, counters.native_pages, counters.slc_erases), (2, 0, 1));
        assert_eq!(counters.pages_copied_back, 3 - program_pages);
        assert_eq!(device.state().slc_blocks, Some(0));
        device.check_mapping().unwrap();
    }
}

#[test]
fn reads_take_the_time_of_their_blocks_mode() {
    let settings = ["ftl.slc_cache=static", "slc.fold_idle=none", "chip.model=tlc48", "age.pec=1000"];
    let mut device = Device::new(&config(&settings), 1).unwrap();
    fill(&mut device, 60);
    device.flush().unwrap();
    let mut read = |page: u64| {
        let at = device.now();
        device.submit(Request::new(at, Op::Read, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
        assert!(device.advance_to_completion(Time::NEVER).unwrap());
        device.take_completions().map(|done| done.latency().0).sum::<u64>()
    };
    // tR of one bit, bus, DRAM, link.
    assert_eq!(read(3), SLC_READ * 1_000 + PAGE + 34);
    let counters = device.counters();
    assert_eq!((counters.parts_by_mode, counters.part_ns_by_mode), ([1, 0], [SLC_READ * 1_000 + PAGE + 34, 0]));
}

#[test]
fn a_cache_of_two_bits_a_cell_programs_wordlines_of_two_pages_reads_each_in_its_time_and_is_folded() {
    let (mlc_read, mlc_program) = ([20, 30], 300);
    let settings = [
        "geometry.channels=1",
        "geometry.dies=1",
        "geometry.pages=6",
        "buffer.mode=write-through",
        "ftl.slc_cache=static",
        "ftl.over_provisioning=2",
        "slc.cell=MLC",
        "slc.t_read=[20us, 30us]",
        "slc.t_prog=300us",
        "slc.fold=copyback",
        "slc.fold_idle=10ms",
    ];
    let watch = Watch::default();
    let mut device = watched(&config(&settings), 1, watch.clone());
    let at = [0, 500_000];
    for (index, at) in at.into_iter().enumerate() {
        let offset = Bytes(2 * index as u64 * PAGE);
        device.submit(Request::new(Time(at), Op::Write, offset, Bytes(2 * PAGE))).unwrap();
    }
    device.advance(Time(1_000_000)).unwrap();
    // The link, the bus, tPROG of a wordline.
    let loaded = |at: u64| at + 33 + 2 * PAGE;
    let programs = at.map(|at| ("program", loaded(at), loaded(at) + mlc_program * 1_000));
    assert_eq!(*watch.0.borrow(), programs);
    assert_eq!(device.take_completions().map(|done| done.finish.0).collect::<Vec<_>>(), programs.map(|of| of.2));
    let mut ended = 0;
    for page in [0, 1, 3, 2] {
        let at = device.now();
        device.submit(Request::new(at, Op::Read, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
        assert!(device.advance_to_completion(Time::NEVER).unwrap());
        let done = device.take_completions().next().unwrap();
        assert_eq!(done.latency().0, mlc_read[page as usize % 2] * 1_000 + PAGE + 34, "page {page}");
        ended = done.finish.0;
    }
    watch.0.borrow_mut().clear();
    device.advance(Time(ended + 20_000_000)).unwrap();
    // Both wordlines of the block are full. Three pages are sensed and programmed, then the fourth.
    let begin = ended + 10_000_000;
    let first = begin + (2 * mlc_read[0] + mlc_read[1] + PROGRAM) * 1_000;
    let second = first + (mlc_read[1] + PROGRAM) * 1_000;
    let expected = [
        ("program", begin, first),
        ("program", first, second),
        ("planes", 1, 0),
        ("erase", second, second + SLC_ERASE * 1_000),
    ];
    assert_eq!(*watch.0.borrow(), expected);
    device.check_mapping().unwrap();
}

#[test]
fn the_fewer_bits_a_cell_the_fewer_retries_at_the_same_age() {
    let retries = |own: &str, pec: &str, cell: &str, model: &str| {
        let mut settings = vec!["geometry.pages=60", "slc.blocks=8", "slc.fold_idle=none", model];
        let (own_cells, age, cache) =
            (format!("geometry.cell={own}"), format!("age.pec={pec}"), format!("slc.cell={cell}"));
        settings.extend([own_cells.as_str(), age.as_str()]);
        if cell != own {
            settings.extend(["ftl.slc_cache=static", &cache]);
        }
        let mut device = Device::new(&config(&settings), 1).unwrap();
        fill(&mut device, 120);
        device.flush().unwrap();
        let months = 30 * 86_400_000_000_000u64;
        device.advance(Time(6 * months)).unwrap();
        for page in 0..120 {
            device.submit(Request::new(device.now(), Op::Read, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
        }
        while device.outstanding() > 0 {
            assert!(device.advance_to_completion(Time::NEVER).unwrap());
            device.take_completions().for_each(drop);
        }
        device.check().unwrap();
        assert_eq!(device.counters().pages_unreadable, 0);
        assert_eq!(device.counters().parts_by_mode[0], if cell == own { 0 } else { 120 });
        device.counters().retry_steps
    };
    for (own, pec, cells) in
        [("QLC", "1500", &["SLC", "MLC", "TLC", "QLC"][..]), ("PLC", "500", &["SLC", "MLC", "TLC", "QLC", "PLC"])]
    {
        let of: Vec<u64> = cells.iter().map(|cell| retries(own, pec, cell, "chip.model=auto")).collect();
        println!("retries of 120 pages of {cells:?} on {own} of {pec} cycles: {of:?}");
        assert!(
            of[0] == 0 && of.is_sorted() && of[cells.len() - 3..].is_sorted_by(|fewer, more| fewer < more),
            "{of:?}"
        );
        assert!(cells.iter().all(|cell| retries(own, pec, cell, "chip.model=none") == 0));
    }
}

#[test]
fn the_cliff_is_where_the_cache_is_full_and_behind_it_the_chips_own_cells_set_the_pace() {
    // Four dies; 5 blocks of 20 pages each: 400 pages. Programs overlap with the transfers of the next ones.
    let (dies, cache) = (4.0, 400);
    let before = dies / (SLC_PROGRAM as f64 / 1e6);
    let behind = dies * 3.0 / (PROGRAM as f64 / 1e6);
    let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.02;
    let settings = ["slc.blocks=5", "buffer.size=256KiB"];
    for (kind, cliff) in [("none", 0), ("static", cache), ("dynamic", cache)] {
        let mut device =
            Device::new(&config(&[&settings[..], &[&format!("ftl.slc_cache={kind}")]].concat()), 1).unwrap();
        let done = fill(&mut device, 1_200);
        // What the buffer holds is ahead of the flash.
        let ahead = 16;
        if cliff > 0 {
            assert!(close(rate(&done, 50, cliff), before), "{kind}: {} pages/s before", rate(&done, 50, cliff));
            // The cliff: the completion at which the mean rate since the start begins to fall.
            let time = cliff as f64 / before * 1e9;
            let at_cliff = done.iter().filter(|at| **at as f64 <= time).count();
            assert!(at_cliff.abs_diff(cliff + ahead) < 12, "{kind}: {at_cliff} pages when the cache is full");
            let counters = device.counters();
            assert_eq!((counters.slc_pages, counters.pages_relocated[FOLD]), (cache as u64, 0), "{kind}");
        }
        let found = rate(&done, cliff + 100, 1_190);
        assert!(close(found, behind), "{kind}: {found} pages/s behind, {behind} expected");
    }
}

#[test]
fn a_slow_link_hides_the_cliff() {
    // 100 MB/s: 6104 pages a second, less than the chip's own cells take.
    let settings = ["ftl.slc_cache=static", "slc.blocks=5", "host.link_bandwidth=100MB/s"];
    let mut device = Device::new(&config(&settings), 1).unwrap();
    let done = fill(&mut device, 1_200);
    let link = 1e8 / PAGE as f64;
    for (from, to) in [(50, 390), (500, 1_190)] {
        assert!((rate(&done, from, to) / link - 1.0).abs() < 0.01, "{}", rate(&done, from, to));
    }
}

#[test]
fn a_full_cache_that_writes_wait_for_is_as_fast_as_it_is_folded() {
    // Of three pages: their programs of one bit, their senses, the wordline that they are folded into, and their part
    // of the erase of a block of the cache, whose 20 pages fold into 7 wordlines. The arrays are never idle.
    let settings = [
        "ftl.slc_cache=static",
        "slc.blocks=5",
        "slc.full=wait",
        "slc.fold_start=5",
        "slc.fold=copyback",
        "slc.fold_idle=none",
        "buffer.size=4MiB",
    ];
    let mut device = Device::new(&config(&settings), 1).unwrap();
    let pages = 4_000;
    let done = fill(&mut device, pages);
    let of_block = 20 * SLC_PROGRAM + 20 * SLC_READ + 7 * PROGRAM + SLC_ERASE;
    let expected = 4.0 * 20.0 / (of_block as f64 / 1e6);
    let found = rate(&done, 1_500, pages as usize - 10);
    assert!((found / expected - 1.0).abs() < 0.03, "{found} pages/s, {expected} expected");
    let counters = device.counters();
    assert_eq!((counters.native_pages, counters.pages_relocated[COLLECTION]), (0, 0));
}

/// A drive with so little power has always blocks to refresh, and what the host writes waits for the cache.
#[test]
fn blocks_of_the_cache_are_folded_in_turn_with_those_that_are_refreshed() {
    let old = ["refresh.period=8s", "age.retention=30d", "age.fill=0.9", "slc.full=wait", "host.timeout=5s"];
    let slow = ["energy.program_mw=100", "energy.idle_mw=500", "energy.power_states=[0.52]", "energy.power_state=0"];
    for cache in ["ftl.slc_cache=static", "ftl.slc_cache=dynamic"] {
        let mut device =
            Device::new(&config(&[&old[..], &slow, &["slc.blocks=4", "slc.fold_start=1", cache]].concat()), 1).unwrap();
        fill(&mut device, 1_000);
        let [folded, refreshed] = [FOLD, REFRESH].map(|cause| device.counters().blocks_relocated[cause]);
        assert!(folded >= 30 && folded.abs_diff(refreshed) <= 8, "{cache}: {folded} folded, {refreshed} refreshed");
    }
}

#[test]
fn a_dynamic_cache_shrinks_with_the_free_space_and_gives_its_blocks_back() {
    let settings = ["ftl.slc_cache=dynamic", "slc.blocks=60", "slc.fold_idle=2ms"];
    let mut device = Device::new(&config(&settings), 1).unwrap();
    // Of 60 blocks of a plane collection keeps gc.stop = 5.
    let cache = 4 * 55 * 20;
    let done = fill(&mut device, 4_800);
    assert_eq!(device.counters().slc_pages, cache);
    let (before, behind) = (rate(&done, 100, 4_300), rate(&done, 4_450, 4_700));
    assert!((before / 20_000.0 - 1.0).abs() < 0.01 && behind < 11_000.0, "{before} and {behind} pages/s");
    device.flush().unwrap();
    // The host was idle: all full blocks are folded, and the open ones are left.
    assert!(device.state().slc_blocks.is_some_and(|blocks| blocks <= 4));
    assert!(device.counters().pages_relocated[FOLD] >= cache - 4 * 20);
    device.check_mapping().unwrap();
}

#[test]
fn random_overwriting_keeps_every_page_and_counts_every_program() {
    for (kind, full, cell) in [
        ("static", "direct", "SLC"),
        ("static", "wait", "SLC"),
        ("dynamic", "direct", "SLC"),
        ("dynamic", "wait", "SLC"),
        ("static", "wait", "MLC"),
        ("dynamic", "direct", "MLC"),
        ("static", "direct", "TLC"),
        ("dynamic", "wait", "TLC"),
    ] {
        let settings = [
            if cell == "TLC" { "geometry.cell=QLC" } else { "geometry.cell=TLC" },
            &format!("slc.cell={cell}"),
            &format!("ftl.slc_cache={kind}"),
            &format!("slc.full={full}"),
            "slc.blocks=8",
            "slc.fold_start=2",
            "slc.fold_idle=1ms",
            "ftl.over_provisioning=0.6",
            "age.fill=0.9",
        ];
        let mut device = Device::new(&config(&settings), 1).unwrap();
        let (pages, random) = (device.plan().logical_pages, Stream::new(3, "overwrites"));
        let written: HashSet<u64> = (0..12_000).map(|index| random.below(index, pages)).collect();
        for index in 0..12_000 {
            let at = Time(device.now().0.max(index * 100_000));
            device.submit(Request::new(at, Op::Write, Bytes(random.below(index, pages) * PAGE), Bytes(PAGE))).unwrap();
            device.advance(at).unwrap();
        }
        device.flush().unwrap();
        device.check_mapping().unwrap();
        let counters = device.counters();
        assert!(written.iter().all(|page| device.flash_page(Lpn(*page)).is_some()), "{kind} {full} {cell}");
        assert_eq!(counters.slc_pages + counters.native_pages, counters.user_pages_programmed, "{kind} {full} {cell}");
        assert!(counters.pages_relocated[FOLD] > 0 && counters.slc_pages > 0, "{kind} {full} {cell}");
    }
}

#[test]
fn impossible_caches_are_refused_with_their_key_and_a_remedy() {
    let refused = |settings: &[&str]| config(settings).plan().unwrap_err();
    for (settings, key) in [
        (&["ftl.slc_cache=static", "slc.blocks=40"][..], "slc.blocks"),
        (&["ftl.slc_cache=static", "geometry.cell=SLC"], "geometry.cell"),
        (&["ftl.slc_cache=dynamic", "ftl.hints=3", "slc.blocks=2"], "slc.blocks"),
        (&["ftl.slc_cache=dynamic", "ftl.hints=5", "slc.blocks=9"], "ftl.hints"),
        (&["ftl.slc_cache=dynamic", "slc.fold=copyback", "ftl.raid=parity:4"], "slc.fold"),
        (&["ftl.slc_cache=dynamic", "slc.full=wait"], "slc.full"),
        (&["ftl.slc_cache=dynamic", "slc.fold_start=9"], "slc.fold_start"),
        (&["ftl.slc_cache=static", "slc.fold=copyback", "mapping.unit=4KiB"], "slc.fold"),
        (&["ftl.slc_cache=static", "slc.cell=TLC"], "slc.cell"),
        (&["ftl.slc_cache=static", "slc.cell=MLC", "slc.t_read=[20us, 30us, 40us]"], "slc.t_read"),
        (&["slc.t_read=[20us, 0us]"], "slc.t_read"),
        (&["slc.wear=-1"], "slc.wear"),
        (&["slc.blocks=0"], "slc.blocks"),
    ] {
        let error = refused(settings);
        assert_eq!(error.key.as_deref(), Some(key), "{settings:?}: {error}");
        assert!(!error.remedy.is_empty());
    }
}

#[test]
fn an_erase_in_the_cache_wears_as_much_as_it_is_said_to() {
    let settings = ["ftl.slc_cache=static", "slc.blocks=3", "slc.fold_idle=none", "slc.wear=0.25", "slc.fold_start=2"];
    let mut device = Device::new(&config(&settings), 1).unwrap();
    for round in 0..20u64 {
        for page in 0..200 {
            let at = Time(device.now().0.max(round * 100_000_000));
            device.submit(Request::new(at, Op::Write, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
            device.advance(at).unwrap();
        }
    }
    device.flush().unwrap();
    let erases: Vec<u32> = device.erases().collect();
    // The last three blocks of each plane.
    let of_cache = erases.chunks(60).flat_map(|plane| &plane[57..]);
    assert_eq!(of_cache.map(|erases| u64::from(*erases)).sum::<u64>(), device.counters().slc_erases);
    let written = (0..200).filter_map(|page| Some((device.flash_page(Lpn(page))?, device.conditions_of(Lpn(page))?)));
    let layout = device.plan().layout;
    let mut in_cache = 0;
    for (ppn, conditions) in written {
        let at = layout.unpack(ppn);
        let erases = erases[at.plane.0 as usize * 60 + at.block as usize];
        let worn = if at.block >= 57 { (f64::from(erases) * 0.25).round() as u32 } else { erases };
        in_cache += u32::from(at.block >= 57);
        assert!(conditions.pec.0.abs_diff(worn) <= 1, "{} cycles of {erases} erases", conditions.pec.0);
    }
    assert!(in_cache > 0);
}

/// A drive whose old data is read with retries; the mean latency of rounds of reads of a hot block's worth of pages
/// [us].
fn hot_rounds(convert: &str) -> (Vec<f64>, Device) {
    let settings = [
        "ftl.slc_cache=static",
        "slc.blocks=6",
        "slc.fold_idle=1ms",
        "chip.model=tlc48",
        "age.pec=1000",
        "age.retention=6mo",
        "age.fill=0.5",
        convert,
    ];
    let mut device = Device::new(&config(&settings), 1).unwrap();
    let mut means = Vec::new();
    for _ in 0..8 {
        let mut sum = 0;
        for page in 0..200 {
            let at = device.now();
            device.submit(Request::new(at, Op::Read, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
            assert!(device.advance_to_completion(Time::NEVER).unwrap());
            sum += device.take_completions().map(|done| done.latency().0).sum::<u64>();
        }
        means.push(sum as f64 / 200e3);
        // Time for what has been asked for.
        device.advance(Time(device.now().0 + 100_000_000)).unwrap();
        device.check_mapping().unwrap();
    }
    (means, device)
}

#[test]
fn data_that_is_read_with_retries_is_read_without_when_it_has_been_converted_and_stays_so() {
    let (before, _) = hot_rounds("slc.convert=none");
    for policy in ["slc.convert=retries:100", "slc.convert=hot:100"] {
        let (means, device) = hot_rounds(policy);
        let counters = device.counters();
        assert!((means[0] - before[0]).abs() < before[0] * 0.5, "{policy}: {means:?} and {before:?}");
        // Each of the four planes has one block of the hot pages.
        assert_eq!((counters.blocks_relocated[CONVERSION], counters.pages_relocated[CONVERSION]), (4, 240), "{policy}");
        let of_one_bit = (SLC_READ * 1_000 + PAGE + 34) as f64 / 1e3;
        assert!((means[7] - of_one_bit).abs() < 0.01, "{policy}: {means:?}");
        // Idleness folds what the host has written, and leaves what it reads.
        assert_eq!(counters.blocks_relocated[FOLD], 0, "{policy}");
        assert_eq!(device.state().slc_blocks, Some(12), "{policy}");
    }
}

/// A block of data that is converted fills the cache, and a program into the last block of that fails: what it held has
/// no room in the cache any more, and goes past it.
#[test]
fn conversions_end_where_programs_into_the_last_block_of_the_cache_fail() {
    let settings = [
        "geometry.channels=1",
        "geometry.dies=1",
        "ftl.slc_cache=dynamic",
        "slc.blocks=3",
        "slc.fold_idle=0ns",
        "slc.fold_start=1",
        "slc.convert=hot:100",
        "wear.program_fail=0.02",
        "age.fill=0.5",
    ];
    let mut failed = 0;
    for seed in 0..20 {
        let mut device = Device::new(&config(&settings), seed).unwrap();
        for count in 0..3_000 {
            let at = device.now();
            device.submit(Request::new(at, Op::Read, Bytes(count % 300 * PAGE), Bytes(PAGE))).unwrap();
            assert!(device.advance_to_completion(Time::NEVER).unwrap());
        }
        device.take_completions();
        device.flush().unwrap();
        assert!(device.rests(), "{seed}: {:?}", device.counters());
        failed += device.counters().pages_failed;
    }
    assert!(failed > 10, "{failed}");
}

#[test]
fn pages_that_are_folded_in_two_passes_are_sent_twice_and_read_from_the_cache_until_the_second_has_ended() {
    let settings = [
        "geometry.channels=1",
        "geometry.dies=1",
        "geometry.cell=QLC",
        "geometry.pages=16",
        "ftl.over_provisioning=2",
        "chip.program_passes=2",
        "chip.t_prog=[500us, 900us]",
        "chip.cache_program=false",
        "ftl.slc_cache=static",
        "slc.fold_idle=1ms",
        "schedule.order=read-first",
    ];
    let watch = Watch::default();
    let mut device = watched(&config(&settings), 1, watch.clone());
    for page in 0..4 {
        device.submit(Request::new(Time(0), Op::Write, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
    }
    device.advance(Time(1_000_000)).unwrap();
    let cached: Vec<_> = (0..4).map(|page| device.flash_page(Lpn(page)).unwrap()).collect();
    watch.0.borrow_mut().clear();
    // Writes end when they are in the buffer; the host is idle from then on.
    let read = |device: &mut Device<_>, at: u64| {
        device.submit(Request::new(Time(at), Op::Read, Bytes(0), Bytes(PAGE))).unwrap();
        let before = device.flash_page(Lpn(0)).unwrap();
        device.advance(Time(at + 2_500_000)).unwrap();
        (before, device.take_completions().map(|done| done.latency().0).max())
    };
    // Four senses and transfers, the data into the die: the first pass runs until some 1.7 ms.
    let (place, latency) = read(&mut device, 1_300_000);
    assert_eq!(place, cached[0], "between the passes the page is where it was");
    let history = watch.0.borrow().clone();
    let programs: Vec<_> = history.iter().filter(|entry| entry.0 == "program").collect();
    assert_eq!(programs.len(), 2);
    assert_eq!(programs.iter().map(|entry| entry.2 - entry.1).collect::<Vec<_>>(), [500_000, 900_000]);
    // The read goes between the passes: after it the data crosses the bus again.
    let read = history.iter().rfind(|entry| entry.0 == "sense").unwrap();
    assert_eq!(read.1, programs[0].2);
    assert_eq!(programs[1].1, read.2 + PAGE + 4 * PAGE);
    assert_eq!(latency, Some(read.2 + PAGE + 34 - 1_300_000));
    assert!((0..4).all(|page| device.flash_page(Lpn(page)).unwrap() != cached[page as usize]));
}
