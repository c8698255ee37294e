//! The order of passes: exact times of wordlines that are programmed in two, each with the next one's first pass
//! between them; what the write buffer holds meanwhile, and where it is too small for that.

use ssd::{Config, Device, Drive};
use units::{Bytes, Lpn, Time};
use workload::{Op, Request};

use testing::{Watch, watched};

const PAGE: u64 = 16_384;
const COARSE: u64 = 500_000;
const FINE: u64 = 900_000;
/// What a wordline of four pages takes on the bus.
const DATA: u64 = 4 * PAGE;

/// One plane of QLC blocks of four wordlines; nothing but the array and a 1-GB/s bus takes time.
fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    let small = [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=1",
        "geometry.blocks=40",
        "geometry.pages=16",
        "geometry.cell=QLC",
        "chip.t_prog=[500us, 900us]",
        "chip.program_passes=2",
        "chip.pass_order=interleaved",
        "chip.cache_program=false",
        "chip.t_bers=2ms",
        "bus.bandwidth=1GB/s",
        "bus.t_command=0ns",
        "host.t_submit=0ns",
        "host.t_complete=0ns",
        "host.link_bandwidth=1000GB/s",
        "buffer.dram_bandwidth=1000GB/s",
        "buffer.size=1MiB",
        "buffer.dirty_limit=0",
        "ftl.over_provisioning=2",
        "ftl.erase_when=reclaimed",
        "age.fill=0",
    ];
    small.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    config
}

/// Writes this many pages at once, and waits until they are on flash: how long each pass took, and the time between
/// passes.
fn passes(settings: &[&str], pages: u64) -> (Vec<u64>, Vec<u64>) {
    let watch = Watch::default();
    let mut device = watched(&config(settings), 1, watch.clone());
    device.submit(Request::new(Time(0), Op::Write, Bytes(0), Bytes(pages * PAGE))).unwrap();
    device.flush().unwrap();
    device.check().unwrap();
    device.check_mapping().unwrap();
    let history = watch.0.borrow();
    let programs: Vec<_> = history.iter().filter(|entry| entry.0 == "program").collect();
    let between = programs.windows(2).map(|pair| pair[1].1 - pair[0].2).collect();
    (programs.iter().map(|entry| entry.2 - entry.1).collect(), between)
}

#[test]
fn the_first_pass_of_the_next_wordline_goes_before_the_second_of_a_wordline() {
    // Three wordlines: the third has no next one. Five: the fourth is the last of its block, and of the next block
    // there is one.
    let (took, between) = passes(&[], 12);
    assert_eq!(took, [COARSE, COARSE, FINE, COARSE, FINE, FINE]);
    assert_eq!(between, [DATA; 5]);
    let (took, _) = passes(&[], 20);
    assert_eq!(took, [COARSE, COARSE, FINE, COARSE, FINE, COARSE, FINE, FINE, COARSE, FINE]);
    // Data crosses the bus while passes run.
    let (took, between) = passes(&["chip.cache_program=true"], 12);
    assert_eq!((took, between), (vec![COARSE, COARSE, FINE, COARSE, FINE, FINE], vec![0; 5]));
    // A wordline whose second pass runs, the next one, and the one whose data is sent meanwhile: three are enough. With
    // two the second of these is finished before any data of a third has come.
    let (took, between) = passes(&["chip.cache_program=true", "buffer.size=192KiB"], 16);
    assert_eq!(took, [COARSE, COARSE, FINE, COARSE, FINE, COARSE, FINE, FINE]);
    assert_eq!(between, [0; 7]);
    let (took, _) = passes(&["chip.cache_program=true", "buffer.size=128KiB"], 16);
    assert_eq!(took, [COARSE, COARSE, FINE, FINE, COARSE, FINE, COARSE, FINE]);
    for alone in
        [["chip.pass_order=wordline", "buffer.size=1MiB"], ["chip.pass_order=interleaved", "buffer.size=64KiB"]]
    {
        // A buffer of one wordline has no data of a next one.
        let (took, _) = passes(&alone, 12);
        assert_eq!(took, [COARSE, FINE, COARSE, FINE, COARSE, FINE], "{alone:?}");
    }
}

#[test]
fn data_stays_in_the_buffer_until_its_second_pass_has_ended() {
    let mut device = Device::new(&config(&[]), 1).unwrap();
    device.submit(Request::new(Time(0), Op::Write, Bytes(0), Bytes(12 * PAGE))).unwrap();
    let (coarse, fine) = (DATA + COARSE, DATA + FINE);
    // After the first passes of two wordlines, the second of the first one, and all of them.
    for (at, on_flash) in [(2 * coarse, 0), (2 * coarse + fine, 4), (3 * coarse + 3 * fine, 12)] {
        device.advance(Time(at + 1_000)).unwrap();
        device.take_completions().for_each(drop);
        let stored = (0..12).filter(|page| device.flash_page(Lpn(*page)).is_some()).count();
        assert_eq!(stored, on_flash, "{at} ns");
        if on_flash < 12 {
            // The DRAM and the link alone.
            device.submit(Request::new(device.now(), Op::Read, Bytes(4 * PAGE), Bytes(PAGE))).unwrap();
            assert!(device.advance_to_completion(Time::NEVER).unwrap());
            assert_eq!(device.take_completions().next().unwrap().latency().0, 34);
        }
    }
}

#[test]
fn a_power_cut_takes_the_wordline_that_an_array_has_begun_and_not_one_that_is_still_sent_to_it() {
    for (at, begun) in [
        // The data crosses the bus for the first pass; that is in the array; the data is sent again; the second pass;
        // its end.
        (DATA / 2, false),
        (DATA + COARSE / 2, true),
        (DATA + COARSE + DATA / 2, true),
        (DATA + COARSE + DATA + FINE / 2, true),
        (2 * DATA + COARSE + FINE + 1_000, true),
    ] {
        let cut = format!("power.cut_at=[{at}ns]");
        let mut device = Device::new(&config(&["chip.pass_order=wordline", &cut]), 1).unwrap();
        device.submit(Request::new(Time(0), Op::Write, Bytes(0), Bytes(4 * PAGE))).unwrap();
        device.advance(Time(1_000_000_000)).unwrap();
        // Recovery reads the pages of blocks in which it finds any.
        let [_, _, of_blocks, _] = device.counters().recovery_reads;
        assert_eq!((device.counters().cuts, of_blocks > 0), (1, begun), "a cut at {at} ns");
        device.check().unwrap();
        device.check_mapping().unwrap();
    }
}

#[test]
fn what_cannot_be_interleaved_is_refused() {
    for (settings, key) in [
        (&["chip.program_passes=3", "chip.t_prog=1ms"][..], "chip.program_passes"),
        (&["geometry.planes=2"], "chip.pass_order"),
    ] {
        let error = config(settings).plan().unwrap_err();
        assert_eq!(error.key.as_deref(), Some(key), "{settings:?}: {error}");
    }
    assert!(config(&["geometry.planes=2", "ftl.allocation=superblock"]).plan().is_ok());
}
