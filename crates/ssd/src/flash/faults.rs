//! Parts of the flash that have broken, and those that will (`faults`).
//!
//! A broken plane or block is still sensed, and what comes over the bus cannot be corrected; nothing is sensed again.
//! Its programs and erases take their time and fail (`assumed`: a controller learns from the status of an operation
//! that a part is broken).

use std::collections::VecDeque;

use nand::{Address, DieId, FlashPlaneId, Layout};
use units::{Ppn, Stream, Time};

use crate::config::{Fault, FaultsConfig, Part, Plan};
use crate::persist::{state, stored_enum};

/// What has broken, what will, and when. Memory: a byte a plane, 8 bytes for each broken block.
pub(crate) struct Faults {
    /// In the order of their times, and how many of them have happened.
    scheduled: Vec<Fault>,
    happened: usize,
    /// When the workload began, from which their times count.
    begin: Time,
    /// Parts that were drawn and break next.
    drawn_parts: VecDeque<Part>,
    /// By plane of the flash.
    planes: Vec<bool>,
    /// Broken blocks by their number over the device, in order.
    blocks: Vec<u64>,
    /// Dies whose next program and whose next erase fails.
    programs: Vec<DieId>,
    erases: Vec<DieId>,
    draws: Stream,
    drawn: u64,
    layout: Layout,
}

impl Faults {
    /// Where parts may break.
    pub fn new(plan: &Plan, seed: u64) -> Option<Box<Faults>> {
        let config = &plan.config.faults;
        let mut scheduled = config.at.clone();
        scheduled.sort_by_key(|fault| fault.at);
        let layout = plan.layout;
        config.break_parts().then(|| {
            Box::new(Faults {
                scheduled,
                happened: 0,
                begin: Time::ZERO,
                drawn_parts: VecDeque::new(),
                planes: vec![false; (layout.dies * layout.flash_planes_per_die()) as usize],
                blocks: Vec::new(),
                programs: Vec::new(),
                erases: Vec::new(),
                draws: Stream::new(seed, "faults"),
                drawn: 0,
                layout,
            })
        })
    }

    /// When the next part breaks.
    pub fn due(&self) -> Time {
        if !self.drawn_parts.is_empty() {
            return Time::ZERO;
        }
        match self.scheduled.get(self.happened) {
            Some(fault) if self.begin != Time::NEVER => self.begin + fault.at,
            _ => Time::NEVER,
        }
    }

    /// The workload begins then; never as long as that is not known.
    pub fn begin(&mut self, at: Time) {
        self.begin = at;
    }

    /// The part that breaks next. Invariant: one is due.
    pub fn next(&mut self) -> Part {
        self.drawn_parts.pop_front().unwrap_or_else(|| {
            self.happened += 1;
            self.scheduled[self.happened - 1].part
        })
    }

    /// A draw below a number.
    pub fn below(&mut self, n: u32) -> u32 {
        self.drawn += 1;
        self.draws.below(self.drawn, n.into()) as u32
    }

    /// A block of a plane with this many cycles has been erased: parts may break with that.
    pub fn erased(&mut self, config: &FaultsConfig, plane: FlashPlaneId, pec: u32) {
        let die = plane.0 / self.layout.flash_planes_per_die();
        for (kind, share) in config.chances() {
            if share.0 == 0.0 {
                continue;
            }
            self.drawn += 1;
            if self.draws.uniform(self.drawn) < config.grown(share, pec) {
                self.drawn_parts.push_back(match kind {
                    "blocks" => Part::Blocks { plane: plane.0, count: config.burst },
                    "plane" => Part::Plane(plane.0),
                    "die" => Part::Die(die),
                    _ => Part::Channel(self.layout.channel_of(DieId(die as u16)).0.into()),
                });
            }
        }
    }

    /// Breaks a plane; whether it was whole.
    pub fn break_plane(&mut self, plane: FlashPlaneId) -> bool {
        !std::mem::replace(&mut self.planes[plane.0 as usize], true)
    }

    /// Breaks a block; whether it was whole.
    pub fn break_block(&mut self, plane: FlashPlaneId, block: u32) -> bool {
        let number = self.layout.flash_block_index(plane, block) as u64;
        match self.blocks.binary_search(&number) {
            Ok(_) => false,
            Err(place) => {
                self.blocks.insert(place, number);
                true
            }
        }
    }

    /// The next program of a die fails, or its next erase.
    pub fn fail_next(&mut self, die: DieId, program: bool) {
        if program { &mut self.programs } else { &mut self.erases }.push(die);
    }

    /// Whether the present program of a die, or its erase, fails.
    pub fn fails(&mut self, die: DieId, program: bool) -> bool {
        let dies = if program { &mut self.programs } else { &mut self.erases };
        dies.iter().position(|other| *other == die).map(|place| dies.swap_remove(place)).is_some()
    }

    /// Whether a block is broken, by itself or with its plane.
    pub fn is_broken(&self, plane: FlashPlaneId, block: u32) -> bool {
        self.planes[plane.0 as usize]
            || self.blocks.binary_search(&(self.layout.flash_block_index(plane, block) as u64)).is_ok()
    }

    /// Whether a page is in a broken part.
    pub fn holds(&self, ppn: Ppn) -> bool {
        let Address { block, .. } = self.layout.unpack(ppn);
        self.is_broken(self.layout.flash_plane_of(ppn), block)
    }
}

state! {
    Faults {
        stored { happened, begin, drawn_parts, planes, blocks, programs, erases, drawn }
        rebuilt { scheduled, draws, layout }
    }
}

stored_enum! {
    Part {
        0 = Channel(channel), 1 = Die(die), 2 = Plane(plane), 3 = Block { plane, block }, 4 = Blocks { plane, count },
        5 = Program(die), 6 = Erase(die),
    }
}
