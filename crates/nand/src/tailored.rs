//! A retry table made for a chip (M. Ye et al., "Achieving near-zero read retry for 3D NAND flash memory", ASPLOS'24,
//! from its abstract: how the table is made is `assumed`): the steps of the vendor's table in the order in which they
//! read the most pages that are left, over a population at the RPT's conditions.
//!
//! To take what covers the most that is left is within four times the fewest expected senses, and no order that can be
//! found as fast is better (U. Feige et al., "Approximating min sum set cover", Algorithmica 40, 2004).

use std::sync::{Arc, Mutex};

use crate::characterize::CODEWORDS;
use crate::model::VirtualChip;
use crate::model::ladder::Ladder;
use crate::model::variation::{Draws, Place};
use crate::rpt::{MONTHS, PEC};

/// Wordlines of the population that are looked at. `assumed`: more change no preset's table.
const WORDLINES: u64 = 256;
/// The temperature at which pages are read [°C]: the RPT's.
const CELSIUS: f64 = 85.0;

/// Profiles of the presets: a line each, its name and the steps.
const TABLES: &str = include_str!("../presets/tailored.txt");

/// The table: steps of the vendor's table in the order in which they are tried when the default references have failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailoredTable(Vec<u8>);

impl TailoredTable {
    /// Profiles a chip.
    pub fn profile(chip: &VirtualChip) -> TailoredTable {
        let steps = chip.cells.retry_steps;
        let mut left = windows(chip);
        let mut order = Vec::new();
        while !left.is_empty() {
            let reads = |step: u32| left.iter().filter(|(first, last)| (*first..=*last).contains(&step)).count();
            // Of equally good ones the lowest.
            let best = (1..=steps).max_by_key(|step| (reads(*step), std::cmp::Reverse(*step)));
            let Some(best) = best.filter(|step| reads(*step) > 0) else { break };
            left.retain(|(first, last)| !(*first..=*last).contains(&best));
            order.push(best as u8);
        }
        // What no page of the population needs comes last.
        let others: Vec<u8> = (1..=steps as u8).filter(|step| !order.contains(step)).collect();
        TailoredTable([order, others].concat())
    }

    /// The kept profile of a preset: nobody waits for it to be worked out.
    fn tabulated(chip: &VirtualChip) -> Option<TailoredTable> {
        let kept = |line: &str| {
            let (name, steps) = line.split_once(": ")?;
            VirtualChip::preset(name).is_ok_and(|preset| preset == *chip).then(|| steps.to_owned())
        };
        let steps = TABLES.lines().find_map(kept)?;
        let steps = steps.split(' ').map(|step| step.parse().expect("Invariant: a test reads every kept table"));
        Some(TailoredTable(steps.collect()))
    }

    /// The profile of a chip, worked out once for all drives of the process that have it.
    pub fn of(chip: &VirtualChip) -> Arc<TailoredTable> {
        static KNOWN: Mutex<Vec<(VirtualChip, Arc<TailoredTable>)>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, table)) = known.iter().find(|(other, _)| other == chip) {
            return table.clone();
        }
        let table = Arc::new(TailoredTable::tabulated(chip).unwrap_or_else(|| TailoredTable::profile(chip)));
        known.push((chip.clone(), table.clone()));
        table
    }

    /// The steps in their order.
    pub fn steps(&self) -> &[u8] {
        &self.0
    }
}

/// The first and last step that read each page which the default references do not read.
fn windows(chip: &VirtualChip) -> Vec<(u32, u32)> {
    let draws = Draws::new(1);
    let blocks = chip.variation.block_wordlines();
    let mut found = Vec::new();
    for (pec, months) in PEC.iter().flat_map(|pec| MONTHS.iter().map(move |months| (*pec, *months))) {
        for page in 0..chip.cells.bits {
            let ladder = Ladder::new(chip, page, f64::from(pec) / 1e3, months, 0.0, CELSIUS);
            for sample in 0..WORDLINES {
                // Neither chips nor blocks nor layers are left out.
                let wordline = (sample * 37 % u64::from(blocks)) as u32;
                let place = Place { chip: sample, block: sample / 16, wordline };
                let (log_factor, worst) =
                    (chip.variation.log_factor(&draws, place), draws.worst(place, page, CODEWORDS));
                if let Some(first) = ladder.steps(log_factor, worst).filter(|first| *first > 0) {
                    found.push((first, ladder.last_from(log_factor, worst, first)));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kept_tables_are_the_presets_profiles() {
        let line = |name: &str| {
            let table = TailoredTable::profile(&VirtualChip::preset(name).unwrap());
            let steps: Vec<String> = table.0.iter().map(u8::to_string).collect();
            format!("{name}: {}\n", steps.join(" "))
        };
        let again: String = crate::model::names().map(line).collect();
        assert!(TABLES == again, "presets/chips/tailored.txt has to be\n{again}");
        for name in crate::model::names() {
            assert!(TailoredTable::tabulated(&VirtualChip::preset(name).unwrap()).is_some(), "{name}");
        }
        let mut other = VirtualChip::preset("tlc48").unwrap();
        other.cells.capability += 1;
        assert_eq!(TailoredTable::tabulated(&other), None);
    }

    #[test]
    fn every_step_is_in_the_table_once_and_the_first_reads_the_most() {
        let chip = VirtualChip::preset("tlc48").unwrap();
        let table = TailoredTable::of(&chip);
        let mut sorted = table.steps().to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=chip.cells.retry_steps as u8).collect::<Vec<_>>());
        let windows = windows(&chip);
        let reads = |step: u8| windows.iter().filter(|(a, b)| (*a..=*b).contains(&step.into())).count();
        assert!(sorted.iter().all(|step| reads(*step) <= reads(table.steps()[0])));
    }

    #[test]
    fn it_takes_fewer_senses_than_the_vendors_order() {
        for name in ["tlc48", "tlc48-reo"] {
            let chip = VirtualChip::preset(name).unwrap();
            let table = TailoredTable::of(&chip);
            let vendor: Vec<u8> = (1..=chip.cells.retry_steps as u8).collect();
            let windows = windows(&chip);
            let mean = |order: &[u8]| {
                let senses = |(first, last): &(u32, u32)| {
                    order.iter().position(|step| (*first..=*last).contains(&u32::from(*step))).unwrap() + 1
                };
                windows.iter().map(senses).sum::<usize>() as f64 / windows.len() as f64
            };
            let (tailored, vendors) = (mean(table.steps()), mean(&vendor));
            println!("{name}: {tailored:.2} senses for {vendors:.2}: {:?}", &table.steps()[..12]);
            assert!(tailored < 0.7 * vendors, "{name}: {tailored} for {vendors}");
        }
    }
}
