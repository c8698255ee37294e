//! An array in a checkpoint: what it is built from, its own state, and that of each of its drives.

use std::io;

use serde_json::{Map, Value, json};
use ssd::persist::{Reader, State, Writer};
use ssd::run::checkpoint::{self, Checkpoint};
use ssd::run::refused;
use ssd::{Drive, Plan, RunDrive, RunError};
use units::section::Section;
use units::{ConfigError, Time};

use crate::array::Array;
use crate::config::ArrayConfig;
use crate::rewrite::Rewrite;

/// Keys of the section `array` that say where data is, and may not differ between an array that was saved and one that
/// goes on. The others decide what is done next, and may where nothing was under way.
const LAYOUT: &[&str] = &["layout", "chunk", "copies", "data", "parity", "placement", "log_spare"];

impl<D: RunDrive + ?Sized> Array<D> {
    /// What it is built from, and where it stands.
    pub(crate) fn saved_header(&self) -> Value {
        let keys = self.config.keys().into_iter();
        let config: Map<String, Value> = keys.map(|key| (key.name.to_owned(), shown(&self.config, key.name))).collect();
        let drives: Vec<Value> =
            self.members.iter().map(|member| json!([member.name, member.drive.header()])).collect();
        json!({
            "seed": self.seed,
            "time_ns": self.now.0,
            "outstanding": Drive::outstanding(self),
            "rests": self.is_quiet() && self.members.iter().all(|member| member.rests()),
            "array": config,
            "drives": drives,
        })
    }

    pub(crate) fn save_all(&self, to: &mut Writer) {
        State::save(self, to);
        for member in &self.members {
            State::save(member, to);
            member.drive.write_state(to);
        }
    }

    pub(crate) fn load_all(&mut self, from: &mut Reader) -> io::Result<()> {
        State::load(self, from)?;
        for member in &mut self.members {
            State::load(member, from)?;
            member.drive.read_state(from)?;
            (member.overwriting, member.warming) = (None, None);
        }
        self.seats_change();
        let places = self.seats.iter().map(|seat| seat.drive).chain(self.spares.iter().copied());
        let fits = self.seats.len() == self.layout.drives && self.nexts.len() == self.members.len();
        if fits && places.into_iter().all(|drive| drive < self.members.len()) {
            Ok(())
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    }

    /// Plays what its host had under way, until that has come to its end.
    pub(crate) fn settle(&mut self) -> Result<(), RunError> {
        while Drive::outstanding(self) > 0 && self.advance_to_completion(Time::NEVER)? {
            self.take_completions();
        }
        self.take_completions();
        // One that had nothing to do was left behind: the workload begins in all at the same time.
        let now = self.now;
        self.each_alive(|drive| drive.advance(now))?;
        Ok(())
    }
}

fn shown(config: &ArrayConfig, key: &str) -> Value {
    json!(config.get(key).expect("Invariant: a section has every key that it lists").to_string())
}

/// A checkpoint of an array whose header has been read and checked.
pub(crate) struct SavedArray {
    checkpoint: Checkpoint,
    /// The array's seed.
    pub seed: u64,
    /// Those of its drives.
    pub seeds: Vec<u64>,
}

impl SavedArray {
    /// Checks that an array of these drives can go on from a checkpoint.
    pub fn check<'a>(
        checkpoint: Checkpoint,
        config: &ArrayConfig,
        drives: impl Iterator<Item = (String, &'a Plan)>,
    ) -> Result<SavedArray, ConfigError> {
        let (origin, header) = (checkpoint.origin(), checkpoint.header());
        let Some(saved) = header["drives"].as_array() else {
            let remedy = "leave --array out, or give a checkpoint that a run on this array has saved";
            return Err(refused(&origin, "is the checkpoint of one drive, and an array is run", remedy));
        };
        let rests = header["rests"] == json!(true);
        // A log is no way to write what is there, but a place for it.
        let log = header["array"]["rewrite"] == json!("log") || config.rewrite == Rewrite::Log;
        let says_where = |name: &str| LAYOUT.contains(&name) || name == "rewrite" && log;
        let keys = config.keys().into_iter().filter(|key| !rests || says_where(key.name));
        let mut differ = keys.filter(|key| header["array"][key.name] != shown(config, key.name)).map(|key| {
            let was = header["array"][key.name].as_str().unwrap_or("none").to_owned();
            format!("array.{} was {was} and is {}", key.name, shown(config, key.name).as_str().unwrap_or_default())
        });
        if let Some(problem) = differ.next() {
            let remedy =
                if rests { "give the array that was saved" } else { "give it what it had, or save it at rest" };
            return Err(refused(&origin, &format!("is of another array: {problem}"), remedy));
        }
        let drives: Vec<(String, &Plan)> = drives.collect();
        if drives.len() != saved.len() {
            let problem = format!("has {} drives, and the array has {}", saved.len(), drives.len());
            return Err(refused(&origin, &problem, "give the array that was saved"));
        }
        let mut seeds = Vec::new();
        for ((name, plan), saved) in drives.into_iter().zip(saved) {
            if saved[0] != json!(name) {
                let was = saved[0].as_str().unwrap_or_default();
                let problem = format!("has a drive {was} where the array has {name}");
                return Err(refused(&origin, &problem, "give the array that was saved"));
            }
            checkpoint::check(&saved[1], plan, &format!("{origin}, drive {name}"))?;
            seeds.push(saved[1]["seed"].as_u64().unwrap_or_default());
        }
        Ok(SavedArray { seed: header["seed"].as_u64().unwrap_or_default(), seeds, checkpoint })
    }

    /// Gives an array, which was built with its seeds, the state that the saved one had, and plays what its host had
    /// under way.
    pub fn restore<D: RunDrive + ?Sized>(&self, array: &mut Array<D>) -> Result<(), RunError> {
        self.checkpoint.restore(array)?;
        array.settle()
    }
}
