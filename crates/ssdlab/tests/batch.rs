//! Requests that are submitted at once are what they are one by one.

use ssdlab::{Bytes, Completion, Config, Device, Error, Op, Request, Time};

/// Reads, writes, trims and flushes in turn, more than the drive's queues hold.
fn requests(count: u64) -> Vec<Request> {
    let of = |number: u64| {
        let page = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
        let (op, bytes) = match number % 7 {
            0..3 => (Op::Read, 4096 << (number % 3)),
            3..5 => (Op::Write, 16_384),
            5 => (Op::Trim, 65_536),
            _ => (Op::Flush, 0),
        };
        let offset = if op == Op::Flush { 0 } else { page * 4096 };
        Request::new(Time(number * 900), op, Bytes(offset), Bytes(bytes)).on((number % 5) as u16)
    };
    (0..count).map(of).collect()
}

fn device() -> Device {
    let config = Config::named("tlc").age("pec=1000,retention=3mo").scheme("baseline").set("buffer.size", "2MiB");
    Device::open(&config).unwrap()
}

/// All completions, and the bytes of the checkpoint at the end.
fn played(mut device: Device, name: &str) -> (Vec<Completion>, Vec<u8>) {
    let mut completions = Vec::new();
    while device.advance_to_completion(Time::NEVER).unwrap() {
        completions.extend(device.take_completions());
    }
    let path = std::env::temp_dir().join(format!("ssdlab-batch-{}-{name}", std::process::id()));
    device.save(&path).unwrap();
    let state = std::fs::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    (completions, state)
}

#[test]
fn a_batch_equals_its_requests_one_by_one_to_the_byte() {
    let requests = requests(20_000);
    let (mut single, mut batched) = (device(), device());
    for request in &requests {
        single.submit(*request).unwrap();
    }
    assert_eq!(batched.submit_all(&requests[..7_001]).unwrap(), 0..7_001);
    assert_eq!(batched.submit_all(&[]).unwrap(), 7_001..7_001);
    assert_eq!(batched.submit_all(&requests[7_001..]).unwrap(), 7_001..20_000);
    let (one, other) = (played(single, "single"), played(batched, "batched"));
    assert_eq!(one.0.len(), requests.len());
    assert!(one == other);
}

#[test]
fn nothing_behind_a_refused_request_is_submitted() {
    let mut requests = requests(1_000);
    let mut device = device();
    let beyond = device.capacity();
    requests[400].offset = beyond;
    requests[600].offset = beyond;
    let refused = device.submit_all(&requests).unwrap_err();
    assert!(matches!(&refused, Error::Input(text) if text.starts_with("requests[400]: a request of ")), "{refused}");
    assert_eq!(device.outstanding(), 400);
    assert_eq!(device.submit_all(&requests[401..600]).unwrap(), 400..599);
}
