//! What copying data back costs: errors that add up copy by copy, in closed form; where they cannot be corrected any
//! more; and the limit of copies in a row.

use nand::VirtualChip;
use ssd::stats::Counters;
use ssd::stats::relocation_causes::{FOLD, REFRESH};
use ssd::{Config, Device, Drive};
use units::{Bytes, Time};
use workload::{Op, Request};

const PAGE: u64 = 16_384;
const SECOND: u64 = 1_000_000_000;

/// One plane of 30 blocks of 12 TLC pages whose data is refreshed every second or so.
fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let small = [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=1",
        "geometry.blocks=30",
        "geometry.pages=12",
        "chip.model=tlc48",
        "age.pec=1000",
        "age.fill=0",
        "ftl.over_provisioning=1.5",
        "refresh.period=1s",
    ];
    small.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

/// Writes some pages, and waits for this many seconds.
fn aged(config: &Config, pages: u64, seconds: u64) -> Device {
    let mut device = Device::new(config, 1).unwrap();
    device.submit(Request::new(Time(0), Op::Write, Bytes(0), Bytes(pages * PAGE))).unwrap();
    device.flush().unwrap();
    device.advance(Time(seconds * SECOND)).unwrap();
    device.check_mapping().unwrap();
    device.check().unwrap();
    device
}

/// Pages that cannot be corrected, of this many.
fn unreadable(device: &mut Device, pages: u64) -> u64 {
    let before = device.counters().pages_unreadable;
    device.submit(Request::new(device.now(), Op::Read, Bytes(0), Bytes(pages * PAGE))).unwrap();
    while device.outstanding() > 0 {
        device.take_completions().for_each(drop);
        assert!(device.advance_to_completion(Time::NEVER).unwrap());
    }
    device.counters().pages_unreadable - before
}

/// Mean errors per KiB that copies took along.
fn mean(counters: &Counters) -> f64 {
    let [copies, thousandths] = counters.copied_errors;
    thousandths as f64 / 1e3 / copies as f64
}

/// Mean errors per KiB of fresh data, by the default references.
fn of_fresh_data() -> f64 {
    let cells = VirtualChip::preset("tlc48").unwrap().cells;
    let shape = cells.shape(1.025, 0.0, 0.0, 1.0);
    (0..3).map(|page| cells.errors(shape, page, 0.0)).sum::<f64>() / 3.0 + cells.cold(30.0)
}

#[test]
fn errors_of_copies_in_a_row_add_up_until_the_controller_corrects_them() {
    let fresh = of_fresh_data();
    for limit in [1, 2, 4] {
        let word = format!("gc.copyback_limit={limit}");
        let mut device = aged(&config(&["gc.copyback=true", &word]), 96, 61);
        let counters = device.counters();
        // Of this many copies in a row the first takes the errors of one page along, the second those of two.
        let expected = fresh * f64::from(limit + 1) / 2.0;
        let found = mean(&counters);
        assert!((found / expected - 1.0).abs() < 0.05, "limit {limit}: {found} errors per KiB, {expected} expected");
        // One relocation in limit + 1 goes through the controller.
        let copied = counters.copied_errors[0] as f64 / counters.pages_relocated[REFRESH] as f64;
        let expected = f64::from(limit) / f64::from(limit + 1);
        assert!((copied / expected - 1.0).abs() < 0.05, "limit {limit}: {copied} are copied, {expected} expected");
        // Some 23 errors a copy: after two there is room for the worst codeword's own.
        assert!(limit > 2 || unreadable(&mut device, 96) == 0, "limit {limit}, {fresh} errors a copy");
    }
}

#[test]
fn data_that_is_copied_back_for_too_long_cannot_be_read_any_more() {
    // As many copies as leave room for the worst codeword, and as many as leave none for any.
    let fresh = of_fresh_data();
    let capability = f64::from(VirtualChip::preset("tlc48").unwrap().cells.capability);
    let copies_of = |seconds| {
        let mut device = aged(&config(&["gc.copyback=true"]), 96, seconds);
        let copies = device.counters().pages_relocated[REFRESH] / 96;
        (copies, unreadable(&mut device, 96))
    };
    let mut seen = [false; 2];
    for seconds in [2, 4, 6, 20] {
        let (copies, lost) = copies_of(seconds);
        let carried = copies as f64 * fresh;
        if carried < 0.5 * capability {
            assert_eq!(lost, 0, "{copies} copies");
            seen[0] = true;
        } else if carried > 1.5 * capability {
            assert_eq!(lost, 96, "{copies} copies");
            seen[1] = true;
        }
    }
    assert_eq!(seen, [true; 2], "{fresh} errors a copy");
    // Where blocks are erased pulse by pulse, these errors come on top of those that the erases leave.
    let mut by_pulses = aged(&config(&["gc.copyback=true", "erase.pulse=ispe"]), 96, 20);
    assert_eq!(unreadable(&mut by_pulses, 96), 96);
    let mut through_controller = aged(&config(&[]), 96, 20);
    assert_eq!(through_controller.counters().copied_errors, [0, 0]);
    assert_eq!(unreadable(&mut through_controller, 96), 0);
    // Without a chip model nothing says how many errors there are.
    let mut unmodelled = aged(&config(&["gc.copyback=true", "chip.model=none"]), 96, 20);
    assert_eq!((unmodelled.counters().copied_errors, unreadable(&mut unmodelled, 96)), ([0, 0], 0));
}

#[test]
fn folding_by_copyback_takes_the_errors_of_the_cache_along() {
    let settings = |fold: &'static str| {
        let cache = ["ftl.slc_cache=static", "slc.blocks=4", "slc.fold_idle=1ms", "refresh.period=none"];
        config(&[&cache[..], &[fold]].concat())
    };
    let device = aged(&settings("slc.fold=copyback"), 16, 1);
    let counters = device.counters();
    assert_eq!((counters.pages_relocated[FOLD], counters.copied_errors[0]), (16, 16));
    // Fresh states of one bit a cell do not overlap: what is left is what reading in the cold adds.
    let cold = VirtualChip::preset("tlc48").unwrap().cells.cold(30.0);
    assert!((mean(&counters) - cold).abs() < 1e-3, "{} errors per KiB of {cold}", mean(&counters));
    assert_eq!(aged(&settings("slc.fold=controller"), 16, 1).counters().copied_errors, [0, 0]);
}
