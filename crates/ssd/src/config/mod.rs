//! The device's one configuration schema: every crate's parameters, composed, checked together and worked
//! out into what the simulation needs.
//!
//! A section is a file: its keys, what they mean, their defaults, and the check of what it says by itself.
//! `combinations.rs` checks sections against one another, and [`Plan`] is what follows from all of them.

mod age;
mod buffer;
mod bus;
mod chip_model;
mod combinations;
mod ecc;
mod energy;
mod erase;
mod fast;
mod faults;
mod ftl;
mod gc;
mod groups;
mod host;
mod mapping;
mod modes;
mod plan;
mod power;
mod read;
mod refresh;
mod refusal;
mod schedule;
mod slc;
mod space;
mod streams;
mod thermal;
mod wear;
mod without_effect;
mod zone_plan;
mod zones;

use nand::{Chip, Geometry};
use units::ConfigError;
use units::document::{Document, apply_word};
use units::section::Section;

pub use age::{AgeConfig, PastLoad, Precondition, Stage, WornUnder};
pub use buffer::{BufferConfig, BufferMode};
pub use bus::{BusConfig, Transfer};
pub(crate) use chip_model::EASY_AGE;
pub use ecc::EccConfig;
pub use energy::EnergyConfig;
pub use erase::EraseConfig;
pub use faults::{Fault, FaultsConfig, Part};
pub use ftl::{Allocation, EraseWhen, FtlConfig, Isolation, MappedBy, PageOrder, Placement, Raid, SlcCache};
pub use gc::GcConfig;
pub(crate) use groups::Groups;
pub use host::{Arbitration, HostConfig, QueuePriority};
pub(crate) use mapping::CHANGE;
pub use mapping::{MapTable, MapUnit, MappingConfig, Sharing};
pub use plan::Plan;
pub use power::{Cut, PowerConfig};
pub use read::{ReadConfig, Tracking};
pub use refresh::{Reclaim, RefreshConfig};
pub use schedule::ScheduleConfig;
pub use slc::{Fold, Full, SlcConfig};
pub(crate) use space::{OPEN_STRIPES, WRITTEN_PAGES};
pub use thermal::ThermalConfig;
pub use wear::{EndOfLife, FreeBlock, WearConfig};
pub(crate) use zone_plan::ZonePlan;
pub use zones::{Finish, ResetCompletes, ZonesConfig};

use crate::policies::Policies;
use refusal::Check;

/// Declares the sections once, in the order in which they are documented.
macro_rules! sections {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty,)+) => {
        /// Everything that describes a device and the state it starts in.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Config {
            $($(#[doc = $doc])+ pub $name: $type,)+
            /// What stands in for the choices of policies above.
            pub policies: Policies,
        }

        /// How many sections there are.
        const COUNT: usize = [$(stringify!($name)),+].len();

        impl Config {
            /// The sections, in the order in which they are documented.
            pub fn sections(&self) -> [&dyn Section; COUNT] {
                [$(&self.$name),+]
            }

            /// The sections, to be changed.
            pub fn sections_mut(&mut self) -> [&mut dyn Section; COUNT] {
                [$(&mut self.$name),+]
            }

            /// The sections, to be checked each by itself.
            fn checks(&self) -> [&dyn Check; COUNT] {
                [$(&self.$name),+]
            }
        }
    };
}

sections! {
    /// Flash geometry.
    geometry: Geometry,
    /// Chip timings.
    chip: Chip,
    /// Channel buses.
    bus: BusConfig,
    /// ECC engines.
    ecc: EccConfig,
    /// Host interface.
    host: HostConfig,
    /// Write buffer.
    buffer: BufferConfig,
    /// Flash translation layer.
    ftl: FtlConfig,
    /// SLC cache.
    slc: SlcConfig,
    /// Garbage collection.
    gc: GcConfig,
    /// Wear levelling and failing blocks.
    wear: WearConfig,
    /// Parts that break.
    faults: FaultsConfig,
    /// Logical-to-physical map.
    mapping: MappingConfig,
    /// Zones.
    zones: ZonesConfig,
    /// Refresh and read reclaim.
    refresh: RefreshConfig,
    /// Reading.
    read: ReadConfig,
    /// Scheduling.
    schedule: ScheduleConfig,
    /// Erasing.
    erase: EraseConfig,
    /// Energy.
    energy: EnergyConfig,
    /// Temperature.
    thermal: ThermalConfig,
    /// Initial state.
    age: AgeConfig,
    /// Power cuts.
    power: PowerConfig,
}

// Layout and timings, which are worked out of them, are their checks.
impl Check for Geometry {}
impl Check for Chip {}

impl Config {
    /// Applies a TOML document.
    pub fn apply(&mut self, document: &Document, top_level: &[&str]) -> Result<(), ConfigError> {
        document.apply(&mut self.sections_mut(), top_level)
    }

    /// Sets one `section.key=value`.
    pub fn set(&mut self, word: &str) -> Result<(), ConfigError> {
        apply_word(word, &mut self.sections_mut())
    }

    /// The whole configuration as TOML that reads back.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for section in self.sections() {
            text.push_str(&format!("[{}]\n", section.name()));
            for key in section.keys() {
                let value = section.get(key.name).expect("Invariant: a section has every key that it lists");
                text.push_str(&format!("{} = {value}\n", key.name));
            }
            text.push('\n');
        }
        text
    }
}
