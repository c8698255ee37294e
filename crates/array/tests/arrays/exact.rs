//! Closed forms: times on idle drives to the nanosecond, counts of reads and writes, queues.

use array::{Array, MemberDrive, Placement};
use proptest::prelude::*;
use ssd::Drive;
use testing::cases;
use units::{Bytes, Span, Stream, Time};
use workload::{Op, Request};

use crate::server::{Server, array, played};

const CHUNK: u64 = 64 << 10;
const CAPACITY: Bytes = Bytes(64 * CHUNK);

/// Drives whose services take 100 us and 1 ns a byte, the first with `slow` more.
fn drives(count: usize, slow: u64) -> Vec<Server> {
    let drive = |index: usize| {
        let more = if index == 0 { slow } else { 0 };
        Server::new(CAPACITY, move |_, request| Span(100_000 + request.bytes.0 + more))
    };
    (0..count).map(drive).collect()
}

fn at(time: u64, op: Op, chunk: u64, bytes: u64) -> Request {
    Request::new(Time(time), op, Bytes(chunk * CHUNK), Bytes(bytes))
}

fn member(drive: Server) -> MemberDrive<Server> {
    MemberDrive { name: "drive".into(), drive: Box::new(drive), spare: false, fails_at: None, mean_life: None }
}

/// The latency of a lone request.
fn alone(words: &[&str], drives: Vec<Server>, request: Request) -> u64 {
    played(&mut array(words, drives), &[request])[0].latency().0
}

#[test]
fn a_read_of_a_stripe_set_takes_as_long_as_its_slowest_part() {
    let words = ["layout=stripe"];
    assert_eq!(alone(&words, drives(4, 0), at(7, Op::Read, 0, 4096)), 104_096);
    assert_eq!(alone(&words, drives(4, 0), at(7, Op::Read, 0, 4 * CHUNK)), 100_000 + CHUNK);
    assert_eq!(alone(&words, drives(4, 5_000), at(7, Op::Read, 0, 4 * CHUNK)), 105_000 + CHUNK);
    // Two rows lie together on a drive: one request.
    assert_eq!(alone(&words, drives(4, 0), at(7, Op::Read, 0, 8 * CHUNK)), 100_000 + 2 * CHUNK);
}

#[test]
fn parity_writes_read_first_and_write_then() {
    let words = ["layout=raid5"];
    let (small, whole) = (100_000 + 4096, 100_000 + CHUNK);
    assert_eq!(alone(&words, drives(5, 0), at(0, Op::Write, 0, 4096)), 2 * small, "read-modify-write");
    assert_eq!(alone(&words, drives(5, 0), at(0, Op::Write, 0, 3 * CHUNK)), 2 * whole, "reconstruct-write");
    assert_eq!(alone(&words, drives(5, 0), at(0, Op::Write, 0, 4 * CHUNK)), whole, "full stripe");
    assert_eq!(alone(&["layout=mirror"], drives(3, 0), at(0, Op::Write, 0, 4096)), small, "copies at once");
}

#[test]
fn a_log_writes_whole_slices_and_reads_nothing() {
    let words = ["layout=raid5", "rewrite=log", "log_spare=0.5", "log_wait=30us"];
    let slice = 100_000 + 4096;
    let time = |op, bytes| alone(&words, drives(5, 0), at(0, op, 0, bytes));
    assert_eq!(time(Op::Write, 4 * 4096), slice, "one slice");
    assert_eq!(time(Op::Write, 8 * 4096), 100_000 + 2 * 4096, "two at once");
    assert_eq!(time(Op::Write, 4096), 30_000 + slice, "padded after the wait");
    assert_eq!(time(Op::Write, 512), slice + 30_000 + slice, "the rest of the block is read before");
    assert_eq!(time(Op::Read, 16 * 4096), 100_000 + CHUNK, "all of it lies on a drive, as without a log");
    let both = [at(0, Op::Write, 0, 16 * 4096), at(1_000_000, Op::Read, 0, 4 * 4096)];
    let of = played(&mut array(&words, drives(5, 0)), &both);
    assert_eq!(of[1].latency().0, 100_000 + 4 * 4096, "a quarter of what was written together lies on a drive");
    // What waits is the host's own, and what is trimmed is nowhere: no drive is asked.
    let mut array = array(&words, drives(5, 0));
    let requests = [
        at(0, Op::Write, 0, 4096),
        at(10_000, Op::Read, 0, 4096),
        at(1_000_000, Op::Trim, 0, 4096),
        at(2_000_000, Op::Read, 0, 8192),
    ];
    let latencies: Vec<(u64, u64)> =
        played(&mut array, &requests).iter().map(|done| (done.id, done.latency().0)).collect();
    assert_eq!(latencies, [(1, 0), (0, 30_000 + slice), (2, 0), (3, slice)]);
    let counters = array.counters_so_far();
    assert_eq!((counters.log_blocks_written, counters.log_blocks_padded, counters.log_stripes_cleaned), (1, 3, 0));
    assert_eq!(array.drives().map(|drive| drive.reads.0).sum::<u64>(), 1);
    assert_eq!(array.drives().map(|drive| drive.writes).collect::<Vec<_>>(), [(1, 4096); 5]);
    let refused = crate::server::config(&["layout=raid5", "rewrite=log", "chunk=4KiB"]);
    let refused = Array::new(&refused, drives(5, 0).into_iter().map(member).collect(), 1).err().unwrap().to_string();
    assert!(refused.contains("array.log_spare") && refused.contains("larger chunk"), "{refused}");
}

/// The share of valid blocks in a stripe that is cleaned, where those written first are cleaned first and the host
/// overwrites blocks at random: a block stays for as many writes as there are between two cleanings (Desnoyers,
/// "Analytic Modeling of SSD Write Performance", SYSTOR 2012).
fn valid_of_the_oldest(stripes: f64, used: f64) -> f64 {
    (0..200).fold(0.5, |valid: f64, _| (-stripes / used * (1.0 - valid)).exp())
}

#[test]
fn a_log_that_is_overwritten_in_order_moves_nothing_and_at_random_less_than_first_in_first_out() {
    let words = ["layout=raid5", "rewrite=log", "log_spare=0.3"];
    let moved = |block: &dyn Fn(u64, u64) -> u64, writes: u64| {
        let drives = (0..3).map(|_| Server::new(Bytes(200 * CHUNK), |_, _| Span(50_000)).in_parallel()).collect();
        let mut array = array(&words, drives);
        let blocks = array.capacity().0 / 8192;
        for write in 0..writes {
            let request =
                Request::new(Time(write * 20_000), Op::Write, Bytes(block(write, blocks) * 8192), Bytes(8192));
            array.submit(request).unwrap();
        }
        let mut refused = 0;
        while array.advance_to_completion(Time::NEVER).unwrap() {
            refused += array.take_completions().filter(|done| done.refused).count();
        }
        array.flush().unwrap();
        array.check_all().unwrap();
        let counters = array.counters_so_far();
        assert_eq!((refused, counters.log_blocks_written), (0, 2 * writes));
        // Blocks that were written together and are moved apart may leave one without another.
        assert!(counters.log_blocks_padded < writes / 20, "{counters:?}");
        assert!(counters.log_stripes_cleaned > 500, "{counters:?}");
        counters.log_blocks_moved as f64 / counters.log_blocks_written as f64
    };
    let in_order = moved(&|write, blocks| write % blocks, 20_000);
    assert_eq!(in_order, 0.0);
    let random = Stream::new(3, "log");
    let at_random = moved(&|write, blocks| random.below(write, blocks), 20_000);
    // Six stripes are free, or are being written or cleaned.
    let valid = valid_of_the_oldest(194.0, 140.0);
    let first_in_first_out = valid / (1.0 - valid);
    assert!((0.3 * first_in_first_out..first_in_first_out).contains(&at_random), "{at_random} {first_in_first_out}");
}

#[test]
fn the_link_is_shared_and_its_latency_counts_both_ways() {
    let words = ["layout=stripe", "link_bandwidth=1GB/s", "link_latency=2us"];
    assert_eq!(alone(&words, drives(4, 0), at(0, Op::Read, 0, 4096)), 2_000 + 104_096 + 4_096 + 2_000);
    // Four chunks come at once and cross one after another.
    assert_eq!(alone(&words, drives(4, 0), at(0, Op::Read, 0, 4 * CHUNK)), 4_000 + 100_000 + CHUNK + 4 * CHUNK);
    assert_eq!(alone(&words, drives(4, 0), at(0, Op::Write, 0, 4 * CHUNK)), 4_000 + 4 * CHUNK + 100_000 + CHUNK);
}

#[test]
fn a_hedge_is_sent_at_its_time_and_a_late_bound_read_takes_the_first() {
    let read = at(0, Op::Read, 0, 4096);
    let slow = 1_000_000;
    assert_eq!(alone(&["layout=mirror"], drives(2, slow), read), 104_096 + slow);
    let hedged = ["layout=mirror", "hedge=delay", "hedge_delay=300us"];
    assert_eq!(alone(&hedged, drives(2, slow), read), 300_000 + 104_096);
    let hedged = ["layout=erasure", "parity=2", "hedge=delay", "hedge_delay=300us"];
    assert_eq!(alone(&hedged, drives(6, slow), read), 300_000 + 104_096, "reconstructed from four others");
    let late = ["layout=mirror", "extra_reads=1"];
    assert_eq!(alone(&late, drives(2, slow), read), 104_096);
    let late = ["layout=erasure", "parity=2", "extra_reads=1"];
    assert_eq!(alone(&late, drives(6, slow), at(0, Op::Read, 0, 4 * CHUNK)), 100_000 + CHUNK);
}

/// The percentile is of the times that the host has waited, link included: as many reads are hedged whatever it takes.
#[test]
fn hedges_by_percentile_take_the_link_into_account() {
    let hedges = |latency: &str| {
        let random = Stream::new(3, "service");
        let drive = |index: u64| {
            let random = random.entity(index);
            Server::new(CAPACITY, move |id, _| Span(50_000 + random.below(id, 100_000)))
        };
        let words = ["layout=mirror", "hedge=percentile", "hedge_percentile=80", latency];
        let mut array = array(&words, vec![drive(0), drive(1)]);
        let reads: Vec<Request> = (0..1000).map(|index| at(index * 2_000_000, Op::Read, 0, 4096)).collect();
        played(&mut array, &reads);
        array.counters_so_far().hedges_sent
    };
    let sent = hedges("link_latency=0ns");
    // A fifth of those after the first 64.
    assert!((150..230).contains(&sent), "{sent}");
    assert_eq!(hedges("link_latency=300us"), sent);
}

/// Where late binding has asked for as much already there is nothing to hedge with.
#[test]
fn reads_bound_late_that_need_no_hedge_count_as_none() {
    let words = ["layout=mirror", "extra_reads=1", "hedge=delay", "hedge_delay=1us"];
    let mut array = array(&words, drives(3, 1_000_000));
    let reads: Vec<Request> = (0..10).map(|index| at(index * 5_000_000, Op::Read, 0, 4096)).collect();
    played(&mut array, &reads);
    let counters = array.counters_so_far();
    assert_eq!((counters.hedges_sent, counters.hedges_won, counters.hedges_left_out), (0, 0, 0));
    assert_eq!(array.drives().map(|drive| drive.reads.0).sum::<u64>(), 20);
}

/// A write is counted once, in the way in which it was made in the end, however often it was planned.
#[test]
fn writes_that_are_planned_again_count_once() {
    let mut drives = drives(5, 0);
    let bad = Server::new(CAPACITY, |_, request: &Request| Span(100_000 + request.bytes.0)).that_fails(|id| id == 0);
    drives[0] = bad;
    let mut array = array(&["layout=raid5"], drives);
    // The old data cannot be read: the other data is.
    assert!(played(&mut array, &[at(0, Op::Write, 0, 4096)])[0].is_done());
    let counters = array.counters_so_far();
    assert_eq!(
        [counters.writes_full, counters.writes_read_modify, counters.writes_reconstruct, counters.writes_decode],
        [0, 0, 1, 0]
    );
}

/// The first scrub waits for the write that came before it, and a write for a scrub.
#[test]
fn scrubs_that_wait_for_a_stripe_are_counted() {
    let mut array = array(&["layout=raid5", "scrub_rate=1MB/s"], drives(4, 0));
    array.workload_begins();
    played(&mut array, &[at(0, Op::Write, 0, 4096)]);
    assert_eq!(array.counters_so_far().lock_waits, 1);
}

#[test]
fn a_share_of_a_log_that_is_none_is_refused() {
    for share in ["1e30", "1", "-0.5"] {
        let words = ["layout=raid5", "rewrite=log", &format!("log_spare={share}")];
        let drives = drives(5, 0).into_iter().map(member).collect();
        let refused = Array::new(&crate::server::config(&words), drives, 1).err().unwrap();
        assert_eq!(refused.key.as_deref(), Some("array.log_spare"), "{share}");
        assert!(refused.to_string().contains("write 0 or more and less than 1"), "{refused}");
    }
}

#[test]
fn a_read_that_a_drive_cannot_correct_is_reconstructed_and_repaired() {
    for (words, count) in [(["layout=mirror", "chunk=64KiB"], 2), (["layout=raid5", "chunk=64KiB"], 4)] {
        let mut drives = drives(count, 0);
        let bad =
            Server::new(CAPACITY, |_, request: &Request| Span(100_000 + request.bytes.0)).that_fails(|id| id == 0);
        drives[0] = bad;
        let mut array = array(&words, drives);
        let completion = played(&mut array, &[at(0, Op::Read, 0, 4096)])[0];
        assert_eq!((completion.latency().0, completion.uncorrectable), (2 * 104_096, false), "{words:?}");
        assert_eq!(array.counters_so_far().repairs, 1);
        assert_eq!(array.drives().next().unwrap().writes, (1, 4096));
    }
    let bad = Server::new(CAPACITY, |_, _| Span(5)).that_fails(|_| true);
    let completion = played(&mut array(&["layout=stripe"], vec![bad]), &[at(0, Op::Read, 0, 4096)])[0];
    assert!(completion.uncorrectable);
}

/// A drive gives up after a quarter of its time. Others are read then; where they do not suffice, it is read again, to
/// the end.
#[test]
fn a_read_that_a_drive_gives_up_is_reconstructed_and_read_to_its_end_where_that_fails() {
    let (whole, quarter) = (104_096, 26_024);
    let gives_up = |count: usize, bad: Option<usize>| {
        let mut drives = drives(count, 0);
        drives[0] = Server::new(CAPACITY, |_, request| Span(100_000 + request.bytes.0)).that_gives_up(|_| Some(0.25));
        if let Some(bad) = bad {
            drives[bad] = Server::new(CAPACITY, |_, request| Span(100_000 + request.bytes.0)).that_fails(|_| true);
        }
        drives
    };
    for (words, count) in [(["layout=mirror", "chunk=64KiB"], 2), (["layout=raid5", "chunk=64KiB"], 4)] {
        let mut one = array(&words, gives_up(count, None));
        let done = played(&mut one, &[at(0, Op::Read, 0, 4096)])[0];
        assert_eq!((done.latency().0, done.uncorrectable), (quarter + whole, false), "{words:?}");
        let counters = one.counters_so_far();
        assert_eq!((counters.reads_given_up, counters.reads_reconstructed, counters.repairs), (1, 1, 0), "{words:?}");
        let mut two = array(&words, gives_up(count, Some(1)));
        let done = played(&mut two, &[at(0, Op::Read, 0, 4096)])[0];
        assert_eq!((done.latency().0, done.uncorrectable), (quarter + whole + whole, false), "{words:?}");
    }
    // Without another way nothing is given up.
    let mut lone = array(&["layout=stripe"], gives_up(1, None));
    assert_eq!(played(&mut lone, &[at(0, Op::Read, 0, 4096)])[0].latency().0, whole);
}

/// Drives take 10 ms more in their windows of 1 ms, which are open by turns, from the first place on.
#[test]
fn reads_go_around_drives_whose_windows_are_open() {
    let (fast, slow) = (104_096, 104_096 + 10_000_000);
    for layout in ["layout=raid5", "layout=mirror"] {
        let of = |coordinate: &str, times: &[u64]| {
            let words = [layout, coordinate, "window=1ms"];
            let mut array = array(&words, drives(4, 0));
            array.workload_begins();
            let reads: Vec<Request> = times.iter().map(|time| at(*time, Op::Read, 0, 4096)).collect();
            let done = played(&mut array, &reads);
            let latencies: Vec<u64> = done.iter().map(|done| done.latency().0).collect();
            (latencies, array.counters_so_far().reads_around)
        };
        // A mirror of four can do without three at a time, and the fourth is read: nothing is reconstructed.
        let around = u64::from(layout == "layout=raid5");
        assert_eq!(of("coordinate=none", &[100, 1_200_000]), (vec![fast; 2], 0), "{layout}");
        assert_eq!(of("coordinate=staggered", &[100, 1_200_000]), (vec![fast; 2], around), "{layout}");
        assert_eq!(of("coordinate=together", &[100]), (vec![slow], 0), "{layout}");
        assert_eq!(of("coordinate=together", &[100, 999_999, 1_000_001]).1, 0, "{layout}");
    }
    // A window is that of the time, whatever came before: the turns go round every 4 ms.
    let words = ["layout=raid5", "coordinate=staggered", "window=1ms"];
    let mut array = array(&words, drives(4, 0));
    array.workload_begins();
    played(&mut array, &[at(40_500_000, Op::Read, 0, 4096), at(41_500_000, Op::Read, 0, 4096)]);
    assert_eq!(array.counters_so_far().reads_around, 1);
}

#[test]
fn policies_choose_the_copies_that_are_read() {
    let reads = |select: &str| {
        let mut array = array(&["layout=mirror", select], drives(2, 400_000));
        // Chunk 0: its first copy is on the first drive, which is slow.
        let requests: Vec<Request> = (0..12).map(|n| at(n * 200_000, Op::Read, 0, 4096)).collect();
        played(&mut array, &requests);
        array.drives().map(|drive| drive.reads.0).collect::<Vec<u64>>()
    };
    assert_eq!(reads("select=primary"), [12, 0]);
    assert_eq!(reads("select=round-robin"), [6, 6]);
    // It takes 504 us and the other one 104 us: busy until the third request after it.
    assert_eq!(reads("select=shortest-queue"), [4, 8]);
}

/// Mean latency of requests to a stripe set of two drives with exponential services (fork-join of two M/M/1 queues with
/// common arrivals): (12 - load) / 8 of that of one queue (Flatto and Hahn, SIAM J. Appl. Math. 44, 1984; Nelson and
/// Tantawi, IEEE Trans. Comput. 37, 1988).
#[test]
fn a_stripe_over_two_queues_is_their_fork_join() {
    let (service, requests) = (100_000.0, 400_000);
    for load in [0.3, 0.7] {
        let drive = |index: u64| {
            let random = Stream::new(9, "service").entity(index);
            Server::new(Bytes(64 * CHUNK), move |id, _| Span((random.exponential(id) * service) as u64))
        };
        let mut array = array(&["layout=stripe"], vec![drive(0), drive(1)]);
        let (random, mut time, mut sum) = (Stream::new(7, "arrivals"), 0.0, 0);
        for id in 0..requests {
            time += random.exponential(id) * service / load;
            array.advance(Time(time as u64)).unwrap();
            array.submit(at(time as u64, Op::Read, 0, 2 * CHUNK)).unwrap();
            sum += array.take_completions().map(|completion| completion.latency().0).sum::<u64>();
        }
        let mean = sum as f64 / requests as f64;
        let expected = (12.0 - load) / 8.0 * service / (1.0 - load);
        assert!((mean / expected - 1.0).abs() < 0.015, "{mean} against {expected} at {load}");
    }
}

/// Writes of 4 KiB, many at once: each reads what it replaces and the parity, and writes both (four requests of RAID-5,
/// six of RAID-6); on as few drives as it takes the other data is read instead, which is less.
#[test]
fn small_writes_read_and_write_what_their_parity_needs() {
    const WRITES: u64 = 300;
    for (layout, count, reads, writes) in
        [("raid5", 8, 2, 2), ("raid6", 8, 3, 3), ("raid5", 3, 1, 2), ("raid6", 4, 1, 3)]
    {
        let mut array = array(&[&format!("layout={layout}")], drives(count, 0));
        let random = Stream::new(4, layout).entity(count as u64);
        let blocks = array.capacity().0 / 4096;
        let small = |index| {
            Request::new(Time(index * 20_000), Op::Write, Bytes(random.below(index, blocks) * 4096), Bytes(4096))
        };
        let requests: Vec<Request> = (0..WRITES).map(small).collect();
        assert_eq!(played(&mut array, &requests).len() as u64, WRITES);
        let all = array.drives().fold([(0, 0); 2], |[read, written], drive| {
            [(read.0 + drive.reads.0, read.1 + drive.reads.1), (written.0 + drive.writes.0, written.1 + drive.writes.1)]
        });
        assert_eq!(all, [reads, writes].map(|each| (each * WRITES, each * WRITES * 4096)), "{layout} of {count}");
    }
}

fn placements() -> impl Strategy<Value = Placement> {
    prop_oneof![Just(Placement::Rotated), Just(Placement::Declustered), Just(Placement::Hashed)]
}

proptest! {
    #![proptest_config(cases(64))]

    /// Of k + m drives a lone write of x whole chunks of a stripe reads min(k - x, x + m) and writes x + m.
    #[test]
    fn requests_to_drives_are_those_of_the_formulas(data in 2..8usize, parity in 1..4usize, x in 1..8usize, first in 0..8usize) {
        let x = x.min(data);
        let first = first % (data - x + 1);
        let words = [format!("parity={parity}"), "layout=erasure".into()];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut array = array(&words, drives(data + parity, 0));
        let stripe = 5 * data as u64;
        played(&mut array, &[at(0, Op::Write, stripe + first as u64, x as u64 * CHUNK)]);
        let (reads, writes) = array.drives().fold((0, 0), |sum, drive| (sum.0 + drive.reads.0, sum.1 + drive.writes.0));
        prop_assert_eq!(reads, (data - x).min(x + parity) as u64 * u64::from(x < data));
        prop_assert_eq!(writes, (x + parity) as u64);
    }

    /// Every chunk has its own spot, the units of a stripe lie on different drives, and spots are found back.
    #[test]
    fn placements_are_one_to_one(data in 1..6usize, parity in 0..3usize, more in 0..5usize, placement in placements()) {
        let width = data + parity;
        let drives = if placement == Placement::Rotated { width * (1 + more % 3) } else { width + more };
        let code = array::Code { data, parity };
        let layout = array::Layout::new(code, drives, Bytes(CHUNK), Bytes(120 * CHUNK + 7), placement, 3).unwrap();
        let stripes = layout.capacity().0 / CHUNK / data as u64;
        let mut spots = std::collections::BTreeSet::new();
        for stripe in 0..stripes {
            let places: std::collections::BTreeSet<usize> =
                (0..width).map(|unit| layout.spot(stripe, unit).place).collect();
            prop_assert_eq!(places.len(), width);
            for unit in 0..width {
                let spot = layout.spot(stripe, unit);
                prop_assert!(spot.row < layout.rows_of(spot.place) && spot.place < drives);
                prop_assert!(spots.insert((spot.place, spot.row)));
                if drives > 1 {
                    prop_assert_eq!(layout.at(spot), (stripe, unit));
                }
            }
        }
        if drives > 1 {
            let rows: u64 = (0..drives).map(|place| layout.rows_of(place)).sum();
            prop_assert_eq!(spots.len() as u64, rows, "no row is left over");
            let most = (0..drives).map(|place| layout.rows_of(place)).max();
            prop_assert_eq!(most, Some(layout.rows));
            let even = (0..drives).all(|place| layout.rows_of(place) == layout.rows);
            prop_assert!(even || placement == Placement::Hashed);
        }
    }
}
