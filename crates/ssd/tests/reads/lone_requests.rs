//! Requests on an idle device take what the formulas of docs/model.md say, to the nanosecond.

use ssd::{Config, Device, Drive};
use units::{Bytes, Time};
use workload::{Op, Request};

const SUBMIT: u64 = 700;
const COMPLETE: u64 = 300;
const COMMAND: u64 = 200;
const PAGE: u64 = 16_384;
const TR: [u64; 3] = [40_000, 60_000, 50_000];
const PROGRAM: u64 = 400_000;
const ERASE: u64 = 3_000_000;
const DECODE: u64 = 5_000;

/// A small device with round times: 1 GB/s buses, 2 GB/s link, 4 GB/s DRAM, all 16-KiB pages.
fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    for word in [
        "geometry.channels=2",
        "geometry.chips=1",
        "geometry.dies=2",
        "geometry.planes=2",
        "geometry.blocks=40",
        "geometry.pages=30",
        "chip.t_read=[40us,60us,50us]",
        "chip.t_prog=400us",
        "chip.t_bers=3ms",
        "chip.program_unit=page",
        "chip.plane_reads=independent",
        "chip.cache_read=false",
        "chip.cache_program=false",
        "bus.bandwidth=1GB/s",
        "bus.t_command=200ns",
        "bus.transfer=page",
        "ecc.t_decode=5us",
        "ecc.decoders=1",
        "ecc.buffer=4",
        "host.t_submit=700ns",
        "host.t_complete=300ns",
        "host.link_bandwidth=2GB/s",
        "buffer.dram_bandwidth=4GB/s",
        "ftl.placement=static",
        "ftl.page_order=PDWC",
        "ftl.erase_when=reclaimed",
        "age.fill=0.5",
        "buffer.size=1MiB",
        "ftl.over_provisioning=0.5",
    ]
    .iter()
    .chain(settings)
    {
        config.set(word).unwrap();
    }
    config
}

fn request(time: u64, op: Op, offset: u64, bytes: u64) -> Request {
    Request::new(Time(time), op, Bytes(offset), Bytes(bytes))
}

/// Latencies of requests, in order of submission.
fn latencies(config: &Config, requests: &[Request]) -> Vec<u64> {
    let mut device = Device::new(config, 1).unwrap();
    for request in requests {
        device.submit(*request).unwrap();
    }
    let mut found = vec![0; requests.len()];
    while device.advance_to_completion(Time::NEVER).unwrap() {
        for completion in device.take_completions() {
            found[completion.id as usize] = completion.latency().0;
        }
        device.check().unwrap();
    }
    found
}

fn one(settings: &[&str], op: Op, offset: u64, bytes: u64) -> u64 {
    latencies(&config(settings), &[request(1_000, op, offset, bytes)])[0]
}

/// Link and DRAM time of this many bytes.
fn link(bytes: u64) -> u64 {
    bytes.div_ceil(2)
}
fn dram(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

#[test]
fn a_lone_read_takes_command_sense_transfer_decode_and_link() {
    for (index, sense) in TR.into_iter().enumerate() {
        // Page `index` of block 0 of plane 0: eight planes are dealt one page each before the next.
        let offset = index as u64 * 8 * PAGE;
        let flash = COMMAND + sense + PAGE + DECODE;
        assert_eq!(one(&[], Op::Read, offset, PAGE), SUBMIT + flash + dram(PAGE) + link(PAGE) + COMPLETE);
        assert_eq!(one(&[], Op::Read, offset + 512, 512), SUBMIT + flash + dram(512) + link(512) + COMPLETE);
    }
}

#[test]
fn firmware_adds_its_time_and_bounds_the_rate_by_its_cores() {
    let firmware = "host.t_firmware=1700ns";
    let alone = [(Op::Read, PAGE), (Op::Read, 512), (Op::Write, PAGE), (Op::Trim, PAGE), (Op::Flush, 0)];
    for (op, bytes) in alone {
        let without = one(&[], op, 0, bytes);
        assert_eq!(one(&[firmware], op, 0, bytes), without + 1_700, "{op:?}");
        assert_eq!(one(&[firmware, "host.cores=3"], op, 0, bytes), without + 1_700, "{op:?}");
    }
    // Reads of what was never written take no flash, so that the cores are the narrowest part.
    let beyond = config(&[]).plan().unwrap().capacity().0 - PAGE;
    let burst: Vec<Request> = (0..1000).map(|_| request(1_000, Op::Read, beyond, 512)).collect();
    for cores in [1, 2, 3, 7] {
        let config = config(&["host.t_firmware=4us", &format!("host.cores={cores}")]);
        let found = latencies(&config, &burst);
        for (index, latency) in (0..).zip(found) {
            // The link sends the parts that are processed together one after the other.
            let (turn, place) = (1 + index / cores, 1 + index % cores);
            assert_eq!(latency, SUBMIT + turn * 4_000 + place * link(512) + COMPLETE, "{index} on {cores} cores");
        }
        let mut device = Device::new(&config, 1).unwrap();
        burst.iter().for_each(|request| assert!(device.submit(*request).is_ok()));
        device.advance(Time(1_000 + SUBMIT + 10_000)).unwrap();
        assert_eq!(device.usage().firmware.0, 10_000);
        device.advance(Time(100_000_000)).unwrap();
        assert_eq!(device.usage().firmware.0, 1000 * 4_000 / cores);
    }
}

#[test]
fn a_part_of_a_page_moves_the_codewords_it_touches() {
    for (offset, bytes, codewords) in [(0, 512, 1), (4096, 4096, 1), (4095, 2, 2), (100, 8192, 3), (0, PAGE, 4)] {
        let flash = COMMAND + TR[0] + codewords * 4096 + DECODE;
        let expected = SUBMIT + flash + dram(bytes) + link(bytes) + COMPLETE;
        assert_eq!(one(&["bus.transfer=codeword"], Op::Read, offset, bytes), expected, "{bytes} B at {offset}");
    }
    let settings = ["bus.transfer=codeword", "bus.bandwidth=none", "bus.t_dma=13us"];
    let flash = COMMAND + TR[0] + 13_000 / 4 + DECODE;
    assert_eq!(one(&settings, Op::Read, 0, 512), SUBMIT + flash + dram(512) + link(512) + COMPLETE);
}

#[test]
fn pages_on_two_channels_are_read_at_the_same_time() {
    // With the channel changing fastest, pages 0 and 1 share nothing but DRAM and link.
    let flash = COMMAND + TR[0] + PAGE + DECODE;
    let expected = SUBMIT + flash + 2 * dram(PAGE) + link(PAGE) + link(PAGE) - dram(PAGE) + COMPLETE;
    assert_eq!(one(&["ftl.page_order=CPDW"], Op::Read, 0, 2 * PAGE), expected);
}

#[test]
fn pages_of_two_dies_share_the_bus() {
    // The second command follows the first; the second page leaves when the first has left.
    let out = COMMAND + TR[0] + 2 * PAGE;
    let expected = SUBMIT + out + DECODE + dram(PAGE) + link(PAGE) + COMPLETE;
    assert_eq!(one(&["ftl.page_order=DPWC"], Op::Read, 0, 2 * PAGE), expected);
}

#[test]
fn planes_sense_alone_together_or_independently() {
    let tail = DECODE + dram(PAGE) + link(PAGE) + COMPLETE;
    let expected = |reads: &str| match reads {
        // One command after the other, senses overlap, the bus moves one page after the other.
        "independent" => COMMAND + TR[0] + 2 * PAGE,
        // Both commands, one sense, then both pages.
        "lockstep" => 2 * COMMAND + TR[0] + 2 * PAGE,
        // The second sense starts when the first has ended; its command goes before the first page leaves.
        _ => 2 * (COMMAND + TR[0]) + PAGE,
    };
    for reads in ["independent", "lockstep", "single"] {
        let word = format!("chip.plane_reads={reads}");
        assert_eq!(one(&[&word], Op::Read, 0, 2 * PAGE), SUBMIT + expected(reads) + tail, "{reads}");
    }
}

#[test]
fn a_cache_register_lets_the_plane_sense_on() {
    // Two pages of one plane, the second an upper page (60 us).
    let pair = [request(1_000, Op::Read, 0, PAGE), request(1_000, Op::Read, 8 * PAGE, PAGE)];
    let tail = DECODE + dram(PAGE) + link(PAGE) + COMPLETE;
    let first = COMMAND + TR[0] + PAGE;
    assert_eq!(latencies(&config(&[]), &pair)[1], SUBMIT + first + COMMAND + TR[1] + PAGE + tail);
    // With it the next command goes out as soon as the first sense has ended, and before the first page.
    let cached = latencies(&config(&["chip.cache_read=true"]), &pair);
    assert_eq!(cached[0], SUBMIT + COMMAND + TR[0] + COMMAND + PAGE + tail);
    assert_eq!(cached[1], SUBMIT + COMMAND + TR[0] + COMMAND + TR[1] + PAGE + tail);
}

#[test]
fn a_lone_write_is_acknowledged_from_the_buffer_or_from_flash() {
    let stored = SUBMIT + link(PAGE) + dram(PAGE) + COMPLETE;
    assert_eq!(one(&[], Op::Write, 0, PAGE), stored);
    let through = ["buffer.mode=write-through"];
    let programmed = SUBMIT + link(PAGE) + COMMAND + PAGE + PROGRAM + COMPLETE;
    assert_eq!(one(&through, Op::Write, 0, PAGE), programmed);
    // Two planes of a die are programmed together, or one after the other.
    let both = SUBMIT + link(2 * PAGE) + 2 * (COMMAND + PAGE) + PROGRAM + COMPLETE;
    assert_eq!(one(&through, Op::Write, 0, 2 * PAGE), both);
    let single = SUBMIT + link(2 * PAGE) + 2 * (COMMAND + PAGE + PROGRAM) + COMPLETE;
    assert_eq!(one(&["buffer.mode=write-through", "chip.plane_programs=single"], Op::Write, 0, 2 * PAGE), single);
}

#[test]
fn pages_of_a_wordline_are_programmed_in_their_own_times() {
    let settings = ["buffer.mode=write-through", "chip.t_prog=[300us,600us,2ms]"];
    let asked: Vec<Request> = (0..6).map(|page| request(page * 10_000_000, Op::Write, page * 8 * PAGE, PAGE)).collect();
    let programmed = |t_prog: u64| SUBMIT + link(PAGE) + COMMAND + PAGE + t_prog + COMPLETE;
    let [lower, middle, upper] = [300_000, 600_000, 2_000_000].map(programmed);
    assert_eq!(latencies(&config(&settings), &asked), [lower, middle, upper, lower, middle, upper]);
}

#[test]
fn a_pass_takes_the_data_again_and_reads_go_between_passes() {
    let base = ["chip.program_unit=wordline", "chip.program_passes=2", "chip.t_prog=[500us,900us]"];
    let data = COMMAND + 3 * PAGE;
    let through = [&base[..], &["buffer.mode=write-through", "chip.cache_program=false"]].concat();
    let programmed = SUBMIT + link(PAGE) + data + 500_000 + data + 900_000 + COMPLETE;
    assert_eq!(one(&through, Op::Write, 0, PAGE), programmed);
    // Into the cache registers it is sent while the first pass is under way.
    let cached = [&base[..], &["buffer.mode=write-through", "chip.cache_program=true"]].concat();
    assert_eq!(one(&cached, Op::Write, 0, PAGE), programmed - data);
    // A read of that plane comes in the first pass and is sensed at its end; then the second pass goes on.
    let asked = [request(0, Op::Write, 0, PAGE), request(100_000, Op::Read, 8 * PAGE, PAGE)];
    let [t_read, sent] = [TR[1], PAGE + DECODE + dram(PAGE) + link(PAGE) + COMPLETE];
    let first_pass = SUBMIT + link(PAGE) + data + 500_000;
    let order = |order: &'static str| config(&[&through[..], &[order]].concat());
    let read = first_pass + COMMAND + t_read + sent - 100_000;
    let written = programmed + COMMAND + t_read + PAGE;
    assert_eq!(latencies(&order("schedule.order=read-first"), &asked), [written, read]);
    // First come, first served: both passes go before it.
    let read = programmed - COMPLETE + COMMAND + t_read + sent - 100_000;
    assert_eq!(latencies(&order("schedule.order=fifo"), &asked), [programmed, read]);
}

#[test]
fn a_wordline_is_programmed_whole_and_padded() {
    let settings = ["buffer.mode=write-through", "chip.program_unit=wordline"];
    let expected = SUBMIT + link(PAGE) + COMMAND + 3 * PAGE + PROGRAM + COMPLETE;
    assert_eq!(one(&settings, Op::Write, 0, PAGE), expected);
}

#[test]
fn a_block_that_is_erased_when_opened_delays_its_first_program() {
    let settings = ["buffer.mode=write-through", "ftl.erase_when=opened"];
    let expected = SUBMIT + link(PAGE) + COMMAND + ERASE + COMMAND + PAGE + PROGRAM + COMPLETE;
    assert_eq!(one(&settings, Op::Write, 0, PAGE), expected);
}

#[test]
fn a_partly_written_page_is_completed_from_flash_first() {
    let fill = COMMAND + TR[0] + PAGE + DECODE;
    let expected = SUBMIT + link(4096) + fill + COMMAND + PAGE + PROGRAM + COMPLETE;
    assert_eq!(one(&["buffer.mode=write-through"], Op::Write, 0, 4096), expected);
    // Beyond the filled half of the drive there is nothing to complete it from.
    let beyond = config(&[]).plan().unwrap().capacity().0 - PAGE;
    let expected = SUBMIT + link(4096) + COMMAND + PAGE + PROGRAM + COMPLETE;
    assert_eq!(one(&["buffer.mode=write-through"], Op::Write, beyond, 4096), expected);
}

#[test]
fn a_page_that_was_never_written_is_answered_without_flash() {
    let beyond = config(&[]).plan().unwrap().capacity().0 - PAGE;
    assert_eq!(one(&[], Op::Read, beyond, PAGE), SUBMIT + link(PAGE) + COMPLETE);
}

#[test]
fn what_was_read_is_in_the_read_cache_until_it_is_written_trimmed_or_leaves() {
    let found = |settings: &[&str], asked: &[(Op, u64, u64)]| {
        let apart =
            |(index, (op, offset, bytes)): (u64, &(Op, u64, u64))| request(index * 10_000_000, *op, *offset, *bytes);
        latencies(&config(settings), &(0..).zip(asked).map(apart).collect::<Vec<_>>())
    };
    let flash = |sense: u64, bytes: u64| SUBMIT + COMMAND + sense + bytes + DECODE + dram(PAGE) + link(PAGE) + COMPLETE;
    let hit = |bytes| SUBMIT + dram(bytes) + link(bytes) + COMPLETE;
    // Pages 0, 8 and 16 are a lower, a middle and an upper page.
    let [a, b, c] = [0, 8, 16].map(|page| (Op::Read, page * PAGE, PAGE));
    let miss = TR.map(|sense| flash(sense, PAGE));
    let two = ["buffer.read_cache=32KiB"];
    assert_eq!(found(&[], &[a, a]), [miss[0], miss[0]]);
    assert_eq!(found(&two, &[a, b, a, c, b, a]), [miss[0], miss[1], hit(PAGE), miss[2], miss[1], miss[0]]);
    // The whole page is there when all of it has crossed the bus, a codeword otherwise.
    let [first, second, last] = [0, 3584, 12_288].map(|offset| (Op::Read, offset, 512));
    assert_eq!(found(&two, &[first, second, last])[1..], [hit(512), hit(512)]);
    let codewords = found(&["buffer.read_cache=32KiB", "bus.transfer=codeword"], &[first, second, last, last]);
    let part = SUBMIT + COMMAND + TR[0] + 4096 + DECODE + dram(512) + link(512) + COMPLETE;
    assert_eq!(codewords, [part, hit(512), part, hit(512)]);
    // Written data has left the buffer 10 ms later; its new page is a lower one.
    let through = ["buffer.read_cache=32KiB", "buffer.mode=write-through"];
    let write = (Op::Write, 8 * PAGE, PAGE);
    assert_eq!(found(&through, &[b, write, b, b])[2..], [miss[0], hit(PAGE)]);
    let gone = SUBMIT + link(PAGE) + COMPLETE;
    assert_eq!(found(&two, &[a, (Op::Trim, 0, PAGE), a])[2], gone);
}

#[test]
fn a_read_may_bypass_the_dram() {
    let bypass = "buffer.read_through=false";
    let flash = COMMAND + TR[0] + PAGE + DECODE;
    for bytes in [512, PAGE] {
        assert_eq!(one(&[bypass], Op::Read, 0, bytes), SUBMIT + flash + link(bytes) + COMPLETE);
    }
    assert_eq!(one(&[bypass], Op::Write, 0, PAGE), one(&[], Op::Write, 0, PAGE));
    // What the read cache keeps is stored in the DRAM all the same, and hits are read from there.
    for (settings, dram_bytes) in [
        (&[bypass][..], 0),
        (&["buffer.read_through=true"], 2 * 512),
        (&["buffer.read_through=true", "buffer.read_cache=16KiB"], PAGE + 512),
        (&[bypass, "buffer.read_cache=16KiB"], PAGE + 512),
    ] {
        let mut device = Device::new(&config(settings), 1).unwrap();
        for time in [0, 1_000_000] {
            device.submit(request(time, Op::Read, 0, 512)).unwrap();
        }
        device.advance(Time(2_000_000)).unwrap();
        assert_eq!(device.usage().dram.0, dram(dram_bytes), "{settings:?}");
    }
}

#[test]
fn a_read_that_a_write_overtakes_leaves_nothing_in_the_read_cache() {
    let config = config(&["buffer.read_cache=1MiB", "buffer.mode=write-through"]);
    // The write's data is in the buffer while the page is sensed.
    let asked = [(0, Op::Read), (10_000, Op::Write), (10_000_000, Op::Read), (20_000_000, Op::Read)];
    let found = latencies(&config, &asked.map(|(time, op)| request(time, op, 8 * PAGE, PAGE)));
    let flash = SUBMIT + COMMAND + TR[0] + PAGE + DECODE + dram(PAGE) + link(PAGE) + COMPLETE;
    assert_eq!(found[2..], [flash, SUBMIT + dram(PAGE) + link(PAGE) + COMPLETE]);
}

#[test]
fn a_second_read_of_a_plane_starts_exactly_when_the_first_has_left() {
    // The plane's register is free at this time after the first arrival.
    let free = COMMAND + TR[0] + PAGE;
    let alone = SUBMIT + COMMAND + TR[1] + PAGE + DECODE + dram(PAGE) + link(PAGE) + COMPLETE;
    for (shift, wait) in [(free - 1, 1), (free, 0), (free + 1, 0)] {
        let pair = [request(0, Op::Read, 0, PAGE), request(shift, Op::Read, 8 * PAGE, PAGE)];
        assert_eq!(latencies(&config(&[]), &pair)[1], alone + wait, "{shift}");
    }
}

#[test]
fn a_read_behind_a_program_waits_for_its_end_and_no_longer() {
    let settings = ["buffer.mode=write-through"];
    let free = link(PAGE) + COMMAND + PAGE + PROGRAM;
    let alone = SUBMIT + COMMAND + TR[1] + PAGE + DECODE + dram(PAGE) + link(PAGE) + COMPLETE;
    for (shift, wait) in [(free - 1, 1), (free, 0)] {
        let pair = [request(0, Op::Write, 0, PAGE), request(shift, Op::Read, 8 * PAGE, PAGE)];
        assert_eq!(latencies(&config(&settings), &pair)[1], alone + wait, "{shift}");
    }
}

#[test]
fn a_page_waits_for_room_in_the_ecc_engine() {
    // Decoding takes longer than everything else; one page fits. The second leaves when the first is decoded.
    let settings = ["ecc.t_decode=500us", "ecc.buffer=1", "ftl.page_order=DPWC"];
    let expected = SUBMIT + COMMAND + TR[0] + PAGE + 500_000 + PAGE + 500_000 + dram(PAGE) + link(PAGE) + COMPLETE;
    assert_eq!(one(&settings, Op::Read, 0, 2 * PAGE), expected);
    let roomy = ["ecc.t_decode=500us", "ecc.buffer=2", "ftl.page_order=DPWC"];
    assert_eq!(one(&roomy, Op::Read, 0, 2 * PAGE), expected - PAGE);
    let parallel = ["ecc.t_decode=500us", "ecc.buffer=2", "ecc.decoders=2", "ftl.page_order=DPWC"];
    let expected = SUBMIT + COMMAND + TR[0] + 2 * PAGE + 500_000 + dram(PAGE) + link(PAGE) + COMPLETE;
    assert_eq!(one(&parallel, Op::Read, 0, 2 * PAGE), expected);
}

#[test]
fn a_read_sees_a_write_from_the_moment_its_data_is_in_the_buffer() {
    let arrived = SUBMIT + link(PAGE);
    for (time, hit) in [(arrived - SUBMIT - 1, false), (arrived - SUBMIT, true)] {
        let pair = [request(0, Op::Write, 0, PAGE), request(time, Op::Read, 0, PAGE)];
        let latency = latencies(&config(&[]), &pair)[1];
        assert_eq!(latency < SUBMIT + TR[0], hit, "a read at {time} took {latency}");
    }
}
