//! What there is to choose from, and what a choice comes to before any run.

use serde_json::{Value, json};
use ssd::bounds::{Access, Bound, bounds};
use ssd::config::Config;
use ssd::explain;
use ssd::presets;
use ssd::run::Prepared;
use ssd::run::findings::KINDS;
use units::ConfigError;

use crate::lab::MOST_REQUESTS;

/// Devices, workloads, schemes and their axes, chips, configuration keys, and the words of results.
pub(crate) fn catalogue() -> Result<Value, ConfigError> {
    let devices = presets::names()
        .map(|name| {
            let spec = presets::load(name)?;
            let capacity = spec.config.plan()?.capacity().0;
            let chip = spec.config.chip.model.clone();
            Ok(json!({ "name": spec.name, "about": spec.about, "capacity_bytes": capacity, "chip": chip }))
        })
        .collect::<Result<Vec<Value>, ConfigError>>()?;
    let workloads = workload::presets::names()
        .map(|name| {
            let about = workload::presets::get(name, &[])?.about;
            Ok(json!({ "name": name, "about": about }))
        })
        .collect::<Result<Vec<Value>, ConfigError>>()?;
    let schemes: Vec<Value> = schemes::presets::ALL
        .iter()
        .map(|scheme| json!({ "name": scheme.name, "about": scheme.about, "choices": scheme.choices, "overrides": scheme.overrides }))
        .collect();
    let config = Config::default();
    let axes: Vec<Value> = schemes::presets::AXES
        .iter()
        .filter_map(|(axis, key)| {
            let (section, name) = key.split_once('.')?;
            let section = config.sections().into_iter().find(|of| of.name() == section)?;
            let declared = section.keys().into_iter().find(|of| of.name == name)?;
            let default = section.get(name)?.to_string();
            Some(json!({ "axis": axis, "key": key, "about": declared.doc, "expects": declared.expects, "default": default }))
        })
        .collect();
    let warnings: Vec<Value> =
        KINDS.iter().map(|kind| json!({ "id": kind.id, "meaning": kind.meaning, "why": kind.why })).collect();
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "results_version": ssd::RESULTS_VERSION,
        "most_requests": MOST_REQUESTS,
        "devices": devices,
        "workloads": workloads,
        "schemes": schemes,
        "axes": axes,
        "chips": nand::model::names().collect::<Vec<_>>(),
        "stages": explain::STAGES,
        "warnings": warnings,
    }))
}

/// A drive before any run: its manifest, and what it can do at most.
pub(crate) fn device(prepared: &Prepared) -> Value {
    let bound = |of: &Bound| json!({ "resource": of.resource, "per_s": of.per_s, "formula": of.formula });
    let access = |of: Access| {
        json!({
            "what": of.what,
            "bytes": of.bytes.0,
            "bounds": of.bounds.iter().map(bound).collect::<Vec<_>>(),
            "lone_ns": of.lone.map(|span| span.0),
            "reached": of.reached,
        })
    };
    json!({
        "manifest": prepared.manifest,
        "note": prepared.note,
        "bounds": bounds(&prepared.config).into_iter().map(access).collect::<Vec<_>>(),
    })
}
