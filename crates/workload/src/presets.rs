//! Ready-made workloads, from `presets/workloads/`: one file and one line here each.
//!
//! A file of twins holds one workload for each `[twin.NAME]` section: generated stand-ins for the real traces of a
//! paper. They are called FILE/NAME.

use std::io;
use std::path::{Path, PathBuf};

use units::value::nearest;
use units::{ConfigError, Document};

use crate::generator::Workload;

macro_rules! preset {
    ($name:literal $(, $twin:literal)*) => {
        Preset {
            name: $name,
            text: include_str!(concat!("../presets/", $name, ".toml")),
            twins: &[$(concat!($name, "/", $twin)),*],
        }
    };
}

/// A file of `presets/workloads/`.
struct Preset {
    name: &'static str,
    text: &'static str,
    /// The full names of its twins.
    twins: &'static [&'static str],
}

/// Every file, in the order in which they are listed.
const ALL: &[Preset] = &[
    preset!("default"),
    preset!("random-read-8k"),
    preset!("mixed-90-10-16k"),
    preset!("mixed-90-10-16k-fast"),
    preset!("mixed-10-90-16k"),
    preset!("sequential-read-256k"),
    preset!("random-read-closed"),
    preset!("two-tenants"),
    preset!(
        "asplos21", "stg_0", "hm_0", "prn_1", "proj_1", "mds_1", "usr_1", "YCSB-A", "YCSB-B", "YCSB-C", "YCSB-D",
        "YCSB-E", "YCSB-F"
    ),
    preset!("fast12", "F1", "F2", "DAP", "MSN", "C3", "C8"),
    preset!("hpca24", "Ali_2", "Ali_46", "Ali_81", "Ali_121", "Ali_124", "Ali_295", "Sys_0", "Sys_1"),
    preset!(
        "electronics25",
        "ali_32",
        "ali_3",
        "ali_12",
        "ali_121",
        "ali_124",
        "rsrch_0",
        "stg_0",
        "hm_0",
        "prxy_1",
        "proj_2",
        "usr_1"
    ),
    preset!("llm", "weights", "kv-cache", "checkpoint", "data-loading"),
    preset!("kv-cache"),
    preset!("vector-search"),
    preset!("cache"),
    preset!("cache-zoned"),
    preset!("lsm"),
    preset!("lsm-zoned"),
    preset!("f2fs"),
    preset!("f2fs-zoned"),
    preset!("three-streams"),
];

/// The presets' names.
pub fn names() -> impl Iterator<Item = &'static str> {
    let names = |preset: &'static Preset| {
        if preset.twins.is_empty() { std::slice::from_ref(&preset.name) } else { preset.twins }
    };
    ALL.iter().flat_map(names).copied()
}

/// The workload called `name`, with further settings (see [`Workload::read`]).
pub fn get(name: &str, words: &[&str]) -> Result<Workload, ConfigError> {
    let found = ALL.iter().find_map(|preset| match preset.twins {
        [] => (preset.name == name).then_some((preset, None)),
        twins => twins.contains(&name).then(|| (preset, Some(&name[preset.name.len() + 1..]))),
    });
    let Some((Preset { name: file, text, .. }, twin)) = found else {
        let remedy = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the workloads are {}", names().collect::<Vec<_>>().join(", ")),
        };
        let problem = "there is no such workload".into();
        return Err(ConfigError { origin: format!("workload `{name}`"), line: None, key: None, problem, remedy });
    };
    Workload::read(&Document::parse(text, &format!("preset {file}"))?, words, twin)
}

/// The real trace in `folder` that the twin called `name` stands for: a file called as the twin is (stg_0.csv.gz for
/// asplos21/stg_0), in capitals or not. None where it is not there, or where the preset is no twin.
pub fn real(name: &str, folder: &Path) -> Result<Option<PathBuf>, ConfigError> {
    let Some((_, twin)) = names().find(|known| *known == name).and_then(|name| name.split_once('/')) else {
        return Ok(None);
    };
    let fail = |problem: String, remedy: &str| ConfigError {
        origin: format!("--traces {}", folder.display()),
        line: None,
        key: None,
        problem,
        remedy: remedy.into(),
    };
    let unreadable = |error: io::Error| fail(error.to_string(), "give the folder that holds the traces");
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in folder.read_dir().map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let stem = path.file_name().and_then(|file| file.to_str()).and_then(|file| file.split('.').next());
        if stem.is_some_and(|stem| stem.eq_ignore_ascii_case(twin)) && path.is_file() {
            found.push(path);
        }
    }
    match found.as_slice() {
        [] | [_] => Ok(found.pop()),
        [one, other, ..] => {
            let problem = format!("{} and {} are both called {twin}", one.display(), other.display());
            Err(fail(problem, "keep one of them there"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    #[test]
    fn every_preset_loads_says_what_it_is_and_runs() {
        for name in names() {
            let workload = get(name, &[]).unwrap();
            assert!(workload.about.len() > 20, "{name}");
            let mut batch = Vec::new();
            let mut source = workload.source(Bytes(64 << 30), 1).unwrap();
            let first = if source.closed_loop().is_some() { 1 } else { 1000 };
            // A prompt of which nothing is known asks for nothing when it arrives.
            while batch.is_empty() && source.closed_loop().is_none_or(|source| source.next_time().is_some()) {
                source.fill(&mut batch, first).unwrap();
            }
            assert_eq!(batch.len(), first, "{name}");
        }
    }

    #[test]
    fn every_file_and_every_twin_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../presets/workloads");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), ALL.len());
        for Preset { name: file, text, twins: listed } in ALL {
            let twins = Document::parse(text, file).unwrap().parts("twin").unwrap();
            let full: Vec<String> = twins.iter().map(|twin| format!("{file}/{twin}")).collect();
            assert_eq!(full, *listed, "{file}");
        }
    }

    #[test]
    fn real_traces_are_found_by_the_twins_name() {
        let folder = std::env::temp_dir().join(format!("ssdlab-real-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("mds_1.csv")).unwrap();
        let file = folder.join("STG_0.csv.gz");
        std::fs::write(&file, "").unwrap();
        assert_eq!(real("asplos21/stg_0", &folder).unwrap(), Some(file));
        assert_eq!(real("asplos21/mds_1", &folder).unwrap(), None, "a folder is no trace");
        assert_eq!(real("default", &folder).unwrap(), None);
        std::fs::write(folder.join("stg_0.zst"), "").unwrap();
        assert!(real("asplos21/stg_0", &folder).unwrap_err().problem.contains("both called stg_0"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(real("asplos21/stg_0", &folder).unwrap_err().to_string().starts_with("--traces "));
    }

    #[test]
    fn an_unknown_preset_is_answered_with_its_neighbour() {
        let error = get("random-read-8", &[]).unwrap_err().to_string();
        assert_eq!(
            error,
            "workload `random-read-8`: there is no such workload\n  help: did you mean `random-read-8k`?"
        );
        assert!(get("asplos21", &[]).is_err() && get("asplos21/", &[]).is_err());
    }
}
