//! Drives that wear out: the run's result, or a drive that is read-only from then on.

use ssd::run::{Replay, Run, RunOptions};
use ssd::{Config, Device, Drive, RunError};
use testing::worn_out_soon;
use units::{Bytes, Time};
use workload::{Op, Request};

fn overwrites(config: &Config) -> Run {
    let words = ["workload.rw=randwrite", "workload.bs=16KiB", "workload.requests=100000"];
    let capacity = config.plan().unwrap().capacity();
    let source = workload::presets::get("default", &words).unwrap().source(capacity, 1).unwrap();
    let plan = RunOptions { replay: Replay::Closed(16), requests: Some(20_000), ..RunOptions::default() };
    Run::new(config, source, plan, None).unwrap()
}

#[test]
fn the_result_up_to_the_end_of_life_is_kept() {
    let mut run = overwrites(&worn_out_soon(&[]));
    while !run.step(1000).unwrap() {}
    assert!(matches!(run.end_of_life(), Some(RunError::EndOfLife { .. })));
    let outcome = run.finish().unwrap();
    let [_, writes, ..] = outcome.measured.latencies.total();
    assert!(writes.count() > 100 && writes.count() < 20_000, "{}", writes.count());
    assert_eq!(
        writes.count(),
        outcome.measured.totals.counters.requests_completed,
        "nothing is lost of what had completed"
    );
    assert!(outcome.device.end_of_life().is_some_and(|time| time > Time::ZERO));
}

#[test]
fn a_read_only_drive_refuses_writes_and_reads_on() {
    for mode in ["write-back", "write-through"] {
        for table in ["ideal", "cached"] {
            let settings = [
                "wear.end_of_life=read-only",
                &format!("buffer.mode={mode}"),
                &format!("mapping.table={table}"),
                "mapping.cache=64KiB",
                "gc.preemptible=false",
            ];
            let mut run = overwrites(&worn_out_soon(&settings));
            while !run.step(1000).unwrap() {}
            assert!(run.end_of_life().is_none(), "the workload is played to its end");
            let outcome = run.finish().unwrap();
            let [_, writes, ..] = outcome.measured.latencies.total();
            let refused = outcome.measured.totals.counters.requests_refused;
            assert!(refused > 0 && writes.count() > 100);
            assert_eq!(writes.count() + refused, 20_000);

            let mut device: Device = outcome.device;
            let (now, pages) = (device.now(), device.capacity().0 / 16_384);
            for (op, page) in [(Op::Write, 3), (Op::Trim, 4), (Op::Flush, 0), (Op::Read, 5)] {
                let bytes = Bytes(if op == Op::Flush { 0 } else { 16_384 });
                device.submit(Request::new(now, op, Bytes(page * 16_384), bytes)).unwrap();
            }
            for page in 0..pages {
                let request = Request::new(now, Op::Read, Bytes(page * 16_384), Bytes(16_384));
                device.submit(request).unwrap();
            }
            let mut done = Vec::new();
            while device.advance_to_completion(Time::NEVER).unwrap() {
                done.extend(device.take_completions());
            }
            assert_eq!(done.len() as u64, pages + 4, "every page is still read");
            assert!(done.iter().all(|completion| completion.refused == (completion.request.op != Op::Read)));
            device.check().unwrap();
            device.check_mapping().unwrap();
        }
    }
}

/// Requests are handed over at once and then played, without a limit of time or up to a late one.
#[test]
fn a_life_ends_when_nothing_goes_on_and_not_at_a_visit_for_refresh() {
    let end = |limit: Time| {
        let settings = [
            "refresh.period=60s",
            "buffer.mode=write-through",
            "chip.program_unit=page",
            "ftl.streams=2",
            "wear.erase_fail=0.01",
            "wear.program_fail=0.001",
        ];
        let mut device = Device::new(&worn_out_soon(&settings), 1).unwrap();
        let (random, pages) = (units::Stream::new(3, "pages"), device.capacity().0 / 16_384);
        for index in 0..200_000 {
            let page = random.below(index, pages);
            device.submit(Request::new(Time::ZERO, Op::Write, Bytes(page * 16_384), Bytes(16_384))).unwrap();
        }
        device.advance_to_completion(Time::ZERO).unwrap();
        loop {
            match device.advance_to_completion(limit) {
                Ok(_) => drop(device.take_completions()),
                Err(error) => return (error.to_string(), device.counters().requests_completed),
            }
            assert!(device.outstanding() > 0, "it has outlived all requests");
        }
    };
    let (told, completed) = end(Time::NEVER);
    assert!(told.contains("blocks") && completed > 100, "{told}");
    assert_eq!(end(Time(3_600_000_000_000)), (told, completed));
}

#[test]
fn spares_and_wear_are_reported_as_nvme_does() {
    let mut device =
        Device::new(&worn_out_soon(&["wear.end_of_life=read-only", "wear.endurance=90", "age.pec=40"]), 1).unwrap();
    let plan = device.plan();
    let needed = plan.needed_blocks() * plan.layout.planes;
    let (blocks, pages) = (plan.layout.blocks * plan.layout.planes, plan.logical_pages);
    let mut before = device.smart();
    assert_eq!((before.available_spare, before.critical_warning(), before.media_errors), (100.0, 0, 0));
    assert_eq!(before.percentage_used, Some(100.0 * 40.0 / 90.0));
    let random = units::Stream::new(3, "pages");
    for index in 0.. {
        let page = random.below(index, pages);
        device.submit(Request::new(device.now(), Op::Write, Bytes(page * 16_384), Bytes(16_384))).unwrap();
        device.advance_to_completion(Time::NEVER).unwrap();
        let refused = device.take_completions().any(|completion| completion.refused);
        let (now, counters) = (device.smart(), device.counters());
        let spare = f64::from(blocks - counters.blocks_retired as u32) - f64::from(needed);
        assert_eq!(now.available_spare, 100.0 * spare.max(0.0) / f64::from(blocks - needed));
        let pec = 40.0 + counters.blocks_erased as f64 / f64::from(blocks);
        assert_eq!(now.percentage_used, Some(100.0 * pec / 90.0));
        assert_eq!(now.critical_warning() & 1, u64::from(now.available_spare < 10.0));
        assert_eq!(now.critical_warning() & 8 != 0, device.end_of_life().is_some());
        assert!(now.available_spare <= before.available_spare && now.percentage_used >= before.percentage_used);
        before = now;
        if refused {
            break;
        }
    }
    assert_eq!(before.critical_warning() & 8, 8);
}
