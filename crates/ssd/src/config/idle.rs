//! Settings that have no effect.

use schemes::{SuspendErase, SuspendProgram};
use units::section::Section;

use super::{Arbitration, Config, Reclaim, SlcCache, WearConfig};

impl Config {
    /// Settings of the present configuration that have no effect, each with the reason.
    pub fn idle_settings(&self) -> Vec<String> {
        let default = Config::default();
        let mut idle = Vec::new();
        let changed = |section: &dyn Section, base: &dyn Section, keys: &[&str]| -> Vec<String> {
            let differ = keys.iter().filter(|key| section.get(key) != base.get(key));
            differ.map(|key| format!("{}.{key}", section.name())).collect()
        };
        let modelled = self.geometry.layout().is_ok_and(|layout| self.chip.model_for(layout.bits).is_some());
        if !modelled {
            let mut keys = changed(&self.read, &default.read, &["start", "next", "pipeline", "sensing", "predictor"]);
            let wears = self.wear.endurance.is_some();
            keys.extend(changed(&self.age, &default.age, if wears { &[] } else { &["pec"] }));
            keys.extend(changed(&self.chip, &default.chip, &["read_disturb"]));
            keys.extend(changed(&self.ecc, &default.ecc, &["miscorrection"]));
            let ages = self.refresh.period.is_some();
            keys.extend(changed(&self.age, &default.age, if ages { &[] } else { &["retention"] }));
            keys.extend(self.policies.next.is_some().then(|| "policies.next".to_owned()));
            if !keys.is_empty() {
                idle.push(format!("{} without a chip model (chip.model), whose pages could fail", keys.join(", ")));
            }
        }
        if !self.ecc.crc && self.ecc.miscorrection.0 == 0.0 {
            idle.push("ecc.crc without ecc.miscorrection".into());
        }
        if self.host.arbitration != Arbitration::Weighted {
            let keys = changed(&self.host, &default.host, &["priorities", "weights"]);
            if !keys.is_empty() {
                idle.push(format!("{} without host.arbitration = \"weighted\"", keys.join(", ")));
            }
        }
        if !self.chip.read_disturb {
            let keys = changed(&self.chip, &default.chip, &["neighbour_disturb"]);
            if !keys.is_empty() {
                idle.push("chip.neighbour_disturb without chip.read_disturb".into());
            }
        }
        if self.refresh.reclaim == Reclaim::Wordline {
            if self.refresh.reads.is_none() {
                idle.push("refresh.reclaim without refresh.reads".into());
            } else if !self.chip.read_disturb || self.chip.neighbour_disturb == 1.0 {
                idle.push("refresh.reclaim without chip.read_disturb and chip.neighbour_disturb".into());
            }
        }
        let schedule = &self.schedule;
        if (schedule.suspend_program == SuspendProgram::None || !modelled) && self.chip.suspended_program_errors > 0.0 {
            idle.push("chip.suspended_program_errors without schedule.suspend_program and chip.model".into());
        }
        if (schedule.suspend_erase == SuspendErase::None || self.erase.pulse.is_none())
            && self.chip.suspended_erase_wear > 0.0
        {
            idle.push("chip.suspended_erase_wear without schedule.suspend_erase and erase.pulse".into());
        }
        if !self.chip.read_disturb && self.refresh.reads.is_none() && self.age.reads > 0 {
            idle.push("age.reads without chip.read_disturb or refresh.reads".into());
        }
        idle.extend(self.idle_slc(&default));
        idle.extend(self.idle_faults());
        if self.erase.pulse.is_none() {
            let mut keys = changed(&self.erase, &default.erase, &["requirement"]);
            keys.extend(changed(&self.age, &default.age, &["worn_under"]));
            if !keys.is_empty() {
                idle.push(format!(
                    "{} without erase.pulse, by which blocks are erased pulse by pulse",
                    keys.join(", ")
                ));
            }
        }
        idle
    }

    /// The same of the SLC cache.
    fn idle_slc(&self, default: &Config) -> Option<String> {
        let differ = |name: &&str| self.slc.get(name) != default.slc.get(name);
        let keys: Vec<_> = self.slc.keys().iter().map(|key| key.name).filter(differ).collect();
        let idle = self.ftl.slc_cache == SlcCache::None && !keys.is_empty();
        idle.then(|| format!("slc.{} without ftl.slc_cache", keys.join(", slc.")))
    }

    /// The same of parts that break.
    fn idle_faults(&self) -> Vec<String> {
        let (faults, wear) = (&self.faults, &self.wear);
        let mut idle = Vec::new();
        let chances = faults.chances().map(|(_, share)| share);
        let fails = [wear.program_fail, wear.erase_fail].iter().chain(&chances).any(|share| share.0 > 0.0);
        if faults.growth.is_some() && !fails {
            idle.push("faults.growth without anything that fails by chance".into());
        }
        if wear.spare_threshold != WearConfig::default().spare_threshold && !self.blocks_fail() {
            idle.push("wear.spare_threshold without blocks that fail".into());
        }
        if faults.burst > 1 && faults.blocks.0 == 0.0 {
            idle.push("faults.burst without faults.blocks".into());
        }
        idle
    }
}
