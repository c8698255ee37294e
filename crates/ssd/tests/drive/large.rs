//! Drives of more than 2^32 pages: they are taken, hold data where it was put, and take no more memory for it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use ssd::{Config, DataFrom, Device, Drive, SlotId};
use units::{Bytes, Lpn, Ppn, Stream, Time};
use workload::{Op, Request};

use testing::{Watched, Watcher, watched};

const PAGE: u64 = 16_384;
/// Logical pages so far apart share a number in the blocks' records.
const SHARED: u64 = u32::MAX as u64;

/// Which page's data each page on flash got, and where each page's newest is.
#[derive(Clone, Default)]
struct Places(Rc<RefCell<Seen>>);

#[derive(Default)]
struct Seen {
    flash: HashMap<Ppn, Lpn>,
    newest: HashMap<Lpn, Ppn>,
    wrong: Vec<String>,
    reads_of_written: u64,
}

impl Watcher for Places {
    fn read(&mut self, _: Time, request: u64, lpn: Lpn, from: DataFrom) {
        let mut seen = self.0.borrow_mut();
        if let (DataFrom::Flash(ppn), Some(newest)) = (from, seen.newest.get(&lpn).copied()) {
            seen.reads_of_written += 1;
            if ppn != newest {
                seen.wrong.push(format!("read {request} of {lpn:?} is given {ppn:?}, its data is in {newest:?}"));
            }
        }
    }
    fn programmed(&mut self, _: Time, lpn: Lpn, _: SlotId, ppn: Ppn) {
        let mut seen = self.0.borrow_mut();
        seen.flash.insert(ppn, lpn);
        seen.newest.insert(lpn, ppn);
    }
    fn moved(&mut self, _: Time, lpn: Lpn, from: Ppn, to: Ppn) {
        let mut seen = self.0.borrow_mut();
        if let Some(held) = seen.flash.get(&from).copied()
            && held != lpn
        {
            seen.wrong.push(format!("{lpn:?} is moved from {from:?}, which holds {held:?}"));
        }
        seen.flash.insert(to, lpn);
        if seen.newest.get(&lpn).is_none_or(|newest| *newest == from) {
            seen.newest.insert(lpn, to);
        }
    }
}

fn device(settings: &[&str]) -> (Device<Watched>, Places) {
    let mut config = Config::default();
    settings.iter().for_each(|word| config.set(word).unwrap());
    let places = Places::default();
    (watched(&config, 1, places.clone()), places)
}

/// Four planes with as many pages as a plane may have: 2^33 pages, 128 TiB.
const FEW_PLANES: [&str; 7] = [
    "geometry.channels=2",
    "geometry.chips=1",
    "geometry.dies=1",
    "geometry.planes=2",
    "geometry.blocks=524288",
    "geometry.pages=4096",
    "chip.program_unit=page",
];

/// Plays requests of one page each, 256 at a time.
fn play(device: &mut Device<Watched>, requests: impl Iterator<Item = (Op, u64)>) {
    let mut requests = requests.peekable();
    while requests.peek().is_some() {
        while device.outstanding() < 256
            && let Some((op, page)) = requests.next()
        {
            let (time, offset) = (device.now(), Bytes(page * PAGE));
            device.submit(Request::new(time, op, offset, Bytes(PAGE))).unwrap();
        }
        device.advance_to_completion(Time::NEVER).unwrap();
        device.take_completions();
    }
}

/// Everything that was written is where the watcher has seen it put; what was not, is nowhere near.
fn check(device: &mut Device<Watched>, places: &Places) {
    device.flush().unwrap();
    device.check().unwrap();
    let seen = places.0.borrow();
    assert_eq!(seen.wrong, Vec::<String>::new());
    for (lpn, ppn) in &seen.newest {
        assert_eq!(device.flash_page(*lpn), Some(*ppn), "{lpn:?}");
    }
    let pages = device.plan().logical_pages;
    for page in (0..10_000).map(|draw| Stream::new(3, "unwritten").below(draw, pages)).map(Lpn) {
        let Some(ppn) = device.flash_page(page) else { continue };
        let newer = seen.flash.get(&ppn).filter(|_| !seen.newest.contains_key(&page));
        assert_eq!(newer, None, "{page:?} is in {ppn:?}");
    }
}

#[test]
fn drives_of_64_and_128_tb_play_random_requests() {
    for (blocks, capacity) in [("geometry.blocks=3700", 64), ("geometry.blocks=7400", 128)] {
        let planes = ["geometry.channels=16", "geometry.chips=4", "geometry.dies=4", "age.pec=1000", blocks];
        let (mut device, places) = device(&planes);
        assert!(device.capacity().0 > capacity * 1_000_000_000_000);
        let (pages, random) = (device.plan().logical_pages, Stream::new(7, "large"));
        // Half of the reads are of what was written just before.
        let request = |number: u64| match number % 4 {
            0 | 1 => (Op::Write, random.below(number, pages)),
            2 => (Op::Read, random.below(number - 2, pages)),
            _ => (Op::Read, random.below(number, pages)),
        };
        play(&mut device, (0..40_000).map(request));
        check(&mut device, &places);
        assert!(places.0.borrow().flash.keys().any(|ppn| ppn.0 > u64::from(u32::MAX)));
        let beyond = places.0.borrow().newest.keys().filter(|lpn| lpn.0 > u64::from(u32::MAX)).count();
        assert!((beyond > 1000) == (capacity == 128), "{beyond} pages beyond the 2^32nd");
    }
}

#[test]
fn pages_around_the_2_32nd_and_the_last_are_read_where_they_were_put() {
    let (mut device, places) = device(&FEW_PLANES);
    let last = device.plan().logical_pages - 1;
    let around = (1u64 << 32) - 4..(1 << 32) + 4;
    let pages: Vec<u64> = around.chain([0, 3, SHARED, SHARED + 3, last]).collect();
    for _ in 0..3 {
        play(&mut device, pages.iter().map(|page| (Op::Write, *page)));
        device.flush().unwrap();
        play(&mut device, pages.iter().map(|page| (Op::Read, *page)));
        check(&mut device, &places);
    }
    assert!(places.0.borrow().reads_of_written >= 3 * pages.len() as u64);
    let two: Vec<_> = [3, SHARED + 3].map(|page| device.flash_page(Lpn(page)).unwrap()).into();
    assert_ne!(two[0], two[1]);
}

#[test]
fn pages_that_share_a_number_move_as_what_they_are() {
    let settings = [&FEW_PLANES[..], &["refresh.reads=16384"]].concat();
    let (mut device, places) = device(&settings);
    let page = |number: u64| number / 2 + number % 2 * SHARED;
    play(&mut device, (0..24_000).map(|number| (Op::Write, page(number))));
    device.flush().unwrap();
    let random = Stream::new(9, "reads");
    play(&mut device, (0..100_000).map(|number| (Op::Read, page(random.below(number, 16_000)))));
    check(&mut device, &places);
    let moved: u64 = device.counters().pages_relocated.iter().sum();
    assert!(moved > 8_000, "{moved} pages moved");
}

#[test]
fn a_drive_that_is_full_of_data_is_collected() {
    // Collection begins with the first block that is opened, and moves data of the initial state.
    let settings = [&FEW_PLANES[..], &["age.precondition=closed-form", "ftl.over_provisioning=0.28"]].concat();
    let (mut device, places) = device(&settings);
    let (pages, random) = (device.plan().logical_pages, Stream::new(8, "large"));
    assert!(pages > 1 << 32);
    play(&mut device, (0..60_000).map(|number| (Op::Write, random.below(number, pages))));
    check(&mut device, &places);
    assert!(device.counters().blocks_relocated[0] > 8);
}

#[test]
fn what_cannot_be_numbered_is_refused() {
    let refused = |settings: &[&str]| {
        let mut config = Config::default();
        settings.iter().for_each(|word| config.set(word).unwrap());
        config.plan().unwrap_err().key.unwrap()
    };
    // More than 2^31 pages a plane; more than 2^40 pages.
    assert_eq!(refused(&["geometry.blocks=524289", "geometry.pages=4096"]), "geometry.blocks");
    let planes = ["geometry.channels=128", "geometry.blocks=60000", "geometry.pages=16384"];
    assert_eq!(refused(&[&planes[..], &["geometry.chips=4"]].concat()), "geometry.blocks");
    // So large blocks that each plane could open few.
    assert_eq!(refused(&["geometry.blocks=512", "geometry.pages=4194304"]), "geometry.pages");
    // One entry of the map at a time in its cache.
    let groups = ["mapping.table=cached", "mapping.entry_group=4B"];
    assert_eq!(refused(&[&FEW_PLANES[..], &groups].concat()), "mapping.entry_group");
}
