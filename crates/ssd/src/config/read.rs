//! Reading.

use nand::Layout;
use schemes::learned::Question;
use schemes::{FailBusy, Next, Pipeline, Predictor, Sensing, Start};
use units::{Bytes, Fraction, Span};

use super::refusal::{Check, Refusal, not_too_long, refuse};

units::choices! {
    /// Which pages are taken to be similar where references are tracked.
    pub enum Tracking {
        /// Those of one die, layer, kind and age: few tables, learnt by any read.
        Age = "age",
        /// Those of one block, layer and kind: no block's age need be known, and every block must be learnt.
        Block = "block",
    }
}

units::section! {
    /// How a page is read whose data is not corrected at once (chip.model): the references, the order and the timing of
    /// senses.
    pub struct ReadConfig in "read" {
        /// The references of the first sense: default, tracked (those that last read a similar page), patrolled
        /// (tracked on a drive that has read its blocks in the background before the run), recorded (those that last
        /// read a page of the block and group of layers, in a bounded table), learned (what a tree of read.trees says)
        /// or oracle (the best ones, with hindsight).
        start: Start = Start::Default,
        /// Which pages share tracked references: those of a die, layer, kind and age, or those of a block, layer and
        /// kind.
        tracking: Tracking = Tracking::Age,
        /// Memory for recorded references; the record that was needed least recently makes room.
        records: Bytes = Bytes::from_mib(1),
        /// Groups of neighbouring layers of a block that share a recorded reference (assumed).
        record_groups: u32 = 8,
        /// Which V_REF follow a sense that could not be corrected: the vendor's table, a table made for the chip
        /// (tailored), what sentinel cells or the syndrome say, two senses of one command (swift), or the best ones
        /// (oracle, ideal).
        next: Next = Next::Table,
        /// Whether retry steps overlap: off, cache-read (PR2), cache-read-likely (from the first sense on, where
        /// similar pages needed retries), cache-read-learned (where a tree of read.trees says so), cache-read-oracle
        /// (where the first sense fails, with hindsight), cache-read-first (from every first sense on), or page-read (a
        /// retry while the one before is decoded).
        pipeline: Pipeline = Pipeline::Off,
        /// Retries after which a read ends that its host has another way for (Limited Retry of NVMe: arrays with
        /// redundancy, NVMe hosts), with the status Unrecovered Read Error; "none" tries everything.
        fail_fast: Option<u32> = None,
        /// While its die does what a read ends at once that its host has another way for, with the same status: none,
        /// erase or collection (relocation of blocks, and erases; IODA).
        fail_busy: FailBusy = FailBusy::None,
        /// The timing of senses: default, adaptive (AR2: retries with the tPRE of the RPT), adaptive-first (first
        /// senses too, as long as similar pages are read so), adaptive-learned (where a tree of read.trees says so),
        /// adaptive-oracle (where it is faster, with hindsight) or adaptive-weighed (all; the weight of the syndrome
        /// says whether a failed one is repeated).
        sensing: Sensing = Sensing::Default,
        /// Who predicts that a page cannot be corrected: none, controller (RPSSD), on-die (RiF) or on-die-again (RiF
        /// that goes on sensing until a page is predicted to be correctable).
        predictor: Predictor = Predictor::None,
        /// tPRED: time that a prediction takes (hpca24 Table I).
        t_pred: Span = Span(2_500),
        /// Share of the predictions that are right, whatever the page; "none" takes ecc.code's, by RBER, or without a
        /// code 0.987 (hpca24 section IV-B; assumed of other chips).
        prediction_accuracy: Option<Fraction> = None,
        /// A read-timing parameter table of one's own: a CSV file with the columns pec, months, cut; "none" profiles
        /// chip.model.
        rpt: Option<String> = None,
        /// Decision trees of what is learned: a CSV file with the columns question, feature, at_most, otherwise, value
        /// (docs/formats.md).
        trees: Option<String> = None,
        /// What is added to the RPT's tPRE [ns]: a table that is wrong.
        rpt_error: f64 = 0.0,
        /// The retention age that the controller has recorded, by which it asks the RPT, over the true one.
        age_error: f64 = 1.0,
    }
}

/// A question that is left to trees.
pub(crate) struct Learned {
    pub question: Question,
    /// The key that leaves it to them, and its choice.
    pub key: &'static str,
    pub word: &'static str,
}

impl ReadConfig {
    /// The questions that are left to trees.
    pub(crate) fn learned(&self) -> impl Iterator<Item = Learned> {
        let of = |is_learned: bool, question, key, word| is_learned.then_some(Learned { question, key, word });
        let (start, sensing, pipeline) = (self.start, self.sensing, self.pipeline);
        let all = [
            of(start == Start::Learned, Question::Start, "read.start", start.word()),
            of(sensing == Sensing::AdaptiveLearned, Question::Haste, "read.sensing", sensing.word()),
            of(pipeline == Pipeline::CacheReadLearned, Question::Pipeline, "read.pipeline", pipeline.word()),
        ];
        all.into_iter().flatten()
    }

    /// Whether anything is known of reads before their first sense.
    pub(crate) fn remembers(&self) -> bool {
        self.start != Start::Default || self.pipeline.foresees() || self.sensing.hastens()
    }
}

impl Check for ReadConfig {
    fn check(&self, _: &Layout) -> Result<(), Refusal> {
        for (key, value, expected) in [
            ("rpt_error", self.rpt_error.abs(), "write nanoseconds, such as -2000"),
            ("age_error", self.age_error, "write a positive number: 2 for twice the true age"),
        ] {
            if !(0.0..=1e9).contains(&value) {
                return refuse(key, format!("is {value}"), expected);
            }
        }
        if self.records.0 < 64 || self.records.0 > 1 << 40 {
            return refuse("records", format!("is {}", self.records), "write 64 B to 1 TiB");
        }
        if !(1..=1024).contains(&self.record_groups) {
            return refuse("record_groups", format!("is {}", self.record_groups), "write 1 to 1024");
        }
        not_too_long(&[("t_pred", self.t_pred)])
    }
}
