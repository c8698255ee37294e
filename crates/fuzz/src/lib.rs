//! What readers of files and messages are fed with. A target is a function of bytes: it must neither panic nor hang,
//! and its memory must not grow with lengths that the bytes claim. libFuzzer looks for new paths in each (`make fuzz`);
//! the tests of this crate replay its corpus with a bounded number of mutations.

mod hosts;
pub mod mutate;
pub mod targets;

use std::path::{Path, PathBuf};

pub use hosts::units_taken;

/// A reader that is fed.
pub struct Target {
    /// Its name: of its folder in the corpus too.
    pub name: &'static str,
    /// What it reads.
    pub about: &'static str,
    /// Feeds it.
    pub feed: fn(&[u8]),
    /// An input to start from that depends on the build, where there is one.
    seed: Option<fn() -> Vec<u8>>,
}

const fn target(name: &'static str, about: &'static str, feed: fn(&[u8])) -> Target {
    Target { name, about, feed, seed: None }
}

/// Every target.
pub const TARGETS: &[Target] = &[
    target("trace", "traces: the format by the first byte, or detected", targets::trace),
    target("format", "formats as users write them", targets::format),
    target("device", "device files", targets::device),
    target("setting", "settings of a device and of a workload, a line each", targets::setting),
    target("workload", "workload files, and their first requests", targets::workload),
    target("prompts", "files of prompts, and what a KV cache does with them", targets::prompts),
    target("chip", "chip files", targets::chip),
    target("table", "tables: RPT, measured steps, codes", targets::table),
    target("options", "options of a run", targets::options),
    target("nbd", "messages of NBD clients", targets::nbd),
    target("nvme", "what hosts of NVMe/TCP send", targets::nvme),
    Target { seed: Some(targets::saved), ..target("checkpoint", "checkpoints as files", targets::checkpoint) },
    Target {
        seed: Some(targets::saved_state),
        ..target("state", "the state in a checkpoint whose digest is right", targets::state)
    },
];

/// The folder of a target's corpus.
pub fn corpus(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name)
}

/// The inputs that a target starts from: those of its corpus, by name, and its seed.
pub fn inputs(target: &Target) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(corpus(target))
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            Some((path.file_name()?.to_string_lossy().into_owned(), std::fs::read(path).ok()?))
        })
        .collect();
    found.sort();
    found.extend(target.seed.map(|seed| ("seed".to_owned(), seed())));
    found
}

/// libFuzzer on a target, which is a program of its own: the engine looks at everything that a program holds after
/// every input.
#[macro_export]
macro_rules! engine {
    ($target:ident) => {
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::targets::$target(data));
    };
}
