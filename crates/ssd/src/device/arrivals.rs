//! Requests arrive, wait in the submission queues and are taken up as commands; their completions reach the host. What
//! commands begin is in `crate::back_end`.

use units::Lpn;

use super::Device;
use crate::arena::CommandId;
use crate::commands::Command;
use crate::observe::probe::{Event, Probe};

/// How many arrivals ahead of the present one memory is fetched that fetched memory leads to.
const FURTHER: usize = 16;

impl<P: Probe> Device<P> {
    /// A request reaches the drive.
    pub(super) fn on_arrival(&mut self) {
        self.back.host_is_back();
        if let Some((_, ahead)) = self.host.arrivals.get(FURTHER) {
            let first = self.back.core.plan.page_at(ahead.offset.0);
            let pages = if ahead.bytes > self.back.core.plan.layout.page_size { 2 } else { 1 };
            (first.0..first.0 + pages).for_each(|lpn| self.back.prefetch_further(Lpn(lpn)));
        }
        if let Some(command) = self.host.arrive(&mut self.back.core, &mut self.back.commands) {
            self.take_up(command);
        }
    }

    /// Takes a fetched command up: the firmware processes it first, if that takes time.
    fn take_up(&mut self, command: CommandId) {
        let core = &mut self.back.core;
        if P::EXPLAINS {
            let Command { id, request, queue, .. } = self.back.commands[command];
            let (op, bytes, arrival) = (request.op, request.bytes.0, request.time);
            core.probe.explain(core.now, Event::Started { request: id, op, bytes, arrival, queue });
        }
        if core.slots.firmware.is_some() {
            self.host.firmware.take(core, command);
        } else {
            self.back.start(command);
        }
    }

    /// The firmware has processed a command.
    pub(super) fn on_firmware(&mut self) {
        let core = &mut self.back.core;
        let command = self.host.firmware.processed(core);
        if P::EXPLAINS {
            core.probe.explain(core.now, Event::Processed { request: self.back.commands[command].id });
        }
        self.back.start(command);
    }

    /// A read's completion reaches the host.
    pub(super) fn on_read_completion(&mut self) {
        let next = self.host.read_completed(&mut self.back.core, &mut self.back.commands);
        self.has_completed(next);
    }

    /// A completion without data reaches the host.
    pub(super) fn on_write_completion(&mut self) {
        let next = self.host.write_completed(&mut self.back.core, &mut self.back.commands);
        self.has_completed(next);
    }

    /// The host has seen a command complete; the next one is taken up.
    fn has_completed(&mut self, next: Option<CommandId>) {
        if let (Some(power), Some(completion)) = (&mut self.back.power, self.host.completions.last())
            && completion.is_done()
        {
            power.host_saw(completion.id);
        }
        if let Some(next) = next {
            self.take_up(next);
        }
    }
}
