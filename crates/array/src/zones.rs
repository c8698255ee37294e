//! The zones of an array: each is one of every drive, since stripes lie at the same row of all of them. Which arrays
//! can have them.

use ssd::Plan;
use ssd::persist::state;
use ssd::zones::{SpreadZones, ZonesSeen};
use units::{Bytes, ConfigError};

use crate::config::{ArrayConfig, refusal};
use crate::layout::{Layout, Placement};
use crate::slab::Key;

/// The zones of an array.
pub(crate) struct ArrayZones {
    pub spread: SpreadZones,
    /// Requests that wait for the writes to their zones that came before them.
    pub waiting: Vec<Key>,
}

state! {
    ArrayZones { stored { waiting } parts { spread } }
}

impl ArrayZones {
    /// The zones of an array of drives with these plans; none where the drives have none.
    pub fn new<'a>(
        config: &ArrayConfig,
        layout: &Layout,
        plans: impl Iterator<Item = &'a Plan> + Clone,
        has_spares: bool,
    ) -> Result<Option<Box<ArrayZones>>, ConfigError> {
        let code = layout.code;
        let width = code.data * (layout.drives / code.width()).max(1);
        let different =
            |problem: &str| refusal("layout", problem, "give all drives the same zones, or none of them any");
        let Some(spread) = SpreadZones::new(plans.clone(), width as u64).map_err(different)? else { return Ok(None) };
        if plans.clone().any(|plan| !plan.config.power.cut_at.is_empty()) {
            let problem =
                "cuts the power of a drive whose zones are an array's, which would know another write pointer";
            let error = refusal("", problem, "leave it out, or cut the power of one drive alone");
            return Err(ConfigError { key: Some("power.cut_at".into()), ..error });
        }
        for (is_so, key, problem, remedy) in [
            (
                code.parity > 0 && !code.copies(),
                "layout",
                "writes the parity of a stripe before that is full, and a zone takes nothing twice",
                "write \"stripe\" or \"mirror\"; ftl.raid protects zones within each drive",
            ),
            (
                config.placement != Placement::Rotated,
                "placement",
                "puts the chunks of a zone at other rows of each drive, and zones are written in order",
                "write \"rotated\"",
            ),
            (
                has_spares,
                "layout",
                "has a spare drive, and its rebuild would write zones while the host does",
                "leave [drive.NAME] spare out",
            ),
            (
                config.scrub_rate.is_some(),
                "scrub_rate",
                "writes again what cannot be read, and a zone takes nothing twice",
                "leave it out",
            ),
        ] {
            if is_so {
                return Err(refusal(key, problem, remedy));
            }
        }
        let (size, capacity) = spread.of_drive();
        if !(size.0.is_multiple_of(layout.chunk) && capacity.0.is_multiple_of(layout.chunk)) {
            let problem = format!(
                "is {}, and a zone of a drive, of {size} with {capacity} that can be written, has no whole number of them",
                Bytes(layout.chunk)
            );
            return Err(refusal("chunk", problem, "write one that divides both"));
        }
        Ok(Some(Box::new(ArrayZones { spread, waiting: Vec::new() })))
    }

    /// To be looked at.
    pub fn seen(&self) -> ZonesSeen<'_> {
        self.spread.seen()
    }

    /// Checks what must hold at any time.
    pub fn check(&self) -> Result<(), String> {
        self.spread.check()
    }
}
