//! Steps of a run: none is as long as a long request.

use ssd::run::{Replay, Run, RunOptions};
use ssd::{Config, Drive};

/// A run of writes of 1,024 pages each.
fn run(requests: u64, replay: Replay) -> Run {
    let mut config = Config::default();
    let small = ["channels=1", "chips=1", "dies=1", "planes=1", "blocks=200", "pages=24"];
    small.iter().for_each(|word| config.set(&format!("geometry.{word}")).unwrap());
    config.set("ftl.over_provisioning=1.0").unwrap();
    config.set("buffer.size=256KiB").unwrap();
    let words = ["workload.rw=write", "workload.bs=16MiB"];
    let load = workload::presets::get("default", &words).unwrap();
    let source = load.source(config.plan().unwrap().capacity(), 1).unwrap();
    let options = RunOptions { replay, requests: Some(requests), ..RunOptions::default() };
    Run::new(&config, source, options, None).unwrap()
}

#[test]
fn a_step_ends_within_a_long_request_and_progress_moves() {
    for (requests, replay) in [(1, Replay::Closed(1)), (3, Replay::Closed(2)), (2, Replay::Timed(1.0))] {
        let (mut stepped, mut shares) = (run(requests, replay), vec![0.0]);
        while !stepped.step(1_000_000).unwrap() {
            shares.push(stepped.progress().unwrap());
        }
        assert!(shares.is_sorted() && shares.iter().all(|share| *share <= 1.0), "{shares:?}");
        let within = shares.iter().filter(|share| 0.0 < **share && **share < 1.0 / requests as f64).count();
        assert!(within >= 3, "{requests} requests: {shares:?}");
        assert_eq!(stepped.progress(), Some(1.0));
        // Steps of a request each come to the same.
        let mut other = run(requests, replay);
        while !other.step(1).unwrap() {}
        assert_eq!(stepped.device().now(), other.device().now());
        assert_eq!(stepped.device().counters(), other.device().counters());
    }
}
