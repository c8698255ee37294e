//! Retry steps that a user has measured on real chips, in place of the model's.

use units::{ConfigError, Span, Stream, Table};

use super::cells::MONTH_NS;

/// In place of steps: none reads the pages.
const UNREAD: u8 = u8::MAX;

/// Measured steps: for each condition how many pages needed how many.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredSteps {
    conditions: Vec<Measured>,
}

#[derive(Clone, Debug, PartialEq)]
struct Measured {
    pec: u32,
    months: f64,
    /// Steps, or [`UNREAD`], and the share of pages that need no more, the last 1.
    shares: Vec<(u8, f64)>,
    pages: Vec<(u8, u64)>,
}

/// How many pages needed this many steps under a condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredRow {
    /// P/E cycles.
    pub pec: u32,
    /// Months at 30 °C.
    pub months: f64,
    /// Retry steps; none where no step reads the pages.
    pub steps: Option<u8>,
    /// Pages.
    pub pages: u64,
}

/// The columns of a table of measured steps, as `ssdlab characterize` writes them. Where `steps` is blank no step reads
/// the pages.
pub const COLUMNS: [&str; 4] = ["pec", "months", "steps", "pages"];

impl MeasuredSteps {
    /// Reads CSV text with the columns [`COLUMNS`] in any order; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<MeasuredSteps, ConfigError> {
        let table = Table::parse(text, origin, COLUMNS, "begin with the line pec,months,steps,pages")?;
        let mut conditions: Vec<Measured> = Vec::new();
        for row in table.rows() {
            let whole = |column, most| row.whole(column, 0.0..=most, "write a whole number");
            let pec = whole("pec", 1e9)? as u32;
            let months = row.number("months", 0.0..=1200.0, "write months at 30 C, 0 to 1200")?;
            let steps = if row.is_blank("steps") { UNREAD } else { whole("steps", 250.0)? as u8 };
            let pages = whole("pages", 1e15)? as u64;
            let known = conditions.iter_mut().find(|known| known.pec == pec && known.months == months);
            let condition = match known {
                Some(known) => known,
                None => {
                    conditions.push(Measured { pec, months, shares: Vec::new(), pages: Vec::new() });
                    conditions.last_mut().expect("Invariant: it has just been pushed")
                }
            };
            if condition.pages.iter().any(|(known, _)| *known == steps) {
                let what = if steps == UNREAD { "no".to_owned() } else { steps.to_string() };
                let problem = format!("{what} steps stand twice for {pec} cycles and {months} months");
                return Err(row.error("steps", problem, "add the pages of both lines up"));
            }
            condition.pages.push((steps, pages));
        }
        for condition in &mut conditions {
            condition.pages.sort_unstable();
            let total: u64 = condition.pages.iter().map(|(_, pages)| pages).sum();
            if total == 0 {
                let problem =
                    format!("no page was measured at {} cycles and {} months", condition.pec, condition.months);
                return Err(table.error(Some("pages"), problem, "leave the condition out"));
            }
            let mut sum = 0;
            condition.shares = (condition.pages.iter())
                .map(|(steps, pages)| {
                    sum += pages;
                    (*steps, sum as f64 / total as f64)
                })
                .collect();
        }
        if conditions.is_empty() {
            return Err(table.error(
                None,
                "holds no measurement".into(),
                "give a line for each condition and number of steps",
            ));
        }
        Ok(MeasuredSteps { conditions })
    }

    /// Every line.
    pub fn rows(&self) -> impl Iterator<Item = MeasuredRow> {
        let row = |of: &Measured, (steps, pages): (u8, u64)| {
            let steps = (steps != UNREAD).then_some(steps);
            MeasuredRow { pec: of.pec, months: of.months, steps, pages }
        };
        self.conditions.iter().flat_map(move |of| of.pages.iter().map(move |pages| row(of, *pages)))
    }

    /// The most steps of any page that is read: the last of the table.
    pub fn most(&self) -> u8 {
        self.rows().filter_map(|row| row.steps).max().unwrap_or(0)
    }

    /// The measured condition nearest to one that was met: in cycles relative to the range measured, and in the
    /// logarithm of the age.
    fn nearest(&self, pec: u32, retention: Span) -> &Measured {
        let most = self.conditions.iter().map(|of| of.pec).max().unwrap_or(1).max(1);
        let months = retention.0 as f64 / MONTH_NS;
        let far = |of: &Measured| {
            let cycles = (f64::from(of.pec) - f64::from(pec)) / f64::from(most);
            let age = libm::log1p(of.months) - libm::log1p(months);
            cycles * cycles + age * age
        };
        let near = self.conditions.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
        near.expect("Invariant: there is a measurement")
    }

    /// The steps of every page of an archetype under a condition, none where no step reads it: page p is the same share
    /// of the way through the measured distribution at every condition.
    pub(super) fn of_archetype(
        &self,
        draws: Stream,
        archetype: u64,
        pages: u32,
        pec: u32,
        retention: Span,
    ) -> impl Iterator<Item = Option<u8>> {
        let shares = &self.nearest(pec, retention).shares;
        let last = shares.last().expect("Invariant: a condition has pages").0;
        (0..pages).map(move |page| {
            let u = draws.entity(archetype).uniform(page.into());
            let steps = shares.iter().find(|(_, share)| u < *share).map_or(last, |(steps, _)| *steps);
            (steps != UNREAD).then_some(steps)
        })
    }
}
