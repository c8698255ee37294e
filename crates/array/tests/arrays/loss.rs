//! Errors that no read has met, unrecoverable reads during rebuilds, and the time until data is lost against closed
//! forms.

use std::collections::BTreeSet;

use array::{Array, MemberDrive};
use ssd::{Completion, Drive, RunError};
use units::{Bytes, Span, Stream, Time};
use workload::{Op, Request};

use crate::server::{Server, array, config, played};

const CHUNK: u64 = 64 << 10;
const ROWS: u64 = 8;

/// Drives of eight rows whose services take 100 us and 1 ns a byte; drive `number` cannot read the rows in `bad` until
/// they are written.
fn drives(count: usize, bad: &[(usize, u64)]) -> Vec<Server> {
    let rows = |drive: usize| bad.iter().filter(move |(of, _)| *of == drive).map(|(_, row)| row * CHUNK);
    let drive = |index: usize| {
        let server = Server::new(Bytes(ROWS * CHUNK), |_, request| Span(100_000 + request.bytes.0));
        server.with_errors_at(rows(index).collect::<BTreeSet<u64>>())
    };
    (0..count).map(drive).collect()
}

fn read(time: u64, chunk: u64) -> Request {
    Request::new(Time(time), Op::Read, Bytes(chunk * CHUNK), Bytes(4096))
}

/// A stripe of four chunks is read every 4 chunks / rate, and its errors are repaired before the next: to the
/// nanosecond.
#[test]
fn scrubs_read_all_stripes_at_their_rate_and_repair_what_they_find() {
    let words = ["layout=raid5", "scrub_rate=128MiB/s"];
    let interval = 4 * CHUNK * 1_000_000_000 / (128 << 20);
    let whole = 100_000 + CHUNK;
    // One read at the beginning, which lasts until its drive has scrubbed the first stripe; one at the end of this many
    // stripes.
    let scrubbed = |stripes: u64, bad: &[(usize, u64)], words: &[&str]| {
        let mut array = array(words, drives(4, bad));
        array.workload_begins();
        let last = read((stripes - 1) * interval + 1, 0);
        let done = played(&mut array, &[read(0, 0), last]);
        assert!(done.iter().all(|done| !done.uncorrectable));
        (array, done)
    };
    let (clean, done) = scrubbed(4, &[], &words);
    assert_eq!(clean.counters_so_far().stripes_scrubbed, 4);
    assert_eq!(clean.drives().map(|drive| drive.reads.0).sum::<u64>(), 4 * 4 + 2, "each drive's chunk of each stripe");
    // The last read comes a nanosecond after the scrub of its drive's chunk began, and waits for that.
    assert_eq!(done[1].latency().0, whole - 1 + 104_096);
    // An error of data and one of parity, in different stripes; what is bad in the fifth is not met.
    let bad = [(0, 1), (3, 2), (2, 4)];
    let (array, _) = scrubbed(4, &bad, &words);
    let counters = array.counters_so_far();
    assert_eq!((counters.scrub_errors, counters.repairs, counters.scrub_lost), (2, 2, 0));
    let left: Vec<usize> = array.drives().map(|drive| drive.errors_at.len()).collect();
    assert_eq!(left, [0, 0, 1, 0]);
    assert_eq!(counters.data_lost, None);
    // Two errors in one stripe are too many, and without repair they stay.
    let (array, _) = scrubbed(4, &[(0, 1), (3, 1)], &words);
    let counters = array.counters_so_far();
    assert_eq!((counters.scrub_errors, counters.repairs, counters.scrub_lost), (2, 0, 1));
    assert_eq!(counters.data_lost, Some(Time(interval + whole)));
    let (array, _) = scrubbed(4, &bad, &["layout=raid5", "scrub_rate=128MiB/s", "repair=false"]);
    assert_eq!((array.counters_so_far().scrub_errors, array.counters_so_far().repairs), (2, 0));
    // Round and round: after eight stripes the first one again.
    let (array, _) = scrubbed(11, &bad, &words);
    assert_eq!((array.counters_so_far().stripes_scrubbed, array.counters_so_far().scrub_errors), (11, 3));
}

/// A row whose stripe has an error on another drive is rebuilt where there is parity enough, and the error is repaired;
/// otherwise it is lost.
#[test]
fn an_unrecoverable_read_during_a_rebuild_costs_the_row_where_parity_is_used_up() {
    for (words, repaired, lost) in [(["layout=raid5"], 0, 1), (["layout=raid6"], 1, 0)] {
        // The error of row 3 is on drive 0; drive 2 fails, and the last drive takes over.
        let member = |(index, drive): (usize, Server)| MemberDrive {
            name: format!("drive-{index}"),
            drive: Box::new(drive),
            spare: index == 5,
            fails_at: (index == 2).then_some(Span(1_000)),
            mean_life: None,
        };
        let drives = drives(6, &[(0, 3)]).into_iter().enumerate().map(member).collect();
        let mut array = Array::new(&config(&words), drives, 1).unwrap();
        array.workload_begins();
        played(&mut array, &[read(0, 0)]);
        array.flush().unwrap();
        let counters = array.counters_so_far();
        let rebuild = counters.rebuilds[0];
        assert_eq!((rebuild.rows, rebuild.lost, counters.repairs), (ROWS - lost, lost, repaired), "{words:?}");
        assert_eq!(counters.data_lost.is_some(), lost > 0, "{words:?}");
        assert_eq!(array.drives().next().unwrap().errors_at.is_empty(), repaired == 1, "{words:?}");
    }
}

/// A row that was lost in a rebuild is on the new drive again once its stripe was written whole: the stripe can do
/// without a drive from then on, and only it.
#[test]
fn a_stripe_that_is_written_whole_after_a_rebuild_lost_its_row_is_protected_again() {
    let member = |(index, drive): (usize, Server)| MemberDrive {
        name: format!("drive-{index}"),
        drive: Box::new(drive),
        spare: index == 4,
        // Of the lost row 3 the first drive cannot read its chunk, and of row 5 either.
        fails_at: [None, Some(Span(1_000_000_000)), Some(Span(1_000)), None, None][index],
        mean_life: None,
    };
    let drives = drives(5, &[(0, 3), (0, 5)]).into_iter().enumerate().map(member).collect();
    let mut array = Array::new(&config(&["layout=raid5"]), drives, 1).unwrap();
    array.workload_begins();
    array.advance(Time(500_000_000)).unwrap();
    assert_eq!(array.counters_so_far().rebuilds[0].lost, 2);
    let written = |array: &Array<Server>| array.drives().map(|drive| drive.writes.0).collect::<Vec<u64>>();
    let before = written(&array);
    let whole = |time: u64, op, row: u64| Request::new(Time(time), op, Bytes(row * 3 * CHUNK), Bytes(3 * CHUNK));
    // Time goes on by 0.1 s with each.
    let done = |array: &mut Array<Server>, requests: &[Request]| {
        for request in requests {
            array.submit(*request).unwrap();
        }
        array.advance(Time(requests[0].time.0 + 100_000_000)).unwrap();
        array.take_completions().collect::<Vec<Completion>>()
    };
    assert!(done(&mut array, &[whole(600_000_000, Op::Write, 3)])[0].is_done());
    let more: Vec<u64> = written(&array).iter().zip(before).map(|(now, before)| now - before).collect();
    assert_eq!(more, [1, 1, 0, 1, 1], "the drive that was rebuilt on too");
    let lost = |array: &mut Array<Server>, time: u64| {
        let reads = (0..ROWS).map(|row| whole(time, Op::Read, row)).collect::<Vec<Request>>();
        let lost = done(array, &reads).into_iter().filter(|done| done.uncorrectable);
        lost.map(|done| done.request.offset.0 / (3 * CHUNK)).collect::<Vec<u64>>()
    };
    assert_eq!(lost(&mut array, 700_000_000), [5]);
    assert_eq!(lost(&mut array, 1_500_000_000), [5], "without another drive");
    // The other one too: all rows are there.
    assert!(done(&mut array, &[whole(2_000_000_000, Op::Write, 5)])[0].is_done());
    assert!(lost(&mut array, 2_500_000_000).is_empty());
}

/// Where the lives of drives are longer than time, they do not fail.
#[test]
fn lives_beyond_all_time_do_not_end() {
    let member = |drive| MemberDrive {
        name: "drive".into(),
        drive: Box::new(drive),
        spare: false,
        fails_at: Some(Span(u64::MAX)),
        mean_life: Some(Span(u64::MAX)),
    };
    let mut array =
        Array::new(&config(&["layout=mirror"]), drives(9, &[]).into_iter().map(member).collect(), 1).unwrap();
    array.advance(Time(1_000_000)).unwrap();
    array.workload_begins();
    array.advance(Time(1_000_000_000)).unwrap();
    assert_eq!(array.counters_so_far().drives_failed, 0);
}

/// Pages that a drive could not correct, and others have given, the host has not lost.
#[test]
fn lost_pages_are_those_that_the_host_has_lost() {
    let pages = CHUNK / 16_384;
    for (bad, lost, of_drives) in [(vec![(0, 0)], 0, 1), (vec![(0, 0), (1, 0)], 2 * pages, 3)] {
        let mut array = array(&["layout=raid5", "repair=false"], drives(4, &bad));
        let whole = Request::new(Time(0), Op::Read, Bytes(0), Bytes(3 * CHUNK));
        assert_eq!(played(&mut array, &[whole])[0].uncorrectable, lost > 0);
        assert_eq!(array.counters().host_pages_lost, lost);
        assert_eq!(array.drives().map(|drive| drive.counters().host_pages_lost).sum::<u64>(), of_drives);
    }
    // Without redundancy they are those of the drives.
    let mut array = array(&["layout=stripe"], drives(4, &[(0, 0)]));
    played(&mut array, &[read(0, 0)]);
    assert_eq!(array.counters().host_pages_lost, 1);
}

/// What the cut of a drive's power aborts is read elsewhere, or once more, and rows of rebuilds are begun again: the
/// data is not lost, and the host is not told that anything was aborted.
#[test]
fn what_a_power_cut_aborts_is_read_and_rebuilt_again() {
    let aborting = |numbers: &'static [u64]| move |id: u64| numbers.contains(&id);
    for (words, first, second) in [
        (&["layout=mirror", "copies=2"][..], &[0][..], &[][..]),
        (&["layout=mirror", "copies=2"], &[0, 1], &[0]),
        (&["layout=raid5"], &[0], &[]),
        (&["layout=raid5"], &[0], &[0, 1]),
        // What the write reads before.
        (&["layout=raid5"], &[], &[0]),
    ] {
        let mut all = drives(4, &[]).into_iter();
        let mut cut = |numbers| all.next().unwrap().that_aborts(aborting(numbers));
        let mut cut: Vec<Server> = vec![cut(first), cut(second)];
        cut.extend(all);
        let mut array = array(words, cut);
        let write = Request { op: Op::Write, ..read(10_000_000, 0) };
        let done = played(&mut array, &[read(0, 0), write]);
        assert!(done.iter().all(|done| done.is_done() && !done.uncorrectable), "{words:?}: {done:?}");
        let counters = array.counters_so_far();
        assert_eq!((counters.lost_requests, counters.data_lost, counters.repairs), (0, None, 0), "{words:?}");
    }
    // Without redundancy the host is told.
    let cut = drives(1, &[]).remove(0).that_aborts(|id| id == 0);
    let mut one = array(&["layout=stripe"], vec![cut]);
    assert!(played(&mut one, &[read(0, 0), read(1_000_000, 0)])[0].aborted);
    let counters = one.counters();
    assert_eq!((counters.requests_aborted, counters.requests_completed), (1, 1));
    // The third and the seventh read of a rebuild from its only source, and two writes to the spare drive.
    let member = |(index, drive): (usize, Server)| MemberDrive {
        name: format!("drive-{index}"),
        drive: Box::new(drive.that_aborts(aborting([&[2, 6][..], &[], &[1, 5]][index]))),
        spare: index == 2,
        fails_at: (index == 1).then_some(Span(1_000)),
        mean_life: None,
    };
    let drives = drives(3, &[]).into_iter().enumerate().map(member).collect();
    let mut array = Array::new(&config(&["layout=mirror"]), drives, 1).unwrap();
    array.workload_begins();
    array.advance(Time(2_000)).unwrap();
    array.flush().unwrap();
    let rebuild = array.counters_so_far().rebuilds[0];
    assert_eq!((rebuild.rows, rebuild.lost, array.counters_so_far().data_lost), (ROWS, 0, None));
    let drives: Vec<(u64, u64)> = array.drives().map(|drive| (drive.reads.0, drive.writes.0)).collect();
    assert_eq!(drives, [(ROWS + 4, 0), (0, 0), (0, ROWS + 2)]);
}

/// Where all drives have failed time passes as before, and requests are answered: what waits for a time that was asked
/// for had waited for ever.
#[test]
fn time_goes_on_where_no_drive_is_left() {
    let member = |(index, drive): (usize, Server)| MemberDrive {
        name: format!("drive-{index}"),
        drive: Box::new(drive),
        spare: false,
        fails_at: Some(Span(200_000)),
        mean_life: None,
    };
    let drives = drives(2, &[]).into_iter().enumerate().map(member).collect();
    let mut array = Array::new(&config(&["layout=mirror", "copies=2"]), drives, 1).unwrap();
    array.workload_begins();
    array.advance(Time(1_000_000)).unwrap();
    assert_eq!((array.now(), array.counters_so_far().drives_failed), (Time(1_000_000), 2));
    array.submit(read(1_500_000, 0)).unwrap();
    array.advance(Time(3_000_000)).unwrap();
    assert_eq!(array.now(), Time(3_000_000));
    let done: Vec<_> = array.take_completions().collect();
    assert_eq!((done.len(), done[0].finish, done[0].uncorrectable), (1, Time(1_500_000), true));
}

/// Whatever it is played for: flushes, rests, time that passes, and turns of windows while the others serve.
#[test]
fn a_drive_whose_life_ends_while_nothing_is_asked_of_it_counts_as_failed() {
    type Way = fn(&mut Array<Server>);
    let ways: [(&str, Way); 4] = [
        ("advance", |array| array.advance(Time(1_000_000)).unwrap()),
        ("flush", |array| array.flush().unwrap()),
        ("rest", |array| array.rest(Span(1_000_000), None).unwrap()),
        ("windows", |array| {
            let reads: Vec<Request> = (0..40).map(|index| read(index * 100_000, 0)).collect();
            assert!(played(array, &reads).iter().all(|done| !done.uncorrectable));
        }),
    ];
    for (name, way) in ways {
        let mut drives = drives(4, &[]);
        let third = drives.remove(2).whose_life_ends(Time(500_000));
        drives.insert(2, third);
        let member = |(index, drive): (usize, Server)| MemberDrive {
            name: format!("drive-{index}"),
            drive: Box::new(drive),
            spare: index == 3,
            fails_at: None,
            mean_life: None,
        };
        let coordinate = if name == "windows" { "coordinate=staggered" } else { "coordinate=none" };
        let words = ["layout=raid5", "window=1ms", coordinate];
        let mut array = Array::new(&config(&words), drives.into_iter().enumerate().map(member).collect(), 1).unwrap();
        array.workload_begins();
        way(&mut array);
        assert_eq!(array.counters_so_far().drives_failed, 1, "{name}");
        array.flush().unwrap();
        let rebuild = array.counters_so_far().rebuilds[0];
        assert_eq!((rebuild.drive, rebuild.rows, rebuild.ended.is_some()), (3, ROWS, true), "{name}");
        assert_eq!(array.drives_in_place(), [0, 1, 3], "{name}");
    }
    // Without redundancy the run ends with it.
    let drives = drives(2, &[]).into_iter().map(|drive| drive.whose_life_ends(Time(500_000))).collect();
    let mut striped = array(&["layout=stripe"], drives);
    assert!(matches!(striped.advance(Time(1_000_000)), Err(RunError::EndOfLife { time: Time(500_000), .. })));
}

/// A drive that is read-only takes no part any more, and the host's request is done by the others, until none is left.
#[test]
fn a_flush_that_a_drive_refuses_is_done_by_the_others_until_none_is_left() {
    for count in [1, 3] {
        let read_only = |(index, drive): (usize, Server)| drive.that_is_read_only(index < count);
        let mut array = array(&["layout=mirror"], drives(3, &[]).into_iter().enumerate().map(read_only).collect());
        let flush = Request::new(Time(0), Op::Flush, Bytes(0), Bytes(0));
        let later = Request { time: Time(1_000_000), ..flush };
        let refused: Vec<bool> = played(&mut array, &[flush, later]).iter().map(|done| done.refused).collect();
        assert_eq!(refused, [count == 3; 2]);
        assert_eq!(array.counters_so_far().drives_failed, count as u64);
        assert_eq!(array.counters_so_far().data_lost.is_some(), count == 3);
    }
}

/// Copies of one chunk on drives whose lives are exponential with mean 1 / `fails`, and are replaced: a rebuild reads a
/// copy in an exponential time with mean 1 / `rebuilt`, and this many reads are in vain. The times until data is lost
/// \[s].
fn times_to_loss(copies: usize, [fails, rebuilt, in_vain]: [f64; 3], samples: u64) -> Vec<f64> {
    let spares = 120;
    let lost_of = |sample: u64| {
        let random = Stream::new(11, "loss").entity(sample);
        let member = |index: usize| {
            let of_drive = random.entity(index as u64);
            let service = move |id: u64, request: &Request| match request.op {
                Op::Read => Span((of_drive.exponential(2 * id + 1) / rebuilt * 1e9) as u64),
                _ => Span(0),
            };
            let drive = Server::new(Bytes(CHUNK), service).in_parallel();
            let drive = drive.that_fails(move |id| of_drive.uniform(2 * id + 2) < in_vain);
            let mean_life = Some(Span((1e9 / fails) as u64));
            MemberDrive {
                name: format!("drive-{index}"),
                drive: Box::new(drive),
                spare: index >= copies,
                fails_at: None,
                mean_life,
            }
        };
        let words = ["layout=mirror", "rebuild_rate=1000GB/s"];
        let mut array = Array::new(&config(&words), (0..copies + spares).map(member).collect(), sample).unwrap();
        array.workload_begins();
        let mut time = 0;
        loop {
            time += 1_000_000_000_000;
            array.advance(Time(time)).unwrap();
            if let Some(lost) = array.counters_so_far().data_lost {
                return lost.0 as f64 / 1e9;
            }
        }
    };
    (0..samples).map(lost_of).collect()
}

/// Mean time to data loss of two copies, and of three, as Markov chains whose state is the number of copies that are
/// there. With two, a rebuild whose read is in vain loses the data; with three and no such reads, two drives are
/// rebuilt one after another, since a rebuild locks its stripe.
fn markov([fails, rebuilt, in_vain]: [f64; 3], copies: usize) -> f64 {
    if copies == 2 {
        let (back, lost) = (rebuilt * (1.0 - in_vain), fails + rebuilt * in_vain);
        return 1.0 / (2.0 * fails) + (1.0 + back / (2.0 * fails)) / lost;
    }
    // T3 = 1 / 3l + T2; T2 = (1 + 2l T1 + m T3) / (2l + m); T1 = (1 + m T2) / (l + m).
    let (l, m) = (fails, rebuilt);
    let constant = 1.0 + 2.0 * l / (l + m) + m / (3.0 * l);
    let t2 = constant / (2.0 * l - 2.0 * l * m / (l + m));
    1.0 / (3.0 * l) + t2
}

#[test]
fn the_mean_time_to_data_loss_is_that_of_its_markov_chain() {
    let samples = 1500;
    for (copies, rates) in [(2, [1.0, 8.0, 0.0]), (2, [1.0, 8.0, 0.1]), (2, [1.0, 30.0, 0.02]), (3, [1.0, 3.0, 0.0])] {
        let times = times_to_loss(copies, rates, samples);
        let mean = times.iter().sum::<f64>() / samples as f64;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (samples - 1) as f64;
        // The interval of 99.9 %: one test in a thousand would fail by chance, and the seeds are the same each time.
        let half_width = 3.29 * (variance / samples as f64).sqrt();
        let expected = markov(rates, copies);
        println!("{copies} copies, {rates:?}: {mean:.3} +- {half_width:.3} s, by the chain {expected:.3} s");
        assert!((mean - expected).abs() <= half_width, "{copies} copies, {rates:?}: {mean} against {expected}");
    }
}
