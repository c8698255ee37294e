//! The channel buses: what a bus's time goes into, and how long commands and data take.

use nand::ChannelId;
use units::{Span, Time};

use super::backend::FlashAt;
use super::placement::Placement;
use crate::observe::probe::{Event, Probe};
use crate::observe::stats::channel;
use crate::streams::StreamId;

impl<P: Probe, L: Placement> FlashAt<'_, P, L> {
    /// Time on the bus of the commands that begin a program or an erase on a set of planes.
    pub(super) fn t_commands(&self, set: u8) -> Span {
        let planes = self.core.plan.layout.flash_set(set).count_ones();
        self.core.plan.config.bus.t_command * u64::from(planes)
    }

    /// Time on the bus of the commands and the data of a program on a set of planes.
    pub(super) fn t_program_data(&self, set: u8, writes: Option<StreamId>) -> Span {
        let unit = writes.map_or(self.core.plan.unit_pages, |writes| self.core.plan.streams.unit_of(writes));
        let pages = u64::from(set.count_ones()) * u64::from(unit);
        self.t_commands(set) + self.core.plan.t_data_in(pages)
    }

    /// Occupies the bus from now on; returns the end.
    #[inline]
    pub fn occupy(&mut self, channel: ChannelId, span: Span, cause: usize) -> Time {
        let end = self.core.now + span;
        self.flash.channels[channel].free_at = end;
        self.bus_enters(channel, cause, Some((end, channel::IDLE)));
        end
    }

    /// A bus's time goes into `cause` from now on; with `until`, from then on into another.
    #[inline]
    pub(super) fn bus_enters(&mut self, channel: ChannelId, cause: usize, until: Option<(Time, usize)>) {
        self.flash.channels[channel].meter.enter(self.core.now, cause, until);
        if P::EXPLAINS {
            self.core.probe.explain(self.core.now, Event::Bus { channel, cause, until });
        }
    }

    /// The bus's next event, or none.
    #[inline]
    pub(super) fn schedule_bus(&mut self, channel: ChannelId, event: Time) {
        let bus = &mut self.flash.channels[channel];
        if bus.event != event {
            bus.event = event;
            self.core.agenda.set(self.core.slots.bus(channel), event);
        }
    }
}
