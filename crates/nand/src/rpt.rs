//! The read-timing parameter table of AR2 (asplos21 section 6.2): by how much tPRE may be cut in a retry, by P/E cycles
//! and retention age. It is profiled from the virtual chip, or a user's own.

use std::sync::{Arc, Mutex};

use units::table::Row;
use units::{ConfigError, Span, Table};

use crate::characterize::{Condition, Factors, Population};
use crate::model::VirtualChip;
use crate::model::cells::MONTH_NS;

/// P/E cycles of the profiled conditions: with [`MONTHS`] the 36 of asplos21 section 6.2, which does not name them.
pub const PEC: [u32; 6] = [0, 400, 800, 1200, 1600, 2000];
/// Retention ages of the profiled conditions [months at 30 °C].
pub const MONTHS: [f64; 6] = [0.0, 1.0, 3.0, 6.0, 9.0, 12.0];
/// Errors left to the capability: 7 for temperature and 7 for outlier pages (asplos21 section 5.2.3).
pub const MARGIN: u32 = 14;
/// The columns of a table, as `ssdlab characterize` writes it.
const COLUMNS: [&str; 3] = ["pec", "months", "cut"];

/// Profiles of the presets whose senses can be shortened, as `ssdlab characterize NAME --only rpt` writes them.
const TABLES: [(&str, &str); 3] = [
    ("tlc48", include_str!("../presets/tlc48.rpt.csv")),
    ("tlc48-rif", include_str!("../presets/tlc48-rif.rpt.csv")),
    ("tlc48-reo", include_str!("../presets/tlc48-reo.rpt.csv")),
];

/// The table.
#[derive(Clone, Debug, PartialEq)]
pub struct Rpt {
    rows: Vec<RptEntry>,
}

/// A profiled condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RptEntry {
    /// P/E cycles.
    pub pec: u32,
    /// Months at 30 °C.
    pub months: f64,
    /// The share of tPRE that is cut up to there.
    pub cut: f64,
}

impl Rpt {
    /// Profiles a chip at 85 °C: the largest cut in its grid that leaves the margin at each condition.
    pub fn profile(chip: &VirtualChip) -> Rpt {
        let factors = Factors::new(chip, Population::PAPERS);
        let rows = PEC.iter().flat_map(|pec| MONTHS.iter().map(move |months| (*pec, *months)));
        let cut = |pec: u32, months: f64| {
            let condition = Condition { x: f64::from(pec) / 1e3, months, celsius: 85.0 };
            factors.safe_pre_cut(chip, condition, MARGIN)
        };
        Rpt { rows: rows.map(|(pec, months)| RptEntry { pec, months, cut: cut(pec, months) }).collect() }
    }

    /// The kept profile of a preset: nobody waits for it to be worked out.
    fn tabulated(chip: &VirtualChip) -> Option<Rpt> {
        let of_chip = |(name, _): &&(&str, &str)| VirtualChip::preset(name).is_ok_and(|preset| preset == *chip);
        let (name, text) = TABLES.iter().find(of_chip)?;
        Some(Rpt::parse(text, name).expect("Invariant: a test reads every kept table"))
    }

    /// The profile of a chip, worked out once for all drives of the process that have it.
    pub fn of(chip: &VirtualChip) -> Arc<Rpt> {
        static KNOWN: Mutex<Vec<(VirtualChip, Arc<Rpt>)>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, rpt)) = known.iter().find(|(other, _)| other == chip) {
            return rpt.clone();
        }
        let rpt = Arc::new(Rpt::tabulated(chip).unwrap_or_else(|| Rpt::profile(chip)));
        known.push((chip.clone(), rpt.clone()));
        rpt
    }

    /// Reads CSV text with the columns pec, months and cut (a share) in any order, others left out; `origin` names it
    /// in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Rpt, ConfigError> {
        let table = Table::parse(text, origin, COLUMNS, "begin with the line pec,months,cut")?;
        let entry = |row: Row| {
            Ok(RptEntry {
                pec: row.number("pec", 0.0..=1e9, "write P/E cycles")? as u32,
                months: row.number("months", 0.0..=1200.0, "write months at 30 C")?,
                cut: row.number("cut", 0.0..=0.99, "write the share of tPRE that is cut, such as 0.4")?,
            })
        };
        let rows: Vec<_> = table.rows().map(entry).collect::<Result<_, _>>()?;
        if rows.is_empty() {
            return Err(table.error(Some("cut"), "there is no entry".into(), "give a line for each condition"));
        }
        Ok(Rpt { rows })
    }

    /// The share of tPRE that may be cut: that of the mildest profiled condition which is no milder than this one, and
    /// none where nothing so bad was profiled.
    pub fn cut(&self, pec: u32, retention: Span) -> f64 {
        let months = retention.0 as f64 / MONTH_NS;
        let worse = self.rows.iter().filter(|entry| entry.pec >= pec && entry.months >= months - 1e-9);
        worse.min_by(|a, b| a.pec.cmp(&b.pec).then(a.months.total_cmp(&b.months))).map_or(0.0, |entry| entry.cut)
    }

    /// Every entry.
    pub fn rows(&self) -> impl Iterator<Item = RptEntry> {
        self.rows.iter().copied()
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn months(months: f64) -> Span {
        Span((months * MONTH_NS) as u64)
    }

    #[test]
    fn an_entry_holds_for_all_that_is_milder() {
        let rpt = Rpt::parse("pec,months,cut\n0,3,0.5\n0,12,0.4\n1000,3,0.3\n1000,12,0.2\n", "rpt.csv").unwrap();
        let cuts = [(0, 1.0), (0, 3.0), (0, 4.0), (1, 2.0), (1000, 12.0), (1001, 0.0), (0, 13.0)]
            .map(|(pec, age)| rpt.cut(pec, months(age)));
        assert_eq!(cuts, [0.5, 0.5, 0.4, 0.3, 0.2, 0.0, 0.0]);
        let error = Rpt::parse("pec,months,cut\n0,3,1.5\n", "rpt.csv").unwrap_err().to_string();
        assert!(error.contains("rpt.csv:2") && error.contains("cut"), "{error}");
    }

    #[test]
    fn the_kept_tables_are_the_presets_profiles() {
        for (name, _) in TABLES {
            let chip = VirtualChip::preset(name).unwrap();
            let again = Rpt::profile(&chip);
            assert_eq!(Rpt::tabulated(&chip).unwrap(), again, "ssdlab characterize {name} --only rpt writes it again");
        }
        let mut other = VirtualChip::preset("tlc48").unwrap();
        other.cells.capability += 1;
        assert_eq!(Rpt::tabulated(&other), None);
    }

    #[test]
    fn the_profile_of_the_papers_chip_cuts_40_to_54_percent() {
        // asplos21 section 5.2.3, Fig. 11.
        let chip = VirtualChip::preset("tlc48").unwrap();
        let rpt = Rpt::of(&chip);
        let cuts: Vec<f64> = rpt.rows.iter().map(|entry| entry.cut).collect();
        let (least, most) = cuts.iter().fold((1.0f64, 0.0f64), |(a, b), cut| (a.min(*cut), b.max(*cut)));
        assert_eq!(rpt.len(), 36);
        assert!((0.39..0.42).contains(&least) && (0.52..0.545).contains(&most), "{least} to {most}");
    }
}
