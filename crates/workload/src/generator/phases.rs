//! Requests by phases: a hidden Markov model of a workload.
//!
//! Requests follow one phase of a Markov chain for a dwell time. In it the phase draws requests (a class of requests, a
//! class of gaps and an access pattern) and bursts of such; then the chain takes a step. After P. G. Harrison, S. K.
//! Harrison, N. M. Patel, S. Zertal, "Storage workload modelling by hidden Markov models: application to flash memory",
//! Performance Evaluation 69(1), 2012, for block traces: bursts, runs of reads and of writes, and lulls at all time
//! scales come from phases that are seldom left.

use std::ops::Range;

use units::section::Section;
use units::value::{Scalar, Value};
use units::{Bytes, ConfigError, Document, Span};

use super::options::{Generator, refuse};
use super::shares::{Item, Quantiles, Shares};
use super::sizes::Sizes;

/// Streams of each operation that are remembered.
pub(super) const HEADS: usize = 32;
/// Requests that are remembered.
pub(super) const REMEMBERED: usize = 1 << 16;
/// A burst has at most this many requests.
const LONGEST_BURST: u64 = 1 << 24;

units::choices! {
    /// What the requests of a class do.
    pub enum Action {
        /// It reads.
        Read = "read",
        /// It writes.
        Write = "write",
        /// It trims.
        Trim = "trim",
    }
}

units::choices! {
    /// Where a request goes.
    pub enum AccessPattern {
        /// To an address of the request class's zones.
        New = "new",
        /// To where one of the last streams of its operation ended, which goes on by it.
        Next = "next",
        /// To somewhere near the end of one of these streams.
        Skip = "skip",
        /// To where a request began not long ago, as `recent` has it.
        Recent = "recent",
        /// To where a request began long ago, as `earlier` has it.
        Earlier = "earlier",
    }
}

/// How many streams of the operation were in use since the one that goes on.
impl Item for u32 {
    const EXPECTS: &'static str = "how many streams have gone on since (0 to 31) with shares, such as \"0/60:1/40\"";
    fn parse(word: &str) -> Option<u32> {
        word.parse().ok().filter(|depth| *depth < HEADS as u32)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// From the end of a stream to a request near it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamOffset(pub i64);

impl Item for StreamOffset {
    const EXPECTS: &'static str = "steps from a stream's end with shares, such as \"8KiB/60:-4KiB/40\"";
    fn parse(word: &str) -> Option<StreamOffset> {
        let (sign, size) = word.strip_prefix('-').map_or((1, word), |size| (-1, size));
        let bytes = Bytes::read(&Scalar::Text(size.into()))?;
        (bytes.0 <= 1 << 40).then_some(StreamOffset(sign * bytes.0 as i64))
    }
    fn show(&self) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        match Bytes(self.0.unsigned_abs()).write() {
            Scalar::Text(text) => format!("{sign}{text}"),
            other => format!("{sign}{other}"),
        }
    }
}

/// A request before: what it did, and at least how many requests ago it came; at most twice as many less one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PastRequest(pub Action, pub u32);

impl Item for PastRequest {
    const EXPECTS: &'static str = "what was done how many requests ago (N stands for N to 2N-1, up to 32768) with shares, such as \"write@1/60:read@64/40\"";
    fn parse(word: &str) -> Option<PastRequest> {
        let (action, least) = word.split_once('@')?;
        let least = least.parse().ok().filter(|least: &u32| (1..=REMEMBERED as u32 / 2).contains(least))?;
        Some(PastRequest(Action::read(&Scalar::Text(action.into()))?, least))
    }
    fn show(&self) -> String {
        format!("{}@{}", self.0.word(), self.1)
    }
}

/// A request as phases and bursts name it: its request class, the class of the gap behind it, and its access pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestTemplate {
    /// The request class's name.
    pub kind: String,
    /// The name of the class of gaps.
    pub gap: String,
    /// Where it goes.
    pub pattern: AccessPattern,
}

impl RequestTemplate {
    fn parse(word: &str) -> Option<RequestTemplate> {
        let [kind, gap, pattern] = word.split('.').collect::<Vec<_>>().try_into().ok()?;
        let pattern = AccessPattern::read(&Scalar::Text(pattern.to_owned()))?;
        Some(RequestTemplate { kind: kind.to_owned(), gap: gap.to_owned(), pattern })
    }

    fn show(&self) -> String {
        format!("{}.{}.{}", self.kind, self.gap, self.pattern.word())
    }
}

/// What a phase draws.
#[derive(Clone, Debug, PartialEq)]
pub enum MixItem {
    /// A request.
    Request(RequestTemplate),
    /// A burst of this name, and the name of the class of the gap behind it.
    Burst(String, String),
}

impl Item for MixItem {
    const EXPECTS: &'static str = "KIND.GAP.PLACE or BURST.GAP with shares, such as \
                                   \"small.long.new/60:small.short.next/30:flush.long/10\" (places are new, next, skip, \
                                   recent, earlier)";
    fn parse(word: &str) -> Option<MixItem> {
        match word.split_once('.') {
            Some((burst, gap)) if !gap.contains('.') => Some(MixItem::Burst(burst.to_owned(), gap.to_owned())),
            _ => RequestTemplate::parse(word).map(MixItem::Request),
        }
    }
    fn show(&self) -> String {
        match self {
            MixItem::Request(one) => one.show(),
            MixItem::Burst(burst, gap) => format!("{burst}.{gap}"),
        }
    }
}

/// Requests one after the other, each with how often it stands there in a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestSequence(pub Vec<(RequestTemplate, u32)>);

impl Value for RequestSequence {
    fn expects() -> String {
        "KIND.GAP.PLACE, each with *TIMES where it is repeated, such as \"log.short.new log.short.next*7\" (places are new, \
         next, skip, recent, earlier)"
            .to_owned()
    }

    fn read(scalar: &Scalar) -> Option<RequestSequence> {
        let Scalar::Text(text) = scalar else { return None };
        let entry = |word: &str| match word.split_once('*') {
            Some((one, times)) => Some((RequestTemplate::parse(one)?, times.parse().ok().filter(|times| *times > 0)?)),
            None => Some((RequestTemplate::parse(word)?, 1)),
        };
        text.split_whitespace().map(entry).collect::<Option<Vec<_>>>().map(RequestSequence)
    }

    fn write(&self) -> Scalar {
        let word = |(one, times): &(RequestTemplate, u32)| match times {
            1 => one.show(),
            times => format!("{}*{times}", one.show()),
        };
        Scalar::Text(self.0.iter().map(word).collect::<Vec<_>>().join(" "))
    }
}

/// How often something is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count(pub u32);

impl Item for Count {
    const EXPECTS: &'static str = "numbers (1 or more) with shares, such as \"1/60:8/40\"";
    fn parse(word: &str) -> Option<Count> {
        word.parse().ok().filter(|count| *count > 0).map(Count)
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// A phase's name.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseName(pub String);

impl Item for PhaseName {
    const EXPECTS: &'static str = "names of phases with shares, such as \"calm/99:burst/1\"";
    fn parse(word: &str) -> Option<PhaseName> {
        (!word.is_empty()).then(|| PhaseName(word.to_owned()))
    }
    fn show(&self) -> String {
        self.0.clone()
    }
}

units::section! {
    /// A class of gaps between a request and the next, in a workload of phases: [gap.NAME].
    pub struct Gap in "gap" {
        /// The gaps' quantiles, equally spaced from the least to the largest; between two of them gaps are log-uniform.
        quantiles: Quantiles<Span> = Quantiles(vec![Span(0)]),
    }
}

units::section! {
    /// A request class in a workload of phases: [kind.NAME].
    pub struct Kind in "kind" {
        /// What it does.
        rw: Action = Action::Read,
        /// Size of requests.
        bs: Sizes = Sizes::Fixed(Bytes::from_kib(4)),
        /// Addresses of new requests: quantiles, between which they are spread evenly.
        zones: Quantiles<Bytes> = Quantiles(vec![Bytes(0), Bytes(1 << 30)]),
        /// What new requests start at multiples of: sizes with their shares.
        align: Sizes = Sizes::Fixed(Bytes::from_kib(4)),
        /// Which of the last streams of its operation goes on, where requests go to `next`: 0 is the one that went on
        /// last.
        streams: Shares<u32> = Shares(vec![(0, 1.0)]),
        /// Which of the last streams goes on, where requests go to `skip`.
        skip_streams: Shares<u32> = Shares(vec![(0, 1.0)]),
        /// How far from the end of that stream they start.
        skips: Shares<StreamOffset> = Shares(Vec::new()),
        /// What these start at multiples of: the nearest one.
        skip_align: Sizes = Sizes::Fixed(Bytes::from_kib(4)),
        /// Which requests' addresses are met again, where requests go to `recent`.
        recent: Shares<PastRequest> = Shares(Vec::new()),
        /// Which requests' addresses are met again, where requests go to `earlier`.
        earlier: Shares<PastRequest> = Shares(Vec::new()),
    }
}

units::section! {
    /// Requests that come together, in this order, in a workload of phases: [burst.NAME].
    pub struct Burst in "burst" {
        /// Its requests, each with the class of the gap to the next; the phase that draws the burst specifies the last
        /// gap.
        requests: RequestSequence = RequestSequence::default(),
    }
}

units::section! {
    /// A phase: [phase.NAME]. With such sections requests come by phases; the first one listed comes first.
    pub struct Phase in "phase" {
        /// What it draws: requests (request class, class of the gap to the next, access pattern) and bursts.
        mix: Shares<MixItem> = Shares(Vec::new()),
        /// Its dwell time: how often it draws until the next phase follows.
        stay: Shares<Count> = Shares(vec![(Count(1), 1.0)]),
        /// Which phase follows.
        next: Shares<PhaseName> = Shares(Vec::new()),
        /// Visits over which it samples without replacement: together they have the shares of stay, next and mix as
        /// exactly as their number allows. 1 samples each visit independently.
        deck: u32 = 1,
    }
}

/// A workload of phases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases {
    /// Classes of gaps by name.
    pub gaps: Vec<(String, Gap)>,
    /// Kinds of requests by name.
    pub kinds: Vec<(String, Kind)>,
    /// Bursts by name.
    pub bursts: Vec<(String, Burst)>,
    /// Phases by name.
    pub phases: Vec<(String, Phase)>,
}

/// The sections that make phases.
pub(super) const PARTS: [&str; 4] = ["gap", "kind", "burst", "phase"];

/// Keys of `[workload]` that phases leave their meaning.
pub const SHARED: [&str; 7] = ["requests", "align", "offset", "iodepth", "thinktime", "queues", "hint"];

impl Phases {
    /// The addresses that are written: those of the zones.
    pub(super) fn written(&self) -> Vec<Range<u64>> {
        let writing = self.kinds.iter().map(|(_, kind)| kind).filter(|kind| kind.rw == Action::Write);
        writing.filter_map(|kind| Some(kind.zones.0.first()?.0..kind.zones.0.last()?.0)).collect()
    }

    /// The phases of a document, if it has such.
    pub(super) fn read(document: &Document) -> Result<Option<Phases>, ConfigError> {
        fn parts<S: Section + Default>(document: &Document, section: &str) -> Result<Vec<(String, S)>, ConfigError> {
            let read = |name: String| {
                let mut part = S::default();
                document.apply_part(section, &name, &mut part, &[])?;
                Ok((name, part))
            };
            document.parts(section)?.into_iter().map(read).collect()
        }
        let [gaps, kinds, bursts, phases] = PARTS;
        let found = Phases {
            gaps: parts(document, gaps)?,
            kinds: parts(document, kinds)?,
            bursts: parts(document, bursts)?,
            phases: parts(document, phases)?,
        };
        if found.phases.is_empty() {
            for (section, there) in
                [(gaps, !found.gaps.is_empty()), (kinds, !found.kinds.is_empty()), (bursts, !found.bursts.is_empty())]
            {
                if there {
                    let remedy = "write [phase.NAME] with mix = \"KIND.GAP.PLACE/SHARE:...\"".into();
                    return Err(document.error_at(section, section, "is there, and no phase draws from it", remedy));
                }
            }
            return Ok(None);
        }
        Ok(Some(found))
    }

    /// Its sections, each with its full name.
    pub fn sections(&self) -> Vec<(String, &dyn Section)> {
        let gaps = self.gaps.iter().map(|(name, gap)| (format!("gap.{name}"), gap as &dyn Section));
        let kinds = self.kinds.iter().map(|(name, kind)| (format!("kind.{name}"), kind as &dyn Section));
        let bursts = self.bursts.iter().map(|(name, burst)| (format!("burst.{name}"), burst as &dyn Section));
        let phases = self.phases.iter().map(|(name, phase)| (format!("phase.{name}"), phase as &dyn Section));
        gaps.chain(kinds).chain(bursts).chain(phases).collect()
    }

    /// Refuses what cannot be met of it, and the keys of `[workload]` that have no effect beside it.
    pub(super) fn check(&self, generator: &Generator) -> Result<(), ConfigError> {
        let usual = Generator::default();
        for key in generator.keys().iter().filter(|key| !SHARED.contains(&key.name)) {
            let set = generator.get(key.name) != usual.get(key.name);
            let problem = "is set, and the phases' kinds and gaps say it instead".into();
            refuse(set, format!("workload.{}", key.name), problem, "leave it out")?;
        }
        for (name, gap) in &self.gaps {
            let longest = gap.quantiles.0.last().map_or(0, |gap| gap.0);
            let problem = "is no gap, or one above a year".to_owned();
            let wrong = longest > 366 * 86_400_000_000_000;
            refuse(wrong, format!("gap.{name}.quantiles"), problem, "choose from 0ns to a year")?;
        }
        self.kinds.iter().try_for_each(|(name, kind)| kind.check(name, generator.alignment()))?;
        self.bursts.iter().try_for_each(|(name, burst)| self.check_burst(name, burst))?;
        self.phases.iter().try_for_each(|(name, phase)| self.check_phase(name, phase))
    }

    fn check_burst(&self, name: &str, burst: &Burst) -> Result<(), ConfigError> {
        let key = format!("burst.{name}.requests");
        let none = burst.requests.0.is_empty();
        refuse(none, key.clone(), "has no request".into(), "write KIND.GAP.PLACE*TIMES KIND.GAP.PLACE ...")?;
        let length: u64 = burst.requests.0.iter().map(|(_, times)| u64::from(*times)).sum();
        let problem = format!("has {length} requests");
        refuse(length > LONGEST_BURST, key.clone(), problem, "write 16,777,216 or fewer")?;
        burst.requests.0.iter().try_for_each(|(one, _)| self.check_request(&key, one))
    }

    fn check_phase(&self, name: &str, phase: &Phase) -> Result<(), ConfigError> {
        let key = |key: &str| format!("phase.{name}.{key}");
        refuse(phase.mix.0.is_empty(), key("mix"), "draws nothing".into(), "write KIND.GAP.PLACE/SHARE:...")?;
        for (drawn, _) in &phase.mix.0 {
            match drawn {
                MixItem::Request(one) => self.check_request(&key("mix"), one)?,
                MixItem::Burst(burst, behind) => {
                    let known = self.bursts.iter().any(|(known, _)| known == burst);
                    refuse(!known, key("mix"), missing("burst", burst), "write one, or name another burst")?;
                    self.check_gap(&key("mix"), behind)?;
                }
            }
        }
        refuse(phase.deck == 0, key("deck"), "is 0".into(), "write 1, or how many stays a deck serves")?;
        refuse(phase.stay.0.is_empty(), key("stay"), "lasts no request".into(), "write TIMES/SHARE:...")?;
        refuse(phase.next.0.is_empty(), key("next"), "leads nowhere".into(), "write PHASE/SHARE:...")?;
        for (PhaseName(next), _) in &phase.next.0 {
            let known = self.phases.iter().any(|(known, _)| known == next);
            refuse(!known, key("next"), missing("phase", next), "write one, or name another phase")?;
        }
        Ok(())
    }

    /// Whether there is what a request names; `key` names it.
    fn check_request(&self, key: &str, one: &RequestTemplate) -> Result<(), ConfigError> {
        let kind = self.kinds.iter().find(|(known, _)| *known == one.kind);
        refuse(kind.is_none(), key.to_owned(), missing("kind", &one.kind), "write one, or name another kind")?;
        self.check_gap(key, &one.gap)?;
        let needed = kind.and_then(|(_, kind)| match one.pattern {
            AccessPattern::New => None,
            AccessPattern::Next => kind.streams.0.is_empty().then_some("streams"),
            AccessPattern::Skip if kind.skips.0.is_empty() => Some("skips"),
            AccessPattern::Skip => kind.skip_streams.0.is_empty().then_some("skip_streams"),
            AccessPattern::Recent => kind.recent.0.is_empty().then_some("recent"),
            AccessPattern::Earlier => kind.earlier.0.is_empty().then_some("earlier"),
        });
        let problem = format!("{} needs kind.{}.{}", one.show(), one.kind, needed.unwrap_or_default());
        refuse(needed.is_some(), key.to_owned(), problem, "write it, or choose another place")
    }

    fn check_gap(&self, key: &str, gap: &str) -> Result<(), ConfigError> {
        let known = self.gaps.iter().any(|(known, _)| known == gap);
        refuse(!known, key.to_owned(), missing("gap", gap), "write one, or name another gap")
    }
}

fn missing(section: &str, name: &str) -> String {
    format!("there is no [{section}.{name}]")
}

impl Kind {
    /// Refuses what cannot be met of the request class `name`, in a workload whose requests start at multiples of
    /// `align`.
    fn check(&self, name: &str, align: Bytes) -> Result<(), ConfigError> {
        let key = |key: &str| format!("kind.{name}.{key}");
        if let Some((problem, remedy)) = self.bs.refusal(align) {
            refuse(true, key("bs"), problem, remedy)?;
        }
        for (word, sizes) in [("align", &self.align), ("skip_align", &self.skip_align)] {
            let wrong = matches!(sizes, Sizes::Mean(_)) || sizes.refusal(align).is_some();
            refuse(wrong, key(word), "is no alignment".into(), "choose from 1B to 1GiB, or such with shares")?;
        }
        let zones = &self.zones.0;
        let wrong = zones.len() < 2 || zones[zones.len() - 1].0 > 1 << 60 || zones[0] == zones[zones.len() - 1];
        refuse(wrong, key("zones"), "hold no address".into(), "give two different addresses or more, up to 1EiB")
    }
}
