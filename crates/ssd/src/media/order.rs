//! The commands of a block take effect in the order in which they came: what depends on one that is under way waits for
//! it.

use std::collections::VecDeque;

use super::command::MediaOp;
use crate::arena::CommandId;
use crate::persist::stored;

/// The operations on one block that are under way, and those that wait for them. A block without any has no order.
#[derive(Default)]
pub(super) struct BlockOrder {
    pub reads: u32,
    pub programs: u32,
    pub erases: bool,
    pub waiting: VecDeque<CommandId>,
}

impl BlockOrder {
    /// Whether a command may be taken up: a read does not depend on other reads nor on programs of other pages, and
    /// programs follow one another in the queue of their plane.
    pub fn lets(&self, op: MediaOp, is_being_programmed: bool) -> bool {
        match op {
            MediaOp::Read => !self.erases && !is_being_programmed,
            MediaOp::Program => !self.erases,
            MediaOp::Erase => self.reads == 0 && self.programs == 0 && !self.erases,
        }
    }

    /// A command is taken up.
    pub fn begins(&mut self, op: MediaOp) {
        match op {
            MediaOp::Read => self.reads += 1,
            MediaOp::Program => self.programs += 1,
            MediaOp::Erase => self.erases = true,
        }
    }

    /// It has ended.
    pub fn ends(&mut self, op: MediaOp) {
        match op {
            MediaOp::Read => self.reads -= 1,
            MediaOp::Program => self.programs -= 1,
            MediaOp::Erase => self.erases = false,
        }
    }

    /// Whether nothing is under way, and nothing waits.
    pub fn is_over(&self) -> bool {
        self.reads == 0 && self.programs == 0 && !self.erases && self.waiting.is_empty()
    }
}

stored! {
    BlockOrder { reads, programs, erases, waiting }
}
