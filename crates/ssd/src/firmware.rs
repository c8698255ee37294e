//! The controller's cores: their firmware processes a command before the drive works on it.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::arena::CommandId;
use crate::config::Plan;
use crate::core::Core;
use crate::observe::probe::Probe;
use crate::persist::state;

/// Commands that wait for a core or have one, in order of their fetch. All take equally long, so they also end in this
/// order.
#[derive(Default)]
pub(crate) struct Firmware {
    /// When each is processed.
    commands: VecDeque<(Time, CommandId)>,
    processed: u64,
    /// Time spent on commands that a power cut has ended.
    dropped: Span,
}

impl Firmware {
    /// Takes a fetched command: the first core that is free processes it.
    pub fn take<P: Probe>(&mut self, core: &mut Core<P>, command: CommandId) {
        let host = &core.plan.config.host;
        // A core is free as soon as all but this many commands less one have been processed.
        let last_on_core = self.commands.len().checked_sub(usize::from(host.cores));
        let begins = last_on_core.map_or(core.now, |place| self.commands[place].0);
        let end = begins + host.t_firmware;
        if let (Some(slot), true) = (core.slots.firmware, self.commands.is_empty()) {
            core.agenda.set(slot, end);
        }
        self.commands.push_back((end, command));
    }

    /// The command that has been processed.
    pub fn processed<P: Probe>(&mut self, core: &mut Core<P>) -> CommandId {
        let (_, command) = self.commands.pop_front().expect("Invariant: the event is a processed command");
        self.processed += 1;
        if let Some(slot) = core.slots.firmware {
            core.agenda.set(slot, self.commands.front().map_or(Time::NEVER, |(end, _)| *end));
        }
        command
    }

    /// Commands that wait or are processed are dropped.
    pub fn power_off(&mut self, now: Time, plan: &Plan) {
        self.dropped += self.begun(now, plan);
        self.commands.clear();
    }

    /// Time spent on commands that are being processed.
    fn begun(&self, now: Time, plan: &Plan) -> Span {
        let each = plan.config.host.t_firmware;
        Span(self.commands.iter().map(|(end, _)| now.0.saturating_sub(end.0 - each.0)).sum())
    }

    /// Time for which the cores have been busy, as a mean over them.
    pub fn busy_until(&self, now: Time, plan: &Plan) -> Span {
        let each = plan.config.host.t_firmware;
        let all = each.0 * self.processed + self.dropped.0 + self.begun(now, plan).0;
        Span(all / u64::from(plan.config.host.cores))
    }
}

state! {
    Firmware { stored { commands, processed, dropped } }
}
