//! Operations that meet at a die, its registers or its bus: who goes first and who waits until when, to the
//! nanosecond.

use ssd::{Config, Device, Drive};
use units::{Bytes, Time};
use workload::{Op, Request};

/// One die of one plane on one channel; a page crosses the bus in 16.384 us, DRAM and link in 17 ns each.
fn one_die(settings: &[&str]) -> Config {
    let mut config = Config::default();
    for word in [
        "geometry.channels=1",
        "geometry.chips=1",
        "geometry.dies=1",
        "geometry.planes=1",
        "geometry.blocks=20",
        "geometry.pages=30",
        "ftl.over_provisioning=1.0",
        "ftl.erase_when=reclaimed",
        "chip.program_unit=page",
        "chip.t_read=50us",
        "chip.t_prog=400us",
        "bus.bandwidth=1GB/s",
        "bus.t_command=200ns",
        "bus.transfer=page",
        "host.link_bandwidth=1000GB/s",
        "buffer.dram_bandwidth=1000GB/s",
        "buffer.mode=write-through",
        "ftl.placement=static",
        "ftl.page_order=DPWC",
    ]
    .iter()
    .chain(settings)
    {
        config.set(word).unwrap();
    }
    config
}

fn request(time: u64, op: Op, page: u64, pages: u64) -> Request {
    Request::new(Time(time), op, Bytes(page * 16_384), Bytes(pages * 16_384))
}

#[test]
fn a_die_that_gets_a_second_page_loads_it_while_the_first_is_programmed() {
    // Both pages arrive while a sensed page leaves; nothing else happens for a long time.
    let config = one_die(&["ftl.placement=dynamic", "chip.cache_program=true", "ecc.t_decode=5ms"]);
    let mut device = Device::new(&config, 1).unwrap();
    device.submit(request(0, Op::Read, 3, 1)).unwrap();
    device.submit(request(60_000, Op::Write, 7, 2)).unwrap();
    device.advance(Time(1_000_000)).unwrap();
    let left = 1_000 + 200 + 50_000 + 16_384;
    let programmed = left + 200 + 16_384 + 2 * 400_000;
    assert_eq!(device.take_completions().map(|c| c.finish).collect::<Vec<_>>(), [Time(programmed + 1_000)]);
}

#[test]
fn a_flush_pads_what_is_buffered_and_nothing_later() {
    let config = one_die(&["chip.program_unit=wordline", "buffer.mode=write-back"]);
    let mut device = Device::new(&config, 1).unwrap();
    device.submit(request(0, Op::Write, 0, 1)).unwrap();
    device.flush().unwrap();
    assert_eq!((device.counters().pages_padded, device.counters().user_pages_programmed), (2, 1));
    device.flush().unwrap();
    device.submit(request(device.now().0, Op::Write, 1, 2)).unwrap();
    device.advance(Time(device.now().0 + 10_000_000)).unwrap();
    assert_eq!(
        (device.counters().pages_padded, device.buffered_pages()),
        (2, 2),
        "two of three pages wait for the third"
    );
    device.submit(request(device.now().0, Op::Write, 3, 1)).unwrap();
    device.advance(Time(device.now().0 + 10_000_000)).unwrap();
    assert_eq!((device.counters().pages_padded, device.buffered_pages()), (2, 0));
}

/// When each request completes, less the microsecond of the host's side.
fn finishes(config: &Config, requests: &[Request]) -> Vec<u64> {
    let mut device = Device::new(config, 1).unwrap();
    for request in requests {
        device.submit(*request).unwrap();
    }
    device.advance(Time(100_000_000)).unwrap();
    let mut found = vec![0; requests.len()];
    device.take_completions().for_each(|completion| found[completion.id as usize] = completion.finish.0 - 1_000);
    found
}

const PAGE: u64 = 16_384;
const COMMAND: u64 = 200;
const SENSE: u64 = 50_000;
const PROGRAM: u64 = 400_000;

#[test]
fn a_program_waits_until_no_register_holds_a_sensed_page() {
    // The second page stands in its register until the engine has room, which is when the first is decoded.
    let config = one_die(&["chip.cache_read=true", "ecc.buffer=1", "ecc.decoders=1", "ecc.t_decode=1ms"]);
    let reads = [request(0, Op::Read, 0, 1), request(0, Op::Read, 1, 1)];
    let found = finishes(&config, &[reads[0], reads[1], request(200_000, Op::Write, 2, 1)]);
    let first_left = 1_000 + COMMAND + SENSE + COMMAND + PAGE;
    let second_left = first_left + 1_000_000 + PAGE;
    assert_eq!(found[2], second_left + COMMAND + PAGE + PROGRAM);
}

#[test]
fn a_cached_program_gives_way_to_a_read_that_goes_before_it() {
    let requests = |read: u64, write: u64| {
        let mut requests =
            [request(0, Op::Write, 0, 1), request(read, Op::Read, 1, 1), request(write, Op::Write, 2, 1)];
        requests.sort_by_key(|request| request.time);
        requests
    };
    let first_end = 1_000 + 17 + COMMAND + PAGE + PROGRAM;
    let read_left = COMMAND + SENSE + PAGE;
    // The read goes first although the write is older; the write's data stays out of the registers till then.
    let found = finishes(&one_die(&["schedule.order=read-first"]), &requests(200_000, 100_000));
    assert_eq!(found[2], first_end + PROGRAM + read_left + 5_000 + 34, "a program that is loaded runs");
    let found = finishes(&one_die(&["schedule.order=read-first"]), &requests(100_000, 200_000));
    assert_eq!(found[1], first_end + read_left + 5_000 + 34);
    assert_eq!(found[2], first_end + read_left + COMMAND + PAGE + PROGRAM);
    // First come, first served, or without a register for it, the same.
    let found = finishes(&one_die(&["schedule.order=fifo"]), &requests(100_000, 200_000));
    assert_eq!(found[2], first_end + read_left + COMMAND + PAGE + PROGRAM);
    let found = finishes(&one_die(&["schedule.order=fifo", "chip.cache_program=false"]), &requests(200_000, 100_000));
    assert_eq!(found[1], first_end + COMMAND + PAGE + PROGRAM);
}

#[test]
fn the_order_decides_between_a_page_that_leaves_and_a_program_that_is_older() {
    let bus = ["geometry.dies=4", "chip.t_read=100ns", "bus.bandwidth=none", "bus.t_dma=100us", "ecc.t_decode=0us"];
    // Die 1 is loaded; meanwhile a write to die 2 and then reads of dies 0 and 3 arrive. Read
    // commands go first, that of die 3 before that of die 0 since it is its turn after die 1.
    let requests = [
        request(0, Op::Write, 1, 1),
        request(1, Op::Write, 2, 1),
        request(100, Op::Read, 0, 1),
        request(101, Op::Read, 3, 1),
    ];
    let free = 1_000 + 17 + COMMAND + 100_000 + 2 * COMMAND;
    let fifo = finishes(&one_die(&[&bus[..], &["schedule.order=fifo"]].concat()), &requests);
    assert_eq!(fifo[1..], [free + 100_200 + PROGRAM, free + 300_200 + 34, free + 200_200 + 34]);
    let read_first = finishes(&one_die(&[&bus[..], &["schedule.order=read-first"]].concat()), &requests);
    assert_eq!(read_first[1..], [free + 300_200 + PROGRAM, free + 200_000 + 34, free + 100_000 + 34]);
}

#[test]
fn a_chip_without_interleaving_hands_over_from_die_to_die() {
    // The second die is commanded as soon as the first has sensed, before the first page leaves.
    let config = one_die(&["geometry.dies=2", "bus.die_interleaving=false"]);
    for shift in [0, 1, 20_000] {
        let found = finishes(&config, &[request(0, Op::Read, 0, 1), request(shift, Op::Read, 1, 1)]);
        assert_eq!(found[0], 1_000 + COMMAND + SENSE + COMMAND + PAGE + 5_000 + 34);
        assert_eq!(found[1], 1_000 + 2 * (COMMAND + SENSE) + PAGE + 5_000 + 34);
    }
}

#[test]
fn a_full_queue_lets_the_next_request_in_at_the_moment_of_a_completion() {
    let config = one_die(&["host.queues=1", "host.queue_depth=1"]);
    let found = finishes(&config, &[request(0, Op::Read, 0, 1), request(0, Op::Read, 1, 1)]);
    let flash = COMMAND + SENSE + PAGE + 5_000 + 34;
    assert_eq!(found, [1_000 + flash, 1_000 + flash + 1_000 + flash]);
}

#[test]
fn commands_beyond_the_limit_start_at_the_moment_of_a_completion() {
    let config = one_die(&["host.commands=1"]);
    let found = finishes(&config, &[request(0, Op::Read, 0, 1), request(5, Op::Read, 1, 1)]);
    let flash = COMMAND + SENSE + PAGE + 5_000 + 34;
    assert_eq!(found, [1_000 + flash, 1_000 + flash + 1_000 + flash]);
}

#[test]
fn a_die_loads_its_next_page_also_where_its_first_had_to_wait_for_a_command() {
    // Die 0 senses for long; its command delays the first page of die 1, which then gets the third page as well.
    let settings = ["geometry.dies=2", "ftl.placement=dynamic", "bus.t_command=30us", "chip.t_read=1ms"];
    let writes = [5_000, 5_001, 5_002].map(|time| request(time, Op::Write, 7, 1));
    let found = finishes(&one_die(&settings), &[&[request(0, Op::Read, 0, 1)], &writes[..]].concat());
    let command_end = 1_000 + 30_000;
    assert_eq!(found[2], command_end + 30_000 + PAGE + PROGRAM);
    assert_eq!(found[3], command_end + 30_000 + PAGE + 2 * PROGRAM);
}

#[test]
fn a_read_of_a_page_that_is_partly_in_the_buffer_is_given_up_where_the_die_of_its_rest_erases() {
    let config = one_die(&["ftl.erase_when=opened", "read.fail_busy=erase", "buffer.mode=write-back"]);
    let mut device = Device::new(&config, 1).unwrap();
    // The block that a page is programmed in is erased first.
    device.submit(request(0, Op::Write, 3, 1)).unwrap();
    device.submit(request(0, Op::Flush, 0, 1)).unwrap();
    let part = |time: u64, op: Op, bytes: u64| Request::new(Time(time), op, Bytes(7 * 16_384), Bytes(bytes));
    device.submit(part(1_000_000, Op::Write, 4096)).unwrap();
    let reads = [part(1_100_000, Op::Read, 4096), part(1_200_000, Op::Read, 16_384)].map(Request::with_limited_retry);
    reads.into_iter().for_each(|read| device.submit(read).map(|_| ()).unwrap());
    device.advance(Time(2_000_000)).unwrap();
    let done: Vec<_> = device.take_completions().filter(|done| done.request.op == Op::Read).collect();
    assert_eq!(done.iter().map(|done| done.gave_up).collect::<Vec<_>>(), [false, true]);
    device.check().unwrap();
}
