//! A bounded soak of arrays: see `testing::arrays`.

use std::collections::{HashMap, HashSet};

use array::ArrayConfig;
use testing::arrays::{draw, soak};
use testing::soak::Seeds;
use units::section::Section;

#[test]
fn random_arrays_of_random_devices_lose_nothing_that_their_layout_keeps() {
    let (report, failures) = soak(Seeds::ALL, 40, 2);
    assert!(failures.is_empty(), "{report}\n{}", failures.join("\n"));
}

#[test]
fn random_arrays_of_zoned_drives_have_their_data_where_their_zones_say() {
    let (report, failures) = soak(Seeds::of_zones(1), 20, 2);
    assert!(failures.is_empty(), "{report}\n{}", failures.join("\n"));
}

#[test]
fn every_key_of_an_array_is_drawn_with_several_values() {
    let mut drawn: HashMap<String, HashSet<String>> = HashMap::new();
    let (mut spare, mut fail, mut limited) = (0, 0, 0);
    for seed in 1..60 {
        let case = draw(seed);
        for word in &case.array {
            let (key, value) = word.split_once('=').unwrap();
            drawn.entry(key.into()).or_default().insert(value.into());
        }
        spare += usize::from(case.drives.iter().any(|drive| drive.spare));
        fail += usize::from(case.drives.iter().any(|drive| drive.fails_at.is_some() || drive.mean_life.is_some()));
        let is_limited = |word: &String| word.starts_with("read.fail_fast");
        limited += usize::from(case.drives.iter().any(|drive| drive.device.iter().any(is_limited)));
    }
    for key in ArrayConfig::default().keys() {
        assert!(drawn.get(key.name).is_some_and(|values| values.len() > 1), "array.{} is not drawn", key.name);
    }
    assert!(spare > 10 && fail > 10 && limited > 10, "{spare} with spare drives, {fail} fail, {limited} are limited");
}
