//! What is programmed when a zone is finished: the program that has begun is completed with padding, and so is the rest
//! of the zone's blocks, where it is (`zones.finish`). Each die gets the next padding when it has programmed the last:
//! other zones of the die go between.

use std::ops::Range;

use crate::arena::CommandId;
use crate::config::{Finish, ZonePlan};
use crate::persist::stored;

/// A zone that is being finished.
#[derive(Clone)]
pub(crate) struct Finishing {
    /// Which it is among all: a zone that was reset and is finished again has another one.
    number: u32,
    /// The command that waits for it.
    command: CommandId,
    /// By die of the zone, in its order: the next row of its pages that is padded, and pages under way.
    dies: Vec<DiePadding>,
}

/// A die of a zone that is being finished.
#[derive(Clone)]
struct DiePadding {
    next: u64,
    under_way: u32,
}

/// Pages of a zone that are programmed for a finish: what is written in it, then padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Padding {
    pub number: u32,
    pub data: Range<u64>,
    pub padding: Range<u64>,
}

/// The part of a zone that is there when it is finished.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// Pages that have left the buffer, and those that have come: the rest of the zone is empty.
    pub sent: u64,
    pub come: u64,
}

impl Finishing {
    /// A zone is finished, for a command: what is programmed first is given too. Nothing where nothing has to be.
    pub fn begin(
        zone: u32,
        number: u32,
        command: CommandId,
        written: Written,
        plan: &ZonePlan,
    ) -> (Finishing, Vec<Padding>) {
        let row = u64::from(plan.row);
        let (data, to) = (written.sent..written.come, written.come.next_multiple_of(plan.grain_of_finish()));
        let dies = (0..plan.dies).map(|_| DiePadding { next: plan.rows(), under_way: 0 }).collect();
        let mut finishing = Finishing { number, command, dies };
        let mut first = Vec::new();
        if data.start < to {
            // Of a random area data of several rows may have waited: what is padded is in the last.
            let place = plan.die_place(zone, data.end / row);
            finishing.dies[place].under_way = (to - data.end) as u32;
            first.push(Padding { number, padding: data.end..to, data });
        }
        if plan.finish == Finish::Pad {
            let begun = written.come.div_ceil(row);
            for next in begun..plan.rows().min(begun + u64::from(plan.dies)) {
                finishing.dies[plan.die_place(zone, next)].next = next;
            }
        }
        for place in 0..plan.dies as usize {
            first.extend(finishing.next(place, plan));
        }
        (finishing, first)
    }

    /// The next padding of a die, if it has none under way.
    fn next(&mut self, place: usize, plan: &ZonePlan) -> Option<Padding> {
        let die = &mut self.dies[place];
        if die.under_way > 0 || die.next >= plan.rows() {
            return None;
        }
        let (row, begins) = (u64::from(plan.row), die.next * u64::from(plan.row));
        (die.under_way, die.next) = (plan.row, die.next + u64::from(plan.dies));
        Some(Padding { number: self.number, data: begins..begins, padding: begins..begins + row })
    }

    /// A page of padding of that finish has been programmed on a die of the zone: what is next there.
    pub fn is_padded(&mut self, number: u32, place: usize, plan: &ZonePlan) -> Option<Padding> {
        if number != self.number {
            return None;
        }
        self.dies[place].under_way -= 1;
        self.next(place, plan)
    }

    /// The command that waited, if all padding has been programmed.
    pub fn ended(&self) -> Option<CommandId> {
        let busy = self.dies.iter().any(|die| die.under_way > 0);
        (!busy).then_some(self.command)
    }

    /// The command that waits for it.
    pub fn command(&self) -> CommandId {
        self.command
    }
}

stored! {
    Finishing { number, command, dies }
    DiePadding { next, under_way }
}
