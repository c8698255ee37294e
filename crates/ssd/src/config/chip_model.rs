//! What depends on the chip model: which errors reads meet, how blocks are erased, how retries are sensed faster, and
//! what the code's decoder makes of pages.

use std::path::Path;
use std::sync::Arc;

use ecc::Profile;
use nand::Layout;
use nand::chip::{AUTO, Chip};
use nand::model::measured::MeasuredSteps;
use nand::model::outcomes::{OutcomeSource, ReducedTpre};
use nand::model::variation::Variation;
use nand::rpt::Rpt;
use nand::{TailoredTable, Timings, VirtualChip};
use schemes::learned::Trees;
use schemes::{Next, Predictor, Sensing, Soft};
use units::{ConfigError, Fraction, Retention, Span};

use super::Config;
use super::bus::Transfer;
use super::read::Learned;
use super::refusal::{Refusal, dotted, refuse};
use crate::lifetime::{EraseScheme, Eraser};

/// Share of right predictions where neither a key nor a code gives it: hpca24 section IV-B's, of its chips and its
/// code, averaged over the RBERs that pages reach in a month (`assumed` of others).
const ACCURACY: Fraction = Fraction(0.987);

/// tPRE and tR where the chip does not say how much of tR is precharge: those of asplos21 Table 1 (`assumed` of other
/// chips).
const T_PRE: (u64, u64) = (24, 39);

/// A week at 30 C: younger data of a drive that begins fresh reads without a retry.
pub(crate) const EASY_AGE: Span = Span(7 * 86_400_000_000_000);

impl Config {
    /// Whether no read can fail before data is older than [`EASY_AGE`], and nothing but reads of what the controller
    /// has corrected asks the chip: on every chip of `auto` data of that age reads without a retry, after some hundred
    /// P/E cycles. A drive that begins fresh need not ask its chip until then.
    pub(super) fn meets_no_errors(&self) -> bool {
        self.chip.model.as_deref() == Some(AUTO)
            && self.age.pec.0 == 0
            && self.age.data_age() == Retention::Fixed(Span::ZERO)
            && self.age.written_at.is_none_or(|celsius| celsius == self.age.temperature)
            && self.age.map_retention == Span::ZERO
            && self.age.temperature.0 <= 30.0
            && self.thermal.resistance.is_none()
            && !self.chip.read_disturb
            && self.ecc.code.is_none()
            && !self.read.predictor.predicts(false)
            && self.erase.pulse.is_none()
            && !self.copies_back()
    }

    /// The virtual chip or the measured steps, if there are any.
    pub(super) fn chip_model(&self, layout: &Layout) -> Result<Option<Arc<OutcomeSource>>, ConfigError> {
        let Some(name) = self.chip.model_for(layout.bits) else { return Ok(None) };
        let read = || read_file("chip.model", name, "give the path of a chip file or of measured steps");
        if name.ends_with(".csv") {
            if self.chip.read_disturb {
                let problem = "is true, and measured steps hold no effect of reads";
                let remedy = "set it to false, or chip.model to a virtual chip";
                return refuse("chip.read_disturb", problem, remedy).map_err(dotted);
            }
            return Ok(Some(Arc::new(OutcomeSource::Measured(MeasuredSteps::parse(&read()?, name)?))));
        }
        let chip =
            if name.ends_with(".toml") { VirtualChip::parse(&read()?, name)? } else { VirtualChip::preset(name)? };
        if chip.cells.bits != layout.bits {
            let problem =
                format!("is a chip of {} bits a cell, and geometry.cell has {}", chip.cells.bits, layout.bits);
            return refuse("chip.model", problem, "choose a chip of the same cells").map_err(dotted);
        }
        Ok(Some(Arc::new(OutcomeSource::Virtual(Box::new(chip)))))
    }

    /// How blocks are erased, where it goes pulse by pulse: as chip.model says, or where that is no virtual chip as the
    /// one of the geometry's cells (`assumed`); and how the wordlines of such a block differ.
    pub(super) fn eraser(
        &self,
        layout: &Layout,
        model: Option<&OutcomeSource>,
    ) -> Result<Option<(Eraser, Variation)>, ConfigError> {
        let Some(pulses) = self.erase.pulse else { return Ok(None) };
        if self.erase.margin.tracks() && !matches!(model, Some(OutcomeSource::Virtual(_))) {
            let problem = "is tracked, and without a virtual chip reads do not say how many errors they have found";
            return refuse("erase.margin", problem, "set chip.model to a virtual chip, or this to \"ecc\"")
                .map_err(dotted);
        }
        let chip = match model {
            Some(OutcomeSource::Virtual(chip)) => chip.clone(),
            Some(OutcomeSource::Measured(_)) | None => Box::new(VirtualChip::preset(Chip::of_cells(layout.bits))?),
        };
        let (margin, voltage, mispredictions) = (self.erase.margin, self.erase.voltage, self.erase.mispredictions.0);
        let scheme = EraseScheme { pulses, margin, voltage, mispredictions };
        let requirement = self.erase.requirement.unwrap_or(chip.erasing.requirement);
        Ok(Some((Eraser::new(&chip.erasing, scheme, requirement), chip.variation)))
    }

    /// How retries are sensed faster, where they are and where any read can fail.
    pub(super) fn reduced_t_pre(
        &self,
        layout: &Layout,
        timings: &Timings,
        model: Option<&OutcomeSource>,
    ) -> Result<Option<ReducedTpre>, ConfigError> {
        let Some(model) = model.filter(|_| self.read.sensing != Sensing::Default) else { return Ok(None) };
        if self.read.sensing.hastens() && matches!(model, OutcomeSource::Measured(_)) {
            let word = self.read.sensing.word();
            let problem =
                format!("is {word}, and measured steps do not say how many errors a first sense leaves room for");
            return refuse("read.sensing", problem, "set it to \"adaptive\", or chip.model to a virtual chip")
                .map_err(dotted);
        }
        let t_pre = match self.chip.t_pre {
            Span::ZERO if self.chip.senses.is_none() => Span(timings.fastest_read(layout.bits).0 * T_PRE.0 / T_PRE.1),
            known => known,
        };
        let rpt = match (&self.read.rpt, model) {
            (Some(name), _) => {
                let remedy = "give the path of a CSV file with the columns pec, months, cut";
                Arc::new(Rpt::parse(&read_file("read.rpt", name, remedy)?, name)?)
            }
            (None, OutcomeSource::Virtual(chip)) => Rpt::of(chip),
            (None, OutcomeSource::Measured(_)) => {
                let problem = "is \"none\", and measured steps give no RPT";
                return refuse("read.rpt", problem, "give a table in read.rpt").map_err(dotted);
            }
        };
        let (error, age_error) = (self.read.rpt_error, self.read.age_error);
        Ok(Some(ReducedTpre { rpt, t_pre: t_pre.0 as u32, error, age_error }))
    }

    /// The retry table made for the chip, where reads take it.
    pub(super) fn tailored(&self, model: Option<&OutcomeSource>) -> Result<Option<Arc<TailoredTable>>, ConfigError> {
        let (Some(model), Next::Tailored) = (model, self.read.next) else { return Ok(None) };
        let OutcomeSource::Virtual(chip) = model else {
            let problem = "is tailored, and measured steps hold no other references of a page";
            return refuse("read.next", problem, "set it to \"table\", or chip.model to a virtual chip")
                .map_err(dotted);
        };
        Ok(Some(TailoredTable::of(chip)))
    }

    /// The trees of choices that are learned, where there are such and any read can fail.
    pub(super) fn trees(&self, model: Option<&OutcomeSource>) -> Result<Option<Arc<Trees>>, ConfigError> {
        let Some(Learned { key, word, .. }) = self.read.learned().next().filter(|_| model.is_some()) else {
            return Ok(None);
        };
        let remedy = "give the path of a CSV file with the columns question, feature, at_most, otherwise, value";
        let Some(name) = &self.read.trees else {
            let problem = format!("is \"none\", and {key} = \"{word}\" is what a tree says");
            return refuse("read.trees", problem, remedy).map_err(dotted);
        };
        let trees = Trees::parse(&read_file("read.trees", name, remedy)?, name)?;
        for Learned { question, key, word } in self.read.learned() {
            if !trees.answers(question) {
                let problem = format!("is {word}, and {name} has no tree for {}", question.word());
                return refuse(key, problem, "give another file in read.trees, or make another choice").map_err(dotted);
            }
        }
        Ok(Some(Arc::new(trees)))
    }

    /// Share of the predictions that are right, where it does not follow from the code.
    pub(super) fn prediction_accuracy(&self) -> Option<Fraction> {
        self.read.prediction_accuracy.or_else(|| self.ecc.code.is_none().then_some(ACCURACY))
    }

    /// Where a retry moves what is left of a page, the code must say what that is.
    fn codewords_are_told_apart(&self, layout: &Layout) -> Result<(), Refusal> {
        if self.bus.transfer != Transfer::Uncorrected {
            return Ok(());
        }
        if self.ecc.code.is_none() {
            let problem = "is uncorrected, and without ecc.code a page is corrected as a whole or not at all";
            return refuse("bus.transfer", problem, "give ecc.code, or set it to \"codeword\"");
        }
        let codewords = layout.flash_page_size.0.div_ceil(self.ecc.codeword.0);
        if codewords > 64 {
            let problem = format!("is uncorrected, and a page has {codewords} codewords, of which 64 are told apart");
            return refuse("bus.transfer", problem, "make ecc.codeword larger, or set it to \"codeword\"");
        }
        Ok(())
    }

    /// What the weight of a syndrome decides, somebody must weigh before it is decoded.
    fn weights_are_known(&self) -> Result<(), Refusal> {
        let read = &self.read;
        if read.sensing.weighs() && !read.predictor.predicts(false) {
            let problem = "is adaptive-weighed, and nothing weighs a page before it is decoded: read.predictor is none";
            let remedy = "set read.predictor to on-die, on-die-again or controller, or this to \"adaptive-first\"";
            return refuse("read.sensing", problem, remedy);
        }
        if !self.ecc.soft.weighs() {
            return Ok(());
        }
        if read.predictor != Predictor::OnDieAgain {
            let word = read.predictor.word();
            let problem = format!(
                "is weighed, and what was sensed with the best references is not weighed: read.predictor is {word}"
            );
            return refuse("ecc.soft", problem, "set read.predictor to on-die-again, or this to \"progressive\"");
        }
        if !matches!(read.next, Next::Swift | Next::Oracle) {
            let word = read.next.word();
            let problem =
                format!("is weighed, and a step of a table says nothing of the best references: read.next is {word}");
            return refuse("ecc.soft", problem, "set read.next to swift or oracle, or this to \"progressive\"");
        }
        Ok(())
    }

    /// What the ECC's decoder makes of pages, where any read can fail.
    pub(super) fn code(
        &self,
        layout: &Layout,
        model: Option<&OutcomeSource>,
    ) -> Result<Option<Arc<Decoding>>, ConfigError> {
        let ecc = &self.ecc;
        if ecc.soft != Soft::None && (model.is_none() || ecc.code.is_none()) {
            let problem =
                format!("is {}, and the errors of a page or the strength of its code are not known", ecc.soft.word());
            return refuse("ecc.soft", problem, "give chip.model and ecc.code, or set it to \"none\"").map_err(dotted);
        }
        self.codewords_are_told_apart(layout).map_err(dotted)?;
        let Some(model) = model else { return Ok(None) };
        self.weights_are_known().map_err(dotted)?;
        let read = &self.read;
        if read.predictor.is_on_die() && read.next == Next::Sentinel {
            let problem =
                format!("is {}, and the sentinel's cells are evaluated in the controller", read.predictor.word());
            return refuse("read.predictor", problem, "set read.next to table, tailored, swift or oracle")
                .map_err(dotted);
        }
        if read.next == Next::Syndrome && read.predictor.is_on_die() {
            let problem = "is syndrome, and the controller's decoder weighs it";
            return refuse("read.next", problem, "set read.predictor to \"none\" or \"controller\"").map_err(dotted);
        }
        if read.next == Next::Syndrome && matches!(model, OutcomeSource::Measured(_)) {
            let problem = "is syndrome, and measured steps give no RBER from which its weight follows";
            return refuse("read.next", problem, "set it to \"table\", or chip.model to a virtual chip")
                .map_err(dotted);
        }
        let Some(name) = &self.ecc.code else { return Ok(None) };
        if matches!(model, OutcomeSource::Measured(_)) {
            let problem = "is given, and measured steps give no RBER";
            let remedy = "set it to \"none\", or chip.model to a virtual chip";
            return refuse("ecc.code", problem, remedy).map_err(dotted);
        }
        let finest = ecc.soft.finest();
        let soft = |key, name: &str, bits: u8| (bits <= finest).then(|| profile(key, name, bits)).transpose();
        Ok(Some(Arc::new(Decoding {
            hard: profile("ecc.code", name, 1)?,
            two_bit: soft("ecc.code_2bit", &ecc.code_2bit, 2)?,
            three_bit: soft("ecc.code_3bit", &ecc.code_3bit, 3)?,
        })))
    }
}

/// What a code's decoder makes of pages, by how finely they are sensed.
#[derive(Clone, Debug)]
pub(crate) struct Decoding {
    hard: Profile,
    two_bit: Option<Profile>,
    three_bit: Option<Profile>,
}

impl Decoding {
    /// The RBERs at which half of the codewords are corrected: of hard decoding, and of two bits a cell.
    pub fn capabilities(&self) -> [f64; 2] {
        [self.hard.capability(), self.two_bit.as_ref().map_or(0.0, Profile::capability)]
    }

    /// The profile for this many bits a cell.
    pub fn of(&self, bits: u8) -> &Profile {
        let soft = match bits {
            2 => self.two_bit.as_ref(),
            3 => self.three_bit.as_ref(),
            _ => None,
        };
        soft.unwrap_or(&self.hard)
    }
}

/// The profile that a key names, for pages sensed with this many bits a cell.
fn profile(key: &'static str, name: &str, bits: u8) -> Result<Profile, ConfigError> {
    if name == "qc-ldpc" {
        return Ok(Profile::preset(bits));
    }
    if !name.ends_with(".csv") {
        let remedy = "write qc-ldpc, or the path of a .csv file of `ssdlab ecc simulate`";
        return refuse(key, format!("there is no code `{name}`"), remedy).map_err(dotted);
    }
    let text = read_file(key, name, "give a file of `ssdlab ecc simulate`")?;
    Profile::parse(&text, name)
}

/// The text of a file that a key names.
fn read_file(key: &'static str, name: &str, remedy: &str) -> Result<String, ConfigError> {
    units::file::read_text(Path::new(name))
        .or_else(|problem| refuse(key, format!("{name} {problem}"), remedy))
        .map_err(dotted)
}
