//! The QC-LDPC code of hpca24 for Python.

use ::ecc::prediction::{self, Syndromes};
use ::ecc::simulation::{Errors, Simulation};
use ::ecc::{Code, Fineness, Schedule};
use pyo3::prelude::*;
use ssd::run::refused;
use units::ConfigError;

use crate::error::refuse;

/// What was counted of decoded words.
#[derive(IntoPyObject)]
pub struct DecodedWords {
    words: u64,
    failures: u64,
    /// Failures that were decoded to another codeword.
    miscorrected: u64,
    /// Words by iterations.
    by_iterations: Vec<u64>,
    /// Words by pruned syndrome weight: decoded, failed.
    pruned: Vec<[u64; 2]>,
    /// Words by the weight of all syndromes: decoded, failed.
    all: Vec<[u64; 2]>,
}

/// What a word stands for.
fn choice<T: Copy>(name: &str, word: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let found = choices.iter().find(|(known, _)| *known == word).map(|(_, choice)| *choice);
    let remedy = || format!("write {}", choices.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(" or "));
    found.ok_or_else(|| refuse(refused(name, &format!("{word} is not accepted"), &remedy())))
}

/// An error in 27,000 words: nothing is to be seen below.
const LEAST_RBER: f64 = 1e-9;

fn rate(rber: f64) -> PyResult<f64> {
    let wrong =
        || -> ConfigError { refused("rber", &format!("{rber} is not accepted"), "give rates from 1e-9 to 0.5") };
    if (LEAST_RBER..=0.5).contains(&rber) { Ok(rber) } else { Err(refuse(wrong())) }
}

/// Decodes the words numbered `first..last`. Which words these are, and so the counts, does not depend on `threads`;
/// those of adjoining ranges add up.
#[pyfunction]
#[pyo3(signature = (rber, first, last, errors, schedule, seed, threads, soft = "none"))]
pub fn ecc_simulate(
    py: Python<'_>,
    rber: f64,
    first: u64,
    last: u64,
    errors: &str,
    schedule: &str,
    seed: u64,
    threads: usize,
    soft: &str,
) -> PyResult<DecodedWords> {
    let simulation = Simulation {
        rber: rate(rber)?,
        errors: choice("errors", errors, &[("exact", Errors::Exact), ("independent", Errors::Independent)])?,
        fineness: choice(
            "soft",
            soft,
            &[("none", Fineness::Hard), ("2-bit", Fineness::TwoBit), ("3-bit", Fineness::ThreeBit)],
        )?,
        schedule: choice("schedule", schedule, &[("flooding", Schedule::Flooding), ("layered", Schedule::Layered)])?,
        seed,
    };
    // A thread that has not a few words to decode is not worth its start.
    let threads = threads.min((last.saturating_sub(first) / 16) as usize);
    let counts = py.detach(|| simulation.run(&Code::default(), first, last, threads));
    Ok(DecodedWords {
        words: counts.words,
        failures: counts.failures,
        miscorrected: counts.miscorrected,
        by_iterations: counts.by_iterations,
        pruned: counts.pruned,
        all: counts.all,
    })
}

/// The expected syndrome weight at a raw bit error rate.
#[pyfunction]
pub fn ecc_expected_weight(rber: f64, pruned: bool) -> PyResult<f64> {
    let syndromes = if pruned { Syndromes::Pruned } else { Syndromes::All };
    Ok(prediction::expected_weight(&Code::default(), rate(rber)?, syndromes))
}

/// Of this many random codewords with random errors, those that the on-die datapath weighs otherwise than the matrix.
#[pyfunction]
pub fn ecc_rearranged_differs(py: Python<'_>, words: u64, seed: u64) -> u64 {
    py.detach(|| prediction::rearranged_differs(&Code::default(), words, seed))
}
