//! The drive compared with what a probe that checks has kept ([`crate::Checker`]): after every event what it touched,
//! and all of it as often as that costs no more than the events did.

use nand::DieId;
use units::{Span, Time};

use super::Device;
use crate::arena::OpId;
use crate::core::Resource;
use crate::drive::Drive as _;
use crate::error::RunError;
use crate::flash::op::Owner;
use crate::observe::probe::Probe;
use crate::violation::{Invariant, Violation};

#[cfg(test)]
mod tests;

impl<P: Probe> Device<P> {
    /// An event has been played: compares what it touched with the ledger, where there is one.
    #[inline]
    pub(super) fn check_event(&mut self, resource: Resource) {
        let Some(ledger) = self.back.core.probe.ledger() else { return };
        if self.back.core.life.failure.is_some() {
            return;
        }
        let mut found = ledger.violation.take();
        let mut touched = std::mem::take(&mut ledger.touched);
        let events = self.back.core.counters.events;
        let (parts_due, tables_due) = (ledger.parts_due <= events, ledger.tables_due <= events);
        touched.dies.extend(die_of(resource));
        touched.dies.sort_unstable();
        touched.dies.dedup();
        if found.is_none() {
            found = self.back.check_touched(&touched.pages, &touched.places, &touched.dies).err();
        }
        if found.is_none() && parts_due {
            found = self.check_parts().err();
        }
        let mut looked_at = 0;
        if found.is_none() && tables_due {
            match self.back.seen().check_tables() {
                Ok(things) => looked_at = things,
                Err(violation) => found = Some(violation),
            }
        }
        touched.clear();
        if let Some(ledger) = self.back.core.probe.ledger() {
            ledger.touched = touched;
            if parts_due {
                ledger.parts_due = events + ledger.components;
            }
            if tables_due {
                ledger.tables_due = events + looked_at;
            }
        }
        self.back.core.life.failure = found.map(|violation| self.violated(violation, name_of(resource)));
    }

    /// When and after which event something was found.
    #[cold]
    pub(super) fn violated(&self, violation: Violation, event: String) -> RunError {
        let event = (self.back.core.counters.events, event);
        RunError::Violated(Box::new(Violation { time: self.back.core.now, event, ..violation }))
    }

    /// Checks every die, bus and plane, the buffer, and the laws that hold for the drive as a whole.
    pub(super) fn check_parts(&self) -> Result<(), Violation> {
        self.check().map_err(|law| Violation::law(Invariant::Conservation, law))?;
        for die in self.back.flash.die_ids() {
            self.back.view().check_die(die, self.back.core.now)?;
        }
        for channel in self.back.flash.channel_ids() {
            self.back.view().check_channel(channel, self.back.core.now)?;
        }
        self.back.view().check_registers()?;
        let reserved = self.back.writes.arrivals.iter().map(|arrival| arrival.count + arrival.more).sum();
        self.back.writes.buffer.check(reserved).map_err(|law| Violation::law(Invariant::Buffer, law))?;
        self.back.seen().check_slots()
    }

    /// Checks the conservation laws that hold at every moment between events. Cheap: for every run.
    pub fn check(&self) -> Result<(), String> {
        let now = self.back.core.now;
        let elapsed = now.since(Time::ZERO);
        let counters = self.counters();
        let outstanding = self.outstanding();
        let ended = counters.requests_completed + counters.requests_aborted;
        if ended + outstanding != self.next_id {
            return Err(format!("{} requests came in, {ended} ended and {outstanding} are outstanding", self.next_id));
        }
        for (name, sums) in [
            ("die", self.back.flash.die_times(now).map(|times| times.into_iter().sum()).collect::<Vec<Span>>()),
            ("channel", self.back.flash.bus_times(now).map(|times| times.into_iter().sum()).collect()),
        ] {
            if let Some((index, sum)) = sums.iter().enumerate().find(|(_, sum)| **sum != elapsed) {
                return Err(format!("{name} {index} accounts for {} ns of {} ns", sum.0, elapsed.0));
            }
        }
        self.back.power.as_ref().map_or(Ok(()), |power| power.check_parity(&self.back.ftl))?;
        if let (Some(zones), Some(plan)) = (&self.back.zones, &self.back.core.plan.zones) {
            zones.check(plan)?;
        }
        let pooled: u32 = self.back.writes.pools.iter().map(|pool| pool.len).sum();
        // A read-only drive programs no more padding, as it programs no more of what is in its buffer.
        let is_padding = |op: &OpId| matches!(self.back.flash.ops[*op].owner, Owner::Padding(_));
        let stays = |op: &OpId| self.back.core.life.read_only.is_some() && is_padding(op);
        if self.quiet() && self.back.flash.ops.ids().filter(|op| !stays(op)).count() != pooled as usize {
            let first =
                self.back.flash.ops.ids().next().map(|op| (self.back.flash.ops[op].owner, self.back.flash.ops[op].die));
            return Err(format!("{} page operations are left over, the first of {first:?}", self.back.flash.ops.len()));
        }
        if self.quiet() && self.back.flash.attempts_under_way() > 0 {
            return Err(format!("{} attempts of reads are left over", self.back.flash.attempts_under_way()));
        }
        if self.outstanding() == 0 && self.back.writes.buffer.waiters.len() > 0 {
            return Err("commands that have completed still wait for slots".into());
        }
        let programmed = counters.pages_programmed;
        if counters.pages_transferred_in + counters.pages_copied_back != programmed {
            let (moved, copied) = (counters.pages_transferred_in, counters.pages_copied_back);
            return Err(format!(
                "{moved} pages crossed the buses into dies and {copied} were copied in them, {programmed} were given to programs"
            ));
        }
        let moved: u64 = counters.pages_relocated.iter().sum();
        let done = counters.user_pages_programmed
            + counters.pages_padded
            + moved
            + counters.map_programs
            + counters.checkpoint_programs
            + counters.journal_programs
            + counters.pages_cut
            + counters.pages_rescued
            + counters.parity_programs
            + counters.pages_failed;
        let under_way = self.back.seen().pages_under_way();
        if done + under_way != programmed {
            return Err(format!(
                "{programmed} pages were programmed, {done} have a purpose and {under_way} are under way"
            ));
        }
        self.back.seen().check_moves()?;
        if self.back.core.life.failure.is_none() {
            self.back.view().check_schedule(pooled, self.idle())?;
        }
        let codewords = counters.bytes_read % self.back.core.plan.config.ecc.codeword.0;
        if codewords != 0 {
            return Err(format!("{} bytes left the dies, not whole codewords", counters.bytes_read));
        }
        Ok(())
    }
}

/// The die whose event it is.
fn die_of(resource: Resource) -> Option<DieId> {
    if let Resource::Die(die) = resource { Some(die) } else { None }
}

/// Whose event it is, in words.
fn name_of(resource: Resource) -> String {
    match resource {
        Resource::Decoder(channel) => format!("the decoders of channel {}", channel.0),
        Resource::Bus(channel) => format!("the bus of channel {}", channel.0),
        Resource::Die(die) => format!("die {}", die.0),
        Resource::Energy => "energy is paid for".into(),
        Resource::Firmware => "the firmware".into(),
        Resource::WriteData => "written data reaches the drive".into(),
        Resource::ReadCompletion => "a read completes".into(),
        Resource::WriteCompletion => "a write, trim or flush completes".into(),
        Resource::Arrival => "a request arrives".into(),
        Resource::HostIdle => "the host has been idle".into(),
        Resource::Patrol => "a visit for refresh".into(),
        Resource::Cut => "the power is cut".into(),
        Resource::Fault => "a part breaks".into(),
    }
}
