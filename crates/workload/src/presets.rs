//! Ready-made workloads, from `presets/workloads/`: one file and one line here each.

use units::value::nearest;
use units::{ConfigError, Document};

use crate::generator::Generator;

macro_rules! preset {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../presets/workloads/", $name, ".toml")))
    };
}

/// Every preset, in the order in which they are listed: its name and its text.
const ALL: &[(&str, &str)] = &[
    preset!("default"),
    preset!("random-read-8k"),
    preset!("mixed-90-10-16k"),
    preset!("mixed-90-10-16k-fast"),
    preset!("mixed-10-90-16k"),
    preset!("sequential-read-256k"),
    preset!("random-read-closed"),
];

/// The presets' names.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// The workload called `name`.
pub fn get(name: &str) -> Result<Generator, ConfigError> {
    load(name).map(|(generator, _)| generator)
}

/// What the workload called `name` is, in a line.
pub fn about(name: &str) -> Result<String, ConfigError> {
    load(name).map(|(_, about)| about)
}

fn load(name: &str) -> Result<(Generator, String), ConfigError> {
    let Some((_, text)) = ALL.iter().find(|(known, _)| *known == name) else {
        let remedy = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the workloads are {}", names().collect::<Vec<_>>().join(", ")),
        };
        let problem = "there is no such workload".into();
        return Err(ConfigError { origin: format!("workload `{name}`"), line: None, key: None, problem, remedy });
    };
    let document = Document::parse(text, &format!("preset {name}"))?;
    let mut generator = Generator::default();
    document.apply(&mut [&mut generator], &["about"])?;
    Ok((generator, document.text("about")?.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Source;
    use units::Bytes;

    #[test]
    fn every_preset_loads_says_what_it_is_and_runs() {
        for name in names() {
            assert!(about(name).unwrap().len() > 20, "{name}");
            let mut batch = Vec::new();
            let mut source = get(name).unwrap().source(Bytes(64 << 30), 1).unwrap();
            source.fill(&mut batch, 1000).unwrap();
            assert_eq!(batch.len(), 1000, "{name}");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../presets/workloads");
        let files = std::fs::read_dir(folder).unwrap().count();
        assert_eq!(files, names().count());
    }

    #[test]
    fn an_unknown_preset_is_answered_with_its_neighbour() {
        let error = get("random-read-8").unwrap_err().to_string();
        assert_eq!(
            error,
            "workload `random-read-8`: there is no such workload\n  help: did you mean `random-read-8k`?"
        );
    }
}
