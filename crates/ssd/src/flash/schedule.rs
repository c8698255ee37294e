//! What a die may start: which of its queues are ready, which goes first, and who goes along.

use nand::geometry::MAX_PLANES;
use nand::{DieId, PlaneId, PlanePrograms};
use schemes::{Class, DieWork, SuspendEraseFor};
use units::Ppn;

use super::backend::{FlashAt, FlashView};
use super::op::{Owner, PageOp};
use super::placement::Placement;
use super::queues::{HOST_PROGRAMS, QueueId, QueueSet, READS, USER_READS};
use super::state::{Active, DieState, Pick, Precedence, Program};
use crate::observe::probe::Probe;
use crate::streams::{Stream, StreamId};

impl<L: Placement> FlashView<'_, L> {
    /// What the die would start now.
    pub(super) fn pick(&self, die: DieId) -> Pick {
        let nothing = self.flash.dies[die].starts_nothing(self.plan.config.chip.plane_reads, &self.flash.ranks);
        if nothing { Pick::Nothing } else { self.pick_of_ready(die) }
    }

    /// What a die would start now for which a quick look has found something that may start.
    pub(super) fn pick_of_ready(&self, die: DieId) -> Pick {
        if self.chip_taken(die) {
            return Pick::Nothing;
        }
        let state = &self.flash.dies[die];
        if let Some(queue) = self.goes_on_alone(state) {
            return Pick::Read(queue);
        }
        let mut ready =
            if state.exclusive == 0 || self.read_only { state.ready } else { self.exclusive(die, state.ready) };
        ready = self.eligible(die, ready, READS);
        let may_sense = QueueSet::on(state.may_sense(self.plan.config.chip.plane_reads)).and(READS);
        if let Some(paused) = &state.suspended {
            return self.pick_suspended(die, may_sense, paused.active);
        }
        let between = if state.coarse.is_empty() { state.next_pass } else { self.pass_due(die) };
        if let Some(program) = between {
            return self.pick_between_passes(die, program, ready.and(READS), may_sense);
        }
        let registers_empty = state.page_full | state.cache_full == 0;
        // A program or an erase: what needs the array for itself. Erases that older reads of the plane hold off do not
        // count, and these reads may go in any case.
        let mut writes = ready.without(READS);
        let write = loop {
            match state.first(writes, &self.flash.ranks) {
                Some((_, queue)) if self.is_erase(die, queue) && !self.may_erase(die, queue) => {
                    writes.set(queue, false);
                    let planes = self.plan.layout.flash_set(1 << queue.plane());
                    ready = ready.or(state.ready.and(USER_READS).and(QueueSet::on(planes)));
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
                        && state.first(ready.and(READS), &self.flash.ranks).is_none_or(|(read, _)| priority < read) =>
                {
                    Pick::Program(queue)
                }
                _ => Pick::Nothing,
            };
        }
        let read = state.first(ready.and(may_sense), &self.flash.ranks);
        match (read, write) {
            (None, None) => Pick::Nothing,
            (Some((_, queue)), None) => Pick::Read(queue),
            (Some((before, queue)), Some((after, _))) if before < after => Pick::Read(queue),
            (_, Some((_, queue))) => {
                let erase = self.is_erase(die, queue);
                let free = if erase { !state.holds_array(self.plan.config.chip.cache_read) } else { registers_empty };
                match (state.sensing == 0 && free, erase) {
                    (true, true) => Pick::Erase(queue),
                    (true, false) => Pick::Program(queue),
                    (false, _) => Pick::Nothing,
                }
            }
        }
    }

    /// What a die starts that has programmed pages in part: the transfer for their next pass, or a read that ranks
    /// better.
    fn pick_between_passes(&self, die: DieId, program: Program, reads: QueueSet, may_sense: QueueSet) -> Pick {
        let state = &self.flash.dies[die];
        let class = self.flash.ops[program.ops].queue.class();
        // It has begun before anything that waits.
        let precedence = (self.flash.ranks.of[class as usize], 0);
        let before = |(read, _): &(Precedence, QueueId)| *read < precedence;
        let registers_empty = state.page_full | state.cache_full == 0;
        if state.active.is_some() {
            let read = state.first(reads, &self.flash.ranks).filter(before);
            let may = self.plan.config.chip.cache_program && registers_empty && read.is_none();
            return if may { Pick::Pass } else { Pick::Nothing };
        }
        match state.first(reads.and(may_sense), &self.flash.ranks).filter(before) {
            Some((_, queue)) => Pick::Read(queue),
            None if state.sensing == 0 && registers_empty => Pick::Pass,
            None => Pick::Nothing,
        }
    }

    /// The program whose next pass is due: it follows at once, or has waited for the first pass of the next wordline
    /// and does so no longer, since its block has no further wordline or there is no data for one.
    pub(super) fn pass_due(&self, die: DieId) -> Option<Program> {
        let state = &self.flash.dies[die];
        // Data that has to wait for a collection gives no next wordline.
        let alone = state.exclusive > 0 && !self.read_only;
        let may_start = if alone { self.exclusive(die, state.ready) } else { state.ready };
        let has_next = |program: &&Program| {
            let Some((plane, stream)) = self.stream_of(die, self.flash.ops[program.ops].queue) else { return false };
            let place = program.planes.trailing_zeros() as usize;
            let of_stream = |row: &&Stream| row.opens == stream;
            let is_ready = |row: &Stream| may_start.has(QueueId::of_programs(row.id, place));
            self.placement.next_place(plane, stream) > 0 && self.plan.streams.iter().filter(of_stream).any(is_ready)
        };
        let waits_no_longer =
            || state.coarse.iter().find(|program| state.loaded.is_none() && !has_next(program)).copied();
        state.next_pass.or_else(waits_no_longer)
    }

    /// What a die does for the drive itself.
    pub fn own_work(&self, die: DieId) -> DieWork {
        let mut planes = (0..self.plan.layout.planes_per_die as u8).map(|place| self.plan.layout.plane(die, place));
        let erases = self.flash.dies[die].active.is_some_and(|(active, _)| active.is_erase());
        DieWork { erases, relocates: planes.any(|plane| self.placement.is_relocating(plane)) }
    }

    /// The plane and the stream of a queue of programs; none where it is one of erases.
    pub(super) fn stream_of(&self, die: DieId, queue: QueueId) -> Option<(PlaneId, StreamId)> {
        let writes = queue.writes()?;
        Some((self.plan.layout.plane(die, queue.plane() as u8), self.plan.streams.opened_by(writes)))
    }

    /// Whether what a queue of programs or erases starts next is an erase.
    pub(super) fn is_erase(&self, die: DieId, queue: QueueId) -> bool {
        self.stream_of(die, queue).is_none_or(|(plane, stream)| self.placement.needs_erase(plane, stream))
    }

    /// Whether what a queue starts next leaves no array to anything else from its beginning on.
    pub(super) fn needs_array(&self, die: DieId, queue: QueueId) -> bool {
        self.is_erase(die, queue) || self.copies_back(die, queue)
    }

    /// Whether the programs of a queue take their data from the array.
    pub(super) fn copies_back(&self, die: DieId, queue: QueueId) -> bool {
        let relocated = || queue.writes().is_some_and(StreamId::is_relocated);
        if !self.plan.copies_vary() {
            return self.plan.config.gc.copyback && relocated();
        }
        let queue = &self.flash.dies[die].queues[queue];
        // Of superblocks every page that is copied back comes into the next program, beside others.
        let most = if self.plan.layout.stripe > 1 { usize::MAX } else { 1 };
        relocated() && queue.entries(&self.flash.ops).take(most).any(PageOp::is_copied)
    }

    /// Whether a page can be copied back by a program of a queue. One of a superblock puts as many pages on each plane:
    /// what waits for the source's may be one program ahead of what fills programs on all planes, so that none of them
    /// leaves a place empty for it.
    pub fn may_copy(&self, die: DieId, queue: QueueId, source: Ppn) -> bool {
        let layout = &self.plan.layout;
        let Some(writes) = queue.writes().filter(|_| layout.stripe > 1) else { return true };
        let mut waiting = [0; MAX_PLANES as usize];
        for op in self.flash.dies[die].queues[queue].entries(&self.flash.ops).filter(|op| op.is_copied()) {
            if let Owner::Relocation(other) = op.owner {
                waiting[layout.in_stripe(other.get()) as usize] += 1;
            }
        }
        let each = self.plan.streams.unit_of(writes) / layout.stripe;
        let whole = waiting[..layout.stripe as usize].iter().min().map_or(0, |least| least / each);
        waiting[layout.in_stripe(source) as usize] < each * (whole + 1)
    }

    /// Whether no read that is older than the moment at which a block was emptied waits on its plane: such a read
    /// may still want the block's data.
    pub(super) fn may_erase(&self, die: DieId, queue: QueueId) -> bool {
        let state = &self.flash.dies[die];
        let barrier = match self.stream_of(die, queue) {
            None => state.queues[queue].head_seq,
            Some((plane, stream)) => self.placement.erase_barrier(plane, stream),
        };
        let planes = self.plan.layout.flash_set(1 << queue.plane());
        let mut reads = READS.and(QueueSet::on(planes));
        let mut waiting = u64::MAX;
        while let Some(queue) = reads.pop() {
            waiting = waiting.min(state.queues[queue].head_seq);
        }
        waiting > barrier && (state.reads_in_progress.is_empty() || self.oldest_read_in_progress(die, planes) > barrier)
    }

    /// The planes of the die whose programs go along with the leading queue's, as a set.
    pub fn plane_group(&self, die: DieId, lead: QueueId, writes: StreamId, erase: bool) -> u8 {
        let mut set = 1u8 << lead.plane();
        if self.plan.config.chip.plane_programs == PlanePrograms::Single {
            return set;
        }
        let stream = self.plan.streams.opened_by(writes);
        let place = |plane: usize| self.placement.next_place(self.plan.layout.plane(die, plane as u8), stream);
        for plane in 0..self.plan.layout.planes_per_die as usize {
            let queue = QueueId::of_programs(writes, plane);
            if self.flash.dies[die].ready.has(queue)
                && place(plane) == place(lead.plane())
                && self.is_erase(die, queue) == erase
                && (!erase || self.may_erase(die, queue))
                && (!self.plan.copies_vary() || self.copies_back(die, queue) == self.copies_back(die, lead))
            {
                set |= 1 << plane;
            }
        }
        set
    }

    /// The rank and age of the program that the die would start.
    pub fn program_precedence(&self, die: DieId) -> Option<Precedence> {
        let state = &self.flash.dies[die];
        if matches!(state.picked, Pick::Resume | Pick::Pass) {
            // It has begun before anything that waits.
            return Some((self.flash.ranks.of[Class::UserProgram as usize], 0));
        }
        let Pick::Program(queue) = state.picked else { return None };
        Some((self.flash.ranks.of[queue.class() as usize], state.queues[queue].head_seq))
    }

    /// Whether a die can take further pages from the pool.
    pub fn takes_programs(&self, die: DieId) -> bool {
        let state = &self.flash.dies[die];
        let room = match (state.active, &state.suspended) {
            (Some(_), Some(_)) => false,
            (None, Some(paused)) => self.gives_way(paused.active) && state.loaded.is_none(),
            (Some((Active::Program(_), _)), None) => self.plan.config.chip.cache_program && state.loaded.is_none(),
            _ => true,
        };
        room && state.next_pass.is_none() && !state.has_host_programs()
    }

    /// The die whose oldest program waits longest.
    pub fn oldest_program_die(&self) -> Option<DieId> {
        let oldest = |state: &DieState| {
            let (mut programs, mut oldest) = (state.waiting, u64::MAX);
            while let Some(queue) = programs.pop() {
                oldest = oldest.min(state.queues[queue].head_seq);
            }
            oldest
        };
        let (seq, die) = self.flash.dies.ids().map(|die| (oldest(&self.flash.dies[die]), die)).min()?;
        (seq < u64::MAX).then_some(die)
    }

    /// Whether something of the host's waits for which the operation that a die works at is to be suspended.
    pub(super) fn is_waited_for(&self, die: DieId, class: Class) -> bool {
        let (state, ranks) = (&self.flash.dies[die], &self.flash.ranks.of);
        let readable = state.loaded.is_none() || self.plan.config.chip.shadow_buffer;
        let reads =
            readable && state.ready.meets(USER_READS) && ranks[Class::UserRead as usize] < ranks[class as usize];
        // Of the same rank it would wait for the erase, which is older, were that not to be suspended for it.
        let programs = || {
            let (erase, program) = (ranks[Class::Erase as usize], ranks[Class::UserProgram as usize]);
            program <= erase && (self.has_loaded_of_host(state) || !self.programs_beside_erase(die).is_empty())
        };
        reads || state.active.is_some_and(|(active, _)| self.gives_way(active)) && programs()
    }

    /// Whether an operation, if it is suspended, lets programs of host data go first.
    fn gives_way(&self, active: Active) -> bool {
        let writes = self.plan.config.schedule.suspend_erase_for == SuspendEraseFor::ReadsAndWrites;
        writes && active.is_erase() && !self.flash.write_queue_full
    }

    /// Whether the data of a program of the host's is in the registers.
    fn has_loaded_of_host(&self, state: &DieState) -> bool {
        state.loaded.is_some_and(|program| self.flash.ops[program.ops].queue.class() == Class::UserProgram)
    }

    /// The queues of host data with a program for a block that is erased already. Data in the registers keeps host data
    /// out of them until it is programmed.
    fn programs_beside_erase(&self, die: DieId) -> QueueSet {
        let (state, mut programs) = (&self.flash.dies[die], QueueSet::NONE);
        let can = state.exclusive == 0 && state.loaded.is_none();
        let mut ready = if can { state.ready.and(HOST_PROGRAMS) } else { QueueSet::NONE };
        while let Some(queue) = ready.pop() {
            programs.set(queue, !self.is_erase(die, queue));
        }
        programs
    }

    /// Whether another die of its chip has suspended something, or is about to.
    pub(super) fn chip_has_suspended(&self, die: DieId) -> bool {
        let mut others = self.flash.others_of_chip(die).map(|other| &self.flash.dies[other]);
        others.any(|other| other.suspended.is_some() || other.suspend_pending.is_some())
    }

    /// Whether no further read goes before what a die has suspended.
    fn goes_on_first(&self, state: &DieState) -> bool {
        self.flash.write_queue_full || state.suspended.as_ref().is_some_and(|paused| paused.work.is_overdue)
    }

    /// Whether a die that has suspended something has nothing else to do, but for programs that go before it.
    fn suspended_idles(&self, state: &DieState) -> bool {
        let chip = &self.plan.config.chip;
        let sends_again = state.suspended.as_ref().is_some_and(|paused| paused.active.sends_again(chip.shadow_buffer));
        let held =
            if sends_again { state.page_full | state.cache_full != 0 } else { state.holds_array(chip.cache_read) };
        let waits = state.ready.meets(USER_READS) && !self.goes_on_first(state);
        let passed = state.reserved.is_of_host() || waits;
        state.active.is_none() && !passed && state.sensing == 0 && !held
    }

    /// Whether a program whose data is in the registers goes before the suspended erase of its die.
    pub(super) fn loaded_goes_first(&self, die: DieId) -> bool {
        let state = &self.flash.dies[die];
        let gives_way = state.suspended.as_ref().is_some_and(|paused| self.gives_way(paused.active));
        gives_way && self.has_loaded_of_host(state) && self.suspended_idles(state)
    }

    /// The program that goes before the suspended erase of a die: the next pass of one that has begun, or a new one.
    fn program_beside_erase(&self, die: DieId, suspended: Active) -> Pick {
        let state = &self.flash.dies[die];
        if !suspended.is_erase() || state.loaded.is_some() {
            return Pick::Nothing;
        }
        if state.next_pass.is_some() {
            return Pick::Pass;
        }
        if !self.gives_way(suspended) {
            return Pick::Nothing;
        }
        state
            .first(self.programs_beside_erase(die), &self.flash.ranks)
            .map_or(Pick::Nothing, |(_, queue)| Pick::Program(queue))
    }

    /// Whether the suspended operation of a die can go on.
    pub(super) fn may_resume(&self, die: DieId) -> bool {
        let state = &self.flash.dies[die];
        let Some(paused) = &state.suspended else { return false };
        self.suspended_idles(state) && self.program_beside_erase(die, paused.active) == Pick::Nothing
    }

    /// What a suspended die starts: a user read, a program that goes before its erase, or the transfer that lets its
    /// program go on.
    pub(super) fn pick_suspended(&self, die: DieId, eligible: QueueSet, suspended: Active) -> Pick {
        let state = &self.flash.dies[die];
        if state.active.is_some() {
            return Pick::Nothing;
        }
        // Reads of the drive's own wait, those that are being retried as well: the die is reserved for users' alone.
        let mut reads = self.eligible(die, state.ready, USER_READS).and(USER_READS);
        if self.goes_on_first(state) {
            // What has begun is brought to its end.
            reads = if self.retries_user_read(die) { reads.and(state.retries) } else { QueueSet::NONE };
        }
        match state.first(reads.and(eligible), &self.flash.ranks) {
            Some((_, queue)) => Pick::Read(queue),
            None if !self.suspended_idles(state) => Pick::Nothing,
            None => match self.program_beside_erase(die, suspended) {
                Pick::Nothing if !suspended.is_erase() => Pick::Resume,
                // A page that waits in a cache register is in its way.
                Pick::Nothing => Pick::Nothing,
                program if state.cache_full == 0 => program,
                _ => Pick::Nothing,
            },
        }
    }
}

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Decides whether a program queue can start.
    pub(super) fn update_eligibility(&mut self, die: DieId, queue: QueueId) {
        let Some(writes) = queue.writes() else { return };
        let (moved, of_host) = (writes.is_relocated(), HOST_PROGRAMS.has(queue));
        let state = &self.flash.dies[die];
        let (len, was) = (state.queues[queue].len, state.whole.has(queue));
        let whole = len >= self.core.plan.streams.unit_of(writes)
            || (len > 0 && (state.flush_partial.has(queue) || (!moved && self.flash.flush_units)));
        if !whole && !was {
            // Pages that make no program yet change nothing.
            debug_assert!(!state.ready.has(queue), "Invariant: what can start makes a program");
            return;
        }
        let (plane, stream) =
            (self.core.plan.layout.plane(die, queue.plane() as u8), self.core.plan.streams.opened_by(writes));
        let paid = !of_host || self.placement.pays(plane, self.core.plan.streams.paced(writes), &self.core.plan);
        let can = whole && paid && self.placement.has_room(plane, stream, moved);
        // What waits with host data for the cache to be folded is not lost; the rest is, and the device ends the
        // drive's life for it.
        if whole && moved && !can && !self.core.plan.streams.in_slc(writes) {
            self.core.strand();
        }
        let state = &mut self.flash.dies[die];
        state.ready.set(queue, can);
        state.whole.set(queue, whole);
        if of_host {
            self.flash.host_units = self.flash.host_units + u32::from(whole) - u32::from(was);
        }
    }

    /// Decides again whether the programs of a plane can start: its room has changed.
    pub fn update_plane_eligibility(&mut self, die: DieId, plane: u8) {
        let mut queues = self.flash.dies[die].waiting.and(QueueSet::on(1 << plane));
        while let Some(queue) = queues.pop() {
            self.update_eligibility(die, queue);
        }
        self.mark_dirty(die);
    }

    /// Lets the partly filled program units of a die go, those of these programs.
    pub fn force_die(&mut self, die: DieId, programs: QueueSet) {
        self.force(die, programs);
    }

    /// Lets the partly filled program units of one plane go.
    pub fn force_plane(&mut self, die: DieId, plane: u8, programs: QueueSet) {
        self.force(die, programs.and(QueueSet::on(1 << plane)));
    }

    fn force(&mut self, die: DieId, queues: QueueSet) {
        // The last of these programs ends it: without any it would last, and pad the next page that comes.
        let mut waiting = self.flash.dies[die].waiting.and(queues);
        while let Some(queue) = waiting.pop() {
            self.flash.dies[die].flush_partial.set(queue, true);
            self.update_eligibility(die, queue);
        }
        self.mark_dirty(die);
    }
}
