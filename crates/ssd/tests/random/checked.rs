//! Drives that verify their invariants after every event: random ones pass, and play as they do unchecked.

use testing::soak::{checked, configuration, draw};

#[test]
fn random_devices_pass_every_check_and_play_as_they_do_unchecked() {
    let mut played_out = 0;
    for case in (1..=60).map(draw) {
        let Ok(config) = configuration(&case) else { continue };
        match checked(&case, &config) {
            Ok(to_its_end) => played_out += u32::from(to_its_end),
            Err(error) => panic!("{error}\n{}", case.command()),
        }
    }
    assert!(played_out > 15, "{played_out}");
}
