//! Prompts: of a file in Mooncake's format (R. Qin et al., "Mooncake", FAST'25), or made by rule.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use units::{Stream, Time};

use super::cache::BlockId;
use super::options::Kv;
use crate::error::TraceError;
use crate::input::Input;

/// A prompt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Prompt {
    /// When it arrives, from the first one.
    pub arrives: Time,
    /// Its length.
    pub tokens: u64,
    /// Its blocks, each named by all that the prompt has up to its end: prompts that begin alike have the same first
    /// ones.
    pub blocks: Arc<[BlockId]>,
}

/// Where prompts come from.
pub(super) enum Prompts {
    File(Box<File>),
    Generated(Box<Generated>),
}

impl Prompts {
    /// The next one; none at the end.
    pub fn next(&mut self) -> Result<Option<Prompt>, TraceError> {
        match self {
            Prompts::File(file) => file.next(),
            Prompts::Generated(generated) => Ok(generated.next()),
        }
    }

    /// How much has been delivered, from 0 to 1.
    pub fn progress(&self) -> Option<f64> {
        match self {
            Prompts::File(file) => file.input.progress(),
            Prompts::Generated(generated) => Some(generated.made as f64 / generated.number as f64),
        }
    }
}

/// Prompts of a file.
pub(super) struct File {
    input: Input,
    speed: f64,
    block_tokens: u64,
    /// The timestamp of the first prompt, and that of the last one \[ms].
    first: Option<f64>,
    last: f64,
}

impl File {
    pub fn open(path: &Path, kv: &Kv) -> Result<File, TraceError> {
        let input = Input::open(path)?.with_long_lines();
        Ok(File { input, speed: kv.speed, block_tokens: kv.block_tokens.into(), first: None, last: 0.0 })
    }

    fn next(&mut self) -> Result<Option<Prompt>, TraceError> {
        loop {
            if !self.input.advance()? {
                return Ok(None);
            }
            if !self.input.line().trim_ascii().is_empty() {
                return self.prompt().map(Some);
            }
        }
    }

    /// The prompt of the present line.
    fn prompt(&mut self) -> Result<Prompt, TraceError> {
        let (line, number) = (self.input.line(), self.input.number());
        let fail = |problem: String, remedy: &str| TraceError::new(self.input.file(), problem, remedy).at(number);
        let is_cut = self.input.is_unended();
        // Some Windows programs put a byte-order mark first.
        let text = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| number == 1).unwrap_or(line);
        let object: Value = serde_json::from_slice(text).map_err(|error| {
            let remedy = if is_cut {
                "whatever wrote the file was stopped: remove its last line"
            } else {
                "a prompt a line: {\"timestamp\": 0, \"input_length\": 6755, \"output_length\": 500, \"hash_ids\": [0, 1, 2]}"
            };
            fail(format!("is no JSON object ({error})"), remedy)
        })?;
        let of = |key: &str, expects: &str| {
            let found = object.get(key).map_or_else(|| "nothing".to_owned(), Value::to_string);
            let shown: String = found.chars().take(40).collect();
            fail(format!("{key} is {shown}, and must be {expects}"), "see docs/tier.md for the format")
        };
        let at = object.get("timestamp").and_then(Value::as_f64).filter(|at| (0.0..=1e10).contains(at));
        let at = at.ok_or_else(|| of("timestamp", "a number of ms from 0 to 1e10"))?;
        if at < self.last {
            let problem = format!("timestamp {at} is before that of an earlier line, {}", self.last);
            return Err(fail(problem, "sort the lines by timestamp"));
        }
        let tokens = object.get("input_length").and_then(Value::as_u64).filter(|tokens| (1..=1 << 24).contains(tokens));
        let tokens = tokens.ok_or_else(|| of("input_length", "a whole number of tokens from 1 to 16,777,216"))?;
        let ids = object.get("hash_ids").and_then(Value::as_array);
        let block = |id: &Value| id.as_u64().map(BlockId);
        let blocks: Option<Arc<[BlockId]>> = ids.and_then(|ids| ids.iter().map(block).collect());
        let blocks = blocks.ok_or_else(|| of("hash_ids", "a list of whole numbers"))?;
        let most = tokens.div_ceil(self.block_tokens);
        if blocks.len() as u64 > most {
            let problem = format!(
                "has {} hash_ids, and {tokens} tokens are {most} blocks of {}",
                blocks.len(),
                self.block_tokens
            );
            return Err(fail(problem, "set kv.block_tokens to the tokens of a block of this file"));
        }
        self.last = at;
        let since = at - *self.first.get_or_insert(at);
        Ok(Prompt { arrives: Time((since * 1e6 / self.speed) as u64), tokens, blocks })
    }
}

/// The longest prompt that is made \[tokens]: the context of models of 2024 (assumed).
const LONGEST: f64 = 131_072.0;

/// Prompts made by rule.
pub(super) struct Generated {
    number: u64,
    made: u64,
    rate: f64,
    mean: f64,
    reuse: f64,
    recent: usize,
    block_tokens: u64,
    now: f64,
    /// The block that is new next.
    fresh: u64,
    /// The blocks of the last prompts.
    past: VecDeque<Arc<[BlockId]>>,
    arrivals: Stream,
    lengths: Stream,
    earlier: Stream,
}

impl Generated {
    pub fn new(kv: &Kv, seed: u64) -> Generated {
        let stream = |what| Stream::new(seed, what);
        Generated {
            number: kv.number,
            made: 0,
            rate: kv.rate,
            mean: kv.input.into(),
            reuse: kv.reuse.0,
            recent: kv.recent as usize,
            block_tokens: kv.block_tokens.into(),
            now: 0.0,
            fresh: 0,
            past: VecDeque::new(),
            arrivals: stream("kv.arrivals"),
            lengths: stream("kv.lengths"),
            earlier: stream("kv.earlier"),
        }
    }

    fn next(&mut self) -> Option<Prompt> {
        let i = self.made;
        if i == self.number {
            return None;
        }
        self.made += 1;
        if i > 0 {
            self.now += self.arrivals.exponential(i) * 1e9 / self.rate;
        }
        let tokens = (1.0 + self.lengths.exponential(i) * (self.mean - 1.0)).min(LONGEST) as u64;
        let all = tokens.div_ceil(self.block_tokens) as usize;
        let known = self.past.len();
        let mut blocks = Vec::with_capacity(all);
        if known > 0 {
            let ago = libm::pow(known as f64, self.earlier.uniform(i)) as usize;
            let earlier = &self.past[known - ago.clamp(1, known)];
            let shared = (self.reuse * all as f64).round() as usize;
            blocks.extend(&earlier[..shared.min(earlier.len())]);
        }
        while blocks.len() < all {
            blocks.push(BlockId(self.fresh));
            self.fresh += 1;
        }
        let blocks: Arc<[BlockId]> = blocks.into();
        self.past.push_back(Arc::clone(&blocks));
        if self.past.len() > self.recent {
            self.past.pop_front();
        }
        Some(Prompt { arrives: Time(self.now as u64), tokens, blocks })
    }
}
