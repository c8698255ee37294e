//! The ECC engines.

use nand::Layout;
use schemes::Soft;
use units::{Bytes, Fraction, Span};

use super::refusal::{Check, Refusal, not_too_long, positive, refuse};

units::section! {
    /// The ECC engines, one a channel. Encoding keeps up with the bus and takes no time of its own.
    pub struct EccConfig in "ecc" {
        /// The code whose decoder corrects what reads meet (chip.model): qc-ldpc (hpca24 section V-A), or a CSV file of
        /// `ssdlab ecc simulate`; "none" corrects up to the chip's capability, always in the same time.
        code: Option<String> = None,
        /// Soft decoding of pages whose bits alone cannot be corrected: none, 2-bit (three senses), 3-bit (seven) or
        /// progressive; with `code`.
        soft: Soft = Soft::None,
        /// Retries before soft decoding; "none": when all else has failed.
        soft_after: Option<u32> = None,
        /// What the soft decoder makes of 2-bit pages: qc-ldpc, or a CSV file of `ssdlab ecc simulate --soft 2-bit`.
        code_2bit: String = "qc-ldpc".to_owned(),
        /// What the soft decoder makes of 3-bit pages: qc-ldpc, or a CSV file of `ssdlab ecc simulate --soft 3-bit`.
        code_3bit: String = "qc-ldpc".to_owned(),
        /// Errors that the code corrects, over those that it was profiled with.
        strength: f64 = 1.0,
        /// Probability that the decoder takes a page that it cannot correct for other data (a miscorrection), at each
        /// of its senses.
        miscorrection: Fraction = Fraction(0.0),
        /// A CRC over the data of a codeword catches miscorrections: the page counts as one that cannot be corrected.
        /// Without it what is read is wrong and nothing says so.
        crc: bool = true,
        /// tECC: time to decode one page; with `code` one iteration of its decoder.
        t_decode: Span = Span(5_000),
        /// tECC of a page that cannot be corrected; "none" takes as long as any, with `code` all iterations.
        t_failed: Option<Span> = None,
        /// tECC of a retry that is corrected (hpca24 section VI-A sets 1 us); "none" takes as long as any other page.
        t_retried: Option<Span> = None,
        /// Pages that an engine decodes at once.
        decoders: u32 = 2,
        /// Pages that may be in an engine or on their way into it.
        buffer: u32 = 8,
        /// Data bytes of a codeword.
        codeword: Bytes = Bytes::from_kib(4),
    }
}

impl Check for EccConfig {
    fn check(&self, layout: &Layout) -> Result<(), Refusal> {
        positive(&[("decoders", self.decoders.into()), ("buffer", self.buffer.into())])?;
        if self.decoders > 64 {
            return refuse("decoders", format!("is {}", self.decoders), "write at most 64");
        }
        let codeword = self.codeword;
        if !codeword.0.is_power_of_two() || codeword > layout.flash_page_size || codeword.0 < 512 {
            return refuse("codeword", format!("is {codeword}"), "write a power of two from 512 B up to the page size");
        }
        if !(0.01..=100.0).contains(&self.strength) {
            let remedy = "write 2 for a code that corrects twice as many errors";
            return refuse("strength", format!("is {}", self.strength), remedy);
        }
        not_too_long(&[
            ("t_decode", self.t_decode),
            ("t_failed", self.t_failed.unwrap_or_default()),
            ("t_retried", self.t_retried.unwrap_or_default()),
        ])
    }
}
