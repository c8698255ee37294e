//! The table of streams that follows from a configuration.

use nand::Layout;
use schemes::Convert;

use super::modes::SlcPlan;
use super::refusal::{Refusal, refuse};
use super::{Config, MappedBy, SlcCache};
use crate::streams::{HOSTS, Stream, StreamId, Streams};

/// The table: host data by its handle, or by its age; relocated data by how often it has been; parity; the map.
pub(super) fn table(config: &Config, layout: &Layout, unit_pages: u32, slc: Option<&SlcPlan>) -> Streams {
    let given = &config.ftl;
    let hosts = config.host_streams() as usize;
    let native = |id: StreamId, opens: StreamId| Stream {
        id,
        opens,
        slc: false,
        pages: layout.pages,
        unit: unit_pages,
        paced: unit_pages,
    };
    let own = |id: StreamId| native(id, id);
    let cached = |id: StreamId| match slc {
        Some(slc) => {
            // Blocks that are the cache's for good are no common room.
            let all = u64::from(slc.unit_pages) * u64::from(layout.pages);
            let share = u32::try_from(all.div_ceil(slc.layout.pages.into())).unwrap_or(u32::MAX);
            let common = if slc.fixed > 0 { 0 } else { share };
            Stream { slc: true, pages: slc.layout.pages, unit: slc.unit_pages, paced: common, ..own(id) }
        }
        None => own(id),
    };
    let mut rows: Vec<Stream> = (0..hosts).map(|number| cached(StreamId::new(number))).collect();
    if slc.is_some() {
        // What goes past the cache.
        rows.extend((hosts..2 * hosts).map(|number| own(StreamId::new(number))));
    }
    // Everything in one stream: with a cache, in that of what goes past it.
    let together = StreamId::new(if slc.is_some() { hosts } else { 0 });
    let relocated = if given.streams == 1 { together } else { StreamId::RELOCATED };
    rows.push(native(StreamId::RELOCATED, relocated));
    if given.streams == 4 {
        rows.push(own(StreamId::AGAIN));
    } else if slc.is_none() && given.raid.wide().is_none() && given.mapping != MappedBy::Fast {
        // It waits by itself and goes into the same block.
        rows.push(native(StreamId::AGAIN, relocated));
    }
    if slc.is_some() && config.slc.convert != Convert::None {
        rows.push(cached(StreamId::CONVERTED));
    }
    if given.raid.wide().is_some() {
        rows.push(own(StreamId::PARITY));
    }
    if config.mapping.is_on_flash() {
        rows.push(own(StreamId::MAP));
    }
    Streams::new(rows)
}

impl Config {
    /// Streams of what the host writes: one for zones, and one for conventional ones and for data of zones that is
    /// worked out of its stripe or whose plane has broken; one a placement handle; otherwise one, or one for young data
    /// and one for the rest.
    pub(super) fn host_streams(&self) -> u32 {
        if self.ftl.mapping == MappedBy::Zoned {
            let moves_out = self.faults.break_parts() || self.ftl.raid.wide().is_some();
            return 1 + u32::from(self.zones.conventional > 0 || moves_out);
        }
        if self.ftl.mapping == MappedBy::Fast {
            // The random log blocks, and the sequential one.
            return 2;
        }
        match self.ftl.hints {
            0 if self.ftl.streams <= 2 => 1,
            0 => 2,
            handles => u32::from(handles) * u32::from(self.ftl.reclaim_groups),
        }
    }
}

/// Checks that the host's streams have numbers.
pub(super) fn check(config: &Config) -> Result<(), Refusal> {
    let cached = config.ftl.slc_cache != SlcCache::None;
    let most = if cached { HOSTS / 2 } else { HOSTS } as u32;
    if config.host_streams() > most {
        let why =
            if cached { ": with ftl.slc_cache what goes past the cache has a stream for each as well" } else { "" };
        let of_groups = match config.ftl.reclaim_groups {
            1 => String::new(),
            groups => format!(" in each of {groups} reclaim groups"),
        };
        let hints = config.ftl.hints;
        let problem = format!("is {hints}{of_groups}, and a plane has at most {HOSTS} open blocks for host data{why}");
        let most = most / u32::from(config.ftl.reclaim_groups).max(1);
        return refuse("ftl.hints", problem, format!("write at most {most}, or 0 to ignore hints"));
    }
    Ok(())
}
