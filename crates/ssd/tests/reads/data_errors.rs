//! Wrong data: what the decoder takes for other data, what a CRC makes of it, and how it is counted.

use ssd::stats::Counters;
use ssd::{Completion, Device, Drive};
use testing::{lone_page_reads, weak_code};
use units::{Bytes, Time};
use workload::{Op, Request};

const READS: u64 = 4000;

/// Reads of pages that no sense corrects, one at a time.
fn read(settings: &[&str]) -> (Counters, Vec<Completion>) {
    let lost = ["age.pec=2000", "age.retention=1y", "ecc.strength=0.05", "read.next=oracle"];
    let code = format!("ecc.code={}", weak_code());
    let config = lone_page_reads(lost.into_iter().chain([code.as_str()]).chain(settings.iter().copied()));
    let mut device = Device::new(&config, 1).unwrap();
    let mut done = Vec::new();
    for index in 0..READS {
        let page = index % (device.capacity().0 / 16_384);
        device.submit(Request::new(device.now(), Op::Read, Bytes(page * 16_384), Bytes(16_384))).unwrap();
        assert!(device.advance_to_completion(Time::NEVER).unwrap());
        done.extend(device.take_completions());
    }
    device.check().unwrap();
    (device.counters(), done)
}

#[test]
fn miscorrections_are_caught_by_the_crc_or_returned_as_data() {
    let (plain, done) = read(&[]);
    assert!(done.iter().all(|completion| completion.uncorrectable));
    let senses = plain.senses as f64 / READS as f64;
    assert_eq!(senses.fract(), 0.0, "every read is sensed as often");
    let share = 0.01;

    let (caught, done) = read(&["ecc.miscorrection=0.01"]);
    assert!(
        done.iter().all(|completion| completion.uncorrectable),
        "the CRC turns them into pages that cannot be corrected"
    );
    assert_eq!((caught.host_pages_lost, caught.host_pages_wrong), (READS, 0));
    let (found, expected) = (caught.miscorrections_caught as f64, share * caught.senses as f64);
    assert!((found - expected).abs() < 4.0 * expected.sqrt(), "{found} of {expected:.0} expected");
    assert_eq!(caught.senses, plain.senses);

    let (silent, done) = read(&["ecc.miscorrection=0.01", "ecc.crc=false"]);
    // A read ends with the first sense that is taken for data.
    let expected = READS as f64 * (1.0 - (1.0f64 - share).powf(senses));
    let wrong = silent.host_pages_wrong;
    assert!((wrong as f64 - expected).abs() < 4.0 * expected.sqrt(), "{wrong} of {expected:.0} expected");
    assert_eq!(done.iter().filter(|completion| !completion.uncorrectable).count() as u64, wrong);
    assert_eq!((silent.host_pages_lost + wrong, silent.miscorrections_caught), (READS, 0));
}

#[test]
fn errors_are_counted_in_flash_pages_whatever_the_map_counts_in() {
    for unit in ["page", "4KiB", "1KiB"] {
        let (counters, _) = read(&[&format!("mapping.unit={unit}")]);
        let errors = (counters.host_pages_lost, counters.media_errors, counters.pages_unreadable);
        assert_eq!(errors, (READS, READS, READS), "each request reads one flash page, with logical pages of {unit}");
    }
}

#[test]
fn uber_is_pages_that_are_lost_or_wrong_for_each_bit_read() {
    for settings in [&["ecc.miscorrection=0.1"][..], &["ecc.miscorrection=0.1", "ecc.crc=false"]] {
        let (counters, _) = read(settings);
        // Every page is lost or wrong: an error in 16 KiB, whatever the decoder and the CRC make of it.
        let errors = counters.host_pages_lost + counters.host_pages_wrong;
        assert_eq!(errors as f64 / (8.0 * counters.read_bytes as f64), 1.0 / (8.0 * 16_384.0));
    }
}

#[test]
fn wrong_data_that_is_relocated_stays_wrong() {
    let settings = [
        "ecc.miscorrection=1",
        "ecc.crc=false",
        "age.precondition=closed-form",
        "ftl.over_provisioning=0.5",
        "geometry.pages=48",
        "buffer.size=1MiB",
    ];
    let lost = ["age.pec=9000", "age.retention=90y", "ecc.strength=14", "read.next=oracle"];
    let code = format!("ecc.code={}", weak_code());
    let config = lone_page_reads(lost.into_iter().chain([code.as_str()]).chain(settings));
    let mut device = Device::new(&config, 1).unwrap();
    let pages = device.plan().logical_pages;
    let at = |device: &mut Device, op: Op, page: u64| {
        device.submit(Request::new(device.now(), op, Bytes(page * 16_384), Bytes(16_384))).unwrap();
        assert!(device.advance_to_completion(Time::NEVER).unwrap());
        device.take_completions().for_each(drop);
        device.counters()
    };
    // What is relocated was wrong when it was read.
    let step = 3;
    let written: Vec<u64> = (0..pages).step_by(step).collect();
    let moved: u64 =
        written.iter().map(|page| at(&mut device, Op::Write, *page)).last().unwrap().pages_relocated.iter().sum();
    assert!(moved > 0);
    let before = at(&mut device, Op::Read, 1).host_pages_wrong;
    let wrong =
        (0..pages).filter(|page| page % step as u64 != 0).map(|page| at(&mut device, Op::Read, page)).last().unwrap();
    let others = pages - written.len() as u64;
    assert_eq!(wrong.host_pages_wrong - before, others, "all that was not written is wrong, relocated or not");
}

/// The host writes half of each of two logical pages, of which the first is its own from before and the other is wrong.
/// What it reads of both, from the flash page that they share, is wrong once.
#[test]
fn a_flash_page_is_wrong_if_any_of_its_logical_pages_is() {
    let old = ["age.pec=0", "age.retention=90y", "ecc.strength=14", "read.next=oracle", "mapping.unit=4KiB"];
    let wrong = ["ecc.miscorrection=1", "ecc.crc=false", "buffer.size=1MiB", "ftl.over_provisioning=0.5"];
    let code = format!("ecc.code={}", weak_code());
    let config = lone_page_reads(old.into_iter().chain(wrong).chain([code.as_str()]));
    let mut device = Device::new(&config, 1).unwrap();
    let at = |device: &mut Device, op: Op, from: u64, to: u64| {
        device.submit(Request::new(device.now(), op, Bytes(from), Bytes(to - from))).unwrap();
        assert!(device.advance_to_completion(Time::NEVER).unwrap());
        device.take_completions().for_each(drop);
        device.counters()
    };
    let pages: Vec<u64> = (0..100).map(|page| page * 16_384).collect();
    for half in [0, 2048] {
        for page in &pages {
            at(&mut device, Op::Write, page + half, page + 4096 + half);
        }
        at(&mut device, Op::Flush, 0, 0);
    }
    let mut together = 0;
    for page in pages {
        let before = at(&mut device, Op::Read, page, page + 4096);
        let after = at(&mut device, Op::Read, page, page + 8192);
        together += u64::from(after.pages_read - before.pages_read == 1);
        assert_eq!((before.host_pages_wrong, after.host_pages_wrong), (page / 16_384, page / 16_384 + 1));
    }
    assert!(together > 40, "{together} of 100 stand in one flash page");
}
