//! Other names of the generator's keys: fio's and those of the papers' tables, where they are not the same already.

use units::section::{Key, KeyError, Section};
use units::value::{Scalar, Value};
use units::{Bytes, Fraction, Span};

use super::arrivals::Arrivals;
use super::options::Generator;
use super::sizes::Sizes;

/// Another name of a key.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// The name.
    pub name: &'static str,
    /// The key that it sets.
    pub key: &'static str,
    /// What it means.
    pub about: &'static str,
}

const fn alias(name: &'static str, key: &'static str, about: &'static str) -> Alias {
    Alias { name, key, about }
}

/// Every other name.
pub const ALIASES: &[Alias] = &[
    alias("rwmixread", "read_ratio", "the share of reads as a whole number of % (fio)"),
    alias("rwmixwrite", "read_ratio", "the share of writes as a whole number of % (fio)"),
    alias("bssplit", "bs", "sizes with their shares (fio)"),
    alias("mean_size", "bs", "the mean size of requests"),
    alias("blockalign", "align", "what requests start at multiples of (fio)"),
    alias("number_ios", "requests", "the number of requests (fio)"),
    alias("interarrival", "rate_iops", "the mean time between arrivals"),
    alias(
        "burstiness",
        "arrivals",
        "the squared coefficient of variation of the gaps between arrivals: 1 is a Poisson process",
    ),
];

/// A generator's section that also knows the other names of its keys.
pub(crate) struct WithAliases<'a>(pub &'a mut Generator);

impl Section for WithAliases<'_> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn doc(&self) -> &'static str {
        self.0.doc()
    }

    fn keys(&self) -> Vec<Key> {
        self.0.keys()
    }

    fn get(&self, key: &str) -> Option<Scalar> {
        self.0.get(key)
    }

    fn set(&mut self, key: &str, value: &Scalar) -> Result<(), KeyError> {
        let Some(Alias { key: same, .. }) = ALIASES.iter().find(|alias| alias.name == key) else {
            return self.0.set(key, value).map_err(|error| match error {
                KeyError::Unknown { known, .. } => {
                    KeyError::unknown(key, known.into_iter().chain(ALIASES.iter().map(|alias| alias.name)).collect())
                }
                other => other,
            });
        };
        let refused = |expects: String| KeyError::Value { expects };
        match (key, value) {
            ("rwmixread", Scalar::Int(share @ 0..=100)) => self.0.read_ratio = Fraction(*share as f64 / 100.0),
            ("rwmixwrite", Scalar::Int(share @ 0..=100)) => self.0.read_ratio = Fraction((100 - share) as f64 / 100.0),
            ("rwmixread" | "rwmixwrite", _) => return Err(refused("a whole number of % from 0 to 100".into())),
            ("mean_size", value) => match Bytes::read(value) {
                Some(mean) => self.0.bs = Sizes::Mean(mean),
                None => return Err(refused(Bytes::expects())),
            },
            ("interarrival", value) => match Span::read(value).filter(|gap| gap.0 > 0) {
                Some(gap) => self.0.rate_iops = Some(1e9 / gap.0 as f64),
                None => return Err(refused(Span::expects())),
            },
            ("burstiness", Scalar::Int(0)) => self.0.arrivals = Arrivals::Fixed,
            ("burstiness", Scalar::Int(1)) => self.0.arrivals = Arrivals::Poisson,
            ("burstiness", value) => match f64::read(value).filter(|c2| *c2 > 1.0 && *c2 <= 1e6) {
                Some(c2) => self.0.arrivals = Arrivals::Bursty(c2),
                None => return Err(refused("0 (equal gaps), 1 (a Poisson process) or more".into())),
            },
            _ => return self.0.set(same, value),
        }
        Ok(())
    }
}
