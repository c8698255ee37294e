//! The events of the flash: something in an array ends, a page has left its die or a bus is free again, a page is
//! decoded. Each changes its own object, says what has ended with it, and marks what may go on.

use nand::{ChannelId, DieId};
use schemes::Class;
use units::Time;

use super::attempt::{Attempt, Step};
use super::backend::FlashAt;
use super::placement::Placement;
use super::read::ReadEnd;
use super::state::{Active, Ended};
use crate::observe::probe::Probe;

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Something in the array of a die ends now, or its idle time. If that is no program and no erase, it has been
    /// dealt with.
    pub fn array_event(&mut self, die: DieId) -> Ended {
        let state = &mut self.flash.dies[die];
        state.look_again = state.look_again.filter(|at| *at > self.core.now);
        if state.suspend_pending.is_some_and(|at| at <= self.core.now) {
            self.suspended(die);
        }
        let Some((active, _)) = self.flash.dies[die].active.filter(|(_, end)| *end <= self.core.now) else {
            return self.senses_end(die);
        };
        (self.flash.dies[die].active, self.flash.dies[die].look_again) = (None, None);
        // It can take programs again.
        self.flash.stir(die);
        if self.flash.dies[die].work.suspensions > 0 {
            self.charge_suspensions(die, active);
        }
        if let Active::Program(program) = active
            && program.pass + 1 < self.passes(&program)
        {
            self.pass_ends(die, program);
            self.start_loaded(die);
            return self.senses_end(die);
        }
        self.core.counters.operations += 1;
        self.count_suspended(die, active);
        match active {
            Active::Program(program) => {
                let of_host = self.flash.ops[program.ops].queue.class() == Class::UserProgram;
                self.flash.host_units -= u32::from(of_host);
                Ended::Program { first: program.ops, planes: program.planes }
            }
            Active::Erase(first) => Ended::Erase(first),
            Active::EraseOpened(writes, planes) => Ended::EraseOpened { writes, planes },
        }
    }

    /// What has ended in the array has been dealt with: what waits for the array goes on, and the senses that end now
    /// end.
    pub fn after_array_event(&mut self, die: DieId) -> Ended {
        self.start_loaded(die);
        self.senses_end(die)
    }

    /// The senses of a die that end now, and its idle time.
    fn senses_end(&mut self, die: DieId) -> Ended {
        let mut sensing = self.flash.dies[die].sensing;
        while sensing != 0 {
            let plane = sensing.trailing_zeros() as usize;
            sensing &= sensing - 1;
            if self.flash.dies[die].sensed_at[plane] <= self.core.now {
                self.sensed(die, plane);
            }
        }
        let state = &mut self.flash.dies[die];
        if state.idle_until.is_some_and(|until| until <= self.core.now) {
            state.idle_until = None;
            return Ended::Idleness;
        }
        self.mark_dirty(die);
        Ended::Nothing
    }

    /// A page has left a die, or the bus is free again.
    pub fn bus_event(&mut self, channel: ChannelId) {
        if let Some(id) = self.flash.channels[channel].transfer_out.take() {
            let Attempt { die, queue, .. } = self.flash.attempts[id];
            let ended = self.step_ends(id, Step::Bus);
            debug_assert!(ended.is_none(), "Invariant: a read ends when its page has been decoded");
            self.register_freed(die, queue.plane());
            self.reschedule(die);
        }
        if self.flash.channels[channel].is_wanted() {
            self.core.marks.bus(channel);
        } else {
            self.schedule_bus(channel, Time::NEVER);
        }
    }

    /// A decoding has ended. The read whose data is in the controller, or is known to be lost, where it ends with that.
    pub fn decoded(&mut self, channel: ChannelId) -> Option<ReadEnd> {
        let ecc = &mut self.flash.channels[channel].ecc;
        let (_, id) = ecc.decoding.pop_front().expect("Invariant: the engine's event is a page being decoded");
        ecc.reserved -= 1;
        // First: where its read ends with it, none of that is decoded any more.
        let ended = self.step_ends(id, Step::Decoding);
        while let Some(next) = self.flash.channels[channel].ecc.waiting.pop_front() {
            let void = self.flash.attempts[next].read.is_none();
            self.step_ends(next, Step::WaitingForEcc);
            if !void {
                break;
            }
        }
        let next = self.flash.channels[channel].ecc.decoding.front().map_or(Time::NEVER, |(end, _)| *end);
        self.core.agenda.set_next(self.core.slots.decoder(channel), next);
        if !self.flash.channels[channel].out.is_empty() {
            self.core.marks.bus(channel);
        }
        ended
    }
}
