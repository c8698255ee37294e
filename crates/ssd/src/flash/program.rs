//! Programs: pages from the queues into the registers, and from there into the array.

use nand::geometry::MAX_PLANES;
use nand::{Address, DieId, PassOrder};
use schemes::Class;
use units::{Ppn, Span};

use super::backend::FlashAt;
use super::op::{Owner, PageOp};
use super::placement::Placement;
use super::queues::{QueueId, planes};
use super::state::{Active, Passed, Program, Work};
use crate::arena::{List, OpId};
use crate::config::MapTable;
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::energy::Energy;
use crate::observe::stats::{channel, die};
use crate::phases::{Phases, slower};
use crate::streams::StreamId;

/// What a program command programs.
struct Gathered {
    /// The linked operations.
    ops: OpId,
    /// Pages whose data is sent, or padding, and pages that are copied back.
    sent: u64,
    copied: u64,
    /// How long the die senses these.
    sensing: Span,
}

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Moves the data of a program into the registers of a die, and starts it if the array is free. Returns its first
    /// operation.
    pub fn load_program(&mut self, die: DieId, lead: QueueId, writes: StreamId, set: u8) -> OpId {
        let copyback = self.view().copies_back(die, lead);
        let Gathered { ops, sent, copied, sensing } = self.gather(die, set, writes, copyback);
        self.core.counters.pages_copied_back += copied;
        self.core.counters.pages_transferred_in += sent;
        // What is copied back takes a command to sense and one to program.
        let commands = self.t_commands(set) * if copied > 0 { 2 } else { 1 };
        let channel = self.flash.dies[die].channel;
        let ready = if sent == 0 {
            self.occupy(channel, commands, channel::COMMAND)
        } else {
            self.use_energy(|plan| Energy::moves(plan, sent * plan.layout.page_size.0));
            self.occupy(channel, commands + self.core.plan.t_data_in(sent), channel::WRITE_DATA)
        };
        let program = Program { ops, planes: set, ready, sensing, pass: 0, passed: Passed::default() };
        self.flash.host_units += u32::from(lead.class() == Class::UserProgram);
        self.run_when_free(die, program);
        ops
    }

    /// Sends the data of a program again for its next pass. The bus is free.
    pub(super) fn send_for_next_pass(&mut self, die: DieId) {
        let Some(program) = self.view().pass_due(die) else { return };
        self.flash.dies[die].next_pass = None;
        self.flash.dies[die].coarse.retain(|other| other.ops != program.ops);
        let channel = self.flash.dies[die].channel;
        let writes = self.flash.ops[program.ops].queue.writes();
        let ready = self.occupy(channel, self.t_program_data(program.planes, writes), channel::WRITE_DATA);
        self.run_when_free(die, Program { ready, ..program });
    }

    /// Starts a program whose data is sent, or leaves it in the cache registers while the array is busy.
    fn run_when_free(&mut self, die: DieId, program: Program) {
        if self.flash.dies[die].active.is_some() {
            self.flash.dies[die].loaded = Some(program);
        } else {
            self.run_program(die, program);
        }
    }

    /// Takes a unit of pages from a write class's queues of each plane of a set and gives them their physical pages.
    fn gather(&mut self, die: DieId, set: u8, writes: StreamId, copyback: bool) -> Gathered {
        let (mut ops, mut pages, mut copied, mut sensing) = (List::EMPTY, 0, 0, Span::ZERO);
        let superblock = self.core.plan.layout.stripe > 1;
        let (stream, unit) = (self.core.plan.streams.opened_by(writes), self.core.plan.streams.unit_of(writes));
        let now = self.flash.age_clock(self.core.now);
        for plane in planes(set) {
            let physical = self.core.plan.layout.plane(die, plane as u8);
            let queue = QueueId::of_programs(writes, plane);
            let mut here = [Span::ZERO; MAX_PLANES as usize];
            if self.core.plan.config.mapping.table == MapTable::Learned && !copyback {
                self.sort_unit(die, queue, unit);
            }
            for _ in 0..unit {
                pages += 1;
                let next = if superblock && copyback {
                    self.next_of_superblock(die, queue, stream)
                } else {
                    self.flash.dies[die].queues[queue].pop(&mut self.flash.ops)
                };
                let Some(op) = next else {
                    self.placement.take_page(physical, stream, None, now);
                    self.core.counters.pages_padded += 1;
                    continue;
                };
                let lpn = self.flash.ops[op].lpn.get();
                self.flash.ops[op].ppn = self.placement.take_page(physical, stream, Some(lpn), now).into();
                match self.flash.ops[op].owner {
                    Owner::Slot(_) | Owner::Padding(_) | Owner::Host(_) if queue.class() == Class::UserProgram => {
                        self.count_waiting(self.flash.programs_waiting - 1);
                    }
                    Owner::Relocation(source) if copyback && (!superblock || self.flash.ops[op].is_copied()) => {
                        let source = source.get();
                        copied += 1;
                        here[self.core.plan.layout.in_stripe(source) as usize] +=
                            self.core.plan.t_read(source, self.placement.page_in_slc(source));
                    }
                    _ => {}
                }
                ops.push(&mut self.flash.ops, op);
            }
            sensing = here.into_iter().fold(sensing, Span::max);
            if queue.class() == Class::UserProgram {
                self.placement.spend(physical, self.core.plan.streams.paced(writes));
            }
            let state = &mut self.flash.dies[die];
            if state.queues[queue].is_empty() {
                state.waiting.set(queue, false);
                state.flush_partial.set(queue, false);
            }
            self.update_eligibility(die, queue);
            self.update_plane_eligibility(die, plane as u8);
        }
        let with_data = ops.first().expect("Invariant: a program has a page");
        // Where nothing has to be sent, padding is not either.
        let all_copied = copyback && self.all_copied(with_data);
        let copied = if all_copied { pages } else { copied };
        Gathered { ops: with_data, sent: pages - copied, copied, sensing }
    }

    /// The next pages of a queue, this many, come in the order of their logical numbers (LeaFTL, section 3.3).
    fn sort_unit(&mut self, die: DieId, queue: QueueId, unit: u32) {
        let (queue, ops) = (&mut self.flash.dies[die].queues[queue], &mut self.flash.ops);
        let mut first: Vec<OpId> = (0..unit).map_while(|_| queue.pop(ops)).collect();
        first.sort_by_key(|op| ops[*op].lpn.get());
        first.into_iter().rev().for_each(|op| queue.push_front(ops, op));
    }

    /// Whether every page of a program is copied back.
    fn all_copied(&self, first: OpId) -> bool {
        let mut pages = std::iter::successors(Some(first), |op| self.flash.ops[*op].next);
        self.core.plan.layout.stripe == 1 || pages.all(|op| self.flash.ops[op].is_copied())
    }

    /// The page that a program of a superblock takes next: one that is copied back stays on its plane, and comes before
    /// those that can be on any.
    fn next_of_superblock(&mut self, die: DieId, queue: QueueId, stream: StreamId) -> Option<OpId> {
        let layout = self.core.plan.layout;
        let plane = layout.plane(die, queue.plane() as u8);
        let page = self.placement.next_place(plane, stream);
        let here = layout.in_stripe(layout.pack(Address { plane, block: 0, page }));
        let stays = |op: &PageOp| match op.owner {
            Owner::Relocation(source) => op.is_copied() && layout.in_stripe(source.get()) == here,
            _ => false,
        };
        let (queue, ops) = (&mut self.flash.dies[die].queues[queue], &mut self.flash.ops);
        queue.take_first(ops, stays).or_else(|| queue.take_first(ops, |op| !op.is_copied()))
    }

    /// tPROG of a program over the nominal one: of the slowest of its blocks.
    pub(super) fn program_factor(&self, program: Program) -> f64 {
        let mut factor: f64 = 1.0;
        let Some((eraser, _)) = &self.core.plan.eraser else { return factor };
        let mut next = Some(program.ops);
        while let Some(op) = next {
            let Address { plane, block, .. } = self.core.plan.layout.unpack(self.flash.ops[op].ppn.get());
            next = self.flash.ops[op].next;
            if self.placement.in_slc(plane, block) {
                continue;
            }
            let pec = self.placement.cycles(plane, block, &self.core.plan);
            factor = factor.max(eraser.scheme.voltage.program_factor(pec));
        }
        factor
    }

    #[inline]
    pub(super) fn run_program(&mut self, die: DieId, program: Program) {
        let start = program.ready.max(self.core.now);
        let factor = self.program_factor(program);
        // Planes that are programmed together program pages of the same number.
        let first = self.flash.ops[program.ops].ppn.get();
        let (timings, of_mode) = self.core.plan.program_times(self.flash.ops[program.ops].queue.writes());
        let t_prog = slower(timings.program(&self.core.plan.layout, first, program.pass), factor);
        let factor = factor * of_mode;
        if program.pass + 1 < timings.passes {
            self.order_pass(die, Program { pass: program.pass + 1, ..program });
        }
        let plan = &self.core.plan;
        let phases = match &plan.program_phases {
            Some(phases) => (factor != 1.0).then(|| phases.slower(factor)),
            None => plan.assumes_phases.of_programs.then(|| Phases::of_program(t_prog)),
        };
        let end = start + program.sensing + phases.as_ref().map_or(t_prog, Phases::total);
        let state = &mut self.flash.dies[die];
        state.phases = phases;
        state.active = Some((Active::Program(program), end));
        let runs_from = start + program.sensing;
        self.core.cuts.operation(runs_from, end);
        state.work = Work { began: runs_from, runs_from, ..Work::default() };
        self.die_enters(die, die::LOAD, Some((start, die::PROGRAM)));
        self.array_draws(die, |plan| plan.config.energy.program_mw, start, end);
        if P::EXPLAINS {
            let (pages, what) =
                (self.core.plan.flash_unit() * program.planes.count_ones(), self.flash.ops[program.ops].purpose());
            self.core.probe.explain(self.core.now, Event::Programs { pages, what });
        }
        self.core.probe.program(start, end, die, self.core.plan.layout.flash_set(program.planes));
        self.tell_phases(die);
    }

    /// A pass of a program begins, and it has another one: what follows on the die.
    fn order_pass(&mut self, die: DieId, next: Program) {
        let state = &mut self.flash.dies[die];
        state.next_pass = match self.core.plan.config.chip.pass_order {
            PassOrder::Wordline => Some(next),
            PassOrder::Interleaved => {
                // The second pass of the wordline before.
                let stream = |program: &Program| {
                    let writes = self.flash.ops[program.ops].queue.writes();
                    writes.map(|writes| (program.planes, self.core.plan.streams.opened_by(writes)))
                };
                let before = state.coarse.iter().position(|program| stream(program) == stream(&next));
                let before = before.map(|place| state.coarse.remove(place));
                state.coarse.push(next);
                before
            }
        };
    }

    /// A pass of a program has ended that has another one: what it has come to goes with that.
    pub(super) fn pass_ends(&mut self, die: DieId, program: Program) {
        let passed = self.passed_with(die, Active::Program(program));
        let state = &mut self.flash.dies[die];
        let others = state.next_pass.iter_mut().chain(&mut state.loaded).chain(&mut state.coarse);
        others.filter(|other| other.ops == program.ops).for_each(|other| other.passed = passed);
    }

    /// What the passes of an operation have come to with the one that ends now.
    pub(super) fn passed_with(&self, die: DieId, active: Active) -> Passed {
        let (state, before) = (&self.flash.dies[die], active.passed());
        let took = self.core.now.since(state.work.began);
        let nominal = match (&state.phases, active) {
            _ if state.work.suspensions == 0 => took,
            (Some(phases), _) => phases.total(),
            // Only programs with phases are suspended, and these take equally long whatever the page.
            (None, Active::Program(_)) => self.core.plan.timings.slowest_program(),
            (None, Active::Erase(_) | Active::EraseOpened(..)) => self.core.plan.timings.erase,
        };
        Passed {
            suspensions: before.suspensions + state.work.suspensions,
            took: before.took + took,
            nominal: before.nominal + nominal,
        }
    }

    /// The program whose data is in the cache registers, if there is one, has the array.
    pub(super) fn start_loaded(&mut self, die: DieId) {
        if let Some(program) = self.flash.dies[die].loaded.take() {
            self.run_program(die, program);
        }
    }

    /// Queues a page to be programmed on a plane of a die.
    pub fn queue_program(&mut self, op: OpId) {
        let PageOp { die, queue, .. } = self.flash.ops[op];
        let state = &mut self.flash.dies[die];
        state.queues[queue].push(&mut self.flash.ops, op);
        state.waiting.set(queue, true);
        self.update_eligibility(die, queue);
        self.mark_dirty(die);
    }

    /// Takes the programs out of a queue of a die.
    pub fn empty_queue(&mut self, die: DieId, queue: QueueId) -> Vec<OpId> {
        let mut taken = Vec::new();
        while let Some(op) = self.flash.dies[die].queues[queue].pop(&mut self.flash.ops) {
            taken.push(op);
        }
        let state = &mut self.flash.dies[die];
        state.waiting.set(queue, false);
        state.flush_partial.set(queue, false);
        self.update_eligibility(die, queue);
        taken
    }

    /// The planes of a program command that failed, which begins with that page.
    pub fn failed_programs(&mut self, die: DieId, set: u8, first: Ppn) -> u8 {
        let stuck = self.flash.faults.as_mut().is_some_and(|faults| faults.fails(die, true));
        let mut failed = if stuck { set & set.wrapping_neg() } else { 0 };
        let config = &self.core.plan.config;
        if config.wear.program_fail.0 == 0.0 {
            return failed;
        }
        let Address { plane, block, .. } = self.core.plan.layout.unpack(first);
        let share = config.faults.grown(config.wear.program_fail, self.placement.cycles(plane, block, &self.core.plan));
        for plane in planes(set) {
            for _ in 0..self.core.plan.layout.stripe {
                if self.flash.failures.program_fails(share) {
                    failed |= 1 << plane;
                }
            }
        }
        failed
    }
}
