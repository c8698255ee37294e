//! Choices that were learned outside: decision trees that answer for a read's first sense, from what a controller knows
//! before it.
//!
//! Contract: a tree sees a [`Context`], nothing else, and gives a number: to `haste` and `pipeline` the share of such
//! reads that it says yes for (between 0 and 1 only while it explores), to `start` a step of the retry table. A tree is
//! a table of nodes in the order in which a walk that turns to the smaller side first meets them: what is at most the
//! limit goes on at the next row.

use units::table::Row;
use units::value::{Scalar, Value as _, nearest};
use units::{ConfigError, Table};

units::choices! {
    /// What a tree is asked.
    pub enum Question {
        /// With which step of the retry table the first sense begins (read.start = learned).
        Start = "start",
        /// Whether the first sense takes the RPT's tPRE (read.sensing = adaptive-learned).
        Haste = "haste",
        /// Whether the first retry follows at once (read.pipeline = cache-read-learned).
        Pipeline = "pipeline",
    }
}

units::choices! {
    /// What a tree may look at. Of similar pages (read.tracking) the drive keeps what its trees look at.
    pub enum Feature {
        /// P/E cycles of the block.
        Pec = "pec",
        /// Age of the data as the controller has recorded it, in days at 30 C.
        Days = "days",
        /// Layer of the page in its block.
        Layer = "layer",
        /// Its number among the pages of its wordline.
        Kind = "kind",
        /// The step that last read a similar page.
        Last = "last",
        /// Syndromes that were not 0 in the last first sense of a similar page by the default tPRE, in 256ths of all.
        Weight = "weight",
        /// Syndromes that were not 0 in the last first sense of a similar page by the RPT's tPRE, in 256ths of all.
        HastyWeight = "hasty_weight",
        /// First senses that failed among the last eight of similar pages by the RPT's tPRE.
        HastyFailed = "hasty_failed",
        /// First senses that failed among the last eight of similar pages by the default tPRE.
        Failed = "failed",
        /// Reads that wait for the die.
        Waiting = "waiting",
        /// The step with which the read begins; 0 to the question of the start itself.
        Start = "start",
        /// Whether its first sense takes the RPT's tPRE; 0 to the questions before.
        Hasty = "hasty",
    }
}

/// How many [`Feature`]s there are.
const FEATURES: usize = Feature::ALL.len();

/// What stands for what is not known yet.
pub const UNKNOWN: u32 = 255;

/// What a controller knows of a read before its first sense: a number for each [`Feature`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context([u32; FEATURES]);

impl Context {
    /// Nothing is known yet.
    pub const NONE: Context = Context([0; FEATURES]);

    /// Says what a feature is.
    pub fn set(&mut self, feature: Feature, value: u32) {
        self.0[feature as usize] = value;
    }

    /// What a feature is.
    pub fn get(&self, feature: Feature) -> u32 {
        self.0[feature as usize]
    }

    /// Every feature by its name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        Feature::ALL.iter().map(|feature| (feature.word, self.get(feature.value)))
    }
}

/// A node of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    /// Where a feature is at most so much the next node follows, otherwise this one.
    Branch { feature: Feature, at_most: u32, otherwise: u16 },
    /// The answer.
    Leaf(f64),
}

/// What a tree has answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// A share, or a step.
    pub value: f64,
    /// Comparisons that it took.
    pub comparisons: u32,
}

/// The trees of a file, a question one or none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trees([Vec<Node>; Question::ALL.len()]);

/// The columns of a file.
const COLUMNS: [&str; 5] = ["question", "feature", "at_most", "otherwise", "value"];
/// What stands for the feature of a leaf.
const LEAF: &str = "leaf";
/// Memory of a node \[B]: a byte for the feature, two for the limit or the answer, two for the row that follows
/// otherwise. By construction.
const NODE: usize = 5;

impl Trees {
    /// Reads CSV text with the columns question, feature, at_most, otherwise and value, whose rows are the nodes of
    /// each question's tree from its root on; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Trees, ConfigError> {
        let table =
            Table::parse(text, origin, COLUMNS, "begin with the line question,feature,at_most,otherwise,value")?;
        let mut trees = Trees::default();
        let mut branches = Vec::new();
        for row in table.rows() {
            let question: Question = word(&row, "question")?;
            let nodes = &mut trees.0[question as usize];
            if nodes.len() > usize::from(u16::MAX) {
                return Err(row.error("question", "has too many nodes".into(), "write 65,536 at most"));
            }
            let node = node(&row, question, nodes.len())?;
            nodes.push(node);
            if let Node::Branch { otherwise, .. } = node {
                branches.push((question, otherwise, row));
            }
        }
        if trees.0.iter().all(Vec::is_empty) {
            return Err(table.error(Some("question"), "there is no tree".into(), "give a row for each node"));
        }
        for (question, otherwise, row) in branches {
            let nodes = trees.0[question as usize].len();
            if usize::from(otherwise) >= nodes {
                let problem = format!("is {otherwise}, and the tree of {} has {nodes} nodes", question.word());
                return Err(row.error("otherwise", problem, "write the number of a later node, from 0 at the root"));
            }
        }
        Ok(trees)
    }

    /// Whether there is a tree for a question.
    pub fn answers(&self, question: Question) -> bool {
        !self.0[question as usize].is_empty()
    }

    /// The answer to a question, if there is a tree for it.
    pub fn answer(&self, question: Question, context: &Context) -> Option<Answer> {
        let nodes = &self.0[question as usize];
        let (mut at, mut comparisons) = (0, 0);
        loop {
            match *nodes.get(at)? {
                Node::Leaf(value) => return Some(Answer { value, comparisons }),
                Node::Branch { feature, at_most, otherwise } => {
                    comparisons += 1;
                    at = if context.get(feature) <= at_most { at + 1 } else { otherwise.into() };
                }
            }
        }
    }

    /// Whether any tree looks at a feature.
    pub fn looks_at(&self, wanted: Feature) -> bool {
        let is_wanted = |node: &Node| matches!(node, Node::Branch { feature, .. } if *feature == wanted);
        self.0.iter().flatten().any(is_wanted)
    }

    /// Memory that a controller needs for them \[B].
    pub fn bytes(&self) -> usize {
        self.0.iter().map(Vec::len).sum::<usize>() * NODE
    }

    /// Every node as it is written, for what decides a result.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let of = |question: &'static units::value::Choice<Question>| {
            let nodes = &self.0[question.value as usize];
            nodes.iter().map(|node| match node {
                Node::Leaf(value) => (question.word, format!("{LEAF},,,{value}")),
                Node::Branch { feature, at_most, otherwise } => {
                    (question.word, format!("{},{at_most},{otherwise},", feature.word()))
                }
            })
        };
        Question::ALL.iter().flat_map(of)
    }
}

/// The choice that a column names.
fn word<T: units::value::Value>(row: &Row, column: &str) -> Result<T, ConfigError> {
    let text = row.text(column);
    T::read(&Scalar::Text(text.into()))
        .ok_or_else(|| row.error(column, format!("{text:?} is not accepted"), &format!("write {}", T::expects())))
}

/// The node of a row, the `index`th of its tree.
fn node(row: &Row, question: Question, index: usize) -> Result<Node, ConfigError> {
    if row.text("feature") == LEAF {
        return Ok(Node::Leaf(match question {
            Question::Start => row.whole("value", 0.0..=254.0, "write a step of the retry table")?,
            Question::Haste | Question::Pipeline => {
                row.number("value", 0.0..=1.0, "write 1 for yes, 0 for no, or the share of yes")?
            }
        }));
    }
    let text = row.text("feature");
    let Some(feature) = Feature::read(&Scalar::Text(text.into())) else {
        let words = Feature::ALL.iter().map(|feature| feature.word).chain([LEAF]);
        let remedy = match nearest(text, words.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the features are {}", words.collect::<Vec<_>>().join(", ")),
        };
        return Err(row.error("feature", format!("there is no feature `{text}`"), &remedy));
    };
    let at_most = row.whole("at_most", 0.0..=4e9, "write a whole number")? as u32;
    // What is at most the limit goes on at the next row, so that a walk goes down the file and ends.
    let remedy = "write the number of a node behind those of the other side, from 0 at the root";
    let otherwise = row.whole("otherwise", index as f64 + 2.0..=f64::from(u16::MAX), remedy)? as u16;
    Ok(Node::Branch { feature, at_most, otherwise })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "question,feature,at_most,otherwise,value
haste,last,4,4,
haste,pec,999,3,
haste,leaf,,,1
haste,leaf,,,0.25
haste,leaf,,,0
start,leaf,,,7
";

    fn context(pairs: &[(Feature, u32)]) -> Context {
        let mut context = Context::NONE;
        pairs.iter().for_each(|(feature, value)| context.set(*feature, *value));
        context
    }

    #[test]
    fn a_walk_turns_by_limits_and_ends_at_a_leaf() {
        let trees = Trees::parse(FILE, "a.csv").unwrap();
        let ask = |pairs: &[(Feature, u32)]| {
            let answer = trees.answer(Question::Haste, &context(pairs)).unwrap();
            (answer.value, answer.comparisons)
        };
        assert_eq!(ask(&[(Feature::Last, 4), (Feature::Pec, 999)]), (1.0, 2));
        assert_eq!(ask(&[(Feature::Last, 4), (Feature::Pec, 1000)]), (0.25, 2));
        assert_eq!(ask(&[(Feature::Last, 5)]), (0.0, 1));
        assert_eq!(
            trees.answer(Question::Start, &Context::NONE).map(|answer| (answer.value, answer.comparisons)),
            Some((7.0, 0))
        );
        assert_eq!(trees.answer(Question::Pipeline, &Context::NONE), None);
        assert!(trees.looks_at(Feature::Pec) && !trees.looks_at(Feature::Days));
        assert_eq!(trees.bytes(), 6 * 5);
        // What is written of them is what was read.
        let header = "question,feature,at_most,otherwise,value\n".to_owned();
        let written = trees.rows().fold(header, |text, (question, row)| format!("{text}{question},{row}\n"));
        assert_eq!(Trees::parse(&written, "b.csv").unwrap(), trees);
    }

    #[test]
    fn a_tree_that_is_none_is_refused_with_its_line() {
        let with = |rows: &str| {
            Trees::parse(&format!("question,feature,at_most,otherwise,value\n{rows}"), "a.csv").unwrap_err().to_string()
        };
        for (rows, said) in [
            ("", "a.csv:1: question: there is no tree"),
            ("hast,leaf,,,1\n", "a.csv:2: question: \"hast\" is not accepted"),
            ("haste,leaf,,,2\n", "a.csv:2: value: \"2\" is not accepted"),
            ("start,leaf,,,0.5\n", "a.csv:2: value: \"0.5\" is not accepted"),
            ("haste,lst,1,2,\n", "a.csv:2: feature: there is no feature `lst`\n  help: did you mean `last`?"),
            ("haste,last,x,2,\n", "a.csv:2: at_most: \"x\" is not accepted"),
            // A walk that went back would not end.
            ("haste,last,1,1,\nhaste,leaf,,,1\n", "a.csv:2: otherwise: \"1\" is not accepted"),
            ("haste,last,1,2,\nhaste,leaf,,,1\n", "a.csv:2: otherwise: is 2, and the tree of haste has 2 nodes"),
        ] {
            assert!(with(rows).starts_with(said), "{rows}: {}", with(rows));
        }
        // The last row of a tree is a leaf, whatever it says: what it goes on at would be behind it.
        assert!(with("haste,leaf,,,1\nhaste,last,1,3,\n").starts_with("a.csv:3: otherwise: is 3"));
    }
}
