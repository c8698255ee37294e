//! Flash without a drive, from what a user gives; and its checkpoints.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use serde_json::{Value, json};
use units::ConfigError;

use super::checkpoint::{check_same, config_of, damaged, files_of, seal, take_state, unreadable, unsealed};
use super::device_given::{DeviceWord, change};
use super::manifest;
use super::refusal::refused;
use crate::error::RunError;
use crate::media::{Media, SECTIONS};
use crate::policies::Policies;

/// Builds the flash of a device: a preset, a file or a checkpoint of flash, with a scheme, an age and settings.
///
/// # Errors
/// What was given is refused: a setting of a section that flash without a drive has not, above all.
pub fn open_media(
    device: DeviceWord,
    scheme: Option<&str>,
    age: Option<&str>,
    settings: &[String],
    policies: &Policies,
    seed: u64,
) -> Result<Media, ConfigError> {
    if let Some((axis, _)) = policies.sources().iter().find(|(axis, _)| ["ftl", "victim", "pacing"].contains(axis)) {
        let problem = "has no effect on flash without a drive";
        return Err(refused(&format!("policies.{axis}"), problem, "leave it out: flash alone collects nothing"));
    }
    for word in settings {
        let section = word.split_once('.').map_or(word.as_str(), |(section, _)| section).trim();
        if !SECTIONS.contains(&section) {
            let remedy = format!("leave it out; sections of the flash are {}", SECTIONS.join(", "));
            return Err(refused(&format!("--set {word}"), "has no effect on flash without a drive", &remedy));
        }
    }
    let Some(path) = device.checkpoint() else {
        let mut spec = device.spec()?;
        change(&mut spec.config, scheme, age, settings)?;
        spec.config.policies = policies.clone();
        return Media::new(&spec.config, seed);
    };
    let origin = path.display().to_string();
    let bytes = std::fs::read(&path).map_err(|error| unreadable(&origin, &error))?;
    let (header, state) = unsealed(&bytes, &origin)?;
    if header.get("media").is_none() {
        return Err(refused(&origin, "is the checkpoint of a drive", "open it as Device"));
    }
    let mut config = config_of(&header, &origin)?;
    change(&mut config, scheme, age, settings)?;
    config.policies = policies.clone();
    let seed = header["seed"].as_u64().ok_or_else(|| damaged(&origin))?;
    let mut media = Media::new(&config, seed)?;
    check_same(&header, media.plan(), &origin)?;
    take_state(&header, &state, &origin, |state| {
        media.read_state(state)?;
        Ok(media.now())
    })?;
    Ok(media)
}

/// Writes the whole state of flash to a file: [`open_media`] with its path goes on from it, to the byte.
///
/// # Errors
/// It has failed, or the file cannot be written.
pub fn write_media(media: &Media, path: &Path) -> Result<(), RunError> {
    if let Some(failure) = media.failure() {
        let problem = format!("the flash cannot be saved, because it has failed: {failure}");
        return Err(refused("checkpoint", &problem, "save it before").into());
    }
    let written = File::create(path).map(BufWriter::new).and_then(|mut file| {
        seal(header_of(media), |state| media.write_state(state), &mut file)?;
        file.flush()
    });
    written.map_err(|error| RunError::Output { path: path.display().to_string(), problem: error.to_string() })
}

/// What flash is built from, and where it stands.
fn header_of(media: &Media) -> Value {
    let plan = media.plan();
    json!({
        "media": true,
        "seed": media.seed(),
        "time_ns": media.now().0,
        "outstanding": media.outstanding(),
        "rests": media.rests(),
        "config": plan.config.to_toml(),
        "policies": manifest::policies(&plan.config.policies),
        "files": files_of(plan),
    })
}
