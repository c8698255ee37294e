//! Checkpoints: a device that was saved and loaded goes on as if it had never stopped.

use crate::common::cases;
use crate::common::soak::{configuration, draw, resumed};

#[test]
fn a_device_that_was_saved_goes_on_as_if_it_had_never_stopped() {
    let (wanted, mut found, mut busy) = (cases(160).cases, 0, 0);
    let mut met = [0; 10];
    for seed in 1.. {
        let case = draw(seed);
        let Ok(config) = configuration(&case) else { continue };
        let (c, rested) = match resumed(&case, &config) {
            Ok(Some(after)) => after,
            Ok(None) => continue,
            Err(error) => panic!("{error}: {}", case.command()),
        };
        let these = [
            c.pages_retried,
            c.predictions,
            c.program_suspensions,
            c.erase_suspensions,
            c.blocks_relocated[0],
            c.map_reads,
            c.fill_reads,
            c.soft_decodings,
            c.blocks_relocated[1..].iter().sum(),
            c.speculative_senses,
        ];
        met.iter_mut().zip(these).for_each(|(sum, count)| *sum += count);
        (found, busy) = (found + 1, busy + u32::from(!rested));
        if found == wanted {
            break;
        }
    }
    assert!(2 * busy > found, "{busy} of {found} devices were at work");
    assert!(wanted < 160 || met.iter().all(|count| *count > 0), "{met:?}");
}
