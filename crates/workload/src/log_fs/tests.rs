use units::{Bytes, Fraction, Span, Stream};

use super::options::{ActiveLogs, Cleaning, LogFs};
use super::shape::{BLOCK, LOGS};
use super::volume::{Act, Volume};
use crate::generator::{Distribution, ZoneReset};
use crate::request::{Op, Request, Source, ZoneAction};

const CAPACITY: Bytes = Bytes(256 << 20);

/// A volume of a hundred sections, which are small.
fn small() -> LogFs {
    LogFs {
        file_size: Bytes::from_kib(64),
        bs: Bytes::from_kib(8),
        files_of_directory: 8,
        free_sections: 9,
        checkpoint: Span(1_000_000_000),
        past: 1.0,
        operations: 20_000,
        ..LogFs::default()
    }
}

fn requests(options: &LogFs, seed: u64) -> (Vec<Request>, Box<dyn Source>) {
    let mut source = options.source(CAPACITY, seed).unwrap();
    let mut all = Vec::new();
    while {
        let before = all.len();
        source.fill(&mut all, 1000).unwrap();
        all.len() > before
    } {}
    (all, source)
}

#[test]
fn no_block_is_lost_whatever_is_written_and_cleaned() {
    for logs in [ActiveLogs::Six, ActiveLogs::Four, ActiveLogs::Two] {
        for cleaning in [Cleaning::Greedy, Cleaning::CostBenefit] {
            let options = LogFs { active_logs: logs, cleaning, utilization: Fraction(0.6), ..small() };
            let shape = options.check(CAPACITY).unwrap();
            let mut volume = Volume::new(&options, shape);
            volume.check();
            let draws = Stream::new(1, "files");
            for turn in 0..24_000 {
                let file = draws.below(turn, shape.files);
                match turn % 13 {
                    0 => volume.rewrite(file, 8),
                    5 => volume.checkpoint(),
                    _ => volume.update(file % shape.first_cold, turn % 15..turn % 15 + 2, turn % 2 == 0),
                }
                volume.acts.clear();
                if turn % 2000 == 0 {
                    volume.check();
                }
            }
            volume.check();
            assert!(volume.counts.sections_cleaned > 20, "{logs:?} {cleaning:?} {:?}", volume.counts);
        }
    }
}

/// What a drive with zones demands: each section is freed before it is written, and written from its beginning on in
/// order.
#[test]
fn sections_are_written_in_order_between_their_resets() {
    let options = LogFs { section_reset: ZoneReset::Reset, ..small() };
    let (all, _) = requests(&options, 1);
    let shape = options.check(CAPACITY).unwrap();
    let (size, begins) = (options.section_size.0, u64::from(shape.tables) * options.section_size.0);
    let mut pointers = vec![None; shape.sections as usize];
    let (mut resets, mut writes) = (0, 0);
    for Request { op, offset, bytes, hint, .. } in all {
        let section = (offset.0.saturating_sub(begins) / size) as usize;
        match op {
            Op::Zone(ZoneAction::Reset) => {
                assert_eq!((offset.0 - begins) % size, 0);
                pointers[section] = Some(0);
                resets += 1;
            }
            Op::Write if offset.0 >= begins => {
                let pointer = pointers[section].expect("a section is freed before it is written");
                assert_eq!((offset.0 - begins) % size, pointer);
                assert!(pointer + bytes.0 <= size && (1..=LOGS as u16).contains(&hint));
                pointers[section] = Some(pointer + bytes.0);
                writes += 1;
            }
            Op::Write => assert!(offset.0 + bytes.0 <= begins && hint == 0, "tables are written in place"),
            Op::Read | Op::Flush => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(resets > 50 && writes > 5000, "{resets} {writes}");
}

#[test]
fn requests_have_their_times_and_the_same_seed_makes_the_same_ones() {
    let options = LogFs { operations: 3000, ..small() };
    let ((one, _), (other, _), (third, _)) = (requests(&options, 1), requests(&options, 1), requests(&options, 2));
    assert!(one == other && one != third);
    assert!(one.is_sorted_by_key(|request| request.time));
    let (last, mean) = (one.last().unwrap().time.0 as f64, 3000.0 / options.rate * 1e9);
    assert!((0.9..1.1).contains(&(last / mean)), "{last} {mean}");
}

fn amplification(options: &LogFs) -> f64 {
    let (_, source) = requests(options, 3);
    let all = source.statistics();
    let of = |name: &str| match all.iter().find(|statistic| statistic.name == name).unwrap().value {
        crate::request::Number::Count(count) => count as f64,
        crate::request::Number::Amount(amount) => amount,
    };
    let parts = ["written", "node", "cleaned", "table"].map(|part| of(&format!("log_fs.{part}_bytes")));
    let all = parts.iter().sum::<f64>() / parts[0];
    assert!((of("log_fs.amplification") - all).abs() < 1e-9);
    // Of cleaning alone.
    parts[2] / parts[0]
}

#[test]
fn hot_and_cold_apart_and_room_to_spare_save_cleaning() {
    let base = LogFs {
        random_distribution: Distribution::Zipf(1.2),
        replaced: Fraction(0.0),
        fsync: Fraction(0.0),
        read_ratio: Fraction(0.0),
        past: 4.0,
        ..small()
    };
    let six = amplification(&base);
    let two = amplification(&LogFs { active_logs: ActiveLogs::Two, ..base.clone() });
    let sparse = amplification(&LogFs { utilization: Fraction(0.5), ..base.clone() });
    let full = amplification(&LogFs { utilization: Fraction(0.86), ..base });
    assert!(six < two && sparse < six && six < full, "{six} {two} {sparse} {full}");
}

#[test]
fn what_moves_is_read_and_tables_follow_what_changed() {
    let options = small();
    let mut volume = Volume::new(&options, options.check(CAPACITY).unwrap());
    volume.begin();
    volume.checkpoint();
    volume.acts.clear();
    volume.update(3, 0..2, true);
    let writes = volume.acts.iter().filter(|act| matches!(act, Act::Write(..))).count();
    assert_eq!(writes, 3, "two blocks of data and the node of their file: {:?}", volume.acts);
    volume.acts.clear();
    volume.checkpoint();
    let tables = volume.acts.iter().filter(|act| matches!(act, Act::Table(_))).count();
    // What changed lies in one block of the SIT or two, and the node in one of the NAT; then a pack.
    assert!((8 + 2..=8 + 3).contains(&tables), "{:?}", volume.acts);
    assert_eq!(volume.acts.iter().filter(|act| **act == Act::Flush).count(), 1);
}

#[test]
fn what_cannot_be_is_refused_with_its_key() {
    for (options, key) in [
        (LogFs { bs: Bytes(1000), ..small() }, "log_fs.bs"),
        (LogFs { bs: Bytes::from_mib(1), ..small() }, "log_fs.bs"),
        (LogFs { section_size: Bytes(BLOCK), ..small() }, "log_fs.section_size"),
        (LogFs { section_size: Bytes::from_mib(64), ..small() }, "log_fs.section_size"),
        (LogFs { footprint: Some(Bytes::from_mib(16)), ..small() }, "log_fs.footprint"),
        (LogFs { footprint: Some(Bytes(1 << 40)), ..small() }, "log_fs.footprint"),
        (LogFs { utilization: Fraction(0.96), ..small() }, "log_fs.utilization"),
        (LogFs { free_sections: 3, ..small() }, "log_fs.free_sections"),
        (LogFs { rate: 0.0, ..small() }, "log_fs.rate"),
        (LogFs { offset: Bytes(4096), ..small() }, "log_fs.offset"),
    ] {
        let error = options.check(CAPACITY).unwrap_err();
        assert_eq!(error.key.as_deref(), Some(key), "{error}");
    }
}
