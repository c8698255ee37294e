//! Flash without a drive under random commands, beside an oracle of the rules of its chips.

use std::collections::HashMap;

use proptest::prelude::*;
use ssd::Config;
use ssd::media::{Media, MediaCommand, MediaCompletion, MediaOp, MediaStatus, PageAddress, Rule};
use ssd::run::{DeviceWord, open_media, write_media};
use testing::cases;
use units::{Span, Time};

const BLOCKS: u32 = 6;
const PAGES: u32 = 12;

/// A small device: two channels, two dies on each, two planes.
fn small(policies: &[&'static str]) -> Config {
    let mut config = Config::default();
    let words = [
        "geometry.channels=2",
        "geometry.chips=1",
        "geometry.dies=2",
        "geometry.planes=2",
        "geometry.blocks=6",
        "geometry.pages=12",
        "age.fill=0.5",
        "age.pec=1500",
        "age.retention=3mo",
        "chip.model=tlc48",
    ];
    words.iter().chain(policies).for_each(|word| config.set(word).unwrap());
    config
}

fn policies() -> impl Strategy<Value = Vec<&'static str>> {
    let axes: [&[&str]; 6] = [
        &["chip.program_unit=page", "chip.program_unit=wordline"],
        &["chip.plane_programs=single", "chip.plane_programs=lockstep"],
        &["chip.plane_reads=single", "chip.plane_reads=lockstep", "chip.plane_reads=independent"],
        &["read.pipeline=off", "read.pipeline=cache-read"],
        &["schedule.suspend_erase=none", "schedule.suspend_erase=pulse-boundary"],
        &["wear.program_fail=0", "wear.program_fail=0.1"],
    ];
    axes.map(|axis| prop::sample::select(axis.to_vec())).to_vec().prop_flat_map(Just)
}

/// A command: gap to the one before it \[ns], kind, die, plane, block, page.
type Drawn = (u64, u8, (u32, u32, u32), u32);

fn commands() -> impl Strategy<Value = Vec<Drawn>> {
    let gap = prop_oneof![3 => Just(0u64), 2 => 0u64..200_000, 1 => 0u64..20_000_000];
    prop::collection::vec((gap, 0u8..8, (0u32..4, 0u32..2, 0..BLOCKS), 0..PAGES), 1..150)
}

/// Half of the programs go where the block goes on, so that many are right.
fn command(media: &Media, time: Time, drawn: &Drawn, oracle: &Oracle) -> MediaCommand {
    let (_, kind, (die, plane, block), page) = *drawn;
    let mut at = PageAddress { die, plane, block, page };
    let op = match kind {
        0 => MediaOp::Erase,
        1..=4 => MediaOp::Program,
        _ => MediaOp::Read,
    };
    if op == MediaOp::Erase {
        at.page = 0;
    } else if op == MediaOp::Program {
        let unit = media.shape().program_pages;
        at.page = if kind < 4 { oracle.next(at).min(PAGES - unit) } else { page / unit * unit };
    }
    MediaCommand::new(time, op, at)
}

/// What each block holds: pages programmed, and which of them hold nothing. The first half of a plane's blocks is full
/// at the start.
#[derive(Default)]
struct Oracle {
    blocks: HashMap<(u32, u32, u32), (u32, Vec<u32>)>,
}

impl Oracle {
    fn block(&mut self, at: PageAddress) -> &mut (u32, Vec<u32>) {
        let full = if at.block < BLOCKS / 2 { PAGES } else { 0 };
        self.blocks.entry((at.die, at.plane, at.block)).or_insert((full, Vec::new()))
    }

    fn next(&self, at: PageAddress) -> u32 {
        let full = if at.block < BLOCKS / 2 { PAGES } else { 0 };
        self.blocks.get(&(at.die, at.plane, at.block)).map_or(full, |(next, _)| *next)
    }

    /// The status of a command, where all before it have been done. Whether a program fails or a page can be corrected
    /// is the flash's to say.
    fn judge(&mut self, command: &MediaCommand, unit: u32, said: MediaStatus) -> MediaStatus {
        let (next, empty) = self.block(command.at);
        let page = command.at.page;
        match command.op {
            MediaOp::Erase => {
                (*next, *empty) = (0, Vec::new());
                MediaStatus::Success
            }
            MediaOp::Program if page < *next => MediaStatus::Refused(Rule::EraseFirst),
            MediaOp::Program if page > *next => MediaStatus::Refused(Rule::InOrder { next: *next }),
            MediaOp::Program => {
                *next += unit;
                if said == MediaStatus::ProgramFailed {
                    empty.extend(page..page + unit);
                    return said;
                }
                MediaStatus::Success
            }
            MediaOp::Read if page >= *next || empty.contains(&page) => MediaStatus::Refused(Rule::Unwritten),
            _ if said == MediaStatus::Uncorrectable => said,
            _ => MediaStatus::Success,
        }
    }
}

/// Submits all, played up to each in turn; what has ended, by number.
fn run(media: &mut Media, all: &[MediaCommand]) -> Vec<MediaCompletion> {
    for command in all {
        media.advance(command.time.max(media.now())).unwrap();
        media.submit(*command).unwrap();
        media.check_laws().unwrap();
    }
    media.rest(Span::ZERO, None).unwrap();
    media.check_laws().unwrap();
    media.take_completions().collect()
}

fn drawn(media: &Media, commands: &[Drawn]) -> Vec<MediaCommand> {
    // Where blocks go on is what the oracle says of commands without failures.
    let (mut oracle, unit, mut time) = (Oracle::default(), media.shape().program_pages, 0);
    let of = |drawn: &Drawn| {
        time += drawn.0;
        let command = command(media, Time(time), drawn, &oracle);
        oracle.judge(&command, unit, MediaStatus::Success);
        command
    };
    commands.iter().map(of).collect()
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn the_rules_of_the_chip_are_those_of_an_oracle((policies, commands) in (policies(), commands())) {
        let config = small(&policies);
        let mut media = Media::new(&config, 1).unwrap();
        let all = drawn(&media, &commands);
        let mut done = run(&mut media, &all);
        prop_assert_eq!(done.len(), all.len());
        done.sort_by_key(|done| done.id);
        let (mut oracle, unit) = (Oracle::default(), media.shape().program_pages);
        for (done, command) in done.iter().zip(&all) {
            prop_assert_eq!(&done.command, command);
            prop_assert_eq!(done.status, oracle.judge(command, unit, done.status), "{:?}", done);
            prop_assert_eq!(done.problem().is_none(), done.status == MediaStatus::Success);
        }
        // What was done was done in the order of its block: nothing ends before a program or an erase that it depends
        // on.
        let block = |done: &MediaCompletion| PageAddress { page: 0, ..done.command.at };
        let mut last: HashMap<PageAddress, Time> = HashMap::new();
        for done in done.iter().filter(|done| done.status == MediaStatus::Success && done.command.op != MediaOp::Read) {
            let before = last.insert(block(done), done.finish);
            prop_assert!(before.is_none_or(|before| before <= done.finish), "{:?}", done);
        }
    }

    #[test]
    fn a_checkpoint_in_the_middle_goes_on_as_if_nothing_had_been(
        (policies, commands, at) in (policies(), commands(), 0u64..30_000_000)
    ) {
        let config = small(&policies);
        let mut whole = Media::new(&config, 7).unwrap();
        let all = drawn(&whole, &commands);
        whole.submit_all(&all).unwrap();
        whole.advance(Time(at)).unwrap();
        let path = std::env::temp_dir().join(format!("ssdlab-media-{}-{:?}.ckpt", std::process::id(), std::thread::current().id()));
        write_media(&whole, &path).unwrap();
        let mut again = open_media(DeviceWord::Named(path.to_str().unwrap()), None, None, &[], &Default::default(), 1).unwrap();
        std::fs::remove_file(&path).unwrap();
        prop_assert_eq!((again.now(), again.seed(), again.outstanding()), (whole.now(), 7, whole.outstanding()));
        for media in [&mut whole, &mut again] {
            media.rest(Span(86_400_000_000_000), None).unwrap();
            let at = PageAddress { die: 0, plane: 0, block: 0, page: 0 };
            media.submit(MediaCommand::new(media.now(), MediaOp::Read, at)).unwrap();
            media.rest(Span::ZERO, None).unwrap();
        }
        prop_assert_eq!(whole.counters(), again.counters());
        prop_assert!(whole.take_completions().eq(again.take_completions()));
    }
}
