//! Where the data is: every sector that a read returns, and every sector on flash after a flush, is followed from
//! the write that brought it through buffer slots, copies, fills and programs.
//!
//! The rule is stronger than what a host may ask for: a read returns, sector by sector, what reached the buffer
//! last before the read was started. `Owed` knows that; `Truth` follows the slots and flash pages themselves.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use nand::{DieId, Layout, PlaneId};
use proptest::prelude::*;
use ssd::config::BufferMode;
use ssd::{Config, DataFrom, Drive, SlotId};
use testing::{Watcher, cases, config, devices, living_devices, loads, requests, watched, with_units};
use units::{Bytes, Lpn, Ppn, Time};
use workload::{Op, Request};

const SECTORS: usize = 32;
/// The number of the write, plus one, that brought each sector; 0 is what was there before the run.
type Page = [u64; SECTORS];

/// A buffer slot: what it holds of its page, and the flash pages of it that were sensed since it was filled.
#[derive(Clone)]
struct Slot {
    lpn: u64,
    held: [Option<u64>; SECTORS],
    /// What the page's flash held when the slot was filled, and what pages that were sensed since held.
    below: Page,
    sensed: Vec<(Page, Time)>,
    /// Writes that put data here.
    writes: Vec<u64>,
    /// Its page has been trimmed since.
    dead: bool,
}

#[derive(Default)]
struct Truth {
    requests: Vec<Request>,
    slots: HashMap<SlotId, Slot>,
    /// What was programmed in the run, and of which page.
    flash: HashMap<u64, (u64, Page)>,
    /// What reached the buffer last.
    owed: HashMap<u64, Page>,
    /// When each write had all its data in the buffer, and the last of it on flash.
    buffered: HashMap<u64, Time>,
    programmed: HashMap<u64, Time>,
    /// Parts of each write on flash.
    parts: HashMap<u64, u64>,
    wrong: Vec<String>,
    /// Pages as reads found them on flash, by request and page; and what the read cache was given of them.
    found: HashMap<(u64, u64), Page>,
    cache: HashMap<u64, [Option<u64>; SECTORS]>,
    not_buffered: u64,
    layout: Option<Layout>,
    /// Blocks that have been erased: what they held before the run is gone.
    erased: HashSet<(u32, u32)>,
    /// Pages that hold nothing, and writes whose data a trim took before it was on flash.
    unmapped: HashSet<u64>,
    forgotten: HashSet<u64>,
}

#[derive(Clone, Default)]
struct Watch(Rc<RefCell<Truth>>);

/// Sectors of a request within a page.
fn sectors(request: &Request, lpn: u64) -> std::ops::Range<usize> {
    let start = lpn * SECTORS as u64;
    let (from, to) = (request.offset.0 / 512, (request.offset.0 + request.bytes.0) / 512);
    (from.max(start) - start) as usize..(to.min(start + SECTORS as u64) - start) as usize
}

impl Truth {
    fn block_of(&self, ppn: Ppn) -> (u32, u32) {
        let address = self.layout.unwrap().unpack(ppn);
        (address.plane.0, address.block)
    }

    fn on_flash(&self, ppn: u64, sector: usize) -> u64 {
        self.flash.get(&ppn).map_or(0, |(_, page)| page[sector])
    }

    /// By `now`, a page that holds what a slot lacks has been sensed since it was filled. Every page of these loads was
    /// written before the run, so that there always is such a page.
    fn filled(slot: &Slot, now: Time) -> bool {
        let lacking = || (0..SECTORS).filter(|sector| slot.held[*sector].is_none());
        let good =
            |(page, end): &(Page, Time)| *end <= now && lacking().all(|sector| page[sector] == slot.below[sector]);
        lacking().next().is_none() || slot.sensed.iter().any(good)
    }
}

impl Slot {
    fn new(lpn: u64, below: Page) -> Slot {
        Slot { lpn, held: [None; SECTORS], below, sensed: Vec::new(), writes: Vec::new(), dead: false }
    }

    /// The whole page, once it has been filled in.
    fn page(&self) -> Page {
        std::array::from_fn(|sector| self.held[sector].unwrap_or(self.below[sector]))
    }
}

impl Watcher for Watch {
    fn read(&mut self, time: Time, request: u64, lpn: Lpn, from: DataFrom) {
        let mut truth = self.0.borrow_mut();
        let owed = truth.owed.get(&lpn.0).copied().unwrap_or_default();
        let wanted = sectors(&truth.requests[request as usize], lpn.0);
        if let DataFrom::Buffer(id) = from
            && truth.slots[&id].held[wanted.clone()].iter().any(Option::is_none)
            && !Truth::filled(&truth.slots[&id], time)
        {
            truth.wrong.push(format!("{time:?} read {request}, {lpn:?}: {id:?} does not hold it"));
        }
        if let DataFrom::Flash(ppn) = from {
            let page = std::array::from_fn(|sector| truth.on_flash(ppn.0, sector));
            truth.found.insert((request, lpn.0), page);
        }
        for sector in wanted {
            let slot = |slot: SlotId| truth.slots[&slot].held[sector];
            let returned = match from {
                DataFrom::Nothing => 0,
                DataFrom::Cache => truth.cache.get(&lpn.0).and_then(|page| page[sector]).unwrap_or(u64::MAX),
                DataFrom::Flash(ppn) => truth.on_flash(ppn.0, sector),
                DataFrom::Merged(ppn, id) => slot(id).unwrap_or_else(|| truth.on_flash(ppn.0, sector)),
                DataFrom::Buffer(id) => truth.slots[&id].page()[sector],
            };
            if returned != owed[sector] {
                let text = format!("{time:?} read {request}, {lpn:?} sector {sector}: {returned} for {}", owed[sector]);
                truth.wrong.push(format!("{text}, {from:?}"));
            }
        }
        truth.not_buffered += u64::from(matches!(from, DataFrom::Flash(_) | DataFrom::Cache));
    }

    fn cached(&mut self, _: Time, request: u64, lpn: Lpn, sectors: u64) {
        let mut truth = self.0.borrow_mut();
        let page = truth.found[&(request, lpn.0)];
        let cached = truth.cache.entry(lpn.0).or_default();
        (0..SECTORS).filter(|sector| sectors >> sector & 1 != 0).for_each(|sector| cached[sector] = Some(page[sector]));
    }

    fn buffered(&mut self, time: Time, request: u64, lpn: Lpn, slot: SlotId, over: Option<SlotId>) {
        let mut truth = self.0.borrow_mut();
        let owed = truth.owed.get(&lpn.0).copied().unwrap_or_default();
        let unmapped = truth.unmapped.remove(&lpn.0);
        let mut entry = match (over, truth.slots.get(&slot).filter(|slot| !slot.dead)) {
            // The rest of a page that holds nothing is known: zeros.
            (None, None) if unmapped => Slot { held: [Some(0); SECTORS], ..Slot::new(lpn.0, owed) },
            // A copy of a page that is whole by now.
            (Some(over), None) => Slot { held: truth.slots[&over].page().map(Some), ..Slot::new(lpn.0, owed) },
            (None, Some(merged)) if merged.lpn == lpn.0 => merged.clone(),
            (None, None) => Slot::new(lpn.0, owed),
            (over, _) => {
                truth.wrong.push(format!("{slot:?} is taken, write {request} over {over:?}"));
                return;
            }
        };
        let range = sectors(&truth.requests[request as usize], lpn.0);
        entry.held[range.clone()].fill(Some(request + 1));
        entry.writes.push(request);
        truth.slots.insert(slot, entry);
        truth.owed.entry(lpn.0).or_default()[range].fill(request + 1);
        truth.buffered.insert(request, time);
    }

    fn moved(&mut self, _: Time, lpn: Lpn, from: Ppn, to: Ppn) {
        let mut truth = self.0.borrow_mut();
        let page = truth.flash.get(&from.0).map_or([0; SECTORS], |(_, page)| *page);
        if truth.flash.get(&from.0).is_some_and(|(held, _)| *held != lpn.0) {
            truth.wrong.push(format!("{lpn:?} was moved from {from:?}, which holds another page"));
        }
        if truth.flash.insert(to.0, (lpn.0, page)).is_some() {
            truth.wrong.push(format!("{to:?} was programmed twice without an erase"));
        }
    }

    fn mapped(&mut self, _: Time, lpn: Lpn, ppn: Ppn) {
        self.0.borrow_mut().flash.insert(ppn.0, (lpn.0, [0; SECTORS]));
    }

    fn erased(&mut self, _: Time, plane: PlaneId, block: u32) {
        let mut truth = self.0.borrow_mut();
        truth.erased.insert((plane.0, block));
        let layout = truth.layout.unwrap();
        truth.flash.retain(|ppn, _| {
            let address = layout.unpack(Ppn(*ppn));
            (address.plane, address.block) != (plane, block)
        });
    }

    fn trimmed(&mut self, _: Time, _: u64, lpn: Lpn) {
        let mut truth = self.0.borrow_mut();
        truth.owed.insert(lpn.0, [0; SECTORS]);
        truth.unmapped.insert(lpn.0);
        let mut taken: Vec<u64> = Vec::new();
        for slot in truth.slots.values_mut().filter(|slot| slot.lpn == lpn.0) {
            slot.dead = true;
            taken.extend(&slot.writes);
        }
        truth.forgotten.extend(taken);
    }

    fn sense(&mut self, _: Time, end: Time, _: DieId, ppn: Ppn) {
        let mut truth = self.0.borrow_mut();
        if !truth.flash.contains_key(&ppn.0) && truth.erased.contains(&truth.block_of(ppn)) {
            truth.wrong.push(format!("{ppn:?} is sensed, and holds nothing"));
        }
        // Where data from before the run stands is not known here: it may be any page's.
        let held = truth.flash.get(&ppn.0).copied();
        let (holder, page) = (held.map(|(lpn, _)| lpn), held.map_or([0; SECTORS], |(_, page)| page));
        for slot in truth.slots.values_mut().filter(|slot| holder.is_none_or(|lpn| lpn == slot.lpn)) {
            slot.sensed.push((page, end));
        }
    }

    fn joined(&mut self, _: Time, lpn: Lpn, slot: SlotId, from: DataFrom) {
        let mut truth = self.0.borrow_mut();
        let owed = truth.owed.get(&lpn.0).copied().unwrap_or_default();
        let held = match from {
            DataFrom::Nothing => [Some(0); SECTORS],
            DataFrom::Buffer(frozen) => truth.slots[&frozen].page().map(Some),
            _ => [None; SECTORS],
        };
        truth.unmapped.remove(&lpn.0);
        if truth.slots.insert(slot, Slot { held, ..Slot::new(lpn.0, owed) }).is_some_and(|slot| !slot.dead) {
            truth.wrong.push(format!("{slot:?} is taken, for {lpn:?}"));
        }
    }

    fn rescued(&mut self, _: Time, lpn: Lpn, slot: SlotId, from: Ppn) {
        let mut truth = self.0.borrow_mut();
        let held = truth.flash.get(&from.0).map_or([0; SECTORS], |(_, page)| *page);
        match truth.slots.get_mut(&slot).filter(|slot| !slot.dead) {
            Some(newer) => (0..SECTORS).for_each(|sector| {
                newer.held[sector].get_or_insert(held[sector]);
            }),
            None => {
                truth.slots.insert(slot, Slot { held: held.map(Some), ..Slot::new(lpn.0, held) });
            }
        }
    }

    fn programmed(&mut self, time: Time, lpn: Lpn, slot: SlotId, ppn: Ppn) {
        let mut truth = self.0.borrow_mut();
        let Some(slot) = truth.slots.remove(&slot) else {
            return truth.wrong.push(format!("{slot:?} was programmed twice"));
        };
        if slot.lpn != lpn.0 {
            truth.wrong.push(format!("{lpn:?} was programmed from the slot of page {}", slot.lpn));
        }
        if !slot.dead && !Truth::filled(&slot, time) {
            truth.wrong.push(format!("{lpn:?} was programmed without the rest of the page"));
        }
        if truth.flash.insert(ppn.0, (lpn.0, slot.page())).is_some() {
            truth.wrong.push(format!("{ppn:?} was programmed twice without an erase"));
        }
        for write in slot.writes {
            truth.programmed.insert(write, time);
            *truth.parts.entry(write).or_default() += 1;
        }
    }
}

/// Every sector that a read returns is the newest, and all are on flash after a flush.
fn every_sector_is_the_newest(config: &Config, mut requests: Vec<Request>) -> Result<(), TestCaseError> {
    let watch = Watch::default();
    let mut device = watched(config, 1, watch.clone());
    watch.0.borrow_mut().requests.clone_from(&requests);
    watch.0.borrow_mut().layout = Some(device.plan().layout);
    let mut finish = vec![Time::ZERO; requests.len()];
    for request in &requests {
        device.submit(*request).unwrap();
    }
    while device.advance_to_completion(Time::NEVER).unwrap() {
        device.take_completions().for_each(|completion| finish[completion.id as usize] = completion.finish);
    }
    prop_assert_eq!(device.outstanding(), 0, "every request completes");
    {
        let truth = watch.0.borrow();
        prop_assert!(truth.wrong.is_empty(), "{:#?}", truth.wrong);
        for (id, request) in requests.iter().enumerate().filter(|(_, request)| request.op == Op::Write) {
            prop_assert!(truth.buffered[&(id as u64)] <= finish[id], "write {id} was acknowledged too early");
            let forgotten = truth.forgotten.contains(&(id as u64));
            if config.buffer.mode == BufferMode::WriteThrough && !forgotten {
                let pages = (request.offset.0 + request.bytes.0 - 1) / 16_384 - request.offset.0 / 16_384 + 1;
                prop_assert_eq!(truth.parts.get(&(id as u64)), Some(&pages), "write {} is not on flash", id);
                prop_assert!(truth.programmed[&(id as u64)] < finish[id], "write {id} was acknowledged too early");
            }
        }
    }
    device.check_mapping().unwrap();
    device.flush().unwrap();
    device.check_mapping().unwrap();

    // Everything that was written is read back, from flash or from the read cache.
    let mut pages: Vec<u64> = watch.0.borrow().owed.keys().copied().collect();
    pages.sort_unstable();
    let time = Time(device.now().0 + 1);
    let before = watch.0.borrow().not_buffered;
    for lpn in &pages {
        let (offset, bytes) = (Bytes(*lpn * 16_384), Bytes(16_384));
        let request = Request::new(time, Op::Read, offset, bytes);
        requests.push(request);
        watch.0.borrow_mut().requests.push(request);
        device.submit(request).unwrap();
    }
    device.advance(Time(time.0 + 1_000_000_000)).unwrap();
    let truth = watch.0.borrow();
    prop_assert!(truth.wrong.is_empty(), "{:#?}", truth.wrong);
    let mapped = pages.iter().filter(|lpn| !truth.unmapped.contains(lpn)).count();
    prop_assert_eq!(truth.not_buffered - before, mapped as u64);
    prop_assert!(truth.slots.values().all(|slot| slot.dead));
    Ok(())
}

/// What makes of any device one that maps blocks, with a log.
const BY_BLOCKS: [&str; 12] = [
    "ftl.mapping=fast",
    "ftl.placement=static",
    "ftl.streams=2",
    "ftl.hints=0",
    "ftl.slc_cache=none",
    "mapping.table=ideal",
    "gc.copyback=false",
    "age.precondition=none",
    "age.staggered=false",
    "age.invalid=0",
    "geometry.blocks=60",
    "ftl.over_provisioning=3.0",
];

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn every_sector_is_the_newest_and_survives_a_flush(settings in with_units(prop_oneof![devices(), living_devices()]), load in loads()) {
        every_sector_is_the_newest(&config(&settings), requests(&load))?;
    }
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn mapped_by_blocks_every_sector_is_the_newest(settings in prop_oneof![devices(), living_devices()], logs in 1..4u32, load in loads()) {
        let more = BY_BLOCKS.map(String::from).into_iter().chain([format!("ftl.log_blocks={logs}")]);
        let settings: Vec<String> = settings.into_iter().chain(more).collect();
        every_sector_is_the_newest(&config(&settings), requests(&load))?;
    }
}

/// Parts that break while a load is played, as `faults.at` names them: each takes what numbers a device has.
fn broken_parts() -> impl Strategy<Value = Vec<(u64, usize, u32, u32)>> {
    prop::collection::vec((0..20_000u64, 0..7usize, any::<u32>(), any::<u32>()), 1..5)
}

fn faults(parts: &[(u64, usize, u32, u32)], layout: &Layout) -> String {
    let planes = layout.dies * layout.flash_planes_per_die();
    let word = |&(us, kind, first, second): &(u64, usize, u32, u32)| {
        let (die, plane, block) = (first % layout.dies, first % planes, second % layout.blocks);
        let part = match kind {
            0 => format!("channel {}", first % layout.channels),
            1 => format!("die {die}"),
            2 => format!("plane {plane}"),
            3 => format!("block {plane}:{block}"),
            4 => format!("blocks {plane}:{}", 1 + second % 5),
            5 => format!("program {die}"),
            _ => format!("erase {die}"),
        };
        format!("{us}us {part}")
    };
    format!("faults.at=[{}]", parts.iter().map(word).collect::<Vec<String>>().join(", "))
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn where_parts_break_every_read_is_right_or_reported(
        settings in with_units(prop_oneof![devices(), living_devices()]),
        load in loads(),
        parts in broken_parts(),
    ) {
        let layout = config(&settings).plan().unwrap().layout;
        // A chip loses pages by itself: where a wrong prediction sends a read past the references that fit, or erases
        // are too short.
        let more = [faults(&parts, &layout), "wear.end_of_life=read-only".into(), "gc.start=6".into(), "gc.stop=6".into(), "chip.model=none".into()];
        let settings: Vec<String> = settings.into_iter().chain(more).collect();
        let (config, mut requests) = (config(&settings), requests(&load));
        prop_assume!(config.plan().is_ok());
        let watch = Watch::default();
        let mut device = watched(&config, 1, watch.clone());
        watch.0.borrow_mut().requests.clone_from(&requests);
        watch.0.borrow_mut().layout = Some(layout);
        for request in &requests {
            device.submit(*request).unwrap();
        }
        while device.advance_to_completion(Time::NEVER).unwrap() {
            device.take_completions().for_each(drop);
            device.check().unwrap();
        }
        prop_assert_eq!(device.outstanding(), 0, "every request completes");
        device.advance(Time(device.now().0.max(20_000_000) + 1)).unwrap();
        device.flush().unwrap();
        device.check().unwrap();
        device.check_mapping().unwrap();

        // Of what is read now, what is not reported stands in parts that work, and the other way round.
        let first = requests.len();
        let time = Time(device.now().0 + 1);
        for lpn in 0..60 {
            requests.push(Request::new(time, Op::Read, Bytes(lpn * 16_384), Bytes(16_384)));
            watch.0.borrow_mut().requests.push(requests[requests.len() - 1]);
            device.submit(requests[requests.len() - 1]).unwrap();
        }
        device.advance(Time(time.0 + 3_000_000_000)).unwrap();
        let done: Vec<_> = device.take_completions().collect();
        prop_assert_eq!(done.len(), 60);
        for completion in done {
            let lpn = Lpn(completion.id - first as u64);
            let Some(ppn) = device.flash_page(lpn).filter(|_| layout.page_size.0 == 16_384) else { continue };
            let (broken, counters) = (breaks(&config.faults.at, &layout, ppn), device.counters());
            let by_flash = counters.buffer_hits + counters.read_cache_hits == 0;
            prop_assert!(completion.uncorrectable || !broken || !by_flash, "{lpn:?} in {ppn:?}");
            prop_assert!(!completion.uncorrectable || broken || counters.blocks_broken + counters.pages_lost > 0, "{lpn:?} in {ppn:?}");
        }
        let truth = watch.0.borrow();
        prop_assert!(truth.wrong.is_empty(), "{:#?}", truth.wrong);
    }
}

/// Whether one of these parts, all of which have broken, holds a page for certain: blocks may stand for others that
/// were never opened.
fn breaks(faults: &[ssd::config::Fault], layout: &Layout, ppn: Ppn) -> bool {
    let (die, plane) = (layout.place_of(ppn).0, layout.flash_plane_of(ppn).0);
    faults.iter().any(|fault| match fault.part {
        ssd::config::Part::Channel(channel) => u32::from(layout.channel_of(die).0) == channel,
        ssd::config::Part::Die(number) => u32::from(die.0) == number,
        ssd::config::Part::Plane(number) => plane == number,
        _ => false,
    })
}

/// Two channels of two dies with little data: what drives with parity have in common.
const SMALL_WITH_PARITY: [&str; 14] = [
    "geometry.channels=2",
    "geometry.chips=1",
    "geometry.dies=2",
    "geometry.planes=2",
    "geometry.blocks=44",
    "geometry.pages=18",
    "buffer.size=512KiB",
    "age.fill=0",
    "ftl.over_provisioning=6.0",
    "mapping.cache=16KiB",
    "chip.plane_programs=lockstep",
    "gc.start=4",
    "gc.stop=4",
    "wear.end_of_life=read-only",
];

/// Drives with parity over four dies, on which collection works: settings beside these.
fn drives_with_parity() -> impl Strategy<Value = Vec<String>> {
    let part = (0..400u64, 0..3usize, 0..4u32, 1..6u32);
    let policies = (
        prop::sample::select(vec!["opened", "reclaimed"]),
        prop::sample::select(vec!["write-back", "write-through"]),
        prop::sample::select(vec!["page", "wordline"]),
        prop::sample::select(vec!["greedy", "fifo", "cost-benefit"]),
        prop::sample::select(vec!["ideal", "cached"]),
        any::<bool>(),
    );
    (3..5u32, 1..4u32, part, policies).prop_map(|(wide, streams, (ms, kind, die, count), policies)| {
        let (erase, mode, unit, victim, table, superblocks) = policies;
        let part = match kind {
            0 => format!("die {die}"),
            1 => format!("plane {}", 2 * die + count % 2),
            _ => format!("blocks {}:{count}", 2 * die),
        };
        let mut settings: Vec<String> = SMALL_WITH_PARITY.map(String::from).into();
        settings.extend([
            format!("ftl.raid=parity:{wide}"),
            format!("ftl.streams={streams}"),
            format!("ftl.erase_when={erase}"),
            format!("buffer.mode={mode}"),
            format!("chip.program_unit={unit}"),
            format!("gc.victim={victim}"),
            format!("mapping.table={table}"),
            format!("ftl.allocation={}", if superblocks { "superblock" } else { "plane" }),
            format!("faults.at={ms}ms {part}"),
        ]);
        settings
    })
}

/// A drive with parity of which a part breaks: no read fails, and each has the newest data.
fn every_read_is_right(settings: &[String], seed: u64) -> Result<(), TestCaseError> {
    let config = config(settings);
    let watch = Watch::default();
    let mut device = watched(&config, 1, watch.clone());
    let (draws, pages) = (units::Stream::new(seed, "requests"), device.capacity().0 / 16_384);
    let request = |index: u64| {
        let draw = |what: u64, below: u64| draws.below(index * 4 + what, below);
        let op = [Op::Write, Op::Write, Op::Write, Op::Write, Op::Read, Op::Trim][draw(0, 6) as usize];
        let (first, sectors) = (draw(1, (pages - 9) * 32), 1 + draw(2, 8 * 32));
        Request::new(Time(index * 250_000), op, Bytes(first * 512), Bytes(sectors * 512))
    };
    let reads =
        |time: Time| (0..pages).map(move |page| Request::new(time, Op::Read, Bytes(page * 16_384), Bytes(16_384)));
    let requests: Vec<Request> = (0..2000).map(request).collect();
    watch.0.borrow_mut().layout = Some(device.plan().layout);
    watch.0.borrow_mut().unmapped = (0..pages).collect();
    let play = |device: &mut ssd::Device<testing::Watched>, requests: Vec<Request>| {
        for request in requests {
            watch.0.borrow_mut().requests.push(request);
            device.submit(request).unwrap();
        }
        let mut lost = 0;
        while device.advance_to_completion(Time::NEVER).unwrap() {
            lost +=
                device.take_completions().filter(|completion| completion.uncorrectable || completion.refused).count();
        }
        device.check().unwrap();
        device.check_mapping().unwrap();
        lost
    };
    prop_assert_eq!(play(&mut device, requests), 0);
    device.flush().unwrap();
    let after = reads(Time(device.now().0 + 1));
    prop_assert_eq!(play(&mut device, after.collect()), 0);
    let counters = device.counters();
    prop_assert_eq!(counters.media_errors, 0);
    prop_assert!(counters.planes_broken + counters.blocks_broken > 0 && counters.parity_programs > 0);
    let truth = watch.0.borrow();
    prop_assert!(truth.wrong.is_empty(), "{:#?}", truth.wrong);
    Ok(())
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn with_parity_every_read_is_right_though_a_part_breaks(settings in drives_with_parity(), seed in any::<u64>()) {
        every_read_is_right(&settings, seed)?;
    }
}

/// The page under a partial write moves off a broken block while its rest is read there, and its stripe ends.
#[test]
fn what_a_partial_write_lacks_is_read_where_it_has_moved() {
    let mut settings: Vec<String> = [
        "ftl.raid=parity:4",
        "ftl.streams=2",
        "ftl.erase_when=reclaimed",
        "buffer.mode=write-back",
        "chip.program_unit=wordline",
        "gc.victim=greedy",
        "mapping.table=ideal",
        "ftl.allocation=plane",
        "faults.at=269ms blocks 2:5",
    ]
    .map(String::from)
    .into();
    settings.extend(SMALL_WITH_PARITY.map(String::from));
    every_read_is_right(&settings, 10_160_504_275_237_837_262).unwrap();
}

/// Drives with an SLC cache whose wordlines are relocated after few reads: settings beside these.
fn caches_that_are_reclaimed() -> impl Strategy<Value = Vec<String>> {
    let policies = (
        prop::sample::select(vec!["static", "dynamic"]),
        prop::sample::select(vec!["page", "wordline"]),
        prop::sample::select(vec!["opened", "reclaimed"]),
        prop::sample::select(vec!["none", "hot:20", "retries:5"]),
        prop::sample::select(vec!["none", "100us"]),
        prop::sample::select(vec!["controller", "copyback"]),
        prop::sample::select(vec!["SLC", "MLC"]),
    );
    (policies, any::<bool>(), 150..250u32).prop_map(|(policies, superblocks, limit)| {
        let (kind, unit, erase, convert, idle, fold, cell) = policies;
        let mut settings: Vec<String> = [
            "geometry.channels=1",
            "geometry.chips=1",
            "geometry.dies=2",
            "geometry.planes=2",
            "geometry.blocks=60",
            "geometry.pages=18",
            "buffer.size=1MiB",
            "age.fill=0.5",
            "ftl.over_provisioning=4.0",
            "chip.plane_programs=lockstep",
            "chip.read_disturb=true",
            "chip.neighbour_disturb=10",
            "refresh.reclaim=wordline",
            "slc.blocks=6",
            "slc.fold_start=1",
            "gc.start=8",
            "gc.stop=9",
        ]
        .map(String::from)
        .into();
        settings.extend([
            format!("ftl.slc_cache={kind}"),
            format!("chip.program_unit={unit}"),
            format!("ftl.erase_when={erase}"),
            format!("slc.convert={convert}"),
            format!("slc.fold_idle={idle}"),
            format!("slc.fold={fold}"),
            format!("slc.cell={cell}"),
            format!("slc.t_read={}", if cell == "SLC" { "[25us]" } else { "[25us, 30us]" }),
            format!("ftl.allocation={}", if superblocks { "superblock" } else { "plane" }),
            format!("refresh.reads={limit}"),
        ]);
        settings
    })
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn where_wordlines_of_an_slc_cache_are_reclaimed_every_read_is_right(settings in caches_that_are_reclaimed(), seed in any::<u64>()) {
        let config = config(&settings);
        let watch = Watch::default();
        let mut device = watched(&config, 1, watch.clone());
        let draws = units::Stream::new(seed, "requests");
        let request = |index: u64| {
            let draw = |what: u64, below: u64| draws.below(index * 4 + what, below);
            // Few pages are written, and these are read over and over.
            let op = if draw(0, 6) == 0 { Op::Write } else { Op::Read };
            let (first, sectors) = (draw(1, 80) * 32 + draw(2, 32), 1 + draw(3, 40));
            Request::new(Time(index * 150_000), op, Bytes(first * 512), Bytes(sectors * 512))
        };
        let requests: Vec<Request> = (0..3000).map(request).collect();
        watch.0.borrow_mut().layout = Some(device.plan().layout);
        watch.0.borrow_mut().requests.clone_from(&requests);
        requests.iter().for_each(|request| { device.submit(*request).unwrap(); });
        while device.advance_to_completion(Time::NEVER).unwrap() {
            if device.take_completions().any(|completion| completion.id % 256 == 0) {
                device.check().unwrap();
                device.check_mapping().unwrap();
            }
        }
        device.flush().unwrap();
        device.check_mapping().unwrap();
        prop_assert!(device.counters().pages_relocated[ssd::stats::relocation_causes::READ_RECLAIM] > 0);
        let truth = watch.0.borrow();
        prop_assert!(truth.wrong.is_empty(), "{:#?}", truth.wrong);
    }
}
