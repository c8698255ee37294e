//! What was marked goes on: the dies, then their buses, then the bus that is marked
//! (docs/decisions/0025-one-settle.md).
//!
//! Arbitration: commands first, since they are short and set a die to work, round robin over the dies;
//! then the oldest page that waits to leave a die against the oldest program, by the scheduling order. A
//! page leaves only when the ECC engine has room for it; without room it waits, and commands and programs
//! pass.

use nand::{ChannelId, DieId};
use units::{Id as _, Time};

use super::attempt::{Attempt, Fate};
use super::backend::FlashAt;
use super::op::PageOp;
use super::placement::Placement;
use super::queues::QueueId;
use super::state::Pick;
use crate::config::Transfer;
use crate::core::Marks;
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::channel;
use crate::observe::stats::energy::Energy;
use crate::streams::StreamId;

/// What a die begins that layers above have a part in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Begun {
    /// A read of the host's, which something of the drive's own has waited for.
    HostRead(DieId),
    /// The erase of blocks that are to be opened first, led by a queue of programs.
    Erase { die: DieId, lead: QueueId, writes: StreamId },
    /// A program, whose pages are to be given their places.
    Program { die: DieId, lead: QueueId, writes: StreamId },
}

impl Begun {
    /// The die that begins.
    pub fn die(self) -> DieId {
        match self {
            Begun::HostRead(die) | Begun::Erase { die, .. } | Begun::Program { die, .. } => die,
        }
    }
}

/// Who has the bus next.
enum Turn {
    Page,
    Die(DieId),
}

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Asks the dies that are marked what they start, in the order of their marks; then grants their buses, in that
    /// order; then the bus that is marked, and where energy is, those of the dies that have waited for it. Until a die
    /// begins something that layers above have a part in: then it goes on from there.
    #[inline(always)] // After nearly every event.
    pub fn settle(&mut self) -> Option<Begun> {
        loop {
            if self.core.marks.set & Marks::DIES != 0 && !self.flash.granting {
                let begun = self.settle_dies();
                if begun.is_some() {
                    return begun;
                }
            }
            let marked = self.core.marks.set;
            if marked & (Marks::BUS | Marks::ENERGY) == 0 {
                return None;
            }
            if marked & Marks::BUS == 0 && !self.mark_next_paid() {
                continue;
            }
            let begun = self.arbitrate(self.core.marks.bus);
            self.flash.granting = begun.is_some();
            if begun.is_some() {
                return begun;
            }
            self.core.marks.set &= !Marks::BUS;
        }
    }

    /// Asks the dies that are marked, and grants their buses.
    fn settle_dies(&mut self) -> Option<Begun> {
        while self.flash.granted < self.flash.dirty.len() {
            if self.flash.granted == self.flash.rescheduled {
                self.reschedule_dirty();
            }
            let channel = self.flash.dies[self.flash.dirty[self.flash.granted]].channel;
            let begun = self.arbitrate(channel);
            if begun.is_some() {
                return begun;
            }
            if self.core.marks.bus == channel {
                self.core.marks.set &= !Marks::BUS;
            }
            self.flash.granted += 1;
        }
        self.flash.dirty.clear();
        (self.flash.granted, self.flash.rescheduled) = (0, 0);
        self.core.marks.set &= !Marks::DIES;
        None
    }

    /// Gives the bus to whoever comes next, for as long as it is free and somebody can use it, or until a die begins
    /// something that layers above have a part in.
    #[inline(never)]
    fn arbitrate(&mut self, channel: ChannelId) -> Option<Begun> {
        loop {
            let bus = &self.flash.channels[channel];
            let waiting = !bus.out.is_empty();
            let dies_want = bus.wants_command | bus.wants_data != 0;
            // A page that arrives at this very moment has the bus until its event is played.
            if bus.free_at > self.core.now || bus.transfer_out.is_some() {
                // An event is needed for a page under way, for whoever waits, and to note an ECC wait.
                let needed = bus.transfer_out.is_some() || dies_want || waiting;
                self.schedule_bus(channel, if needed { bus.free_at } else { Time::NEVER });
                return None;
            }
            let out_ready = waiting && bus.ecc.reserved < self.core.plan.config.ecc.buffer;
            let held = dies_want && self.flash.is_held();
            if !(dies_want && !held || out_ready) {
                if waiting || bus.meter.state() == channel::ECC_WAIT {
                    self.bus_enters(channel, if waiting { channel::ECC_WAIT } else { channel::IDLE }, None);
                }
                self.schedule_bus(channel, Time::NEVER);
                return None;
            }
            match if held { Turn::Page } else { self.turn(channel, out_ready) } {
                Turn::Page => {
                    self.grant_page(channel);
                    return None;
                }
                Turn::Die(die) => {
                    let begun = self.begin(die);
                    if begun.is_some() {
                        return begun;
                    }
                }
            }
        }
    }

    /// Who has the bus next, where somebody wants it.
    fn turn(&mut self, channel: ChannelId, out_ready: bool) -> Turn {
        let bus = &mut self.flash.channels[channel];
        let dies = if bus.wants_command != 0 { bus.wants_command } else { bus.wants_data };
        if dies == 0 {
            return Turn::Page;
        }
        // Round robin.
        let later = dies & (u64::MAX << bus.last_die << 1);
        let mut place = if later != 0 { later } else { dies }.trailing_zeros();
        let first = bus.first_die;
        let mut die = DieId::new((first + place) as usize);
        if let Some(budget) = &self.flash.budget
            && budget.is_limited()
            && let Some((_, of)) = self.view().first_die(channel)
        {
            (place, die) = (u32::from(of.0) - first, of);
        }
        let bus = &self.flash.channels[channel];
        if bus.wants_data & self.flash.dies[die].bit != 0 && out_ready {
            let head = bus.out.front().and_then(|id| self.flash.attempts[*id].read).map(|read| &self.flash.ops[read]);
            let head = head.map(|op| (self.flash.ranks.of[op.queue.class() as usize], op.seq));
            if self.view().program_precedence(die) >= head {
                return Turn::Page;
            }
        }
        self.flash.channels[channel].last_die = place;
        Turn::Die(die)
    }

    /// A die that has the bus begins what it picks; what layers above have a part in is theirs to begin.
    fn begin(&mut self, die: DieId) -> Option<Begun> {
        match self.flash.dies[die].picked {
            Pick::Read(queue) => {
                let of_host = self.start_sense(die, queue);
                if of_host && self.placement.host_is_next(die) {
                    return Some(Begun::HostRead(die));
                }
                self.has_started(die);
            }
            Pick::Erase(queue) => match queue.writes() {
                Some(writes) => return Some(Begun::Erase { die, lead: queue, writes }),
                None => {
                    self.start_erase(die, queue);
                    self.has_started(die);
                }
            },
            Pick::Program(queue) => {
                let writes = queue.writes().expect("Invariant: a program is led by a queue of programs");
                return Some(Begun::Program { die, lead: queue, writes });
            }
            Pick::Resume => {
                self.send_again(die);
                self.reschedule(die);
            }
            Pick::Pass => {
                self.send_for_next_pass(die);
                self.has_started(die);
            }
            Pick::Nothing => unreachable!("Invariant: a die is rescheduled whenever what it can do changes"),
        }
        None
    }

    /// The oldest page that waits to leave a die has the bus.
    pub(super) fn grant_page(&mut self, channel: ChannelId) {
        let bus = &mut self.flash.channels[channel];
        let id = bus.out.pop_front().expect("Invariant: a page waits to leave");
        let whole = self.core.plan.config.bus.transfer != Transfer::Uncorrected;
        let left = if whole { None } else { self.left_of(id) };
        let entry = &mut self.flash.attempts[id];
        let Attempt { read, v_ref, fate, number: attempt, step: register, .. } = *entry;
        let read = read.expect("Invariant: void attempts leave their registers");
        let PageOp { bus_bytes, seq: part, .. } = self.flash.ops[read];
        let bytes = left.unwrap_or(bus_bytes);
        // What is sensed finely crosses as a page for each bit of a cell.
        let pages = v_ref.pages();
        let end = self.core.now + self.core.plan.t_dma(bytes) * u64::from(pages);
        let sent = bytes * pages;
        entry.sent = sent;
        let decodes = v_ref.decodes();
        self.use_energy(|plan| Energy::leaves(plan, sent.into(), decodes));
        let bus = &mut self.flash.channels[channel];
        bus.transfer_out = Some(id);
        bus.free_at = end;
        // Of what is miscorrected nobody knows.
        let corrected = matches!(fate, Fate::Corrected | Fate::Miscorrected);
        let cause = if corrected { channel::READ_DATA } else { channel::FAILED_READS };
        bus.ecc.reserved += 1;
        self.bus_enters(channel, cause, Some((end, channel::IDLE)));
        self.schedule_bus(channel, end);
        self.step_ends(id, register);
        self.core.counters.uncorrectable_transfers += u64::from(!corrected);
        self.core.counters.bytes_read += u64::from(sent);
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Leaves { part, attempt, end, channel });
        }
    }
}
