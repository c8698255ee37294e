//! The SLC cache: blocks of denser cells that hold one bit a cell for a while (`ftl.slc_cache`).

use nand::Layout;
use schemes::Convert;
use units::Span;

use super::refusal::{Check, Refusal, not_too_long, positive, refuse};

units::choices! {
    /// How data leaves the cache.
    pub enum Fold {
        /// Over the bus and through the ECC engine, like other relocated data.
        Controller = "controller",
        /// Within its plane, without bus and ECC.
        Copyback = "copyback",
    }
}

units::choices! {
    /// What a write does when the cache is full.
    pub enum Full {
        /// It goes to blocks of the chip's own cells.
        Direct = "direct",
        /// It waits until a block of the cache has been folded.
        Wait = "wait",
    }
}

units::section! {
    /// The SLC cache, with ftl.slc_cache: its size, its blocks' times and wear, and how their data is folded into blocks of the
    /// chip's own cells.
    pub struct SlcConfig in "slc" {
        /// Blocks of each plane in the cache: so many (static), or at most so many (dynamic).
        blocks: u32 = 8,
        /// What a write does when the cache is full: direct or wait.
        full: Full = Full::Direct,
        /// How data is folded: controller or copyback.
        fold: Fold = Fold::Controller,
        /// Folding begins when the host has been idle for so long, and ends with its next request; "none" folds only where forced.
        fold_idle: Option<Span> = Some(Span::from_ms(10)),
        /// Folding is forced while fewer blocks of a plane are free for the cache; 0 never forces it.
        fold_start: u32 = 0,
        /// Data of the chip's own cells that is moved into the cache: none, hot:N or retries:N.
        convert: Convert = Convert::None,
        /// tR of a page of the cache.
        t_read: Span = Span::from_us(25),
        /// tPROG of a page of the cache.
        t_prog: Span = Span::from_us(200),
        /// tBERS of a block of the cache.
        t_bers: Span = Span::from_us(3_500),
        /// P/E cycles of the chip's own cells that wear as much as one of a block in the cache (assumed).
        wear: f64 = 0.1,
    }
}

impl Check for SlcConfig {
    fn check(&self, _: &Layout) -> Result<(), Refusal> {
        positive(&[("blocks", self.blocks.into()), ("t_prog", self.t_prog.0), ("t_read", self.t_read.0)])?;
        not_too_long(&[("t_read", self.t_read), ("t_prog", self.t_prog), ("t_bers", self.t_bers)])?;
        if !(0.0..=10.0).contains(&self.wear) {
            return refuse("wear", format!("is {}", self.wear), "write 0 to 10 P/E cycles, such as 0.1");
        }
        Ok(())
    }
}
