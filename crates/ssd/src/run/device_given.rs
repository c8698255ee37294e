//! The device that a user asks for: a preset or file, with a scheme, an age and settings.

use std::path::PathBuf;

use schemes::presets::words;
use units::ConfigError;

use super::checkpoint::{self, Checkpoint};
use super::workload_given::is_workload_key;
use crate::config::Config;
use crate::presets::{self, DeviceSpec};

/// What a scheme's word says in place of a time: the mean tR.
const READ: &str = "{read}";

/// How a user says which device.
#[derive(Clone, Copy, Debug)]
pub enum DeviceWord<'a> {
    /// By a preset's name or a file.
    Named(&'a str),
    /// By the text of a file.
    Text(&'a str),
}

impl DeviceWord<'_> {
    /// The checkpoint that is named in place of a device, if one is.
    pub(super) fn checkpoint(self) -> Option<PathBuf> {
        match self {
            DeviceWord::Named(word) => checkpoint::given(word),
            DeviceWord::Text(_) => None,
        }
    }

    /// The device of a preset or a file.
    pub(super) fn spec(self) -> Result<DeviceSpec, ConfigError> {
        match self {
            DeviceWord::Named(word) => presets::load(word),
            DeviceWord::Text(text) => presets::read(text),
        }
    }
}

/// A device with its scheme, age and settings applied, in this order. A checkpoint
/// stands for the device that it is of.
pub fn device_given(
    device: DeviceWord,
    scheme: Option<&str>,
    age: Option<&str>,
    settings: &[String],
) -> Result<DeviceSpec, ConfigError> {
    let mut spec = match device.checkpoint() {
        Some(path) => Checkpoint::open(&path)?.spec()?,
        None => device.spec()?,
    };
    change(&mut spec.config, scheme, age, settings)?;
    Ok(spec)
}

/// The files that are read for a device: its device file and those that this one builds on, each before its base, or a
/// checkpoint. A preset has none.
///
/// # Errors
/// There is no such device.
pub fn device_files(word: &str) -> Result<Vec<PathBuf>, ConfigError> {
    match DeviceWord::Named(word).checkpoint() {
        Some(path) => Ok(vec![path]),
        None => Ok(presets::load(word)?.files),
    }
}

/// Applies a scheme, an age and settings, in this order.
pub(super) fn change(
    config: &mut Config,
    scheme: Option<&str>,
    age: Option<&str>,
    settings: &[String],
) -> Result<(), ConfigError> {
    for word in scheme.map(words).transpose()?.into_iter().flatten() {
        let word = filled_in(&word, config)?;
        config.set(&word)?;
    }
    for pair in age.into_iter().flat_map(|age| age.split(',')).map(str::trim).filter(|pair| !pair.is_empty()) {
        config.set(&format!("age.{pair}")).map_err(|error| ConfigError { origin: format!("--age {pair}"), ..error })?;
    }
    for word in settings.iter().filter(|word| !is_workload_key(word)) {
        config.set(word)?;
    }
    Ok(())
}

/// Which of a scheme's ideal settings (such as `chip.model=none`) a setting changes again.
pub(super) fn undone(scheme: Option<&str>, settings: &[String]) -> Result<Vec<String>, ConfigError> {
    let Some(scheme) = scheme else { return Ok(Vec::new()) };
    let set = words(scheme)?;
    let ideal = set.iter().filter_map(|word| word.split_once('='));
    let ideal: Vec<(&str, &str)> = ideal.filter(|(key, _)| key.starts_with("chip.")).collect();
    let changes = settings.iter().filter_map(|word| word.split_once('='));
    let changes = changes.filter_map(|(key, value)| {
        let (_, was) = ideal.iter().find(|(other, _)| *other == key.trim())?;
        Some(format!("{key}={value} undoes {key}={was} of --scheme {scheme}: it is not ideal any more"))
    });
    Ok(changes.collect())
}

/// A word with `{read}` replaced by the mean tR of the drive's pages.
fn filled_in(word: &str, config: &Config) -> Result<String, ConfigError> {
    if !word.contains(READ) {
        return Ok(word.to_owned());
    }
    Ok(word.replace(READ, &format!("{}ns", config.mean_read()?.0)))
}
