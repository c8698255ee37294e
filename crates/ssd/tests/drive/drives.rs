//! A drive of one's own is played as a device is: here one that is made of devices, end to end.

use std::vec::Drain;

use proptest::prelude::*;
use ssd::persist::{Reader, Writer};
use ssd::run::{Live, Replay, Run, RunOptions};
use ssd::stats::series::Sample;
use ssd::stats::{Counters, DriveState, Totals};
use ssd::{Completion, Config, Device, Drive, Plan, RunDrive, RunError};
use units::{Bytes, Span, Temperature, Time};
use workload::Request;

use testing::{KeptLog, cases};

/// Devices of one kind, one behind another in the address space. What is not of requests is that of the first.
struct EndToEnd {
    devices: Vec<Device>,
    /// The number of each request, by device and the number that this gave it.
    numbers: Vec<Vec<u64>>,
    submitted: u64,
    completions: Vec<Completion>,
}

impl EndToEnd {
    fn new(config: &Config, count: u64) -> EndToEnd {
        let devices: Vec<Device> = (1..=count).map(|seed| Device::new(config, seed).unwrap()).collect();
        EndToEnd { numbers: vec![Vec::new(); devices.len()], devices, submitted: 0, completions: Vec::new() }
    }

    /// The device in which something happens next, if that comes up to `limit`; the first of those at one time.
    fn next(&self, limit: Time) -> Option<(Time, usize)> {
        let next = self.devices.iter().enumerate().filter_map(|(index, device)| Some((device.next_event()?, index)));
        next.min().filter(|(time, _)| *time <= limit)
    }

    /// Plays event by event up to `limit`, or until `stops`.
    fn play(&mut self, limit: Time, stops: impl Fn(&EndToEnd) -> bool) -> Result<(), RunError> {
        while !stops(self)
            && let Some((time, index)) = self.next(limit)
        {
            let size = self.devices[0].capacity().0;
            let device = &mut self.devices[index];
            device.advance(time)?;
            for mut completion in device.take_completions() {
                completion.id = self.numbers[index][completion.id as usize];
                completion.request.offset.0 += index as u64 * size;
                self.completions.push(completion);
            }
        }
        Ok(())
    }
}

impl Drive for EndToEnd {
    fn capacity(&self) -> Bytes {
        Bytes(self.devices.iter().map(|device| device.capacity().0).sum())
    }
    fn now(&self) -> Time {
        self.devices.iter().map(Device::now).max().unwrap()
    }
    fn latest(&self) -> Time {
        self.devices[0].latest()
    }
    fn submit(&mut self, mut request: Request) -> Result<u64, RunError> {
        let size = self.devices[0].capacity().0;
        let index = (request.offset.0 / size) as usize;
        request.offset.0 %= size;
        self.devices[index].submit(request)?;
        self.numbers[index].push(self.submitted);
        self.submitted += 1;
        Ok(self.submitted - 1)
    }
    fn submitted(&self) -> u64 {
        self.submitted
    }
    fn outstanding(&self) -> u64 {
        self.devices.iter().map(|device| device.outstanding()).sum()
    }
    fn pending_arrivals(&self) -> usize {
        self.devices.iter().map(Device::pending_arrivals).sum()
    }
    fn next_event(&self) -> Option<Time> {
        self.next(Time::NEVER).map(|(time, _)| time)
    }
    fn advance(&mut self, time: Time) -> Result<(), RunError> {
        self.play(time, |_| false)?;
        self.devices.iter_mut().try_for_each(|device| device.advance(time))
    }
    fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError> {
        self.play(limit, |drive| !drive.completions.is_empty())?;
        Ok(!self.completions.is_empty())
    }
    fn advance_to_arrivals(&mut self, pending: usize, limit: Time) -> Result<bool, RunError> {
        self.play(limit, |drive| drive.pending_arrivals() < pending)?;
        Ok(self.pending_arrivals() < pending)
    }
    fn take_completions(&mut self) -> Drain<'_, Completion> {
        self.completions.drain(..)
    }
    fn flush(&mut self) -> Result<(), RunError> {
        self.devices.iter_mut().try_for_each(Device::flush)
    }
    fn rest(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError> {
        self.devices.iter_mut().try_for_each(|device| device.rest(span, at))
    }
    fn write_state(&self, _: &mut Writer) {
        unimplemented!("no test saves it")
    }
    fn read_state(&mut self, _: &mut Reader) -> std::io::Result<()> {
        unimplemented!("no test saves it")
    }
    fn workload_begins(&mut self) {
        self.devices.iter_mut().for_each(Device::workload_begins);
    }
    fn plan(&self) -> &Plan {
        self.devices[0].plan()
    }
    fn counters(&self) -> Counters {
        self.devices[0].counters()
    }
    fn totals(&self) -> Totals {
        self.devices[0].totals()
    }
    fn pages_of_planes(&self) -> Vec<(u64, u64)> {
        self.devices[0].pages_of_planes()
    }
    fn sample(&self) -> Sample {
        self.devices[0].sample()
    }
    fn state(&self) -> DriveState {
        self.devices[0].state()
    }
    fn check_all(&mut self) -> Result<(), RunError> {
        self.devices.iter_mut().try_for_each(Device::check_all)
    }
}

impl RunDrive for EndToEnd {
    fn header(&self) -> serde_json::Value {
        unimplemented!("no test saves it")
    }
}

fn config() -> Config {
    let mut config = ssd::presets::load("tlc-page").unwrap().config;
    for word in [
        "geometry.blocks=24",
        "ftl.over_provisioning=1.0",
        "age.precondition=none",
        "age.load=full",
        "host.queue_depth=8",
    ] {
        config.set(word).unwrap();
    }
    config
}

/// What a load does on a drive: each completion, and the statistics.
fn played(drive: impl RunDrive, words: &[String], replay: Replay, size: Bytes) -> (Vec<Completion>, String) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let source = workload::presets::get("default", &words).unwrap().source(size, 7).unwrap();
    let (log, options) = (KeptLog::default(), RunOptions { requests: Some(400), replay, ..RunOptions::default() });
    let mut run = Run::on(drive, source, options, Some(Box::new(log.clone()))).unwrap();
    while !run.step(37).unwrap() {}
    let statistics = serde_json::Value::Object(run.finish().unwrap().report().to_json()).to_string();
    (log.completions(), statistics)
}

fn loads() -> impl Strategy<Value = (Vec<String>, Replay)> {
    let rw = prop_oneof![Just("randread"), Just("randwrite"), Just("randrw")];
    let replay = prop_oneof![Just(Replay::Timed(1.0)), (1..40u32).prop_map(Replay::Closed)];
    (rw, 1_000..200_000u32, replay).prop_map(|(rw, rate, replay)| {
        (vec![format!("workload.rw={rw}"), format!("workload.rate_iops={rate}"), "workload.bs=8KiB".into()], replay)
    })
}

proptest! {
    #![proptest_config(cases(24))]

    /// Of one device it is that device, to the last byte; and of two, of which a load meets the first alone.
    #[test]
    fn a_drive_of_one_device_is_that_device((words, replay) in loads()) {
        let config = config();
        let device = Device::new(&config, 1).unwrap();
        let size = Drive::capacity(&device);
        let alone = played(device, &words, replay, size);
        prop_assert_eq!(&played(EndToEnd::new(&config, 1), &words, replay, size), &alone);
        prop_assert_eq!(&played(EndToEnd::new(&config, 2), &words, replay, size).0, &alone.0);
    }

    /// Timed requests to either device meet what they would have met if it had been alone, and complete in the order of
    /// time.
    #[test]
    fn devices_of_a_drive_do_not_meet((words, _) in loads()) {
        let config = config();
        let size = Device::new(&config, 1).unwrap().capacity();
        let (both, _) = played(EndToEnd::new(&config, 2), &words, Replay::Timed(1.0), Bytes(2 * size.0));
        prop_assert_eq!(both.len(), 400);
        prop_assert!(both.is_sorted_by_key(|completion| completion.finish));
        for index in 0..2u64 {
            let is_here = |completion: &&Completion| completion.request.offset.0 / size.0 == index;
            let mut here: Vec<Completion> = both.iter().filter(is_here).copied().collect();
            here.sort_by_key(|completion| completion.id);
            let mut live = Live::on(Device::new(&config, 1 + index).unwrap(), &RunOptions::default(), None).unwrap();
            let mut of_live = Vec::new();
            for completion in &here {
                live.advance(completion.request.time).unwrap();
                of_live.extend(live.take_completions());
                let Request { offset, .. } = completion.request;
                live.submit(Request { offset: Bytes(offset.0 % size.0), ..completion.request }).unwrap();
            }
            while live.advance_to_completion(Time::NEVER).unwrap() {
                of_live.extend(live.take_completions());
            }
            of_live.sort_by_key(|completion| completion.id);
            let times = |of: &[Completion]| -> Vec<Time> { of.iter().map(|completion| completion.finish).collect() };
            prop_assert_eq!(times(&of_live), times(&here));
        }
    }
}
