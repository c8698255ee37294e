//! The state that a run starts from.

use nand::Layout;
use units::value::{Scalar, Value};
use units::{Fraction, PeCycles, Retention, Span, Temperature};

use super::refusal::{Check, Refusal, refuse};

/// How a drive was brought into its initial state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precondition {
    /// Written once, in order.
    None,
    /// As after long uniform random overwriting, from the closed form.
    ClosedForm,
    /// Overwritten at random before the run, this many times its filled capacity.
    Write(f64),
}

impl Value for Precondition {
    fn expects() -> String {
        "\"none\", \"closed-form\" or \"write:N\" (N times the filled capacity, from 0.001 to 1000)".into()
    }
    fn read(scalar: &Scalar) -> Option<Precondition> {
        let Scalar::Text(text) = scalar else { return None };
        match text.as_str() {
            "none" => Some(Precondition::None),
            "closed-form" => Some(Precondition::ClosedForm),
            other => {
                let times: f64 = other.strip_prefix("write:")?.parse().ok()?;
                (0.001..=1000.0).contains(&times).then_some(Precondition::Write(times))
            }
        }
    }
    fn write(&self) -> Scalar {
        Scalar::Text(match self {
            Precondition::None => "none".into(),
            Precondition::ClosedForm => "closed-form".into(),
            Precondition::Write(times) => format!("write:{times}"),
        })
    }
}

units::choices! {
    /// How blocks were erased before the run.
    pub enum WornUnder {
        /// As in the run, from their first cycle on.
        Scheme = "scheme",
        /// Conventionally: the records of blocks that electronics25's simulations look up by P/E count are of such
        /// (sections 5.1 and 7.1).
        Ispe = "ispe",
    }
}

/// How much the load before the run wrote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PastLoad {
    /// As much as the run's own workload.
    Auto,
    /// As fast as the drive took it: as few blocks are free as pacing or the reserve leaves, and collection never
    /// rests.
    Full,
    /// Programs of its data took so much of a plane's time, if planes are programmed one by one, and relocation did not
    /// take the rest: each plane has collected up to `gc.stop` free blocks whenever fewer than `gc.start` were, or in
    /// the background.
    Share(Fraction),
}

impl Value for PastLoad {
    fn expects() -> String {
        "\"auto\", \"full\", or the share of a plane's time that programs of host data took, above 0 and below 1, such as 0.1".into()
    }

    fn read(scalar: &Scalar) -> Option<PastLoad> {
        match scalar {
            Scalar::Text(text) if text == "auto" => Some(PastLoad::Auto),
            Scalar::Text(text) if text == "full" => Some(PastLoad::Full),
            _ => Fraction::read(scalar).filter(|share| share.0 > 0.0 && share.0 < 1.0).map(PastLoad::Share),
        }
    }

    fn write(&self) -> Scalar {
        match self {
            PastLoad::Auto => Scalar::Text("auto".into()),
            PastLoad::Full => Scalar::Text("full".into()),
            PastLoad::Share(share) => share.write(),
        }
    }
}

/// A time for which data was kept at a temperature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// How long.
    pub span: Span,
    /// At which temperature.
    pub temperature: Temperature,
}

impl Value for Stage {
    fn expects() -> String {
        "a time and a temperature, such as \"30d 40C\"".into()
    }
    fn read(scalar: &Scalar) -> Option<Stage> {
        let Scalar::Text(text) = scalar else { return None };
        let (span, temperature) = text.trim().rsplit_once(char::is_whitespace)?;
        let part = |text: &str| Scalar::Text(text.trim().to_owned());
        Some(Stage { span: Span::read(&part(span))?, temperature: Temperature::read(&part(temperature))? })
    }
    fn write(&self) -> Scalar {
        let text = |scalar| match scalar {
            Scalar::Text(text) => text,
            other => other.to_string(),
        };
        Scalar::Text(format!("{} {}", text(self.span.write()), text(self.temperature.write())))
    }
}

/// The age at 30 C to which stages come by Arrhenius' law. Times at the same temperature are added up first, so that
/// neither their order nor how they are divided changes a nanosecond.
fn equivalent(stages: &[Stage]) -> Span {
    let mut stages = stages.to_vec();
    stages.sort_by(|a, b| a.temperature.0.total_cmp(&b.temperature.0));
    let each = stages.chunk_by(|a, b| a.temperature == b.temperature);
    let age = each.map(|same| {
        let span: u64 = same.iter().map(|stage| stage.span.0).fold(0, u64::saturating_add);
        (span as f64 * same[0].temperature.acceleration()).round() as u64
    });
    Span(age.fold(0, u64::saturating_add))
}

/// Cycles before a run at most (assumed): thousands of times what any flash lives for, with room to count those of the
/// run.
const MOST_CYCLES: u32 = 1_000_000_000;

units::section! {
    /// The state that a run starts from: a drive that has been written and has aged.
    pub struct AgeConfig in "age" {
        /// Program/erase cycles of every block.
        pec: PeCycles = PeCycles(0),
        /// How blocks were erased in these cycles, where erases go pulse by pulse (erase.pulse): by the run's own
        /// scheme, or by ispe.
        worn_under: WornUnder = WornUnder::Scheme,
        /// Age of the data at 30 C, such as "3mo", "uniform:0..30d", "turnover:9d..1y" or, after a rest of the host,
        /// "turnover:9d..1y+2d".
        retention: Retention = Retention::Fixed(Span::ZERO),
        /// The temperatures at which the data was kept, in place of its age at 30 C: stages such as ["45d 40C", "45d
        /// 20C"], of which only the sums at each temperature count.
        schedule: Vec<Stage> = Vec::new(),
        /// Temperature at which the data from before the run was programmed (cross-temperature); "none": that of the
        /// drive, at rest if it is followed (thermal.resistance).
        written_at: Option<Temperature> = None,
        /// Age of the translation pages at 30 C: a page of the map is written again whenever one of its thousands of
        /// entries changes (assumed: young).
        map_retention: Span = Span::ZERO,
        /// Reads of every block that holds data, since it was erased (chip.read_disturb, refresh.reads).
        reads: u32 = 0,
        /// Temperature of the drive during the run, unless it is followed (thermal.resistance).
        temperature: Temperature = Temperature(30.0),
        /// Share of the logical capacity that holds data, from address 0 up.
        fill: Fraction = Fraction(1.0),
        /// Share of the pages of written blocks that hold stale data.
        invalid: Fraction = Fraction(0.0),
        /// How the drive was brought into its state: none (written once, in order, with `invalid` spread evenly),
        /// closed-form (as after long uniform overwriting) or write:N (really overwritten N times before the run).
        precondition: Precondition = Precondition::None,
        /// With a closed form: how much the load before the run wrote. "full": as fast as the drive took it. A share of
        /// a plane's time for programs of host data: it left dies idle, and collection has kept up. "auto": as the
        /// workload does, of which some thousand requests are tried.
        load: PastLoad = PastLoad::Auto,
        /// Every die starts at a place of its own in its open blocks, as in a drive that has been written for long;
        /// otherwise all planes open their first block at their first write. "none": where the precondition is
        /// closed-form.
        staggered: Option<bool> = None,
    }
}

impl AgeConfig {
    /// How old the data is, as if kept at 30 C.
    pub fn data_age(&self) -> Retention {
        if self.schedule.is_empty() { self.retention } else { Retention::Fixed(equivalent(&self.schedule)) }
    }

    /// Whether the run starts in the middle of the drive's life, collection included.
    pub fn is_stationary(&self) -> bool {
        self.precondition == Precondition::ClosedForm && self.is_staggered()
    }

    /// The share of a plane's time that programs of host data took before the run, where the load left dies idle.
    pub fn partial_load(&self) -> Option<f64> {
        match self.load {
            PastLoad::Share(share) => Some(share.0),
            PastLoad::Auto | PastLoad::Full => None,
        }
    }

    /// Whether dies start at places of their own.
    pub fn is_staggered(&self) -> bool {
        self.staggered.unwrap_or(self.precondition == Precondition::ClosedForm)
    }
}

impl Check for AgeConfig {
    fn check(&self, _: &Layout) -> Result<(), Refusal> {
        if self.pec.0 > MOST_CYCLES {
            return refuse("pec", format!("is {}", self.pec.0), format!("write at most {MOST_CYCLES}"));
        }
        if self.precondition == Precondition::ClosedForm && self.invalid.0 > 0.0 {
            let problem = "is set, and age.precondition = \"closed-form\" says where stale pages are";
            return refuse("invalid", problem, "leave it at 0, or set age.precondition to \"none\"");
        }
        if !self.schedule.is_empty() && self.retention != Retention::Fixed(Span::ZERO) {
            return refuse("schedule", "is set beside age.retention", "write one of them");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000_000_000;

    fn stages(texts: &[&str]) -> Vec<Stage> {
        texts.iter().map(|text| Stage::read(&Scalar::Text((*text).into())).unwrap()).collect()
    }

    #[test]
    fn a_constant_schedule_is_an_age_and_the_order_of_stages_does_not_matter() {
        assert_eq!(equivalent(&stages(&["400d 30C"])), Span(400 * DAY));
        let at_85 = equivalent(&stages(&["13h 85C"]));
        assert_eq!(at_85, Span((13.0 / 24.0 * DAY as f64 * Temperature(85.0).acceleration()).round() as u64));
        // Ninety days and nights are forty-five days of each, whatever comes first.
        let days: Vec<Stage> = (0..90).flat_map(|_| stages(&["12h 41C", "12h 17C"])).collect();
        let sums = equivalent(&stages(&["45d 17C", "45d 41C"]));
        assert_eq!(equivalent(&days), sums);
        assert_eq!(equivalent(&days.into_iter().rev().collect::<Vec<_>>()), sums);
        // The hot half counts: by 1.108 eV it is worth 28 times the cold one.
        let [hot, cold] = [41.0, 17.0].map(|celsius| Temperature(celsius).acceleration());
        assert_eq!(sums, Span((45.0 * DAY as f64 * hot).round() as u64 + (45.0 * DAY as f64 * cold).round() as u64));
        assert!((25.0..32.0).contains(&(hot / cold)));
        // More than there is of time is all of it, whether its temperatures differ or not.
        assert_eq!(equivalent(&stages(&["290y 30C", "290y 30C", "290y 30C"])), Span(u64::MAX));
        assert_eq!(equivalent(&stages(&["290y 30C", "290y 31C", "290y 32C"])), Span(u64::MAX));
    }

    #[test]
    fn stages_are_written_as_they_are_read() {
        for text in ["30d 40C", "12h -5C", "1mo 85C"] {
            let stage = stages(&[text])[0];
            assert_eq!(Stage::read(&stage.write()), Some(stage), "{text}");
        }
        for text in ["", "30d", "40C", "30d 40", "40C 30d"] {
            assert_eq!(Stage::read(&Scalar::Text(text.into())), None, "{text}");
        }
    }
}
