//! Flash without a drive: times to the nanosecond, the rules of the chip, and what the same pages of a drive take.

use ssd::media::{Media, MediaCommand, MediaCompletion, MediaOp, MediaStatus, PageAddress, Rule};
use ssd::{Config, Device, Drive};
use testing::{lone_page_reads, lone_reads, one_plane};
use units::{Lpn, Span, Time};

use MediaOp::{Erase, Program, Read};

/// 40 us to sense, 200 us to program, 3.5 ms to erase, 13 us on the bus, 1 us for commands and 10 us to decode.
fn media(settings: &[&str]) -> Media {
    let mut config = one_plane();
    let times = [
        "geometry.pages=96",
        "chip.t_read=40us",
        "chip.t_prog=200us",
        "chip.t_bers=3500us",
        "chip.program_unit=page",
        "bus.bandwidth=none",
        "bus.t_dma=13us",
        "bus.t_command=1us",
        "bus.transfer=page",
        "ecc.t_decode=10us",
        "chip.model=none",
        "age.fill=0.5",
    ];
    times.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    Media::new(&config, 1).unwrap()
}

fn at(plane: u32, block: u32, page: u32) -> PageAddress {
    PageAddress { die: 0, plane, block, page }
}

/// What becomes of commands that all come at the start: kind, page, end [us] and status, in the order of their ends.
fn played(media: &mut Media, commands: &[(MediaOp, PageAddress)]) -> Vec<MediaCompletion> {
    let commands: Vec<_> = commands.iter().map(|(op, at)| MediaCommand::new(media.now(), *op, *at)).collect();
    media.submit_all(&commands).unwrap();
    media.rest(Span::ZERO, None).unwrap();
    media.check_laws().unwrap();
    media.take_completions().collect()
}

fn ends(done: &[MediaCompletion]) -> Vec<u64> {
    done.iter().map(|done| done.finish.0).collect()
}

#[test]
fn a_command_alone_takes_what_its_parts_take() {
    // Command, sense, bus, decoder; command, bus, program; command, erase.
    for (op, page, took) in
        [(Read, at(0, 3, 7), 1 + 40 + 13 + 10), (Program, at(0, 40, 0), 1 + 13 + 200), (Erase, at(0, 3, 0), 1 + 3500)]
    {
        let done = played(&mut media(&[]), &[(op, page)]);
        assert_eq!((ends(&done), done[0].status), (vec![took * 1000], MediaStatus::Success), "{op:?}");
    }
}

#[test]
fn commands_of_a_block_take_effect_in_their_order_and_others_pass() {
    // The first half of the blocks is full: erased, programmed and read in one batch.
    let block = |page| at(0, 3, page);
    let done = played(
        &mut media(&[]),
        &[(Erase, block(0)), (Program, block(0)), (Program, block(1)), (Read, block(1)), (Read, block(0))],
    );
    let erased = 1 + 3500;
    let first = erased + 1 + 13 + 200;
    assert_eq!(done.iter().map(|done| done.id).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(ends(&done[..2]), [erased * 1000, first * 1000]);
    assert!(done.iter().all(|done| done.status == MediaStatus::Success), "{done:?}");
    // A read of another block of the plane goes first: it is older. The command of the erase has the bus before its
    // page.
    let done = played(&mut media(&[]), &[(Read, at(0, 5, 0)), (Erase, block(0))]);
    assert_eq!((done[0].id, done[0].finish), (0, Time(65_000)));
}

#[test]
fn planes_that_are_addressed_at_once_go_together() {
    let planes = |lockstep: &str| {
        let mut media = media(&["geometry.planes=4", &format!("chip.plane_programs={lockstep}")]);
        let erases: Vec<_> = (0..4).map(|plane| (Erase, at(plane, 1, 0))).collect();
        let erased = played(&mut media, &erases).last().unwrap().finish;
        let programs: Vec<_> = (0..4).map(|plane| (Program, at(plane, 1, 0))).collect();
        let programmed = played(&mut media, &programs).last().unwrap().finish.since(erased);
        (erased.0, programmed.0)
    };
    assert_eq!(planes("lockstep"), ((4 + 3500) * 1000, (4 * (1 + 13) + 200) * 1000));
    // One plane after another; the data of the next crosses the bus while one is programmed (cache program).
    assert_eq!(planes("single"), (4 * (1 + 3500) * 1000, (1 + 13 + 4 * 200) * 1000));
}

#[test]
fn what_breaks_a_rule_of_the_chip_says_which_page_and_which_rule() {
    let mut media = media(&["chip.program_unit=wordline"]);
    assert_eq!(media.shape().program_pages, 3);
    let refused = |done: &[MediaCompletion]| done.last().unwrap().problem().unwrap();
    let done = played(&mut media, &[(Program, at(0, 1, 0))]);
    assert_eq!(done[0].status, MediaStatus::Refused(Rule::EraseFirst));
    assert_eq!(
        refused(&done),
        "program of page 0 of block 1 of plane 0 of die 0: a page is programmed once\n  help: erase its block first"
    );
    let done = played(&mut media, &[(Program, at(0, 40, 0)), (Program, at(0, 40, 4))]);
    assert_eq!(done[0].status, MediaStatus::Refused(Rule::InOrder { next: 3 }));
    assert!(done[0].problem().unwrap().ends_with("in order\n  help: program page 3 next"));
    assert_eq!((done[0].id, done[1].status), (2, MediaStatus::Success), "the one before it goes on");
    let done = played(&mut media, &[(Read, at(0, 40, 2)), (Read, at(0, 40, 3)), (Read, at(0, 40, 95))]);
    let statuses: Vec<_> = done.iter().map(|done| (done.id, done.status.name())).collect();
    assert_eq!(statuses, [(4, "unwritten"), (5, "unwritten"), (3, "success")]);
    // Refused commands take no time.
    assert_eq!(done[0].latency(), Span::ZERO);
    // What cannot be a command at all is an error, and changes nothing.
    let mut error = |op, at| media.submit(MediaCommand::new(media.now(), op, at)).unwrap_err().to_string();
    assert!(error(Read, at(1, 0, 0)).contains("help: write a plane from 0 to 0"));
    assert!(error(Erase, at(0, 0, 3)).contains("name page 0"));
    assert_eq!(media.outstanding(), 0);
}

#[test]
fn programs_and_erases_that_fail_leave_pages_without_data() {
    let mut failing = media(&["wear.program_fail=1", "wear.erase_fail=1"]);
    let done = played(
        &mut failing,
        &[(Program, at(0, 40, 0)), (Read, at(0, 40, 0)), (Erase, at(0, 1, 0)), (Program, at(0, 1, 0))],
    );
    let of = |id| done.iter().find(|done| done.id == id).unwrap().status;
    assert_eq!((of(0), of(1)), (MediaStatus::ProgramFailed, MediaStatus::Refused(Rule::Unwritten)));
    assert_eq!((of(2), of(3)), (MediaStatus::EraseFailed, MediaStatus::Refused(Rule::EraseFirst)));
    let mut worn = media(&["wear.endurance=2"]);
    let erased = played(&mut worn, &[(Erase, at(0, 1, 0)), (Erase, at(0, 1, 0))]);
    assert_eq!([erased[0].status, erased[1].status], [MediaStatus::Success, MediaStatus::EraseFailed]);
    let mut broken = media(&["faults.at=1ms plane 0"]);
    let done = played(&mut broken, &[(Read, at(0, 1, 0))]);
    assert_eq!(done[0].status, MediaStatus::Success);
    broken.advance(Time(2_000_000)).unwrap();
    let done = played(&mut broken, &[(Read, at(0, 1, 0)), (Program, at(0, 40, 0))]);
    assert_eq!([done[0].status, done[1].status], [MediaStatus::Uncorrectable, MediaStatus::ProgramFailed]);
}

/// A configuration whose pages read with retries.
fn aged(settings: &[&str]) -> Config {
    let aged = ["age.pec=2000", "age.retention=6mo", "mapping.unit=page", "read.pipeline=off"];
    lone_page_reads(aged.into_iter().chain(settings.iter().copied()))
}

#[test]
fn every_retry_takes_a_sense_a_transfer_and_a_decoding() {
    let config = aged(&["ecc.t_decode=10us"]);
    let mut media = Media::new(&config, 1).unwrap();
    let mut retried = 0;
    for page in 0..60 {
        let done = played(&mut media, &[(Read, at(0, 7, page))]);
        let retries = u64::from(done[0].retries);
        assert_eq!(done[0].latency().0, (1 + retries) * (40 + 13 + 10) * 1000, "page {page}");
        retried += retries;
    }
    assert!(retried > 60, "{retried}");
}

#[test]
fn the_pages_of_a_drive_read_the_same_without_it() {
    for scheme in [
        &["read.pipeline=off"][..],
        &["read.pipeline=cache-read"],
        &["read.predictor=on-die", "read.t_pred=3us"],
        &["read.start=tracked"],
    ] {
        let config = aged(scheme);
        let (mut device, mut media) = (Device::new(&config, 1).unwrap(), Media::new(&config, 1).unwrap());
        let layout = device.plan().layout;
        let mut beyond = Vec::new();
        for read in lone_reads() {
            let ppn = device.flash_page(Lpn(read.offset.0 / layout.page_size.0)).unwrap();
            let address = layout.unpack(ppn);
            let page = PageAddress { die: 0, plane: 0, block: address.block, page: layout.flash_page_of(ppn) };
            device.submit(read).unwrap();
            media.submit(MediaCommand::new(read.time, Read, page)).unwrap();
            device.advance_to_completion(Time::NEVER).unwrap();
            media.advance_to_completion(Time::NEVER).unwrap();
            let [of_device, of_media] = [
                device.take_completions().next().unwrap().latency(),
                media.take_completions().next().unwrap().latency(),
            ];
            beyond.push(of_device.0 - of_media.0);
        }
        // What the drive adds is its link and its memory, the same for each page.
        beyond.dedup();
        assert!(beyond.len() == 1 && beyond[0] < 100, "{scheme:?}: {beyond:?}");
        assert_eq!(device.steps(), media.steps(), "{scheme:?}");
        assert!(media.counters().retry_steps > 40, "{scheme:?}: {}", media.counters().retry_steps);
        assert_eq!(device.counters().predictions, media.counters().predictions);
    }
}

#[test]
fn a_rest_ages_data_and_an_erase_wears_its_block() {
    let settings = ["chip.model=tlc48", "age.pec=1000", "chip.plane_programs=single", "read.pipeline=off"];
    let mut media = media(&settings);
    let retries = |media: &mut Media, block| {
        let reads: Vec<_> = (0..96).map(|page| (Read, at(0, block, page))).collect();
        played(media, &reads).iter().map(|done| u64::from(done.retries)).sum::<u64>()
    };
    let programs: Vec<_> = (0..96).map(|page| (Program, at(0, 40, page))).collect();
    played(&mut media, &programs);
    let (young, initial) = (retries(&mut media, 40), retries(&mut media, 3));
    media.rest(Span(180 * 86_400 * 1_000_000_000), None).unwrap();
    let (old, initial_old) = (retries(&mut media, 40), retries(&mut media, 3));
    assert!(old > young + 96 && initial_old > initial + 96, "{young} {old}, {initial} {initial_old}");
    // Programmed again, after an erase, it is young again.
    played(&mut media, &[&[(Erase, at(0, 40, 0))][..], &programs].concat());
    assert!(retries(&mut media, 40) <= young + 10);
}

#[test]
fn a_read_suspends_what_its_die_does() {
    let took = |suspend: &str| {
        let mut media = media(&[&format!("schedule.suspend_erase={suspend}"), "geometry.planes=2"]);
        media.submit(MediaCommand::new(Time(0), Erase, at(0, 3, 0))).unwrap();
        media.submit(MediaCommand::new(Time(1_000_000), Read, at(1, 3, 0))).unwrap();
        media.rest(Span::ZERO, None).unwrap();
        let mut latency = [0; 2];
        media.take_completions().for_each(|done| latency[done.id as usize] = done.latency().0);
        latency
    };
    let [erase, read] = took("none");
    assert_eq!([erase, read], [3_501_000, 3_501_000 - 1_000_000 + 64_000]);
    let [later, sooner] = took("pulse-boundary");
    assert!(sooner < read && later > erase, "{later} {sooner}");
}

#[test]
fn every_preset_has_its_flash() {
    for name in ssd::presets::names() {
        let spec = ssd::presets::load(name).unwrap();
        let mut media = Media::new(&spec.config, 1).unwrap_or_else(|error| panic!("{name}: {error}"));
        let done = played(
            &mut media,
            &[(Read, at(0, 0, 0)), (Erase, at(0, 1, 0)), (Program, at(0, 1, 0)), (Read, at(0, 1, 0))],
        );
        let refused = done.iter().filter(|done| done.status != MediaStatus::Success).map(|done| done.id);
        // Where nothing is written at the start, the first read finds nothing.
        assert!(refused.eq((spec.config.age.fill.0 == 0.0).then_some(0)), "{name}: {done:?}");
    }
}
