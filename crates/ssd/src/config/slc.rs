//! The SLC cache: blocks that hold fewer bits a cell than the chip's own for a while, as a rule one (`ftl.slc_cache`).

use nand::{Cell, Layout};
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
    /// The SLC cache, with ftl.slc_cache: its size, its blocks' times and wear, and how their data is folded into
    /// blocks of the chip's own cells.
    pub struct SlcConfig in "slc" {
        /// Blocks of each plane in the cache: their number (static), or the most that it may have (dynamic).
        blocks: u32 = 8,
        /// Bits a cell of the cache's blocks, fewer than geometry.cell has.
        cell: Cell = Cell::Slc,
        /// What a write does when the cache is full: direct or wait.
        full: Full = Full::Direct,
        /// How data is folded: controller or copyback.
        fold: Fold = Fold::Controller,
        /// Folding begins when the host has been idle for this time, and ends with its next request; "none" folds only
        /// where forced.
        fold_idle: Option<Span> = Some(Span::from_ms(10)),
        /// Folding is forced while fewer blocks of a plane are free for the cache; 0 never forces it.
        fold_start: u32 = 0,
        /// Data of the chip's own cells that is relocated into the cache: none, hot:N or retries:N.
        convert: Convert = Convert::None,
        /// tR of a page of the cache; one value, or one for each page of a wordline (LSB, CSB, MSB). The default is of
        /// one bit a cell.
        t_read: Vec<Span> = vec![Span::from_us(25)],
        /// tPROG of one `chip.program_unit` of the cache, in one pass. The default is of one bit a cell.
        t_prog: Span = Span::from_us(200),
        /// tBERS of a block of the cache.
        t_bers: Span = Span::from_us(3_500),
        /// P/E cycles of the chip's own cells that wear as much as one of a block in the cache (assumed).
        wear: f64 = 0.1,
    }
}

impl Check for SlcConfig {
    fn check(&self, _: &Layout) -> Result<(), Refusal> {
        let (least, most) = (self.t_read.iter().min().map_or(1, |span| span.0), self.t_read.iter().max());
        positive(&[("blocks", self.blocks.into()), ("t_prog", self.t_prog.0), ("t_read", least)])?;
        let t_read = most.copied().unwrap_or_default();
        not_too_long(&[("t_read", t_read), ("t_prog", self.t_prog), ("t_bers", self.t_bers)])?;
        if !(0.0..=10.0).contains(&self.wear) {
            return refuse("wear", format!("is {}", self.wear), "write 0 to 10 P/E cycles, such as 0.1");
        }
        Ok(())
    }
}
