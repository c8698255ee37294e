//! Scheduling.

use nand::Layout;
use schemes::{Order, SuspendErase, SuspendEraseFor, SuspendProgram};
use units::Span;

use super::refusal::{Check, Refusal, refuse};

units::section! {
    /// The order in which dies and buses serve waiting operations.
    pub struct ScheduleConfig in "schedule" {
        /// Which waiting operation goes first: fifo, read-first or user-first.
        order: Order = Order::ReadFirst,
        /// Whether and where programs are suspended for user reads: none, inter-phase or intra-phase.
        suspend_program: SuspendProgram = SuspendProgram::None,
        /// Whether and where erases are suspended for user reads: none, reset-and-resume, pulse-boundary or
        /// safe-points.
        suspend_erase: SuspendErase = SuspendErase::None,
        /// Safe points of an erase pulse, evenly spaced, the last at its end (suspend_erase = safe-points; assumed:
        /// every 0.5 ms of 3.5).
        safe_points: u32 = 7,
        /// For which host operations an erase is suspended: reads, or reads-and-writes, programs of host data into
        /// other blocks.
        suspend_erase_for: SuspendEraseFor = SuspendEraseFor::Reads,
        /// How long a host operation waits for its die before it has a program or an erase suspended: one that ends
        /// before is not. What a latency target leaves.
        suspend_after: Span = Span::ZERO,
        /// An erase that would end sooner is not suspended (MQSim: 700us).
        suspend_erase_left: Span = Span::ZERO,
        /// A program that would end sooner is not suspended (MQSim: 100us).
        suspend_program_left: Span = Span::ZERO,
        /// How long an operation that goes on runs at least before it is suspended again, so that it ends whatever
        /// comes.
        suspend_progress: Span = Span::ZERO,
        /// By how long suspensions may prolong an operation: it is not suspended, or goes on, where reads would keep it
        /// from ending any longer; those that have begun end before. What a latency target of writes leaves; "none" has
        /// no bound.
        suspend_budget: Option<Span> = None,
        /// Whether only one die of a chip may have suspended something at a time; operations of the others are waited
        /// for (MQSim).
        suspend_one_of_chip: bool = false,
        /// How often one operation may be suspended at most, so that none starves; "none" has no bound.
        suspensions: Option<u32> = None,
        /// Pages of host data that may wait to be programmed before everything goes first come, first served; "none"
        /// has no bound (fast12 section 5.3).
        write_queue: Option<u32> = None,
    }
}

impl ScheduleConfig {
    /// Whether neither programs nor erases are suspended.
    pub(crate) fn suspends_nothing(&self) -> bool {
        self.suspend_program == SuspendProgram::None && self.suspend_erase == SuspendErase::None
    }
}

impl Check for ScheduleConfig {
    fn check(&self, _: &Layout) -> Result<(), Refusal> {
        if self.suspensions == Some(0) {
            let remedy = "write a positive number, or set suspend_program and suspend_erase to \"none\"";
            return refuse("suspensions", "is 0", remedy);
        }
        if !(1..=1000).contains(&self.safe_points) {
            return refuse("safe_points", format!("is {}", self.safe_points), "write 1 to 1000");
        }
        Ok(())
    }
}
