//! The volume: which block is where, which sections are free, and which are cleaned.

use std::collections::{BTreeSet, VecDeque};
use std::mem::take;

use super::options::{ActiveLogs, Cleaning, LogFs};
use super::shape::{BLOCK, Kind, LOGS, NAT_ENTRIES, PACK, SEGMENT, SIT_ENTRIES, Shape};

/// No block, and no section.
const NONE: u32 = u32::MAX;

/// The logs by their numbers.
const HOT_DATA: usize = 0;
const WARM_DATA: usize = 1;
const COLD_DATA: usize = 2;
const HOT_NODE: usize = 3;
const WARM_NODE: usize = 4;
const COLD_NODE: usize = 5;

/// The log of a block (FAST'15, Table 1; fs/f2fs/segment.c, __get_segment_type), which is cleaned or written.
fn log_of(kind: Kind, cleaned: bool, logs: ActiveLogs) -> usize {
    let is_data = matches!(kind, Kind::Data { .. } | Kind::Entries);
    match logs {
        ActiveLogs::Two if is_data => HOT_DATA,
        ActiveLogs::Two => HOT_NODE,
        ActiveLogs::Four => match kind {
            Kind::Entries => HOT_DATA,
            Kind::Data { .. } => COLD_DATA,
            Kind::Node => WARM_NODE,
            Kind::IndirectNode | Kind::DirectoryNode => COLD_NODE,
        },
        ActiveLogs::Six => match kind {
            Kind::Data { .. } | Kind::Entries if cleaned => COLD_DATA,
            Kind::Data { cold: true } => COLD_DATA,
            Kind::Data { cold: false } => WARM_DATA,
            Kind::Entries => HOT_DATA,
            Kind::DirectoryNode => HOT_NODE,
            Kind::Node => WARM_NODE,
            Kind::IndirectNode => COLD_NODE,
        },
    }
}

/// What the file system asks of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// A block of the main area is read.
    Read(u32),
    /// A block of the main area is written, by that log.
    Write(u32, usize),
    /// A block of the tables is written in place.
    Table(u64),
    /// All of that is to be on flash.
    Flush,
    /// A section was freed, or is written for the first time.
    Renew(u32),
}

/// What has been written \[blocks\], cleaned and done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub data: u64,
    pub nodes: u64,
    pub cleaned: u64,
    pub tables: u64,
    pub sections_cleaned: u64,
    pub checkpoints: u64,
}

#[derive(Clone, Copy, Default)]
struct Section {
    valid: u32,
    /// Nothing more is written to it before it is freed.
    full: bool,
    /// The drive knows that it holds nothing.
    renewed: bool,
    /// When its blocks were written, on average, in blocks that had been written then.
    modified: u64,
}

/// The section that a log fills, and its next block there.
#[derive(Clone, Copy)]
struct Open {
    section: u32,
    next: u32,
}

/// See the [module documentation](self).
pub(super) struct Volume {
    pub shape: Shape,
    logs: ActiveLogs,
    cleaning: Cleaning,
    reserve: usize,
    /// By block its place in the main area, and by place its block.
    places: Vec<u32>,
    owners: Vec<u32>,
    sections: Vec<Section>,
    open: [Option<Open>; LOGS],
    free: VecDeque<u32>,
    /// Sections that hold nothing, and are free after the next checkpoint.
    prefree: Vec<u32>,
    /// Blocks written so far.
    clock: u64,
    /// What the next checkpoint writes: nodes of files and directories that have changed, blocks of the tables.
    dirty_nodes: BTreeSet<u64>,
    dirty_directories: BTreeSet<u64>,
    dirty_nat: BTreeSet<u64>,
    dirty_sit: BTreeSet<u64>,
    pub counts: Counts,
    /// What is asked of the drive, in order.
    pub acts: Vec<Act>,
}

impl Volume {
    /// A volume whose files have been written one after another.
    pub fn new(options: &LogFs, shape: Shape) -> Volume {
        let places = u64::from(shape.sections) * u64::from(shape.blocks_of_section);
        let mut volume = Volume {
            logs: options.active_logs,
            cleaning: options.cleaning,
            reserve: options.free_sections as usize,
            places: vec![NONE; shape.blocks() as usize],
            owners: vec![NONE; places as usize],
            sections: vec![Section::default(); shape.sections as usize],
            open: [None; LOGS],
            free: (0..shape.sections).collect(),
            prefree: Vec::new(),
            clock: 0,
            dirty_nodes: BTreeSet::new(),
            dirty_directories: BTreeSet::new(),
            dirty_nat: BTreeSet::new(),
            dirty_sit: BTreeSet::new(),
            counts: Counts::default(),
            acts: Vec::new(),
            shape,
        };
        for file in 0..shape.files {
            volume.rewrite(file, options.files_of_directory.into());
            volume.acts.clear();
        }
        for block in shape.first_entries()..shape.blocks() {
            volume.append(block, false);
        }
        volume.acts.clear();
        volume
    }

    /// The run begins: what has been written before is counted no more, and as after a mount each log begins a section.
    pub fn begin(&mut self) {
        for log in 0..LOGS {
            if let Some(Open { section, .. }) = self.open[log].take() {
                self.fills(section);
            }
        }
        self.sections.iter_mut().for_each(|section| section.renewed = false);
        self.counts = Counts::default();
        self.acts.clear();
    }

    /// Blocks that have been written so far.
    pub fn written(&self) -> u64 {
        self.clock
    }

    /// A part of a file is read.
    pub fn read(&mut self, file: u64, blocks: std::ops::Range<u64>) {
        let first = file * self.shape.blocks_of_file;
        let places = blocks.map(|block| Act::Read(self.places[(first + block) as usize]));
        self.acts.extend(places);
    }

    /// A part of a file is updated, and perhaps its node with it.
    pub fn update(&mut self, file: u64, blocks: std::ops::Range<u64>, fsync: bool) {
        let first = file * self.shape.blocks_of_file;
        self.counts.data += blocks.end - blocks.start;
        blocks.for_each(|block| self.append(first + block, false));
        let node = self.shape.first_node() + file;
        if fsync {
            self.dirty_nodes.remove(&node);
            self.counts.nodes += 1;
            self.append(node, false);
        } else {
            self.dirty_nodes.insert(node);
        }
    }

    /// A file is removed and written again, with its nodes; its directory is written by the next checkpoint.
    pub fn rewrite(&mut self, file: u64, files_of_directory: u64) {
        let first = file * self.shape.blocks_of_file;
        self.counts.data += self.shape.blocks_of_file;
        (first..first + self.shape.blocks_of_file).for_each(|block| self.append(block, false));
        let node = self.shape.first_node() + file;
        self.dirty_nodes.remove(&node);
        self.counts.nodes += 1;
        self.append(node, false);
        if self.shape.has_indirect() {
            self.counts.nodes += 1;
            self.append(self.shape.first_indirect() + file, false);
        }
        let directory = (file / files_of_directory).min(self.shape.directories - 1);
        self.dirty_directories.insert(directory);
    }

    /// A block is written to its log.
    fn append(&mut self, number: u64, cleaned: bool) {
        let log = log_of(self.shape.kind(number), cleaned, self.logs);
        if self.open[log].is_none() {
            if !cleaned {
                self.make_room();
            }
            // Cleaning may have begun a section of this log.
            if self.open[log].is_none() {
                let section = self.free.pop_front().expect("Invariant: cleaning keeps sections free");
                if !self.sections[section as usize].renewed {
                    self.acts.push(Act::Renew(section));
                }
                self.sections[section as usize] = Section { renewed: true, ..Section::default() };
                self.open[log] = Some(Open { section, next: 0 });
            }
        }
        let Some(Open { section, next }) = self.open[log] else { return };
        let place = section * self.shape.blocks_of_section + next;
        self.leaves(self.places[number as usize]);
        self.owners[place as usize] = number as u32;
        self.places[number as usize] = place;
        self.clock += 1;
        self.dates(section);
        self.sections[section as usize].valid += 1;
        self.touches(number, place);
        if cleaned {
            self.moves(number);
        }
        self.acts.push(Act::Write(place, log));
        self.open[log] = (next + 1 < self.shape.blocks_of_section).then_some(Open { section, next: next + 1 });
        if self.open[log].is_none() {
            self.fills(section);
        }
    }

    /// The mean age of a section, with a block of now (fs/f2fs/segment.c, update_segment_mtime).
    fn dates(&mut self, section: u32) {
        let Section { valid, modified, .. } = &mut self.sections[section as usize];
        let so_far = u128::from(*modified) * u128::from(*valid);
        *modified = ((so_far + u128::from(self.clock)) / (u128::from(*valid) + 1)) as u64;
    }

    /// What was on a place is no more.
    fn leaves(&mut self, place: u32) {
        if place == NONE {
            return;
        }
        self.owners[place as usize] = NONE;
        let section = place / self.shape.blocks_of_section;
        self.dirty_sit.insert(self.sit_block(place));
        let entry = &mut self.sections[section as usize];
        entry.valid -= 1;
        if entry.full && entry.valid == 0 {
            entry.full = false;
            self.prefree.push(section);
        }
    }

    /// A section takes nothing more.
    fn fills(&mut self, section: u32) {
        let entry = &mut self.sections[section as usize];
        entry.full = entry.valid > 0;
        if !entry.full {
            self.prefree.push(section);
        }
    }

    /// The tables have changed with a block that was written to a place.
    fn touches(&mut self, number: u64, place: u32) {
        self.dirty_sit.insert(self.sit_block(place));
        if let Some(node) = self.shape.node(number) {
            self.dirty_nat.insert(node / NAT_ENTRIES);
        }
    }

    /// A block of data has moved: what leads to it has changed.
    fn moves(&mut self, number: u64) {
        match self.shape.kind(number) {
            Kind::Data { .. } => {
                self.dirty_nodes.insert(self.shape.first_node() + number / self.shape.blocks_of_file);
            }
            Kind::Entries => {
                self.dirty_directories.insert(number - self.shape.first_entries());
            }
            Kind::Node | Kind::IndirectNode | Kind::DirectoryNode => {}
        }
    }

    fn sit_block(&self, place: u32) -> u64 {
        u64::from(place) * BLOCK / SEGMENT / SIT_ENTRIES
    }

    /// Cleans until enough sections are free.
    fn make_room(&mut self) {
        while self.free.len() < self.reserve {
            if !self.prefree.is_empty() && self.free.len() + self.prefree.len() >= self.reserve {
                self.frees();
                continue;
            }
            let victim = self.victim().expect("Invariant: a volume has more sections than its live blocks fill");
            self.clean(victim);
            if self.free.len() <= LOGS {
                self.frees();
            }
        }
    }

    /// Moves what is live of a section.
    fn clean(&mut self, section: u32) {
        let first = section * self.shape.blocks_of_section;
        let places = first..first + self.shape.blocks_of_section;
        let live: Vec<u32> = places.filter(|place| self.owners[*place as usize] != NONE).collect();
        self.counts.sections_cleaned += 1;
        self.counts.cleaned += live.len() as u64;
        self.acts.extend(live.iter().map(|place| Act::Read(*place)));
        for place in live {
            self.append(self.owners[place as usize].into(), true);
        }
    }

    /// The full section that is cleaned next.
    fn victim(&self) -> Option<u32> {
        let of_section = self.shape.blocks_of_section;
        let full = (0..).zip(&self.sections).filter(|(_, section)| section.full && section.valid < of_section);
        match self.cleaning {
            Cleaning::Greedy => full.min_by_key(|(_, section)| section.valid).map(|(number, _)| number),
            Cleaning::CostBenefit => {
                let worth = |section: &Section| {
                    let used = f64::from(section.valid) / f64::from(of_section);
                    (1.0 - used) / (1.0 + used) * (self.clock - section.modified + 1) as f64
                };
                full.map(|(number, section)| (number, worth(section)))
                    .max_by(|(_, one), (_, other)| one.total_cmp(other))
                    .map(|(number, _)| number)
            }
        }
    }

    /// A checkpoint: dirty nodes and directories are written to their logs, then the tables and a pack in place; what
    /// held nothing before is free.
    pub fn checkpoint(&mut self) {
        for node in take(&mut self.dirty_nodes) {
            self.counts.nodes += 1;
            self.append(node, false);
        }
        for directory in take(&mut self.dirty_directories) {
            let entries = self.shape.first_entries() + directory;
            self.counts.nodes += 2;
            self.append(entries, false);
            self.append(entries + self.shape.directories, false);
        }
        self.frees();
    }

    /// The part of a checkpoint that frees sections. Where cleaning needs them at once, nodes that have changed stay
    /// for the next whole one (assumed).
    fn frees(&mut self) {
        let pack = self.counts.checkpoints % 2 * (SEGMENT / BLOCK);
        let sit = 2 * SEGMENT / BLOCK;
        let nat = sit
            + (u64::from(self.shape.sections) * u64::from(self.shape.blocks_of_section) * BLOCK / SEGMENT)
                .div_ceil(SIT_ENTRIES);
        let before = self.acts.len();
        self.acts.extend(take(&mut self.dirty_sit).into_iter().map(|block| Act::Table(sit + block)));
        self.acts.extend(take(&mut self.dirty_nat).into_iter().map(|block| Act::Table(nat + block)));
        self.acts.extend((pack..pack + PACK).map(Act::Table));
        self.counts.tables += (self.acts.len() - before) as u64;
        self.counts.checkpoints += 1;
        self.acts.push(Act::Flush);
        for section in take(&mut self.prefree) {
            self.sections[section as usize].renewed = true;
            self.acts.push(Act::Renew(section));
            self.free.push_back(section);
        }
    }

    /// Whether all that is kept twice is the same, and nothing is lost.
    #[cfg(test)]
    pub fn check(&self) {
        let mut valid = vec![0; self.sections.len()];
        for (block, place) in self.places.iter().enumerate() {
            assert_eq!(self.owners[*place as usize], block as u32, "a block is where it is said to be");
            valid[(place / self.shape.blocks_of_section) as usize] += 1;
        }
        let live = self.owners.iter().filter(|owner| **owner != NONE).count();
        assert_eq!(live, self.places.len(), "every block is in one place");
        for (section, valid) in self.sections.iter().zip(valid) {
            assert_eq!(section.valid, valid);
        }
        for section in self.free.iter().chain(&self.prefree) {
            assert_eq!(self.sections[*section as usize].valid, 0);
        }
    }
}
