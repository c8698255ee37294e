//! Dies and buses held to their invariants, for drives that are checked.

use nand::{ChannelId, DieId};
use schemes::{Class, SuspendEraseFor};
use units::{Id as _, PerId, Time};

use super::attempt::{Attempt, Step};
use super::backend::{Flash, FlashView};
use super::placement::Placement;
use super::queues::planes;
use super::state::{Active, DieState, Paused};
use crate::observe::probe::{Event, Probe};
use crate::violation::{Invariant, Violation};

impl<L: Placement> FlashView<'_, L> {
    /// The array of a die does one thing at a time, its registers are of one operation each, and its next event is in
    /// the agenda.
    pub fn check_die(&self, die: DieId, now: Time) -> Result<(), Violation> {
        let state = &self.flash.dies[die];
        let wrong = |found: &str, expected: &str| {
            Err(Violation::new(Invariant::Die, format!("die {}", die.0), found, expected))
        };
        let beside = |paused: &Paused| {
            // Data that shares its block with the host's may be what a further pass of that brings to its end.
            let of_host = |active: Active| match active {
                Active::Program(program) => {
                    program.pass > 0 || self.flash.ops[program.ops].queue.class() == Class::UserProgram
                }
                Active::Erase(_) | Active::EraseOpened(..) => false,
            };
            self.plan.config.schedule.suspend_erase_for == SuspendEraseFor::ReadsAndWrites
                && paused.active.is_erase()
                && state.active.is_none_or(|(active, _)| of_host(active))
        };
        if state.active.is_some() && state.suspended.as_ref().is_some_and(|paused| !beside(paused)) {
            return wrong(
                "one operation runs while another is suspended",
                "one at a time, or a program of host data, or the pass that it leads to, beside an erase",
            );
        }
        if state.active.is_some() && state.sensing != 0 {
            return wrong("it senses while a program or an erase runs", "one at a time");
        }
        if state.active.is_some_and(|(_, end)| end < now) {
            return wrong("its program or erase should have ended", "an end that is not past");
        }
        if state.sensing & state.page_full != 0 {
            return wrong("a plane senses into a page register that is full", "an empty one");
        }
        if planes(state.sensing).any(|plane| state.sensed_at[plane] < now) {
            return wrong("a sense should have ended", "an end that is not past");
        }
        if planes(state.page_full).any(|plane| state.page_register[plane].is_none()) {
            return wrong("a page register holds the data of no operation", "an operation");
        }
        if state.loaded.is_some() && state.array_idle() {
            return wrong("a program waits in its registers while the array is idle", "that it runs");
        }
        if state.event != state.next_end() {
            let (found, expected) = (format!("its next event is at {} ns", state.event.0), state.next_end().0);
            return wrong(&found, &format!("{expected} ns"));
        }
        if !self.plan.config.bus.die_interleaving && state.works() && self.chip_taken(die) {
            return wrong("it works while another die of its chip does", "one die of a chip at a time");
        }
        Ok(())
    }

    /// A bus carries one thing at a time, and the pages of a channel's decoders are those that have room there.
    pub fn check_channel(&self, channel: ChannelId, now: Time) -> Result<(), Violation> {
        let state = &self.flash.channels[channel];
        let wrong = |found: String, expected: String| {
            Err(Violation::new(Invariant::Bus, format!("channel {}", channel.0), found, expected))
        };
        if state.transfer_out.is_some() && state.free_at < now {
            return wrong(
                format!("a page is on the bus until {} ns", state.free_at.0),
                "an end that is not past".into(),
            );
        }
        let pages = state.ecc.pages().count() as u32 + u32::from(state.transfer_out.is_some());
        if pages != state.ecc.reserved {
            let found = format!("{} pages have room before its decoders", state.ecc.reserved);
            return wrong(found, format!("{pages}, which are there or on the bus"));
        }
        let (config, decoding) = (&self.plan.config.ecc, state.ecc.decoding.len() as u32);
        if decoding > config.decoders || state.ecc.reserved > config.buffer {
            let found = format!("{decoding} pages are decoded, {} have room", state.ecc.reserved);
            return wrong(found, format!("{} at most, {} at most", config.decoders, config.buffer));
        }
        Ok(())
    }

    /// The registers and the arrays of dies are those of the attempts that are there, and of nothing else.
    pub fn check_registers(&self) -> Result<(), Violation> {
        let masks = |state: &DieState| [state.sensing, state.page_full, state.cache_full];
        let mut left: PerId<DieId, [u8; 3]> = self.flash.dies.iter().map(masks).collect();
        let mut wrong = Vec::new();
        for id in self.flash.attempts.ids() {
            let Attempt { step, die, queue, .. } = self.flash.attempts[id];
            let (bit, [sensing, page, cache]) = (1u8 << queue.plane(), &mut left[die]);
            let holds = match step {
                Step::Sensing => Some(sensing),
                Step::PageRegister => Some(page),
                Step::CacheRegister => Some(cache),
                // It keeps the register that it had.
                Step::Bus if *cache & bit != 0 => Some(cache),
                Step::Bus => Some(page),
                Step::Queued | Step::WaitingForEcc | Step::Decoding | Step::Exhausted => None,
            };
            if let Some(mask) = holds {
                wrong.extend((*mask & bit == 0).then_some((
                    die,
                    queue.plane(),
                    format!("{step:?} of attempt {}", id.index()),
                )));
                *mask &= !bit;
            }
        }
        for (die, state) in self.flash.dies.ids().zip(self.flash.dies.iter()) {
            let [sensing, page, cache] = left[die];
            // A plane that is reset senses for nobody.
            let reset = planes(sensing)
                .filter(|plane| state.page_register[*plane].is_none())
                .fold(0, |set, plane| set | 1 << plane);
            let nobody = planes(sensing & !reset | page | cache);
            wrong.extend(nobody.map(|plane| (die, plane, "a sense or a page of no attempt".into())));
        }
        wrong.into_iter().next().map_or(Ok(()), |(die, plane, found)| {
            let place = format!("plane {plane} of die {}", die.0);
            Err(Violation::new(
                Invariant::Die,
                place,
                found,
                "a register, or the array, for each attempt that is there",
            ))
        })
    }

    /// Checks that between events every die is up to date and every bus that is wanted has an event.
    pub fn check_schedule(&self, pooled: u32, idle: bool) -> Result<(), String> {
        if !self.flash.dirty.is_empty() {
            return Err(format!("dies {:?} got work and were not reviewed", self.flash.dirty));
        }
        let queued: u32 = self.flash.dies.iter().map(DieState::host_programs).sum();
        if pooled + queued != self.flash.programs_waiting {
            return Err(format!(
                "{} pages wait to be programmed, {} are counted",
                pooled + queued,
                self.flash.programs_waiting
            ));
        }
        for (die, state) in self.flash.dies.ids().zip(self.flash.dies.iter()) {
            let pick = self.pick(die);
            if state.suspended.is_some() && idle {
                return Err(format!("die {} will never go on with what it has suspended", die.0));
            }
            if state.reserved.planes != 0 && idle {
                return Err(format!("die {} is reserved for a retry that will never end", die.0));
            }
            if pick != state.picked {
                return Err(format!("die {} would start {pick:?} and stands at {:?}", die.0, state.picked));
            }
        }
        for (index, channel) in self.flash.channels.iter().enumerate() {
            if channel.forgotten(self.plan.config.ecc.buffer, self.flash.is_held()) {
                return Err(format!("the bus of channel {index} is wanted and nothing will grant it"));
            }
        }
        Ok(())
    }
}

impl Flash {
    /// Tells a probe what arrays do that it has not seen begin.
    pub fn tell_arrays<P: Probe>(&self, now: Time, probe: &mut P) {
        for (die, state) in self.dies.ids().zip(self.dies.iter()) {
            let tell = |active: Active, end, probe: &mut P| {
                if active.is_erase() {
                    probe.erase(now, end, die, 0);
                } else {
                    probe.program(now, end, die, 0);
                }
            };
            if let Some(paused) = &state.suspended {
                tell(paused.active, now, probe);
                probe.suspend(now, die);
            }
            if let Some((active, end)) = state.active {
                tell(active, end, probe);
            }
            for plane in planes(state.sensing) {
                let end = state.sensed_at[plane];
                probe.explain(now, Event::Resets { die, plane: plane as u8, reset: end, end });
            }
        }
    }

    /// Tells a probe what the time of dies and buses goes into, which it has not seen begin.
    pub fn tell_meters<P: Probe>(&self, now: Time, probe: &mut P) {
        for (die, state) in self.dies.ids().zip(self.dies.iter()) {
            let (cause, until) = state.meter.standing(now);
            probe.explain(now, Event::Die { die, cause, until });
        }
        for (channel, state) in self.channels.ids().zip(self.channels.iter()) {
            let (cause, until) = state.meter.standing(now);
            probe.explain(now, Event::Bus { channel, cause, until });
        }
    }

    /// Plants room before the decoders of a channel that no page has.
    #[cfg(test)]
    pub fn reserve_in_vain(&mut self, channel: ChannelId) {
        self.channels[channel].ecc.reserved += 1;
    }

    /// Plants a die that senses into a page register which is full.
    #[cfg(test)]
    pub fn sense_into_full_register(&mut self, die: DieId) {
        self.dies[die].page_full |= 1;
        self.dies[die].sensing |= 1;
        self.dies[die].sensed_at[0] = Time::NEVER;
    }
}
