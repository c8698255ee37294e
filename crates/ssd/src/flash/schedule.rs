//! What a die may start: which of its queues are ready, which goes first, and who goes along.

use nand::{DieId, PlaneId, PlanePrograms, PlaneReads};

use super::layer::{FlashAt, FlashView};
use super::queues::{ERASE_ROW, FIRST_WRITE_CLASS, HOST_PROGRAMS, PLANES, READS, program_queue, write_class_of};
use super::state::{Active, DieState, Pick, Priority};
use crate::observe::probe::Probe;
use crate::write_class;

impl FlashView<'_> {
    /// What the die would start now.
    #[inline]
    pub(super) fn pick(&self, die: DieId) -> Pick {
        let state = &self.flash.dies[die];
        if state.ready == 0 && state.suspended.is_none() { Pick::Nothing } else { self.pick_ready(die) }
    }

    pub(super) fn pick_ready(&self, die: DieId) -> Pick {
        let state = &self.flash.dies[die];
        if self.chip_taken(die) {
            return Pick::Nothing;
        }
        let mut ready =
            if state.exclusive == 0 || self.read_only { state.ready } else { self.exclusive(die, state.ready) };
        ready = self.eligible(die, ready);
        if state.suspended.is_some() {
            let may_sense = self.may_sense(state);
            return self.pick_suspended(die, u64::from(may_sense));
        }
        let one_at_a_time = state.sensing != 0 && self.plan.config.chip.plane_reads != PlaneReads::Independent;
        if ready == 0 || one_at_a_time && state.active.is_none() {
            return Pick::Nothing;
        }
        let registers_empty = state.page_full | state.cache_full == 0;
        // A program or an erase: what needs the array for itself. Erases that older reads of the plane hold off do not
        // count, and these reads may go in any case.
        let mut writes = ready & !READS;
        let write = loop {
            match state.first(writes, &self.flash.ranks) {
                Some((_, queue)) if self.is_erase(die, queue) && !self.may_erase(die, queue) => {
                    writes &= !(1 << queue);
                    ready |= state.ready & (1 << (queue % PLANES));
                }
                first => break first,
            }
        };
        if state.active.is_some() {
            return match write {
                Some((priority, queue))
                    if self.plan.config.chip.cache_program
                        && state.loaded.is_none()
                        && registers_empty
                        && !self.needs_array(die, queue)
                        && state.first(ready & READS, &self.flash.ranks).is_none_or(|(read, _)| priority < read) =>
                {
                    Pick::Program(queue)
                }
                _ => Pick::Nothing,
            };
        }
        let may_sense = self.may_sense(state);
        let eligible = u64::from(may_sense) | u64::from(may_sense) << PLANES;
        let read = state.first(ready & READS & eligible, &self.flash.ranks);
        match (read, write) {
            (None, None) => Pick::Nothing,
            (Some((_, queue)), None) => Pick::Read(queue),
            (Some((before, queue)), Some((after, _))) if before < after => Pick::Read(queue),
            (_, Some((_, queue))) => {
                if self.is_erase(die, queue) {
                    if state.sensing == 0 { Pick::Erase(queue) } else { Pick::Nothing }
                } else if state.sensing == 0 && registers_empty {
                    Pick::Program(queue)
                } else {
                    Pick::Nothing
                }
            }
        }
    }

    /// The planes that may begin to sense.
    pub(super) fn may_sense(&self, state: &DieState) -> u8 {
        match self.plan.config.chip.plane_reads {
            PlaneReads::Independent => !(state.sensing | state.page_full),
            PlaneReads::Single | PlaneReads::Lockstep if state.sensing == 0 => !state.page_full,
            PlaneReads::Single | PlaneReads::Lockstep => 0,
        }
    }

    /// The plane and the stream of a queue of programs.
    pub fn stream_of(&self, die: DieId, queue: usize) -> (PlaneId, usize) {
        let plane = self.plan.layout.plane(die, (queue % PLANES) as u8);
        (plane, self.plan.space.stream[write_class_of(queue)].into())
    }

    /// Whether what a queue starts next is an erase.
    pub fn is_erase(&self, die: DieId, queue: usize) -> bool {
        queue >= ERASE_ROW * PLANES || {
            let (plane, stream) = self.stream_of(die, queue);
            self.ftl.blocks.needs_erase(plane, stream)
        }
    }

    /// Whether what a queue starts next leaves no array to anything else from its beginning on.
    pub(super) fn needs_array(&self, die: DieId, queue: usize) -> bool {
        self.is_erase(die, queue) || self.copies_back(queue)
    }

    /// Whether the programs of a queue take their data from the array.
    pub fn copies_back(&self, queue: usize) -> bool {
        self.plan.config.gc.copyback
            && (write_class::RELOCATED..=write_class::RELOCATED_AGAIN).contains(&write_class_of(queue))
    }

    /// Whether no read that is older than the moment at which a block was emptied waits on its plane: such a read
    /// may still want the block's data.
    pub fn may_erase(&self, die: DieId, queue: usize) -> bool {
        let state = &self.flash.dies[die];
        let barrier = if queue >= ERASE_ROW * PLANES {
            state.queues[queue].head_seq
        } else {
            let (plane, stream) = self.stream_of(die, queue);
            self.ftl.blocks.erase_barrier(plane, stream)
        };
        let plane = queue % PLANES;
        let waiting = state.queues[plane].head_seq.min(state.queues[plane + PLANES].head_seq);
        waiting > barrier && (state.reads_in_progress.is_empty() || self.oldest_read_in_progress(die, plane) > barrier)
    }

    /// The planes of the die whose programs go along with the leading queue's, as a set.
    pub fn plane_group(&self, die: DieId, lead: usize, erase: bool) -> u8 {
        let mut set = 1u8 << (lead % PLANES);
        if self.plan.config.chip.plane_programs == PlanePrograms::Single {
            return set;
        }
        let place = |queue: usize| {
            let (plane, stream) = self.stream_of(die, queue);
            self.ftl.blocks.next_place(plane, stream)
        };
        for plane in 0..self.plan.layout.planes_per_die as usize {
            let queue = program_queue(write_class_of(lead), plane);
            if self.flash.dies[die].ready >> queue & 1 != 0
                && place(queue) == place(lead)
                && self.is_erase(die, queue) == erase
                && (!erase || self.may_erase(die, queue))
            {
                set |= 1 << plane;
            }
        }
        set
    }

    /// The priority of the program that the die would start.
    pub fn program_priority(&self, die: DieId) -> Option<Priority> {
        let state = &self.flash.dies[die];
        if state.picked == Pick::Resume {
            // It has begun before anything that waits.
            return Some((self.flash.ranks.of[schemes::Class::UserProgram as usize], 0));
        }
        let Pick::Program(queue) = state.picked else { return None };
        Some((
            self.flash.ranks.of[self.flash.ops[state.queues[queue].first()].class as usize],
            state.queues[queue].head_seq,
        ))
    }

    /// Whether a die can take further pages from the pool.
    pub fn takes_programs(&self, die: DieId) -> bool {
        let state = &self.flash.dies[die];
        let room = match state.active {
            Some((Active::Program(_), _)) => self.plan.config.chip.cache_program && state.loaded.is_none(),
            None if state.suspended.is_some() => false,
            _ => true,
        };
        room && !state.has_host_programs()
    }

    /// The die whose oldest program waits longest.
    pub fn oldest_program_die(&self) -> Option<DieId> {
        let programs = FIRST_WRITE_CLASS * PLANES..ERASE_ROW * PLANES;
        let oldest = |state: &DieState| state.queues[programs.clone()].iter().map(|q| q.head_seq).min();
        let (seq, die) = self.flash.dies.ids().map(|die| (oldest(&self.flash.dies[die]), die)).min()?;
        (seq < Some(u64::MAX)).then_some(die)
    }
}

impl<P: Probe> FlashAt<'_, P> {
    /// Decides whether a program queue can start.
    pub fn update_eligibility(&mut self, die: DieId, queue: usize) {
        let (write_class, plane) = (write_class_of(queue), queue % PLANES);
        let moved = write_class == write_class::RELOCATED || write_class == write_class::RELOCATED_AGAIN;
        let state = &self.flash.dies[die];
        let len = state.queues[queue].len;
        let whole = len >= self.core.plan.unit_pages
            || (len > 0 && (state.flush_partial >> queue & 1 != 0 || (!moved && self.flash.flush_units)));
        let stream = usize::from(self.core.plan.space.stream[write_class]);
        let id = die;
        let can = whole && self.ftl.blocks.room(self.core.plan.layout.plane(id, plane as u8), stream, moved);
        if whole && moved && !can {
            self.core.wear_out();
        }
        let state = &mut self.flash.dies[die];
        state.ready = state.ready & !(1 << queue) | u64::from(can) << queue;
        let was = state.whole >> queue & 1 != 0;
        state.whole = state.whole & !(1 << queue) | u64::from(whole) << queue;
        if HOST_PROGRAMS >> queue & 1 != 0 {
            self.flash.host_units = self.flash.host_units + u32::from(whole) - u32::from(was);
        }
    }

    /// Decides anew whether the programs of a plane can start: its room has changed.
    pub fn update_plane_eligibility(&mut self, die: DieId, plane: u8) {
        let column = 0x0101_0101_0101_0101u64 << plane;
        let mut queues = self.flash.dies[die].waiting & column;
        while queues != 0 {
            self.update_eligibility(die, queues.trailing_zeros() as usize);
            queues &= queues - 1;
        }
        self.mark_dirty(die);
    }

    /// Lets the partly filled program units of a die go, those of the given lanes.
    pub fn force_die(&mut self, die: DieId, lanes: std::ops::Range<usize>) {
        for plane in 0..self.core.plan.layout.planes_per_die as u8 {
            self.force_plane(die, plane, lanes.clone());
        }
    }

    /// The same for one plane.
    pub fn force_plane(&mut self, die: DieId, plane: u8, lanes: std::ops::Range<usize>) {
        for write_class in lanes {
            let queue = program_queue(write_class, plane.into());
            // The last of these programs ends it: without any it would last, and pad the next page that comes.
            let state = &mut self.flash.dies[die];
            if state.waiting >> queue & 1 != 0 {
                state.flush_partial |= 1 << queue;
                self.update_eligibility(die, queue);
            }
        }
        self.mark_dirty(die);
    }
}
