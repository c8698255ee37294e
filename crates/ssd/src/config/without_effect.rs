//! Settings that have no effect.

use schemes::{Next, Pipeline, Predictor, Sensing, Soft, Start, SuspendErase, SuspendProgram};
use units::value::Scalar;

use super::{Arbitration, Config, MapTable, MappedBy, Raid, Reclaim, SlcCache};

/// Keys that have no effect (`section.*` is all of a section), when that is so, and what they would need.
struct Rule {
    keys: &'static [&'static str],
    idle: fn(&Config) -> bool,
    without: &'static str,
}

const CACHED: &str = "mapping.table = \"cached\"";
const SENSING: &str = "read.sensing and chip.model";
const SUSPENDS: &str = "schedule.suspend_program or schedule.suspend_erase";
const NO_MODEL: &str = "a chip model (chip.model), whose pages could fail";
const NO_PULSES: &str = "erase.pulse, by which blocks are erased pulse by pulse";

/// Rules that name the same need are told as one.
const RULES: &[Rule] = &[
    Rule {
        keys: &[
            "read.start",
            "read.next",
            "read.pipeline",
            "read.sensing",
            "read.predictor",
            "read.fail_fast",
            "read.trees",
            "policies.start",
            "policies.next",
        ],
        idle: |config| !config.is_modelled(),
        without: NO_MODEL,
    },
    Rule {
        keys: &["read.trees"],
        idle: |config| config.read.learned().next().is_none(),
        without: "a choice that is learned (read.start, read.sensing or read.pipeline)",
    },
    Rule {
        keys: &["chip.read_disturb", "ecc.miscorrection", "age.written_at"],
        idle: |config| !config.is_modelled(),
        without: NO_MODEL,
    },
    Rule {
        keys: &["age.pec"],
        idle: |config| !config.is_modelled() && config.wear.endurance.is_none() && config.erase.pulse.is_none(),
        without: NO_MODEL,
    },
    Rule {
        keys: &["age.load"],
        idle: |config| !config.plays_past(),
        without: "age.precondition = \"closed-form\" on a drive without parity, power cuts or a checkpointed map",
    },
    Rule {
        keys: &["age.retention", "age.schedule"],
        idle: |config| !config.is_modelled() && config.refresh.period.is_none(),
        without: NO_MODEL,
    },
    Rule {
        keys: &["age.temperature"],
        idle: |config| config.thermal.resistance.is_some(),
        without: "a temperature that stays (thermal.resistance = \"none\")",
    },
    Rule { keys: &["ecc.crc"], idle: |config| config.ecc.miscorrection.0 == 0.0, without: "ecc.miscorrection" },
    Rule {
        keys: &["host.priorities", "host.weights"],
        idle: |config| config.host.arbitration != Arbitration::Weighted,
        without: "host.arbitration = \"weighted\"",
    },
    Rule { keys: &["chip.neighbour_disturb"], idle: |config| !config.chip.read_disturb, without: "chip.read_disturb" },
    Rule { keys: &["refresh.reclaim"], idle: |config| config.refresh.reads.is_none(), without: "refresh.reads" },
    Rule {
        keys: &["refresh.reclaim"],
        idle: |config| {
            let weighs = config.chip.read_disturb && config.chip.neighbour_disturb != 1.0;
            config.refresh.reclaim == Reclaim::Wordline && config.refresh.reads.is_some() && !weighs
        },
        without: "chip.read_disturb and chip.neighbour_disturb",
    },
    Rule {
        keys: &["chip.suspended_program_errors"],
        idle: |config| config.schedule.suspend_program == SuspendProgram::None || !config.is_modelled(),
        without: "schedule.suspend_program and chip.model",
    },
    Rule {
        keys: &["chip.suspended_erase_wear"],
        idle: |config| config.schedule.suspend_erase == SuspendErase::None || config.erase.pulse.is_none(),
        without: "schedule.suspend_erase and erase.pulse",
    },
    Rule {
        keys: &["schedule.suspend_erase_for", "schedule.suspend_erase_left"],
        idle: |config| config.schedule.suspend_erase == SuspendErase::None,
        without: "schedule.suspend_erase",
    },
    Rule {
        keys: &["schedule.suspend_program_left"],
        idle: |config| config.schedule.suspend_program == SuspendProgram::None,
        without: "schedule.suspend_program",
    },
    Rule {
        keys: &[
            "schedule.suspend_after",
            "schedule.suspend_progress",
            "schedule.suspend_budget",
            "schedule.suspend_one_of_chip",
        ],
        idle: |config| config.schedule.suspends_nothing(),
        without: SUSPENDS,
    },
    Rule {
        keys: &["schedule.suspend_one_of_chip"],
        idle: |config| !config.schedule.suspends_nothing() && config.geometry.dies == 1,
        without: "chips of several dies (geometry.dies)",
    },
    Rule {
        keys: &["age.reads"],
        idle: |config| !config.chip.read_disturb && config.refresh.reads.is_none(),
        without: "chip.read_disturb or refresh.reads",
    },
    Rule { keys: &["chip.pass_order"], idle: |config| config.chip.program_passes == 1, without: "chip.program_passes" },
    Rule { keys: &["gc.copyback_limit"], idle: |config| !config.copies_back(), without: "gc.copyback or slc.fold" },
    Rule { keys: &["slc.*"], idle: |config| config.ftl.slc_cache == SlcCache::None, without: "ftl.slc_cache" },
    Rule {
        keys: &["zones.*"],
        idle: |config| config.ftl.mapping != MappedBy::Zoned,
        without: "ftl.mapping = \"zoned\"",
    },
    Rule {
        keys: &["ftl.log_blocks"],
        idle: |config| config.ftl.mapping != MappedBy::Fast,
        without: "ftl.mapping = \"fast\"",
    },
    Rule {
        keys: &["power.plp"],
        idle: |config| config.power.cut_at.is_empty() && config.ftl.mapping != MappedBy::Zoned,
        without: "power.cut_at",
    },
    Rule {
        keys: &["faults.growth"],
        idle: |config| !config.fails_by_chance(),
        without: "anything that fails by chance",
    },
    Rule {
        keys: &["energy.power_state", "energy.window"],
        idle: |config| config.energy.power_states.is_empty(),
        without: "energy.power_states",
    },
    Rule {
        keys: &["thermal.time_constant", "thermal.ambient", "thermal.light", "thermal.heavy", "thermal.hysteresis"],
        idle: |config| config.thermal.resistance.is_none(),
        without: "thermal.resistance",
    },
    Rule {
        keys: &["thermal.light", "thermal.heavy", "thermal.hysteresis"],
        idle: |config| {
            let never_lower = config.energy.limits_mw().is_none_or(|[normal, _, lowest]| normal <= lowest);
            config.thermal.resistance.is_some() && never_lower
        },
        without: "a lower one in energy.power_states",
    },
    Rule { keys: &["ftl.isolation"], idle: |config| config.ftl.hints == 0, without: "ftl.hints" },
    Rule {
        keys: &["mapping.error"],
        idle: |config| config.mapping.table != MapTable::Learned,
        without: "mapping.table = \"learned\"",
    },
    Rule { keys: &["wear.spare_threshold"], idle: |config| !config.blocks_fail(), without: "blocks that fail" },
    Rule { keys: &["faults.burst"], idle: |config| config.faults.blocks.0 == 0.0, without: "faults.blocks" },
    Rule {
        keys: &["erase.requirement", "age.worn_under"],
        idle: |config| config.erase.pulse.is_none(),
        without: NO_PULSES,
    },
];

/// What a device file may say of its parts for schemes and choices that make use of it: told of settings beside the
/// file alone.
const OF_PARTS: &[Rule] = &[
    Rule {
        keys: &["mapping.cache", "mapping.entry_group", "mapping.sharing"],
        idle: |config| config.mapping.table != MapTable::Cached,
        without: CACHED,
    },
    Rule { keys: &["mapping.writes"], idle: |config| !config.mapping.is_on_flash(), without: CACHED },
    Rule {
        keys: &["mapping.entry"],
        // A learned table is compared with one of such entries.
        idle: |config| !config.mapping.is_on_flash() && config.mapping.table != MapTable::Learned,
        without: CACHED,
    },
    Rule {
        keys: &["age.map_retention"],
        // Parity that was there before the run is as old as the map.
        idle: |config| !config.is_modelled() || !config.mapping.is_on_flash() && config.ftl.raid == Raid::None,
        without: "a map on flash (mapping.table or mapping.checkpoint) and chip.model",
    },
    Rule { keys: &["gc.idle_stop"], idle: |config| config.gc.idle.is_none(), without: "gc.idle" },
    Rule {
        keys: &["chip.t_program_pulse", "chip.t_program_verify"],
        idle: |config| config.chip.program_loops.is_none(),
        without: "chip.program_loops",
    },
    Rule {
        keys: &["chip.t_erase_pulse", "chip.t_erase_verify"],
        idle: |config| config.chip.erase_loops.is_none(),
        without: "chip.erase_loops",
    },
    Rule {
        keys: &["chip.t_eval", "chip.t_disch"],
        idle: |config| config.chip.senses.is_none(),
        without: "chip.senses",
    },
    Rule {
        keys: &["chip.t_pre"],
        idle: |config| config.chip.senses.is_none() && !config.senses_faster(),
        without: "chip.senses or read.sensing",
    },
    Rule {
        keys: &["chip.t_set", "read.rpt", "read.rpt_error"],
        idle: |config| !config.senses_faster(),
        without: SENSING,
    },
    Rule {
        keys: &["read.age_error"],
        // Trees and a policy are told the age that the controller has recorded.
        idle: |config| {
            let told = config.read.learned().next().is_some() || config.policies.start.is_some();
            !(config.senses_faster() || told && config.is_modelled())
        },
        without: SENSING,
    },
    Rule {
        keys: &["chip.t_rst"],
        idle: |config| config.read.pipeline == Pipeline::Off || !config.is_modelled(),
        without: "read.pipeline and chip.model",
    },
    Rule {
        keys: &["read.t_pred", "read.prediction_accuracy", "energy.prediction_nj"],
        idle: |config| config.read.predictor == Predictor::None || !config.is_modelled(),
        without: "read.predictor and chip.model",
    },
    Rule {
        keys: &["read.records", "read.record_groups"],
        idle: |config| config.read.start != Start::Recorded || !config.is_modelled(),
        without: "read.start = \"recorded\" and chip.model",
    },
    Rule {
        keys: &["read.tracking"],
        idle: |config| !config.read.remembers() || config.read.start == Start::Recorded || !config.is_modelled(),
        without: "what is known of similar pages (read.start, read.sensing or read.pipeline) and chip.model",
    },
    Rule {
        keys: &["ecc.soft_after", "ecc.code_2bit"],
        idle: |config| config.ecc.soft == Soft::None,
        without: "ecc.soft",
    },
    Rule {
        keys: &["ecc.code_3bit"],
        idle: |config| config.ecc.soft.finest() < 3,
        without: "ecc.soft of three bits a cell",
    },
    Rule { keys: &["ecc.t_failed", "ecc.t_retried"], idle: |config| !config.is_modelled(), without: NO_MODEL },
    Rule {
        keys: &["ecc.strength"],
        idle: |config| !config.is_modelled() || !config.counts_errors(),
        without: "ecc.code and chip.model",
    },
    Rule {
        keys: &["schedule.safe_points"],
        idle: |config| {
            config.schedule.suspend_erase != SuspendErase::SafePoints && config.policies.suspend_erase.is_none()
        },
        without: "schedule.suspend_erase = \"safe-points\"",
    },
    Rule {
        // A suspended erase leaves data in the registers to a shadow buffer as well.
        keys: &["schedule.suspensions", "chip.t_voltage_reset", "chip.shadow_buffer"],
        idle: |config| config.schedule.suspends_nothing(),
        without: SUSPENDS,
    },
    Rule {
        keys: &["chip.t_buffer"],
        idle: |config| config.schedule.suspend_program == SuspendProgram::None,
        without: "schedule.suspend_program",
    },
];

impl Config {
    /// Settings of the present configuration that have no effect, each with the reason. What a device has inherited is
    /// no setting, nor is what it is described by of its parts.
    pub fn idle_settings(&self, inherited: &Config, described: &Config) -> Vec<String> {
        let default = Config::default();
        let mut needs: Vec<(&str, Vec<String>)> = Vec::new();
        let of_parts = OF_PARTS.iter().map(|rule| (rule, described));
        let rules = RULES.iter().map(|rule| (rule, inherited)).chain(of_parts);
        for (rule, before) in rules.filter(|(rule, _)| (rule.idle)(self)) {
            let keys = rule.keys.iter().flat_map(|key| self.keys(key));
            let set = |key: &String| [&default, before].iter().all(|other| self.value(key) != other.value(key));
            for key in keys.filter(set) {
                match needs.iter_mut().find(|(without, _)| *without == rule.without) {
                    Some((_, keys)) => keys.push(key),
                    None => needs.push((rule.without, vec![key])),
                }
            }
        }
        needs.into_iter().map(|(without, keys)| format!("{} without {without}", keys.join(", "))).collect()
    }

    /// Whether placement hints of requests have an effect. An FTL of one's own may heed them.
    pub(crate) fn takes_hints(&self) -> bool {
        self.ftl.hints > 0 || self.policies.ftl.is_some()
    }

    /// The keys that a rule means.
    fn keys(&self, written: &str) -> Vec<String> {
        let Some(name) = written.strip_suffix(".*") else { return vec![written.to_owned()] };
        let section = self.sections().into_iter().filter(|entry| entry.name() == name);
        section.flat_map(|entry| entry.keys()).map(|key| format!("{name}.{}", key.name)).collect()
    }

    /// The value of a key that is written with its section. What stands in for a policy has no other name than that
    /// there is one.
    fn value(&self, key: &str) -> Option<Scalar> {
        match key {
            "policies.start" => return Some(Scalar::Bool(self.policies.start.is_some())),
            "policies.next" => return Some(Scalar::Bool(self.policies.next.is_some())),
            _ => {}
        }
        let (section, key) = key.split_once('.')?;
        self.sections().into_iter().find(|entry| entry.name() == section)?.get(key)
    }

    /// Whether reads can fail.
    fn is_modelled(&self) -> bool {
        self.geometry.layout().is_ok_and(|layout| self.chip.model_for(layout.bits).is_some())
    }

    /// Whether any sense takes less than the default tPRE.
    fn senses_faster(&self) -> bool {
        self.read.sensing != Sensing::Default && self.is_modelled()
    }

    /// Whether it matters how many errors the code corrects, and not alone whether it corrects a page: it has been
    /// profiled, syndromes are weighed, or pages of one bit a cell are in the SLC cache.
    fn counts_errors(&self) -> bool {
        let (ecc, read) = (&self.ecc, &self.read);
        let weighs = read.next == Next::Syndrome || read.sensing.weighs() || ecc.soft.weighs();
        ecc.code.is_some() || weighs || read.learned().next().is_some() || self.ftl.slc_cache != SlcCache::None
    }

    fn fails_by_chance(&self) -> bool {
        let chances = self.faults.chances().map(|(_, share)| share);
        [self.wear.program_fail, self.wear.erase_fail].iter().chain(&chances).any(|share| share.0 > 0.0)
    }
}
