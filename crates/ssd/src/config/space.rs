//! The blocks of a plane as a budget: how many hold data, how many are open, how many are kept free, and whether
//! collection can always go on.
//!
//! Why it never deadlocks. Data is relocated within its plane. A plane opens a block for host data or for the map only
//! while more than `reserve` blocks are free; relocated data may use the last one. With as many blocks in reserve as
//! relocated data has streams, a block's valid pages always fit: free blocks x pages + room in the open blocks of
//! relocated data is at least `reserve` blocks' worth, and a collection takes at most one block's worth and gives one
//! back. And some block always has more stale pages than its collection pads, since the blocks that are neither
//! open nor free are this many more than live data fills.
//!
//! An SLC cache changes two things. A block of a static one, which has free blocks of its own, gives none back when it
//! is folded: that begins only where host data could open a block, and one more is in reserve, since the host may take
//! that one meanwhile. A block of a dynamic one has fewer pages than one of the chip's own cells, by a page of each
//! wordline: folding it wins as any collection does.

use nand::Layout;

use super::modes::SlcPlan;
use super::refusal::{Refusal, refuse};
use super::{Config, MapTable, MappedBy, Placement, Precondition, SlcCache};
use crate::streams::{StreamId, Streams};

/// Open stripes at most, and of each zone that is written: their parity is kept in the controller (`assumed`). The
/// oldest is closed short for another one.
pub(crate) const OPEN_STRIPES: usize = 64;

/// Numbers for the pages of blocks that hold data of the run: they have 32 bits, of which the map needs some for
/// itself.
pub(crate) const WRITTEN_PAGES: u64 = (1 << 32) - (1 << 25);

/// What the pages and blocks of a plane are for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    /// Pages of the map on flash: they are numbered behind the logical pages.
    pub map_pages: u32,
    /// Pages of the map's journal, numbered behind these.
    pub journal_pages: u32,
    /// Logical pages whose entries a page of the map has.
    pub map_entries: u32,
    /// Streams with an open block, but for those whose blocks are the SLC cache's for good.
    pub open: u32,
    /// Blocks of a plane that are the SLC cache's for good.
    pub fixed: u32,
    /// Free blocks that only relocated data may open.
    pub reserve: u32,
    /// Blocks that a plane must have to hold its share of the data and still be collected; those for the data alone.
    pub needed: u32,
    pub needed_for_data: u32,
    /// Reclaiming a block with this many valid pages gains nothing: the last programs of its relocated data are padded.
    pub victim_valid_limit: u32,
    /// Dynamic placement: a plane takes data of the host and of the map while it has fewer valid pages.
    pub live_limit: u32,
    /// The limit of valid pages where planes have broken and the others hold their data: all that can be collected.
    pub live_limit_of_rest: u32,
    /// Pages of parity that a plane may hold.
    pub parity: u32,
    /// Static placement: a plane takes pages of the map while it has fewer of them.
    pub map_limit: u32,
    /// Blocks of the drive that may hold data of the run at the same time, so that their pages can be numbered.
    pub most_written: u32,
}

/// What relocation needs beside the blocks that it fills.
struct Relocation {
    /// Streams of relocated data.
    streams: u32,
    /// Free blocks that only relocated data may open.
    reserve: u32,
    /// Pages that collecting a block may program for nothing.
    padding: u32,
}

impl Relocation {
    fn new(config: &Config, unit_pages: u32) -> Relocation {
        let streams = if config.ftl.streams == 4 { 2 } else { 1 };
        // Two streams of relocated wordlines may both be padded, a block may fail, a cut takes pages of open blocks,
        // and one of a static SLC cache gives none back: one more block pays for each.
        let needs = [
            streams > 1 && unit_pages > 1,
            config.blocks_fail(),
            !config.power.cut_at.is_empty(),
            config.ftl.slc_cache == SlcCache::Static,
        ];
        let reserve = streams + needs.iter().filter(|needed| **needed).count() as u32;
        Relocation { streams, reserve, padding: streams * (unit_pages - 1) }
    }

    fn check(&self, config: &Config, layout: &Layout, unit_pages: u32) -> Result<(), Refusal> {
        let Relocation { streams, reserve, padding } = *self;
        let gc = &config.gc;
        if gc.start <= reserve {
            let problem = format!("is {}, and {reserve} free blocks of a plane are for relocated data alone", gc.start);
            return refuse("gc.start", problem, format!("write at least {}", reserve + 1));
        }
        let unit_pages = unit_pages / layout.shared() / layout.stripe;
        let fewest = streams * unit_pages;
        if gc.relocations < fewest {
            let problem = format!("is {}, and one program takes {unit_pages} pages", gc.relocations);
            let remedy = format!("write at least {fewest}: a program's worth for each stream of relocated data");
            return refuse("gc.relocations", problem, remedy);
        }
        if layout.pages <= padding {
            let problem = format!(
                "makes {} pages of the map, and collecting a block may program {padding} as padding",
                layout.pages
            );
            return refuse("geometry.pages", problem, "write more, or set chip.program_unit to \"page\"");
        }
        Ok(())
    }
}

impl Config {
    /// Whether data may be damaged in a way that goes along with it.
    pub(crate) fn keeps_damage(&self) -> bool {
        self.faults.break_parts() || self.ecc.miscorrection.0 > 0.0
    }

    /// Whether blocks may go out of service in a run.
    pub fn blocks_fail(&self) -> bool {
        let wear = &self.wear;
        let by_chance = wear.program_fail.0 > 0.0 || wear.erase_fail.0 > 0.0;
        by_chance || wear.endurance.is_some() || self.erase.retire || self.faults.break_parts()
    }
}

/// Whether this many blocks of a plane can be those of a static SLC cache.
fn leaves_slc_blocks(layout: &Layout, fixed: u32, needed: u32) -> Result<(), Refusal> {
    if needed.saturating_add(fixed) <= layout.blocks || needed > layout.blocks {
        return Ok(());
    }
    let problem = format!(
        "is {fixed} of the {} blocks of a plane, and its data, collection and open blocks need {needed}",
        layout.blocks
    );
    let remedy = format!("write at most {}, or raise ftl.over_provisioning", layout.blocks - needed);
    refuse("slc.blocks", problem, remedy)
}

impl Space {
    pub fn new(
        config: &Config,
        layout: &Layout,
        logical_pages: u64,
        streams: &Streams,
        slc: Option<&SlcPlan>,
    ) -> Result<Space, Refusal> {
        let unit_pages = streams.unit_of(StreamId::RELOCATED);
        let share = Share::new(config, layout, logical_pages, unit_pages)?;
        let fixed = slc.map_or(0, |slc| slc.fixed);
        let open = streams.open().filter(|stream| fixed == 0 || !streams.in_slc(*stream)).count() as u32;
        // Each handle whose relocated data stays apart has open blocks for it, beside those of what has none.
        let converts = fixed == 0 && streams.has(StreamId::CONVERTED);
        let of_handle = Relocation::new(config, unit_pages).streams + u32::from(converts);
        let open = open + u32::from(config.ftl.persistent_handles()) * of_handle;
        let blocks = layout.blocks.saturating_sub(fixed);
        let relocation = Relocation::new(config, unit_pages);
        relocation.check(config, layout, unit_pages)?;
        let Relocation { reserve, padding, .. } = relocation;
        let pages = u64::from(layout.pages);
        let padded = u64::from(padding) * u64::from(blocks);
        let stop = config.gc.stop;
        // Stale pages enough that some block has more of them than its collection pads.
        let gain = 1 + padded.div_ceil(pages) as u32;
        let data = share.all();
        let filled = data.div_ceil(pages) as u32;
        let spare = SpareBlocks { log: config.log_blocks(), collection: gain, stop, open };
        // The keys may be as large as their type.
        let needed = filled.saturating_add(spare.count());
        leaves_slc_blocks(layout, fixed, needed)?;
        if needed > layout.blocks {
            return spare.refuse(config, layout, filled, unit_pages);
        }
        let room = u64::from(blocks - stop - open) * pages;
        // A host's program and one of the map may have been on their way when the limit was reached.
        let stale = padded + 2 * u64::from(unit_pages);
        let most = room.saturating_sub(stale).max(data + 1);
        let live_limit = ((data + room) / 2).min(most).max(data + 1);
        let space = Space {
            map_pages: share.map_pages,
            journal_pages: share.journal_pages,
            map_entries: share.map_entries,
            open,
            fixed,
            reserve,
            needed,
            needed_for_data: share.data.div_ceil(pages) as u32,
            victim_valid_limit: layout.pages - padding,
            live_limit: live_limit as u32,
            live_limit_of_rest: most as u32,
            parity: share.parity as u32,
            map_limit: share.map_limit,
            most_written: most_written(layout, open)?,
        };
        space.check_age(config, layout, logical_pages)?;
        Ok(space)
    }

    /// Blocks that a plane must have for its share of the data and for the initial state.
    pub fn needed_at_start(&self, config: &Config, layout: &Layout) -> u32 {
        let age = &config.age;
        let filled = if config.ftl.mapping == MappedBy::Zoned { 0.0 } else { age.fill.0 };
        let logical = (layout.raw_pages() as f64 / (1.0 + config.ftl.over_provisioning)) * filled;
        let data = (logical + f64::from(self.map_pages)) / row_of_data(config, layout) as f64;
        let data = data / (1.0 - age.invalid.0).max(1e-9);
        let usable = layout.blocks - self.fixed;
        let kept = usable - self.initial_blocks(config, usable);
        self.fixed + self.needed.max((data / f64::from(layout.pages)).ceil() as u32 + kept)
    }

    /// Blocks of a plane that the initial state may take, of `usable` ones that are not the SLC cache's for good.
    pub fn initial_blocks(&self, config: &Config, usable: u32) -> u32 {
        match config.age.precondition {
            // The next block that is opened beside those that are open makes collection start.
            Precondition::ClosedForm if config.age.is_staggered() => usable - config.gc.start - self.open,
            // The first block that is opened makes collection start.
            Precondition::ClosedForm => usable - config.gc.start,
            Precondition::None | Precondition::Write(_) if config.age.is_staggered() => {
                usable.saturating_sub(self.reserve + 2 * self.open)
            }
            Precondition::None | Precondition::Write(_) => usable - self.reserve - self.open,
        }
    }

    fn check_age(&self, config: &Config, layout: &Layout, logical_pages: u64) -> Result<(), Refusal> {
        if config.ftl.mapping == MappedBy::Zoned {
            // Full zones have the blocks that they always have.
            return Ok(());
        }
        let age = &config.age;
        let data = (logical_pages as f64 * age.fill.0) as u64 + u64::from(self.map_pages);
        let shared = u64::from(layout.shared());
        let per_plane = data.div_ceil(shared).div_ceil(row_of_data(config, layout)) * shared;
        let need = (per_plane as f64 / (1.0 - age.invalid.0).max(1e-9)).ceil() as u64;
        let blocks = self.initial_blocks(config, layout.blocks - self.fixed);
        let room = u64::from(blocks) * u64::from(layout.pages);
        if need > room {
            let problem = format!(
                "{} and age.invalid = {} need {need} pages a plane, and it has {room} beside the {} free blocks that writing needs",
                age.fill.0,
                age.invalid.0,
                layout.blocks - blocks
            );
            let remedy = "lower age.fill or age.invalid, or raise ftl.over_provisioning";
            return refuse("age.fill", problem, remedy);
        }
        Ok(())
    }
}

/// What a plane holds.
struct Share {
    map_pages: u32,
    map_entries: u32,
    journal_pages: u32,
    /// Static placement: the most pages of the map.
    map_limit: u32,
    /// Pages of data and of the map.
    data: u64,
    /// Pages of parity.
    parity: u64,
}

impl Share {
    fn new(config: &Config, layout: &Layout, logical_pages: u64, unit_pages: u32) -> Result<Share, Refusal> {
        let (map_pages, map_entries) = map(config, layout, logical_pages)?;
        let journal_pages = config.mapping.journal_pages(layout, map_pages);
        let own_pages = map_pages.saturating_add(journal_pages);
        let (data, map_limit) = data_of_a_plane(config, layout, logical_pages, own_pages, unit_pages);
        let parity = parity_of_a_plane(config, layout, logical_pages + u64::from(map_pages), unit_pages);
        Ok(Share { map_pages, map_entries, journal_pages, map_limit, data, parity })
    }

    fn all(&self) -> u64 {
        self.data + self.parity
    }
}

/// The blocks that a plane needs beside those that its data fills.
struct SpareBlocks {
    /// Log blocks, and one that was left half written, where the mapping has any.
    log: u32,
    /// So that some block has enough stale pages.
    collection: u32,
    /// `gc.stop`: kept free.
    stop: u32,
    open: u32,
}

impl SpareBlocks {
    fn count(&self) -> u32 {
        self.collection.saturating_add(self.stop).saturating_add(self.open).saturating_add(self.log)
    }

    /// Refuses a drive of which data fills as many blocks of a plane that too few are left, with the spare that would
    /// do.
    fn refuse(&self, config: &Config, layout: &Layout, filled: u32, unit_pages: u32) -> Result<Space, Refusal> {
        let SpareBlocks { log, collection, stop, open } = *self;
        let for_log = if log > 0 { format!(", {log} for its log (ftl.log_blocks)") } else { String::new() };
        let given = config.ftl.over_provisioning;
        let gigabytes = |spare: f64| layout.raw_bytes().0 as f64 * spare / (1.0 + spare) / 1e9;
        let (plane, blocks) = if layout.stripe > 1 { ("die", "superblocks") } else { ("plane", "blocks") };
        let problem = format!(
            "is {given}: {:.1} of {:.1} GB are spare, which leaves each {plane} {} of its {} {blocks} beside its data, and it needs {}: {collection} to \
             collect from, {stop} to keep free (gc.stop){for_log} and {open} to write to",
            gigabytes(given),
            layout.raw_bytes().0 as f64 / 1e9,
            layout.blocks.saturating_sub(filled),
            layout.blocks,
            self.count(),
        );
        let others = "lower gc.stop, ftl.streams or ftl.hints, or give each plane more and smaller blocks (geometry.blocks, geometry.pages)";
        let remedy = match self.enough(config, layout, unit_pages) {
            Some(spare) => format!("raise it to {spare:.2} ({:.1} GB spare), {others}", gigabytes(spare)),
            None => others.to_owned(),
        };
        refuse("ftl.over_provisioning", problem, remedy)
    }

    /// The over-provisioning that leaves enough blocks, in whole percents; none where nothing that is accepted does.
    fn enough(&self, config: &Config, layout: &Layout, unit_pages: u32) -> Option<f64> {
        let for_data = layout.blocks.checked_sub(self.count()).filter(|blocks| *blocks > 0)?;
        let least = f64::from(layout.blocks) / f64::from(for_data) - 1.0;
        let from = (least.max(config.ftl.over_provisioning) * 100.0).ceil() as u32;
        let does = |percent: &u32| {
            let mut changed = config.clone();
            changed.ftl.over_provisioning = f64::from(*percent) / 100.0;
            let logical_pages = changed.ftl.logical_pages(layout);
            let share = Share::new(&changed, layout, logical_pages, unit_pages);
            logical_pages > 0
                && share.is_ok_and(|share| share.all().div_ceil(layout.pages.into()) <= u64::from(for_data))
        };
        // The map and parity take their share too: a little more than for the data alone.
        (from..=(from + 100).min(1000)).find(does).map(|percent| f64::from(percent) / 100.0)
    }
}

/// All blocks of a drive that has fewer than 2^31 pages. Of a larger one as many less than can be numbered as may be
/// opened between two looks at them.
fn most_written(layout: &Layout, open: u32) -> Result<u32, Refusal> {
    let (all, opened) = (layout.planes * layout.blocks, layout.planes * open);
    let numbered = (WRITTEN_PAGES >> layout.page_bits) as u32;
    if all <= numbered {
        return Ok(all);
    }
    if numbered <= 2 * opened {
        let problem =
            format!("is {}, and only {numbered} of these blocks could hold data of a run", layout.flash_pages());
        return refuse("geometry.pages", problem, "use smaller blocks");
    }
    Ok(numbered - opened)
}

/// Pages of data that the initial state puts into a row of a page on every plane: the rest is parity (`ftl/rows.rs`).
fn row_of_data(config: &Config, layout: &Layout) -> u64 {
    let stripes = config.ftl.raid.wide().map_or(0, |wide| layout.dies.div_ceil(wide) * layout.planes_per_die);
    u64::from(layout.planes - stripes)
}

/// Pages of parity of zones with this many pages. A stripe has pages of one zone alone, which may lie on fewer dies
/// than a stripe is wide.
fn parity_of_zones(config: &Config, layout: &Layout, data: u64, unit_pages: u32, wide: u32) -> u64 {
    let dies = config.zones.dies.unwrap_or(layout.dies);
    let row = u64::from(unit_pages * layout.planes_per_die);
    // A program of a die brings as many pages to as many stripes: where these are more than may be open, each is closed
    // with one.
    let of_stripe = if row > OPEN_STRIPES as u64 { 1 } else { u64::from(wide.min(dies + 1) - 1) };
    let rows =
        (u64::from(config.zones.blocks) * u64::from(dies) * u64::from(layout.pages) / u64::from(unit_pages)).max(1);
    // The last stripes of a zone may be short.
    data.div_ceil(of_stripe) + data.div_ceil(rows)
}

/// Pages of parity that a plane may hold, with this many pages of data. No page of the flash is in two stripes; of the
/// initial state's stripes some may be shorter than others.
fn parity_of_a_plane(config: &Config, layout: &Layout, data: u64, unit_pages: u32) -> u64 {
    let Some(wide) = config.ftl.raid.wide() else { return 0 };
    if config.ftl.mapping == MappedBy::Zoned {
        // What is in an SLC cache has parity of its own until its blocks are erased.
        let cached = if config.ftl.slc_cache == SlcCache::None { 0 } else { config.slc.blocks };
        let data = data + u64::from(cached) * u64::from(layout.pages) * u64::from(layout.planes);
        return parity_of_zones(config, layout, data, unit_pages, wide).div_ceil(layout.planes.into());
    }
    let row = row_of_data(config, layout);
    let initial = (data as f64 * config.age.fill.0) as u64 / row * (u64::from(layout.planes) - row);
    let all = u64::from(layout.blocks) * u64::from(layout.pages) / u64::from(wide);
    all.max(initial.div_ceil(layout.planes.into()))
}

/// Live pages of a plane's share of the data, and the most pages of the map that it takes under static placement.
fn data_of_a_plane(
    config: &Config,
    layout: &Layout,
    logical_pages: u64,
    map_pages: u32,
    unit_pages: u32,
) -> (u64, u32) {
    let data = layout.most_of_a_plane(logical_pages + u64::from(map_pages));
    // Every write of a translation page finds its plane by itself: a plane may hold twice its share of the map. Static
    // placement has no limit to host data, so that a plane must not hold more; it takes a program's worth when it takes
    // any.
    let share = map_pages.div_ceil(layout.planes);
    let filling = unit_pages - 1;
    let crowded = config.ftl.placement == Placement::Static && share > 0 && share < unit_pages;
    let data = data + u64::from(share + if crowded { filling } else { 0 });
    (data, 2 * share - if crowded { 0 } else { filling.min(share) })
}

/// Pages that the map takes on flash, and logical pages whose entries each has.
fn map(config: &Config, layout: &Layout, logical_pages: u64) -> Result<(u32, u32), Refusal> {
    if !config.mapping.is_on_flash() {
        return Ok((0, 0));
    }
    let unit = config.mapping.unit_of(layout);
    let entries = (layout.page_size.0 / config.mapping.entry.0) as u32 * unit;
    let pages = logical_pages.div_ceil(entries.into());
    let groups = logical_pages.div_ceil(config.mapping.pages_of_group(layout).max(1).into());
    if config.mapping.table == MapTable::Cached && groups > u64::from(u32::MAX) {
        let problem = format!("is {}, which makes {groups} groups", config.mapping.entry_group);
        return refuse("mapping.entry_group", problem, "the map can have at most 4 294 967 295: write a larger size");
    }
    // No more than the groups: a group is no larger than a page.
    Ok((pages as u32, entries))
}

#[cfg(test)]
mod tests {
    use crate::presets;

    #[test]
    fn too_little_spare_is_told_in_bytes_and_what_is_advised_is_enough() {
        for (device, words) in [
            ("tlc", &["geometry.blocks=40"][..]),
            ("qlc", &["geometry.blocks=30", "ftl.over_provisioning=0.15"]),
            ("tlc-page", &["gc.stop=20", "gc.start=20", "geometry.blocks=128"]),
            ("mqsim", &["ftl.over_provisioning=0.02", "geometry.blocks=128"]),
            ("tlc", &["ftl.raid=parity:8", "geometry.blocks=60"]),
        ] {
            let mut config = presets::load(device).unwrap().config;
            words.iter().for_each(|word| config.set(word).unwrap());
            let error = config.plan().unwrap_err();
            assert_eq!(error.key.as_deref(), Some("ftl.over_provisioning"), "{error}");
            let given = config.ftl.over_provisioning;
            assert!(error.problem.starts_with(&format!("is {given}: ")), "{error}");
            assert!(error.problem.contains(" GB are spare, which leaves each "), "{error}");
            let advised = error.remedy.strip_prefix("raise it to ").unwrap().split(' ').next().unwrap();
            config.set(&format!("ftl.over_provisioning={advised}")).unwrap();
            config.plan().unwrap_or_else(|error| panic!("{device} {words:?} at {advised}: {error}"));
        }
        let mut config = presets::load("tlc").unwrap().config;
        config.set("geometry.blocks=5").unwrap();
        let error = config.plan().unwrap_err();
        assert!(error.remedy.starts_with("lower gc.stop, "), "{error}");
    }
}
