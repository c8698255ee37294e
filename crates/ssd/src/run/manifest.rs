//! What a run's manifest says of its device: everything that decides the result.

use nand::model::outcomes::OutcomeSource;
use serde_json::{Map, Value, json};
use units::section::Section;
use units::value::Scalar;

use super::fingerprint::{Fingerprint, fingerprint_of};
use crate::config::Plan;
use crate::error::RunError;
use crate::policies::{Policies, PolicySource};

/// A value of the configuration.
pub(super) fn to_json(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Bool(v) => json!(v),
        Scalar::Int(v) => json!(v),
        Scalar::Float(v) => json!(v),
        Scalar::Text(v) => json!(v),
        Scalar::List(items) => items.iter().map(to_json).collect(),
    }
}

/// The values of a section's keys.
pub(super) fn values(section: &dyn Section) -> Value {
    let keys = section.keys();
    keys.iter().filter_map(|key| Some((key.name.to_owned(), to_json(&section.get(key.name)?)))).collect()
}

/// Sections by their names.
pub fn sections<'a, N: Into<String>>(all: impl IntoIterator<Item = (N, &'a dyn Section)>) -> Value {
    Value::Object(all.into_iter().map(|(name, section)| (name.into(), values(section))).collect::<Map<_, _>>())
}

/// The policies from outside, if there are any: where each comes from, and the fingerprint of what it is written in.
pub(super) fn policies(policies: &Policies) -> Option<Value> {
    let sources = policies.sources();
    let of =
        |source: &PolicySource| json!({ "file": source.file, "function": source.function, "sha256": source.sha256 });
    (!sources.is_empty()).then(|| sources.into_iter().map(|(axis, source)| (axis.to_owned(), of(source))).collect())
}

/// What `chip.model` names: the content of a chip's file decides the result, not its name.
pub(super) fn cells(plan: &Plan) -> Option<Value> {
    plan.reading().map(|reading| match reading {
        OutcomeSource::Virtual(chip) => sections(chip.sections().iter().map(|section| (section.name(), *section))),
        OutcomeSource::Measured(steps) => {
            steps.rows().map(|row| json!([row.pec, row.months, row.steps, row.pages])).collect()
        }
    })
}

/// The table that `read.rpt` names, or that of the chip.
pub(super) fn rpt(plan: &Plan) -> Option<Value> {
    plan.rpt().map(|rpt| rpt.rows().map(|row| json!([row.pec, row.months, row.cut])).collect())
}

/// The trees that `read.trees` names, where something is learned.
pub(super) fn trees(plan: &Plan) -> Option<Value> {
    plan.trees.as_ref().map(|trees| trees.rows().map(|(question, row)| json!(format!("{question},{row}"))).collect())
}

/// A device: its configuration, and the content of the files that this names.
pub fn device(name: &str, plan: &Plan, fingerprint: Fingerprint) -> Result<Value, RunError> {
    let config = plan.config.sections();
    let ecc = &plan.config.ecc;
    let code = |file: &str| file.ends_with(".csv").then(|| fingerprint_of(file.as_ref(), fingerprint)).transpose();
    let mut device = json!({
        "name": name,
        "capacity_bytes": plan.capacity().0,
        "config": sections(config.iter().map(|section| (section.name(), *section))),
        "cells": cells(plan),
        "rpt": rpt(plan),
        "code": code(ecc.code.as_deref().unwrap_or_default())?,
        "code_2bit": code(&ecc.code_2bit)?,
        "code_3bit": code(&ecc.code_3bit)?,
    });
    if let Some(trees) = trees(plan) {
        device["trees"] = trees;
    }
    Ok(device)
}
