//! The layers of ARCHITECTURE.md, checked against every `Cargo.toml`.

use std::fs;
use std::path::Path;

/// Each crate and the crates of the workspace that it may depend on.
const LAYERS: [(&str, &[&str]); 8] = [
    ("units", &[]),
    ("workload", &["units"]),
    ("nand", &["units"]),
    ("ecc", &["units"]),
    ("schemes", &["units", "nand"]),
    ("ssd", &["units", "workload", "nand", "ecc", "schemes"]),
    ("logs", &["workload", "ssd"]),
    ("python", &["units", "workload", "nand", "ecc", "schemes", "ssd", "logs"]),
];

#[test]
fn no_crate_depends_on_a_higher_layer() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found: Vec<String> =
        fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    let mut known: Vec<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(found, known, "a new crate needs its place in ARCHITECTURE.md and here");
    for (name, allowed) in LAYERS {
        let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or("").split("\n[").next().unwrap();
        for (other, _) in LAYERS {
            let depends = dependencies.lines().any(|line| line.starts_with(&format!("{other}.")));
            assert!(!depends || allowed.contains(&other), "{name} must not depend on {other}");
        }
    }
}

#[test]
fn layers_without_a_clock_read_none() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ["units", "nand", "ecc", "schemes", "workload", "ssd", "logs"] {
        for file in rust_files(&crates.join(name).join("src")) {
            let text = fs::read_to_string(&file).unwrap();
            if file.ends_with("ssd/src/bench.rs") {
                continue; // Compiled into tests only.
            }
            assert!(!text.contains("std::time"), "{} reads a clock", file.display());
            assert!(
                !text.contains("thread_rng") && !text.contains("RandomState"),
                "{} draws at random",
                file.display()
            );
        }
    }
}

fn rust_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}
