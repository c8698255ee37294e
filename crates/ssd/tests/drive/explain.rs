//! Explanations leave no nanosecond out, whatever the device and the load; and say of a lone read what it is made of.

use proptest::prelude::*;
use ssd::stats::die;
use ssd::watch::{seen_by, shared};
use ssd::{Config, Device, Drive, Explainer, Explanation, Watch};
use testing::{cases, config, devices, living_devices, loads, requests};
use workload::Request;

fn explained(config: &Config, requests: &[Request], slowest: usize, wanted: Vec<u64>) -> Vec<Explanation> {
    let explainer = shared(Explainer::new(slowest, wanted, 0));
    let mut device = Device::watched(config, 1, Watch::explaining(&explainer)).unwrap();
    for request in requests {
        device.submit(*request).unwrap();
    }
    device.flush().unwrap();
    seen_by(&explainer).explanations()
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn stages_follow_each_other_from_arrival_to_completion(settings in prop_oneof![devices(), living_devices()], load in loads()) {
        let config = config(&settings);
        let capacity = Device::new(&config, 1).unwrap().capacity().0;
        let requests: Vec<Request> =
            requests(&load).into_iter().filter(|request| request.offset.0 + request.bytes.0 <= capacity).collect();
        let found = explained(&config, &requests, requests.len(), Vec::new());
        prop_assert_eq!(found.len(), requests.len());
        for of in &found {
            let mut at = of.arrival;
            for stage in &of.stages {
                prop_assert_eq!(stage.from, at, "{:?}", of);
                prop_assert!(stage.to > stage.from, "{:?}", of);
                prop_assert!(ssd::explain::STAGES.iter().any(|(name, _)| *name == stage.what), "{:?}", stage);
                if let Some(spent) = stage.die {
                    let sum: u64 = spent.iter().map(|span| span.0).sum();
                    prop_assert_eq!(sum, stage.took().0, "{:?}", of);
                }
                at = stage.to;
            }
            prop_assert_eq!(at, of.finish, "{:?}", of);
            // A die that a part waits for is never just idle: it is busy, or something keeps it.
            for stage in of.stages.iter().chain(of.parts.iter().flatten()) {
                let idle = stage.die.map_or(0, |spent| spent[die::IDLE].0);
                prop_assert_eq!(idle, 0, "{:?} in {:?}", stage, of);
            }
        }
        // The slowest are among all, in order.
        let few = explained(&config, &requests, 3, Vec::new());
        let mut latencies: Vec<u64> = found.iter().map(|of| of.latency().0).collect();
        latencies.sort_unstable_by(|a, b| b.cmp(a));
        latencies.truncate(3);
        prop_assert_eq!(few.iter().map(|of| of.latency().0).collect::<Vec<_>>(), latencies);
    }
}

#[test]
fn a_lone_read_with_retries_is_its_equation() {
    let mut config = Config::default();
    let model = format!("chip.model={}", testing::measured_steps());
    for word in ["chip.t_read=60us", "host.t_submit=700ns", "host.t_complete=300ns", "bus.t_command=200ns", &model] {
        config.set(word).unwrap();
    }
    for pipeline in ["off", "cache-read"] {
        config.set(&format!("read.pipeline={pipeline}")).unwrap();
        let reads = testing::lone_reads();
        let found = explained(&config, &reads, 0, (0..40).collect());
        assert_eq!(found.len(), 40);
        let mut most = 0;
        for of in &found {
            let sum = |what: &str| -> u64 {
                of.stages.iter().filter(|stage| stage.what == what).map(|stage| stage.took().0).sum()
            };
            let steps = of.stages.iter().map(|stage| u64::from(stage.step)).max().unwrap();
            most = most.max(steps);
            assert_eq!((sum("host queue"), sum("sense")), (700, (steps + 1) * 60_000), "{of:?}");
            // Pipelined steps hide the transfers and decodings of those before, but for the first sense's and the
            // last's.
            let seen = if pipeline == "off" { steps + 1 } else { steps.min(1) + 1 };
            assert_eq!((sum("decode"), sum("command")), (seen * 5_000, (steps + 1) * 200), "{of:?}");
            // The next step's command goes over the bus before the page.
            let bus = if pipeline == "off" { 0 } else { steps.min(1) * 200 };
            assert_eq!((sum("bus"), sum("die") + sum("ecc") + sum("map")), (bus, 0), "{of:?}");
        }
        assert_eq!(most, 9);
    }
}
