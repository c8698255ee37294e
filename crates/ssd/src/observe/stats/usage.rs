//! Where the time of a device's resources went.

use units::Span;

use super::{channel, die};

/// Where the time of every resource went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Simulated time.
    pub elapsed: Span,
    /// By die, then by [`die::CAUSES`].
    pub dies: Vec<[Span; die::CAUSES.len()]>,
    /// By channel, then by [`channel::CAUSES`].
    pub channels: Vec<[Span; channel::CAUSES.len()]>,
    /// Busy time of each channel's ECC engine, as a mean over its decoders.
    pub decoders: Vec<Span>,
    /// Time with a request in the drive.
    pub host: Span,
    /// Busy time of the controller's cores, as a mean over them.
    pub firmware: Span,
    /// Busy time of the link from the host.
    pub link_in: Span,
    /// Busy time of the link to the host.
    pub link_out: Span,
    /// Busy time of the DRAM.
    pub dram: Span,
}

impl Usage {
    /// Where the time since `before` went. An empty `before` stands for the start.
    pub fn since(&self, before: &Usage) -> Usage {
        fn each<const N: usize>(now: &[[Span; N]], before: &[[Span; N]]) -> Vec<[Span; N]> {
            let zero = [Span::ZERO; N];
            now.iter()
                .enumerate()
                .map(|(index, times)| {
                    let earlier = before.get(index).unwrap_or(&zero);
                    std::array::from_fn(|cause| Span(times[cause].0 - earlier[cause].0))
                })
                .collect()
        }
        let less = |now: Span, before: Span| Span(now.0 - before.0);
        Usage {
            elapsed: less(self.elapsed, before.elapsed),
            dies: each(&self.dies, &before.dies),
            channels: each(&self.channels, &before.channels),
            decoders: self
                .decoders
                .iter()
                .enumerate()
                .map(|(index, time)| less(*time, before.decoders.get(index).copied().unwrap_or_default()))
                .collect(),
            firmware: less(self.firmware, before.firmware),
            link_in: less(self.link_in, before.link_in),
            link_out: less(self.link_out, before.link_out),
            dram: less(self.dram, before.dram),
            host: less(self.host, before.host),
        }
    }
}
