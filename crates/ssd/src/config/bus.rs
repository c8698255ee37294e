//! The channels.

use nand::Layout;
use units::{Bandwidth, Bytes, Rate, Span};

use super::refusal::{Check, Refusal, not_too_long, refuse};

units::choices! {
    /// What a read moves over the bus.
    pub enum Transfer {
        /// Whole pages.
        Page = "page",
        /// Only the codewords that hold requested bytes.
        Codeword = "codeword",
        /// As codeword; of a page that is read again those that have not been corrected.
        Uncorrected = "uncorrected",
    }
}

units::section! {
    /// The channels' buses.
    pub struct BusConfig in "bus" {
        /// Transfer rate; "none" when `t_dma` gives it.
        bandwidth: Option<Bandwidth> = Some(Bandwidth(1_600_000_000)),
        /// tDMA: time to move a whole page, parts in proportion; "none" when `bandwidth` gives it.
        t_dma: Option<Span> = None,
        /// Command and address cycles of one page's read, program or erase.
        t_command: Span = Span(200),
        /// What a read moves: page, codeword, or uncorrected (as codeword; of a page that is read again the codewords
        /// that have not been corrected).
        transfer: Transfer = Transfer::Codeword,
        /// Dies of a chip work at the same time; otherwise a chip has one busy die at most.
        die_interleaving: bool = true,
    }
}

impl BusConfig {
    /// How long transfers take.
    pub(super) fn page_time(&self, page: Bytes) -> Result<PageTime, Refusal> {
        match (self.bandwidth, self.t_dma) {
            (Some(bandwidth), None) if bandwidth.0 > 0 => Ok(PageTime::Rate(Rate::new(bandwidth, page))),
            (None, Some(t_dma)) => Ok(PageTime::Page(t_dma, page)),
            (Some(_), None) => refuse("bandwidth", "is 0", "write a positive value"),
            (None, None) => refuse("bandwidth", "is \"none\"", "give bus.bandwidth or bus.t_dma"),
            (Some(_), Some(_)) => {
                let remedy = "set one of bus.bandwidth and bus.t_dma to \"none\"";
                refuse("t_dma", "is given beside bandwidth", remedy)
            }
        }
    }
}

impl Check for BusConfig {
    fn check(&self, layout: &Layout) -> Result<(), Refusal> {
        let page = layout.flash_page_size;
        let time = self.page_time(page)?.of(page.0 as u32);
        let key = if self.t_dma.is_some() { "t_dma" } else { "bandwidth" };
        not_too_long(&[("t_command", self.t_command), (key, time)])
    }
}

/// How long a transfer takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PageTime {
    Rate(Rate),
    /// A whole page takes this long, parts in proportion.
    Page(Span, Bytes),
}

impl PageTime {
    #[inline]
    pub(super) fn of(&self, bytes: u32) -> Span {
        match self {
            PageTime::Rate(rate) => rate.time_for(Bytes(u64::from(bytes))),
            PageTime::Page(span, page) => Span((span.0.saturating_mul(u64::from(bytes))).div_ceil(page.0)),
        }
    }
}
