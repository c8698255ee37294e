//! The flash as a whole: its state, what decisions are made from, and what changes it.

use nand::model::outcomes::Outcomes;
use nand::{ChannelId, DieId};
use units::{Id as _, PerId, Ppn, Span, Stream, Time};

use super::attempt::{Attempts, Step};
use super::budget::Budget;
use super::channel::Channel;
use super::faults::Faults;
use super::heat::AgeClock;
use super::op::Ops;
use super::placement::Placement;
use super::queues::Ranks;
use super::references::References;
use super::state::{Begun, DieState};
use crate::arena::Arena;
use crate::config::{BufferMode, EASY_AGE, Plan};
use crate::core::Core;
use crate::observe::probe::Probe;
use crate::observe::stats::Steps;
use crate::persist::state;

/// Everything below the FTL: dies, buses, decoders, and the operations in them.
pub(crate) struct Flash {
    pub ops: Ops,
    /// The attempts of reads that are under way.
    pub(super) attempts: Attempts,
    pub(super) dies: PerId<DieId, DieState>,
    /// The busy die of each chip, where dies of a chip do not overlap.
    pub(super) chip_owner: Vec<Option<DieId>>,
    dies_per_chip: usize,
    pub(super) channels: PerId<ChannelId, Channel>,
    /// Dies that may have something new to do since the present event: those from `rescheduled` on are not up to date
    /// yet, and from `granted` on their buses are not granted.
    pub(super) dirty: Vec<DieId>,
    pub(super) rescheduled: usize,
    pub(super) granted: usize,
    /// The marked bus is being granted: to one after the other, for as long as it is free and wanted.
    pub(super) granting: bool,
    /// Pages of host data that wait for their program, and whether there are so many that no read passes them.
    pub(super) programs_waiting: u32,
    pub(super) write_queue_full: bool,
    /// Rank of each class at present and, by rank, the queues of a die that have it.
    pub(super) ranks: Ranks,
    /// Results of reads, where a virtual chip gives them.
    pub(super) outcomes: Option<Outcomes>,
    /// Results of reads of the SLC cache's pages, where it holds more than one bit a cell and a virtual chip says how
    /// these read.
    pub(super) slc_outcomes: Option<Outcomes>,
    /// Where reads begin near what last worked.
    pub(super) references: References,
    /// From then on data may be older than a fresh drive's, and the chip is asked for what reads meet; 0 where it has
    /// been asked. Rests bring it nearer.
    pub(super) asks_from: Time,
    seed: u64,
    /// Retry steps of the pages read.
    pub(super) steps: Steps,
    /// Random draws of decodings.
    pub(super) draws: Stream,
    /// Random draws of what trees leave to chance while they explore.
    pub(super) explorations: Stream,
    /// Random draws of pages that patrols have read before the run.
    pub(super) patrols: Stream,
    pub(super) miscorrections: Stream,
    pub(super) failures: Failures,
    /// Parts that have broken, where any may; and when the next one does.
    pub faults: Option<Box<Faults>>,
    pub fault_due: Time,
    /// What it may use, where that is limited or its temperature is followed.
    pub(super) budget: Option<Box<Budget>>,
    /// The age that the last operation was given.
    pub(super) last_seq: u64,
    /// Partly filled units of host data go as they are.
    pub(super) flush_units: bool,
    /// Whole units of host data in the dies' queues, and programs of host data.
    pub(super) host_units: u32,
}

impl Flash {
    pub fn new(plan: &Plan, seed: u64) -> Flash {
        let (layout, config) = (plan.layout, &plan.config);
        let [outcomes, slc_outcomes] = outcomes(plan, seed);
        let faults = Faults::new(plan, seed);
        let write_queue_full = config.schedule.write_queue == Some(0);
        let dies_per_channel = layout.chips * layout.dies_per_chip;
        let die = |die: u32| {
            let channel = layout.channel_of(DieId::new(die as usize));
            DieState::new(channel, die - u32::from(channel.0) * dies_per_channel, (die / layout.dies_per_chip) as usize)
        };
        Flash {
            ops: Arena::new(),
            attempts: Arena::new(),
            dies: (0..layout.dies).map(die).collect(),
            chip_owner: vec![None; (layout.channels * layout.chips) as usize],
            dies_per_chip: layout.dies_per_chip as usize,
            channels: (0..layout.channels).map(|channel| Channel::new(channel * dies_per_channel)).collect(),
            dirty: Vec::new(),
            rescheduled: 0,
            granted: 0,
            granting: false,
            programs_waiting: 0,
            write_queue_full,
            ranks: Ranks::new(plan, write_queue_full),
            outcomes,
            slc_outcomes,
            asks_from: Time::ZERO + EASY_AGE,
            seed,
            references: References::new(&config.read, plan.trees.as_deref()),
            steps: Steps::default(),
            draws: Stream::new(seed, "decodings"),
            explorations: Stream::new(seed, "explorations"),
            patrols: Stream::new(seed, "patrols"),
            miscorrections: Stream::new(seed, "miscorrections"),
            failures: Failures::new(seed),
            fault_due: faults.as_ref().map_or(Time::NEVER, |faults| faults.due()),
            faults,
            budget: Budget::new(plan),
            last_seq: 0,
            flush_units: config.buffer.mode == BufferMode::WriteThrough,
            host_units: 0,
        }
    }

    /// Something above may let a die take programs that it did not take before.
    #[inline]
    pub fn stir(&mut self, die: DieId) {
        let state = &self.dies[die];
        self.channels[state.channel].stirred |= state.bit;
    }

    /// Something above may let any die take programs that it did not take before.
    pub fn stir_all(&mut self) {
        self.dies.ids().for_each(|die| self.stir(die));
    }

    /// Dies that may take programs that they did not take when this was asked last.
    #[inline]
    pub fn take_stirred(&mut self, mut each: impl FnMut(DieId)) {
        for channel in self.channels.iter_mut() {
            while channel.stirred != 0 {
                each(DieId::new((channel.first_die + channel.stirred.trailing_zeros()) as usize));
                channel.stirred &= channel.stirred - 1;
            }
        }
    }

    /// Operations and what was remembered of reads are gone.
    pub(super) fn forget(&mut self, plan: &Plan) {
        (self.ops, self.attempts) = (Arena::new(), Arena::new());
        self.chip_owner.iter_mut().for_each(|owner| *owner = None);
        self.dirty.clear();
        (self.rescheduled, self.granted, self.programs_waiting, self.host_units) = (0, 0, 0, 0);
        self.write_queue_full = plan.config.schedule.write_queue == Some(0);
        self.references = References::new(&plan.config.read, plan.trees.as_deref());
        self.flush_units = plan.config.buffer.mode == BufferMode::WriteThrough;
        self.stir_all();
        self.rank(plan);
    }

    /// Whether nothing may begin, since too much energy has been used.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        self.budget.as_ref().is_some_and(|budget| budget.is_held())
    }

    /// What data ages by.
    #[inline]
    pub fn age_clock(&self, now: Time) -> AgeClock {
        let heat = self.budget.as_ref().and_then(|budget| budget.heat());
        heat.map_or(AgeClock { elapsed: now.since(Time::ZERO), warmer: 0 }, |heat| heat.age_clock(now))
    }

    /// The drive has rested for so long at a moment of its own time, in which its data has aged by `age`.
    pub fn rest(&mut self, now: Time, span: Span, age: Span) {
        self.asks_from = Time(self.asks_from.0.saturating_sub(age.0));
        if let Some(budget) = &mut self.budget {
            budget.rest(now, span);
        }
    }

    /// Data may have become older than a fresh drive's: the chip is asked for what is sensed from now on, and for what
    /// is being sensed. What has been sensed is decoded as before.
    #[cold]
    pub(super) fn ask_chip(&mut self, plan: &mut Plan) {
        if !plan.ask_cells() {
            return;
        }
        [self.outcomes, self.slc_outcomes] = outcomes(plan, self.seed);
        self.asks_from = Time::ZERO;
        for id in self.attempts.ids().collect::<Vec<_>>() {
            let attempt = &mut self.attempts[id];
            attempt.decoding = plan.config.ecc.t_decode.0 as u32;
            if let (Step::Sensing, Some(read)) = (attempt.step, attempt.read) {
                let (seq, queue) = (self.ops[read].seq, attempt.queue);
                let begun = Begun { seq, queue, command: seq, alone: false };
                self.dies[attempt.die].reads_in_progress.push(begun);
            }
        }
    }

    /// A state has been loaded: what follows from it and the plan.
    pub fn loaded(&mut self, plan: &mut Plan) {
        self.rank(plan);
        // What is under way has been begun with the chip asked.
        if self.asks_from == Time::ZERO && plan.ask_cells() {
            [self.outcomes, self.slc_outcomes] = outcomes(plan, self.seed);
        }
    }

    /// Ranks the queues again, by what has been loaded.
    pub fn rank(&mut self, plan: &Plan) {
        self.ranks = Ranks::new(plan, self.write_queue_full);
    }

    /// Whether a page is in a part that has broken.
    #[inline]
    pub fn is_broken(&self, ppn: Ppn) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.holds(ppn))
    }

    /// The other dies of a die's chip, from the next one on.
    pub(super) fn others_of_chip(&self, die: DieId) -> impl Iterator<Item = DieId> + use<> {
        let (die, per_chip) = (die.index(), self.dies_per_chip);
        let first = die / per_chip * per_chip;
        (1..per_chip).map(move |step| DieId::new(first + (die - first + step) % per_chip))
    }

    /// The age of a new operation.
    #[inline]
    pub fn number(&mut self) -> u64 {
        self.last_seq += 1;
        self.last_seq
    }
}

/// What decides what reads meet, and reads of the SLC cache's pages, where the plan says that it is asked.
fn outcomes(plan: &Plan, seed: u64) -> [Option<Outcomes>; 2] {
    [plan.outcomes(seed), plan.cells_of_slc().map(|(chip, bits)| plan.outcomes_of(chip, None, bits, seed))]
}

/// The flash at a moment: its state, and what the layers above lend it.
pub(crate) struct FlashAt<'a, P: Probe, L: Placement> {
    pub flash: &'a mut Flash,
    pub core: &'a mut Core<P>,
    pub placement: &'a mut L,
}

/// What decisions are made from: nothing changes through it.
pub(crate) struct FlashView<'a, L: Placement> {
    pub flash: &'a Flash,
    pub plan: &'a Plan,
    pub placement: &'a L,
    /// The drive has become read-only.
    pub read_only: bool,
}

impl<L: Placement> Clone for FlashView<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Placement> Copy for FlashView<'_, L> {}

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// What decisions are made from.
    #[inline]
    pub fn view(&self) -> FlashView<'_, L> {
        FlashView {
            flash: self.flash,
            plan: &self.core.plan,
            placement: self.placement,
            read_only: self.core.life.read_only.is_some(),
        }
    }
}

/// Random draws for failing blocks.
pub(super) struct Failures {
    programs: Stream,
    erases: Stream,
    programs_drawn: u64,
    erases_drawn: u64,
}

impl Failures {
    pub fn new(seed: u64) -> Failures {
        let (programs, erases) = (Stream::new(seed, "program-failures"), Stream::new(seed, "erase-failures"));
        Failures { programs, erases, programs_drawn: 0, erases_drawn: 0 }
    }

    /// Whether a program fails, of which such a share does.
    pub fn program_fails(&mut self, share: f64) -> bool {
        self.programs_drawn += 1;
        self.programs.uniform(self.programs_drawn) < share
    }

    /// Whether an erase fails; `share` of them do.
    pub fn erase_fails(&mut self, share: f64) -> bool {
        self.erases_drawn += 1;
        self.erases.uniform(self.erases_drawn) < share
    }
}

state! {
    Flash {
        stored {
            ops, attempts, dies, chip_owner, channels, dirty, rescheduled, granted, programs_waiting, write_queue_full, steps, last_seq,
            flush_units, host_units, fault_due, asks_from,
        }
        parts { references, failures, faults, budget }
        // Ranks follow from whether the write queue is full; outcomes are kept as they are met.
        rebuilt { dies_per_chip, granting, ranks, seed, outcomes, slc_outcomes, draws, explorations, patrols, miscorrections }
    }
    Failures { stored { programs_drawn, erases_drawn } rebuilt { programs, erases } }
}
