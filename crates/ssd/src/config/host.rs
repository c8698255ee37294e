//! The host interface.

use nand::Layout;
use units::{Bandwidth, Bytes, Rate, Span};

use super::refusal::{Check, Refusal, not_too_long, positive, refuse};

units::choices! {
    /// How the drive chooses the submission queue that it fetches a command from.
    pub enum Arbitration {
        /// The queues take turns, whatever their priority.
        RoundRobin = "round-robin",
        /// NVMe's weighted round robin with urgent priority class.
        Weighted = "weighted",
    }
}

units::choices! {
    /// The priority of a submission queue (NVMe: QPRIO, given when the queue is created).
    pub enum QueuePriority {
        /// Before all others.
        Urgent = "urgent",
        /// Has the first of the weights.
        High = "high",
        /// Has the second of the weights.
        Medium = "medium",
        /// Has the third of the weights.
        Low = "low",
    }
}

units::section! {
    /// The host interface: NVMe-style submission queues and a full-duplex link.
    pub struct HostConfig in "host" {
        /// Submission queues; a request's queue number is taken modulo this.
        queues: u16 = 8,
        /// Requests that a queue may have outstanding; further ones wait in the host.
        queue_depth: u32 = 1024,
        /// Commands that the device works on at once; the others wait in their queues.
        commands: u32 = 1024,
        /// Which queue the next command is fetched from: round-robin, or weighted (NVMe's weighted round robin with
        /// urgent priority class).
        arbitration: Arbitration = Arbitration::RoundRobin,
        /// Commands taken from one queue before the next one's turn (NVMe arbitration burst).
        arbitration_burst: u16 = 1,
        /// Weighted arbitration: the queues' priorities from the first queue on, urgent, high, medium or low; further
        /// queues have the last one.
        priorities: Vec<QueuePriority> = vec![QueuePriority::Medium],
        /// Weighted arbitration: commands that the queues of high, medium and low priority have in a round.
        weights: Vec<u16> = vec![4, 2, 1],
        /// Bandwidth of the link, in each direction.
        link_bandwidth: Bandwidth = Bandwidth(7_000_000_000),
        /// From the host's doorbell to a fetched command.
        t_submit: Span = Span(1_000),
        /// Time for which the controller's firmware processes a fetched command before the drive works on it.
        t_firmware: Span = Span::ZERO,
        /// Cores of the controller: each processes one command at a time (`t_firmware`), the others wait in order.
        cores: u16 = 1,
        /// From the last byte to the host's completion.
        t_complete: Span = Span(1_000),
        /// Simulated time in which no command makes progress, after which the run ends with an error, as a host gives
        /// its drive up (Linux's nvme_core.io_timeout: 30 s); "none" waits for ever.
        timeout: Option<Span> = Some(Span(30_000_000_000)),
    }
}

impl HostConfig {
    /// The priority of a queue.
    pub(crate) fn priority(&self, queue: usize) -> QueuePriority {
        let given = self.priorities.get(queue).or(self.priorities.last());
        given.copied().unwrap_or(QueuePriority::Medium)
    }

    fn check_priorities(&self) -> Result<(), Refusal> {
        let (given, queues) = (self.priorities.len(), self.queues);
        if given == 0 {
            return refuse("priorities", "is empty", "write urgent, high, medium or low, or a list of them");
        }
        if given > usize::from(queues) {
            let problem = format!("has {given} entries, and there are {queues} queues (host.queues)");
            return refuse("priorities", problem, format!("write at most {queues}, or raise host.queues"));
        }
        if self.weights.len() != 3 || !self.weights.iter().all(|weight| (1..=256).contains(weight)) {
            let problem = format!("is {}", units::value::Value::write(&self.weights));
            let remedy = "write three numbers from 1 to 256: of high, medium and low priority";
            return refuse("weights", problem, remedy);
        }
        Ok(())
    }
}

impl Check for HostConfig {
    fn check(&self, layout: &Layout) -> Result<(), Refusal> {
        positive(&[
            ("queues", self.queues.into()),
            ("queue_depth", self.queue_depth.into()),
            ("commands", self.commands.into()),
            ("arbitration_burst", self.arbitration_burst.into()),
            ("link_bandwidth", self.link_bandwidth.0),
            ("cores", self.cores.into()),
        ])?;
        if self.queues > 256 {
            return refuse("queues", format!("is {}", self.queues), "write at most 256");
        }
        self.check_priorities()?;
        let entries = u64::from(self.queues) * u64::from(self.queue_depth);
        if entries > 1 << 24 {
            let problem = format!("makes {entries} queue entries, {} of memory", Bytes(entries * 64));
            return refuse("queue_depth", problem, "keep queues x depth within 16 million");
        }
        let page = layout.flash_page_size;
        not_too_long(&[
            ("t_submit", self.t_submit),
            ("t_firmware", self.t_firmware),
            ("t_complete", self.t_complete),
            ("link_bandwidth", Rate::new(self.link_bandwidth, page).time_for(page)),
        ])
    }
}
