//! Other names of the generator's keys: fio's and those of the papers' tables, where they are not the same already.

use units::section::{Key, KeyError, Section};
use units::value::{Scalar, Value};
use units::{Bytes, Fraction, Span};

use super::arrivals::Arrivals;
use super::options::Generator;
use super::sizes::Sizes;

/// A name, the key that it sets, and what it means.
pub type Alias = (&'static str, &'static str, &'static str);

/// Every other name.
pub const ALIASES: &[Alias] = &[
    ("rwmixread", "read_ratio", "the share of reads as a whole number of % (fio)"),
    ("rwmixwrite", "read_ratio", "the share of writes as a whole number of % (fio)"),
    ("bssplit", "bs", "sizes with their shares (fio)"),
    ("mean_size", "bs", "the mean size of requests"),
    ("blockalign", "align", "what requests start at multiples of (fio)"),
    ("number_ios", "requests", "the number of requests (fio)"),
    ("interarrival", "rate_iops", "the mean time between arrivals"),
    (
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
        let Some((_, same, _)) = ALIASES.iter().find(|(word, _, _)| *word == key) else {
            return self.0.set(key, value).map_err(|error| match error {
                KeyError::Unknown { known, .. } => {
                    KeyError::unknown(key, known.into_iter().chain(ALIASES.iter().map(|(word, _, _)| *word)).collect())
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
