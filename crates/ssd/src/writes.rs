//! Written data on its way into the write buffer, and out of it.

use std::collections::VecDeque;

use nand::DieId;
use units::Time;

use crate::arena::CommandId;
use crate::buffer::Buffer;
use crate::config::{BufferMode, Plan};
use crate::flash::op::Queue;
use crate::persist::{state, stored};

/// Parts of a write that are crossing the link.
pub(crate) struct WriteArrival {
    pub time: Time,
    pub command: CommandId,
    pub first_part: u32,
    pub count: u32,
    /// Slots that are reserved beyond these parts, for the rest of their units.
    pub more: u32,
}

/// Written data on its way into the buffer, and out of it.
pub(crate) struct Writes {
    pub buffer: Buffer,
    pub arrivals: VecDeque<WriteArrival>,
    /// Commands whose data waits for room in the buffer, first come first served.
    pub queue: VecDeque<CommandId>,
    /// Pages that the write queue waits for.
    pub pages_wanted: u32,
    /// Pages to be programmed wherever a die is free (dynamic placement), by stream.
    pub pools: Vec<Queue>,
    /// Dies in page allocation order, and those of them that take pages from the pool.
    pub die_order: Vec<DieId>,
    pub pool_cursor: usize,
    /// By stream: when no die took pages of its pool (`Flash::stirred`).
    pub no_die: Vec<u64>,
    /// Partly filled program units are programmed, padded.
    pub draining: bool,
    /// Flushes that have not completed: as long as there are any, partly filled units go as well.
    pub flushing: u32,
    /// What brings pages of the buffer to flash without further ado: reads that fill them and fetch their map entries,
    /// whole program units, programs.
    pub progress: u32,
}

impl Writes {
    /// Whether partly filled units of host data go as they are.
    pub fn draining(&self) -> bool {
        self.draining || self.flushing > 0
    }

    /// Whether pages wait for any die, or data for room.
    #[inline]
    pub fn wait(&self) -> bool {
        !self.queue.is_empty() || self.pools.iter().any(|pool| pool.len > 0)
    }

    pub fn new(plan: &Plan) -> Writes {
        let (layout, config) = (&plan.layout, &plan.config);
        let planes = config.ftl.page_order.planes(layout);
        let firsts = planes.into_iter().filter(|plane| plane % layout.planes_per_die == 0);
        Writes {
            buffer: Buffer::new(plan),
            arrivals: VecDeque::new(),
            queue: VecDeque::new(),
            pages_wanted: 0,
            pools: plan.streams.hosts().map(|_| Queue::EMPTY).collect(),
            die_order: firsts.map(|plane| DieId((plane / layout.planes_per_die) as u16)).collect(),
            pool_cursor: 0,
            no_die: plan.streams.hosts().map(|_| 0).collect(),
            draining: config.buffer.mode == BufferMode::WriteThrough,
            flushing: 0,
            progress: 0,
        }
    }
}

state! {
    Writes {
        stored { arrivals, queue, pages_wanted, pools, pool_cursor, no_die, draining, flushing, progress }
        parts { buffer }
        rebuilt { die_order }
    }
}

stored! {
    WriteArrival { time, command, first_part, count, more }
}
