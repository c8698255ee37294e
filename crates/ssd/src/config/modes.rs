//! What follows from the SLC cache's configuration: the times and pages of its blocks, and what it does not go together
//! with.

use nand::{Layout, Timings};
use schemes::Convert;
use units::Span;

use super::Config;
use super::ftl::SlcCache;
use super::refusal::{Refusal, refuse};
use super::slc::{Fold, Full};

/// What follows from the cache's configuration, where there is a cache.
#[derive(Clone, Debug)]
pub(crate) struct SlcPlan {
    /// Blocks of each plane that are the cache's for good: all of them, or none.
    pub fixed: u32,
    /// The flash with blocks in the cache's mode: these have the first of the pages that they have otherwise.
    pub layout: Layout,
    /// Pages that one program command writes on a plane.
    pub unit_pages: u32,
    /// tR, tPROG, tBERS.
    pub timings: Timings,
    /// tPROG and tBERS over those of the chip's own cells.
    pub program_factor: f64,
    pub erase_factor: f64,
}

impl Config {
    /// Whether any data moves within its plane, without bus and ECC.
    pub(crate) fn copies_back(&self) -> bool {
        self.gc.copyback || self.ftl.slc_cache != SlcCache::None && self.slc.fold == Fold::Copyback
    }
}

impl SlcPlan {
    pub fn new(config: &Config, layout: &Layout, native: &Timings) -> Result<Option<SlcPlan>, Refusal> {
        let (slc, kind) = (&config.slc, config.ftl.slc_cache);
        if kind == SlcCache::None {
            return Ok(None);
        }
        goes_with(config, layout)?;
        let of_mode = layout.in_mode(slc.cell.bits());
        let timings = Timings::of_mode(of_mode.bits, &slc.t_read, slc.t_prog, slc.t_bers);
        let timings = timings.map_err(|(problem, remedy)| Refusal::of("slc.t_read", problem, remedy))?;
        let over = |own: Span, native: Span| own.0 as f64 / native.0.max(1) as f64;
        Ok(Some(SlcPlan {
            fixed: if kind == SlcCache::Static { slc.blocks } else { 0 },
            unit_pages: config.unit_pages(&of_mode),
            layout: of_mode,
            program_factor: over(slc.t_prog, native.slowest_program()),
            erase_factor: over(slc.t_bers, native.erase),
            timings,
        }))
    }
}

/// Refuses what does not go together with a cache.
fn goes_with(config: &Config, layout: &Layout) -> Result<(), Refusal> {
    let slc = &config.slc;
    let off = "or set ftl.slc_cache to \"none\"";
    let reasons = [
        ("geometry.cell", layout.bits == 1, "is SLC: its blocks hold one bit a cell anyway", "choose denser cells"),
        (
            "slc.cell",
            slc.cell.bits() >= layout.bits,
            "has no fewer bits a cell than geometry.cell",
            "choose fewer, such as \"SLC\"",
        ),
        (
            "geometry.pages",
            !layout.flash_pages().is_multiple_of(layout.bits),
            "leaves a wordline incomplete",
            "write a multiple of the bits of a cell",
        ),
    ];
    if let Some((key, _, problem, remedy)) = reasons.into_iter().find(|(_, is_so, ..)| *is_so) {
        return refuse(key, format!("{problem} (ftl.slc_cache)"), format!("{remedy}, {off}"));
    }
    data_leaves_and_comes_back(config, layout)
}

/// Refuses ways out of the cache and back into it that cannot be.
fn data_leaves_and_comes_back(config: &Config, layout: &Layout) -> Result<(), Refusal> {
    let slc = &config.slc;
    let copies = slc.fold == Fold::Copyback;
    if copies && (layout.shared() > 1 || config.chip.program_passes > 1) {
        let problem = "is copyback, which moves whole pages within a plane, in one pass";
        let remedy = "set it to \"controller\", or mapping.unit to \"page\" and chip.program_passes to 1";
        return refuse("slc.fold", problem, remedy);
    }
    if slc.full == Full::Wait && slc.fold_start == 0 {
        let problem = "is wait, and nothing forces folding";
        return refuse("slc.full", problem, "set slc.fold_start to 1 or more, or this to \"direct\"");
    }
    let (hosts, converts) = (config.host_streams(), slc.convert != Convert::None);
    // Where converted data of placement handles stays apart, that of each has one, and that of none.
    let open = hosts + u32::from(converts) * (1 + u32::from(config.ftl.persistent_handles()));
    if slc.blocks < open {
        let problem = match (slc.blocks, hosts) {
            (1, 1) => "is 1, and slc.convert is set".to_owned(),
            (blocks, _) => format!(
                "is {blocks}, and {open} streams have an open block in the cache (ftl.hints, ftl.streams, slc.convert)"
            ),
        };
        let remedy =
            format!("write at least {open}: what the host writes and what is converted have an open block each");
        return refuse("slc.blocks", problem, remedy);
    }
    if slc.fold_start > slc.blocks {
        let problem = format!("is {}, and a plane has {} blocks in the cache", slc.fold_start, slc.blocks);
        return refuse("slc.fold_start", problem, "write at most slc.blocks");
    }
    Ok(())
}
