//! libFuzzer on the target that `SSDLAB_FUZZ` names: `make fuzz`.
#![no_main]

use std::sync::LazyLock;

use fuzz::{TARGETS, Target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("SSDLAB_FUZZ").unwrap_or_default();
    let names = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("SSDLAB_FUZZ is one of {}", names()))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.feed)(data));
