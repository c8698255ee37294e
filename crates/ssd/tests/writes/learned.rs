//! The learned mapping table: what a wrong prediction costs, what a program's pages make of it, and what is left of it
//! after a power cut.

use ssd::{Completion, Config, Device, Drive};
use testing::{Watch, Watched, watched};
use units::{Bytes, Lpn, Time};
use workload::{Op, Request};

const PAGE: u64 = 16_384;

/// One die of one plane, three pages a program.
fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let base = [
        "mapping.table=learned",
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=1",
        "geometry.blocks=60",
        "geometry.pages=60",
        "chip.model=none",
        "age.fill=0",
        "age.precondition=none",
        "ftl.over_provisioning=0.6",
        "buffer.size=1MiB",
    ];
    base.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

fn ask(device: &mut Device<Watched>, op: Op, page: u64, pages: u64) -> Completion {
    device.submit(Request::new(device.now(), op, Bytes(page * PAGE), Bytes(pages * PAGE))).unwrap();
    while !device.advance_to_completion(Time::NEVER).unwrap() {}
    let done = device.take_completions().next().unwrap();
    device.advance(done.finish).unwrap();
    done
}

fn times(watch: &Watch, what: &str) -> Vec<(u64, u64)> {
    watch.0.borrow().iter().filter(|entry| entry.0 == what).map(|entry| (entry.1, entry.2)).collect()
}

#[test]
fn a_wrong_prediction_costs_one_read_of_the_page_that_was_predicted() {
    let watch = Watch::default();
    let mut device = watched(&config(&["mapping.error=1"]), 1, watch.clone());
    // Page 1 is on the second of three pages of the flash, and the line from page 0 to page 8 leads to the first.
    for page in [8, 0, 1] {
        ask(&mut device, Op::Write, page, 1);
    }
    device.flush().unwrap();
    let places: Vec<u64> = [0, 1, 8].map(|page| device.flash_page(Lpn(page)).unwrap().0).to_vec();
    assert_eq!([places[1] - places[0], places[2] - places[1]], [1, 1], "a program's pages go in order");
    let mut read = |page: u64| {
        watch.0.borrow_mut().clear();
        let latency = ask(&mut device, Op::Read, page, 1).latency().0;
        (latency, times(&watch, "sense"), device.counters().map_mispredictions)
    };
    let (right, wrong, also_right) = (read(0), read(1), read(8));
    assert_eq!((right.1.len(), wrong.1.len(), also_right.1.len()), (1, 2, 1));
    assert_eq!((right.2, wrong.2, also_right.2), (0, 1, 1));
    // All of that read but what goes to the host, which is a codeword on the bus, not a page.
    let plan = device.plan();
    let codeword = plan.config.bus.bandwidth.unwrap().time_for(plan.config.ecc.codeword);
    let extra = wrong.1[1].0 - wrong.1[0].0;
    let senses = plan.config.bus.t_command.0 + (wrong.1[0].1 - wrong.1[0].0);
    assert_eq!(extra, senses + codeword.0 + plan.config.ecc.t_decode.0);
    assert_eq!((also_right.0, wrong.0 - extra), (right.0, right.0));
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}

#[test]
fn a_part_of_a_page_in_the_buffer_does_not_tell_where_its_rest_is() {
    // A learned table: page 1 is mispredicted by the read of the whole, and by that of what its program lacks.
    let watch = Watch::default();
    let stays = "buffer.dirty_limit=0.9";
    let mut device = watched(&config(&["mapping.error=1", stays]), 1, watch.clone());
    let write_part = |device: &mut Device<Watched>, page: u64| {
        device.submit(Request::new(device.now(), Op::Write, Bytes(page * PAGE), Bytes(4096))).unwrap();
        while !device.advance_to_completion(Time::NEVER).unwrap() {}
        let done = device.take_completions().next().unwrap();
        device.advance(done.finish).unwrap();
    };
    for page in [8, 0, 1] {
        ask(&mut device, Op::Write, page, 1);
    }
    device.flush().unwrap();
    watch.0.borrow_mut().clear();
    write_part(&mut device, 1);
    ask(&mut device, Op::Read, 1, 1);
    let seen = |device: &Device<Watched>| {
        let counters = device.counters();
        (times(&watch, "sense").len(), counters.map_mispredictions, counters.fill_reads, counters.map_lookups)
    };
    let lookups = device.counters().map_lookups;
    assert_eq!(seen(&device), (2, 1, 0, lookups));
    device.flush().unwrap();
    assert_eq!(seen(&device), (4, 2, 1, lookups + 1));
    device.check_all().unwrap();

    // A cached table of entries: the read is as long as that of any page whose entry is not there.
    let cached = ["mapping.table=cached", "mapping.entry_group=64B", "mapping.cache=1KiB", "age.fill=1", stays];
    let drive = |watch: &Watch| watched(&config(&cached), 1, watch.clone());
    let mut device = drive(&watch);
    let miss = ask(&mut device, Op::Read, 200, 1).latency();
    let hit = ask(&mut device, Op::Read, 200, 1).latency();
    write_part(&mut device, 1000);
    assert_eq!([1000, 1000].map(|page| ask(&mut device, Op::Read, page, 1).latency()), [miss, hit]);

    // What its program lacks is looked up before it is read: when that ends the rest has been written, or trimmed.
    for (op, from, programs) in [(Op::Write, 4096, 1), (Op::Trim, 0, 0)] {
        watch.0.borrow_mut().clear();
        let mut device = drive(&watch);
        let at = device.now().0;
        let mut submit = |time: u64, op: Op, from: u64, to: u64| {
            device.submit(Request::new(Time(at + time), op, Bytes(1000 * PAGE + from), Bytes(to - from))).unwrap();
        };
        submit(0, Op::Write, 0, 4096);
        submit(10_000, Op::Flush, 0, 4096);
        submit(30_000, op, from, PAGE);
        while device.outstanding() > 0 {
            device.advance_to_completion(Time::NEVER).unwrap();
            device.take_completions();
        }
        device.flush().unwrap();
        let counters = device.counters();
        assert_eq!((times(&watch, "sense").len(), counters.fill_reads), (1, 0), "{op:?}: the map alone is read");
        assert_eq!(counters.user_pages_programmed, programs, "{op:?}");
        device.check_all().unwrap();
        device.check_mapping().unwrap();
    }
}

#[test]
fn with_a_bound_of_0_no_read_is_mispredicted_and_results_are_those_of_a_table_in_memory() {
    let play = |settings: &[&str]| {
        let mut device = Device::new(&config(settings), 1).unwrap();
        let draws = units::Stream::new(5, "learned");
        for request in 0..3000 {
            let (op, page) = (if request % 3 == 0 { Op::Read } else { Op::Write }, draws.below(request, 500));
            let time = Time(request * 100_000);
            device.submit(Request::new(time, op, Bytes(page / 4 * 4 * PAGE), Bytes(4 * PAGE))).unwrap();
        }
        device.advance(Time(2_000_000_000)).unwrap();
        device.check_mapping().unwrap();
        (device.counters(), device.state().learned)
    };
    let (exact, learned) = play(&["mapping.error=0"]);
    let (near, fewer) = play(&["mapping.error=4"]);
    let (ideal, none) = play(&["mapping.table=ideal"]);
    assert!(none.is_none() && exact.map_mispredictions == 0 && near.map_mispredictions > 0);
    assert_eq!(exact.pages_read, ideal.pages_read);
    let (learned, fewer) = (learned.unwrap(), fewer.unwrap());
    assert!(fewer.bytes < learned.bytes && fewer.approximate > 0, "{fewer:?} {learned:?}");
}

#[test]
fn writes_in_sequence_take_a_segment_for_each_program() {
    let mut device = watched(&config(&[]), 1, Watch::default());
    ask(&mut device, Op::Write, 0, 240);
    device.flush().unwrap();
    let size = device.state().learned.unwrap();
    assert_eq!((size.segments, size.approximate, size.bytes, size.levels), (80, 0, 640, 1));
}

#[test]
fn after_a_power_cut_the_table_is_learned_from_what_is_found() {
    let settings = ["mapping.error=4", "power.cut_at=[5ms, 12ms, 30ms]"];
    let mut device = watched(&config(&settings), 1, Watch::default());
    let draws = units::Stream::new(5, "learned");
    for request in 0..1000 {
        let (op, page) = (if request % 3 == 0 { Op::Read } else { Op::Write }, draws.below(request, 300));
        device.submit(Request::new(Time(request * 100_000), op, Bytes(page * PAGE), Bytes(PAGE))).unwrap();
    }
    device.advance(Time(200_000_000)).unwrap();
    assert_eq!(device.counters().cuts, 3);
    assert!(device.counters().map_mispredictions > 0 && device.state().learned.unwrap().segments > 0);
    device.check_all().unwrap();
    device.check_mapping().unwrap();
}
