//! Arbitration of the submission queues: whose commands complete when, on a drive that works on one command at a time.

use ssd::{Config, Device, Drive};
use units::{Bytes, Time};
use workload::{Op, Request};

/// The queues in the order in which their requests complete. The requests, of which `count` go to each queue, all
/// arrive within the service of the first one; `late` ones arrive in the midst of it all.
fn served(settings: &[&str], count: &[u64], late: &[Request]) -> Vec<u16> {
    let mut config = Config::default();
    let base = ["host.commands=1", "host.queue_depth=4096", "age.fill=1.0"];
    base.iter().chain(settings).for_each(|word| config.set(word).unwrap());
    let mut device = Device::new(&config, 1).unwrap();
    let read = |queue| Request::new(Time(0), Op::Read, Bytes(0), Bytes(16_384)).on(queue);
    let flood = (0u16..).zip(count).flat_map(|(queue, count)| (0..*count).map(move |_| read(queue)));
    for request in flood.chain(late.iter().copied()) {
        device.submit(request).unwrap_or_else(|error| panic!("{error}"));
    }
    let mut served = Vec::new();
    while device.advance_to_completion(Time::NEVER).unwrap() {
        served.extend(device.take_completions().map(|completion| completion.request.queue));
    }
    served
}

const WEIGHTED: &[&str] = &["host.arbitration=weighted", "host.queues=4", "host.priorities=[high,medium,low,urgent]"];

#[test]
fn the_weights_are_the_shares_of_queues_that_always_wait() {
    for (weights, shares) in [("host.weights=[4,2,1]", [4, 2, 1]), ("host.weights=[10,5,5]", [10, 5, 5])] {
        let found = served(&[WEIGHTED, &[weights]].concat(), &[500, 500, 500], &[]);
        // The first command met an idle drive.
        let round: usize = shares.iter().sum();
        let rounds = &found[1..=round * 20];
        let counts = [0, 1, 2].map(|queue| rounds.iter().filter(|found| **found == queue).count());
        assert_eq!(counts, shares.map(|share| share * 20), "{weights}");
    }
    let found = served(&["host.queues=4"], &[500, 500, 500], &[]);
    let counts = [0, 1, 2].map(|queue| found[1..=300].iter().filter(|found| **found == queue).count());
    assert_eq!(counts, [100; 3], "round robin knows no priority");
}

#[test]
fn an_urgent_command_is_the_next_one_that_is_fetched() {
    let urgent = Request::new(Time(3_000_000), Op::Read, Bytes(0), Bytes(16_384)).on(3);
    let found = served(WEIGHTED, &[500, 500, 500], &[urgent; 3]);
    let first = found.iter().position(|queue| *queue == 3).unwrap();
    assert!((10..1000).contains(&first), "it arrived in the midst of it all: {first}");
    assert_eq!(found[first..first + 3], [3; 3]);
    // Under round robin each of the three waits for the other queues' turns.
    let found = served(&["host.queues=4"], &[500, 500, 500], &[urgent; 3]);
    let first = found.iter().position(|queue| *queue == 3).unwrap();
    let last = found.iter().rposition(|queue| *queue == 3).unwrap();
    assert_eq!(last - first, 8);
}

#[test]
fn a_share_that_nobody_uses_goes_to_the_others() {
    let found = served(WEIGHTED, &[0, 30, 30], &[]);
    let counts = |queue: u16| found[1..=30].iter().filter(|found| **found == queue).count();
    assert_eq!((counts(1), counts(2)), (20, 10));
    assert_eq!(served(WEIGHTED, &[0, 0, 30], &[]), [2; 30]);
}
