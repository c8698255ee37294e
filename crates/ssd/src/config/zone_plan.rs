//! The zones of a drive: how many there are, where they lie, and what a drive with zones has nothing to do with.

use nand::geometry::MAX_PAGES;
use nand::{DieId, Layout, PlaneId};
use units::{Bytes, Lpn};

use crate::streams::StreamId;

use super::modes::SlcPlan;
use super::refusal::{Refusal, refuse};
use super::{BufferMode, Config, EraseWhen, Finish, MapTable, MappedBy, Precondition, ResetCompletes};

/// The zones of a drive.
#[derive(Clone, Debug)]
pub(crate) struct ZonePlan {
    /// All zones, and the conventional ones, which come first.
    pub zones: u32,
    pub conventional: u32,
    /// Pages from the beginning of a zone to that of the next one, and those of them that can be written.
    pub size: u64,
    pub capacity: u64,
    /// Dies of a zone, and pages that a zone has on each of them.
    pub dies: u32,
    pub pages_of_die: u64,
    /// Pages that a program brings to a plane, and to a die.
    pub unit: u32,
    pub row: u32,
    pub max_open: u32,
    pub max_active: u32,
    pub append_limit: Option<Bytes>,
    pub random_area: Bytes,
    pub finish: Finish,
    pub reset_completes: ResetCompletes,
    pub read_across: bool,
    /// What is written goes into the SLC cache first.
    pub cached: bool,
    planes_per_die: u32,
    page_size: Bytes,
    /// Dies in the order in which zones lie on them.
    order: Vec<DieId>,
}

/// Where a page of a zone is to be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZonePlace {
    pub die: DieId,
    /// The place of the plane in the die.
    pub plane: u8,
}

impl ZonePlan {
    /// The zones of a drive that has any.
    pub fn new(
        config: &Config,
        layout: &Layout,
        native: u32,
        slc: Option<&SlcPlan>,
    ) -> Result<Option<ZonePlan>, Refusal> {
        if config.ftl.mapping != MappedBy::Zoned {
            return Ok(None);
        }
        suits(config)?;
        let given = &config.zones;
        let dies = given.dies.unwrap_or(layout.dies);
        if dies == 0 || !layout.dies.is_multiple_of(dies) {
            let problem = format!("is {dies}, and the drive has {} dies", layout.dies);
            return refuse("zones.dies", problem, "write a number that divides it, or \"none\" for all of them");
        }
        if given.blocks == 0 {
            return refuse("zones.blocks", "is 0", "write at least 1");
        }
        let (page, unit) = (layout.page_size.0, slc.map_or(native, |slc| slc.unit_pages));
        let pages_of_die = u64::from(layout.planes_per_die) * u64::from(given.blocks) * u64::from(layout.pages);
        let all = pages_of_die * u64::from(dies);
        let capacity = pages_of("zones.capacity", given.capacity, all, page)?;
        if capacity == 0 || capacity > all {
            let problem = format!("is {}, and its blocks have {}", Bytes(capacity * page), Bytes(all * page));
            return refuse("zones.capacity", problem, "write no more than that, or \"none\" for all of it");
        }
        let size = pages_of("zones.size", given.size, capacity, page)?;
        if size < capacity {
            let problem = format!("is {}, less than the capacity of {}", Bytes(size * page), Bytes(capacity * page));
            return refuse("zones.size", problem, "write at least that, or \"none\"");
        }
        let zones = count(config, layout, (all, size), dies)?;
        addresses_have_room(zones, Bytes(size * page), layout)?;
        let limit = |limit: Option<u32>| limit.unwrap_or(zones).min(zones);
        let (max_open, max_active) = (limit(given.max_open), limit(given.max_active));
        if max_open > max_active || max_open == 0 {
            let problem = format!("is {max_open}, and {max_active} zones may be active (zones.max_active)");
            return refuse("zones.max_open", problem, "every open zone is active: write a number from 1 to that");
        }
        let firsts =
            config.ftl.page_order.planes(layout).into_iter().filter(|plane| plane % layout.planes_per_die == 0);
        let plan = ZonePlan {
            zones,
            conventional: given.conventional,
            size,
            capacity,
            dies,
            pages_of_die,
            unit,
            row: unit * layout.planes_per_die,
            max_open,
            max_active,
            append_limit: given.append_limit,
            random_area: given.random_area,
            finish: given.finish,
            reset_completes: given.reset_completes,
            read_across: given.read_across,
            cached: slc.is_some(),
            planes_per_die: layout.planes_per_die,
            page_size: layout.page_size,
            order: firsts.map(|plane| DieId((plane / layout.planes_per_die) as u16)).collect(),
        };
        plan.buffer_holds_them(config, layout)?;
        Ok(Some(plan))
    }

    /// Pages that are addressed.
    pub fn logical_pages(&self) -> u64 {
        u64::from(self.zones) * self.size
    }

    /// Pages of the flash that the zones take when all are full.
    pub fn stored_pages(&self) -> u64 {
        let in_order = u64::from(self.zones - self.conventional) * self.pages_of_die * u64::from(self.dies);
        in_order + u64::from(self.conventional) * self.size
    }

    /// The zone of a page.
    #[inline]
    pub fn zone_of(&self, lpn: Lpn) -> u32 {
        (lpn.0 / self.size) as u32
    }

    /// The first and the last zone in which a range of bytes lies.
    #[inline]
    pub fn zones_in(&self, offset: u64, bytes: u64) -> (u32, u32) {
        let size = self.size_bytes();
        ((offset / size) as u32, ((offset + bytes - 1) / size) as u32)
    }

    /// Whether a zone is written in order.
    #[inline]
    pub fn is_sequential(&self, zone: u32) -> bool {
        zone >= self.conventional
    }

    /// The zone of a page that is written in order.
    #[inline]
    pub fn sequential(&self, lpn: Lpn) -> Option<u32> {
        Some(self.zone_of(lpn)).filter(|zone| self.is_sequential(*zone))
    }

    /// Whether any byte of a range lies in a zone that is written in order.
    pub fn touches_sequential(&self, offset: u64, bytes: u64) -> bool {
        offset + bytes > self.start(self.conventional)
    }

    /// The first page of a zone.
    #[inline]
    pub fn first(&self, zone: u32) -> Lpn {
        Lpn(u64::from(zone) * self.size)
    }

    /// The first byte of a zone.
    pub fn start(&self, zone: u32) -> u64 {
        self.first(zone).0 * self.page_size.0
    }

    /// Bytes from the beginning of a zone to that of the next one, and those of them that can be written.
    pub fn size_bytes(&self) -> u64 {
        self.size * self.page_size.0
    }

    /// See [`ZonePlan::size_bytes`].
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity * self.page_size.0
    }

    /// Groups of dies: a zone lies on one of them.
    pub fn groups(&self) -> u32 {
        self.order.len() as u32 / self.dies
    }

    /// Where a page of a zone that is written in order goes: a program's worth to each plane of a die, then to the next
    /// die. Zones of a group begin at its dies in turn.
    pub fn place(&self, zone: u32, page: u64) -> ZonePlace {
        let (row, within) = (page / u64::from(self.row), (page % u64::from(self.row)) as u32);
        ZonePlace { die: self.dies_of(zone)[self.die_place(zone, row)], plane: (within / self.unit) as u8 }
    }

    /// How many zones are full at the start, of which that share is.
    pub fn filled(&self, share: f64) -> u32 {
        (f64::from(self.zones) * share).round() as u32
    }

    /// Whether a page is in a zone that is full at the start, of which that share is.
    pub fn holds_at_start(&self, lpn: Lpn, share: f64) -> bool {
        let zone = self.zone_of(lpn);
        let written = if self.is_sequential(zone) { self.capacity } else { self.size };
        zone < self.filled(share) && lpn.0 - self.first(zone).0 < written
    }

    /// The stream of a page of a zone that is full at the start: its data has left the SLC cache, where there is one.
    pub fn stream_at_start(&self, lpn: Lpn) -> StreamId {
        match self.sequential(lpn) {
            _ if self.cached => StreamId::RELOCATED,
            Some(_) => StreamId::new(0),
            None => StreamId::new(1),
        }
    }

    /// Whole programs that are completed when a zone is finished: of a die, or of a plane \[pages\].
    pub fn grain_of_finish(&self) -> u64 {
        match self.finish {
            Finish::Pad => self.row.into(),
            Finish::Close => self.unit.into(),
        }
    }

    /// Programs of a die's worth that a zone takes.
    pub fn rows(&self) -> u64 {
        (self.pages_of_die * u64::from(self.dies)).div_ceil(self.row.into())
    }

    /// The place, among the dies of a zone, of the die to which a row of its pages goes.
    pub fn die_place(&self, zone: u32, row: u64) -> usize {
        let turn = (zone - self.conventional) / self.groups();
        ((row + u64::from(turn)) % u64::from(self.dies)) as usize
    }

    /// The dies of a zone.
    pub fn dies_of(&self, zone: u32) -> &[DieId] {
        let group = (zone - self.conventional) % self.groups();
        &self.order[(group * self.dies) as usize..((group + 1) * self.dies) as usize]
    }

    /// The planes of a zone.
    pub fn planes_of(&self, zone: u32) -> impl Iterator<Item = PlaneId> + use<'_> {
        let planes = self.planes_per_die;
        self.dies_of(zone)
            .iter()
            .flat_map(move |die| (0..planes).map(move |place| PlaneId(u32::from(die.0) * planes + place)))
    }

    /// The zones, of those that are written in order, that lie on a plane.
    pub fn zones_on(&self, plane: PlaneId) -> impl Iterator<Item = u32> + use<'_> {
        let die = DieId((plane.0 / self.planes_per_die) as u16);
        (self.conventional..self.zones).filter(move |zone| self.dies_of(*zone).contains(&die))
    }

    /// The write buffer keeps what each active zone has of a program that is not full, and its zone random write area.
    fn buffer_holds_them(&self, config: &Config, layout: &Layout) -> Result<(), Refusal> {
        if !self.random_area.0.is_multiple_of(layout.page_size.0) {
            let problem = format!("is {}", self.random_area);
            return refuse("zones.random_area", problem, format!("write a multiple of {}", layout.page_size));
        }
        let area = self.random_area.0 / layout.page_size.0;
        let waiting = u64::from(self.max_active) * (u64::from(self.row) + area);
        let needed = waiting + u64::from(self.row);
        if config.buffer.slots(layout) < needed {
            let problem = format!(
                "is {}, and each of {} active zones keeps what is not a whole program of a die yet: {} with one program more",
                config.buffer.size,
                self.max_active,
                Bytes(needed * layout.page_size.0)
            );
            return refuse("buffer.size", problem, "raise it, or lower zones.max_active or zones.random_area");
        }
        Ok(())
    }
}

/// A size in pages; `otherwise` where none is given.
fn pages_of(key: &'static str, given: Option<Bytes>, otherwise: u64, page: u64) -> Result<u64, Refusal> {
    match given {
        None => Ok(otherwise),
        Some(bytes) if bytes.0.is_multiple_of(page) => Ok(bytes.0 / page),
        Some(bytes) => refuse(key, format!("is {bytes}"), format!("write a multiple of {}", Bytes(page))),
    }
}

/// How many zones there are, of which each of those that are written in order has this many pages of the flash, and a
/// conventional one this many.
fn count(config: &Config, layout: &Layout, (all, size): (u64, u64), dies: u32) -> Result<u32, Refusal> {
    let given = &config.zones;
    let row = u64::from(layout.planes) * u64::from(layout.pages);
    let budget = config.ftl.logical_pages(layout) / row;
    let conventional = u64::from(given.conventional).saturating_mul(size).div_ceil(row);
    let groups = layout.dies / dies;
    let rows = budget.saturating_sub(conventional) / u64::from(given.blocks);
    debug_assert_eq!(all * u64::from(groups), row * u64::from(given.blocks));
    if rows == 0 {
        let problem = format!(
            "is {}, and of the {budget} blocks of a plane that hold data {conventional} are those of conventional zones",
            given.blocks
        );
        return refuse("zones.blocks", problem, "write fewer, or lower zones.conventional");
    }
    u32::try_from(rows * u64::from(groups) + u64::from(given.conventional))
        .or_else(|_| refuse("zones.blocks", "makes more than 4 294 967 295 zones", "write more"))
}

/// Addresses of a drive with zones for each page of its flash at most (assumed: what lies between the capacity of a
/// zone and the next one is never written, and hosts want no more of it than sizes that are powers of two; tables of
/// the map grow with it).
const MOST_ADDRESSES: u64 = 16;

/// Checks that the addresses of this many zones of a size have numbers, and that tables of them have room.
fn addresses_have_room(zones: u32, size: Bytes, layout: &Layout) -> Result<(), Refusal> {
    let most = layout.raw_pages().saturating_mul(MOST_ADDRESSES).min(MAX_PAGES);
    let most_of_zone = most / u64::from(zones) * layout.page_size.0;
    if size.0 > most_of_zone {
        let problem = format!("is {size}, and {zones} zones of it have more than {most} pages");
        return refuse("zones.size", problem, format!("write at most {}, or \"none\"", Bytes(most_of_zone)));
    }
    Ok(())
}

/// What a drive with zones has nothing to do with, by what zones are.
fn suits(config: &Config) -> Result<(), Refusal> {
    let Config { ftl, buffer, mapping, age, power, .. } = config;
    let staggered = age.is_staggered();
    for (is_so, key, problem, remedy) in [
        (
            buffer.mode == BufferMode::WriteThrough,
            "buffer.mode",
            "acknowledges a write when it is on flash, and what fills no program of its zone cannot be programmed",
            "write \"write-back\"",
        ),
        (
            !power.plp,
            "power.plp",
            "is false: what fills no program of its zone stays in the buffer beyond a flush, and only capacitors make that durable",
            "set it to true",
        ),
        (
            age.precondition != Precondition::None || staggered,
            "age.precondition",
            "overwrites data where it is, which zones do not allow",
            "write \"none\" (and age.staggered = false): the first age.fill of the zones are full",
        ),
        (
            ftl.streams != 2,
            "ftl.streams",
            "is not 2: each zone has blocks of its own, and relocated data has",
            "write 2",
        ),
        (ftl.hints != 0, "ftl.hints", "places data by handles, and here its zone does", "write 0"),
        (
            mapping.table == MapTable::Cached || mapping.checkpoint.is_some(),
            "mapping.table",
            "keeps entries of single pages on flash, and the map of zones is a list of blocks",
            "write \"ideal\", and mapping.checkpoint = \"none\"",
        ),
        (
            mapping.table == MapTable::Learned,
            "mapping.table",
            "learns where single pages are, and the map of zones is a list of blocks",
            "write \"ideal\", and mapping.checkpoint = \"none\"",
        ),
        (
            mapping.spans_pages(),
            "mapping.unit",
            "is larger than a page, and a zone has no entries for pages",
            "write \"page\", or less than a page",
        ),
    ] {
        if is_so {
            return refuse(key, problem, remedy);
        }
    }
    resets_end(config)
}

fn resets_end(config: &Config) -> Result<(), Refusal> {
    if config.zones.reset_completes == ResetCompletes::Erased && config.ftl.erase_when == EraseWhen::Opened {
        let problem = "is \"erased\", and blocks are erased when they are written again (ftl.erase_when)";
        return refuse("zones.reset_completes", problem, "write \"at-once\", or ftl.erase_when = \"reclaimed\"");
    }
    Ok(())
}
