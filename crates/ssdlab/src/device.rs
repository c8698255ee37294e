//! The drive.

use std::ops::Range;
use std::path::Path;

use ssd::Drive as _;
use ssd::run::{Checkpoint, checkpoint};
use units::{Bytes, Span, Time};
use workload::Request;

use crate::{Completion, Config, Error};

/// A simulated SSD. See the [crate's documentation](crate).
///
/// ```
/// use ssdlab::{Bytes, Config, Device, Op, Request, Time};
/// let mut device = Device::open(&Config::named("tlc"))?;
/// device.submit(Request::new(Time(0), Op::Read, Bytes(0), Bytes(4096)))?;
/// device.advance(Time(1_000_000))?;
/// assert_eq!(device.take_completions().count(), 1);
/// # Ok::<(), ssdlab::Error>(())
/// ```
pub struct Device(ssd::Device);

impl Device {
    /// Builds a drive in the state that it starts from. Of a checkpoint it goes on from there: at its time, with its
    /// seed.
    ///
    /// # Errors
    /// The configuration is refused: the error names the key.
    ///
    /// ```
    /// use ssdlab::{Config, Device, Time};
    /// assert_eq!(Device::open(&Config::named("tlc"))?.now(), Time(0));
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn open(config: &Config) -> Result<Device, Error> {
        let spec = config.spec()?;
        let device = match config.checkpoint() {
            Some(path) => Checkpoint::open(&path)?.device(&spec.config)?,
            None => ssd::Device::new(&spec.config, config.seed)?,
        };
        Ok(Device(device))
    }

    /// Submits a request, which arrives at `request.time`; returns its number, which counts from 0.
    ///
    /// # Errors
    /// It lies beyond the capacity, is empty, or comes too late: before [`Device::now`], or before an earlier request.
    /// Then nothing has changed.
    ///
    /// ```
    /// # use ssdlab::{Bytes, Config, Device, Op, Request, Time};
    /// let mut device = Device::open(&Config::named("tlc"))?;
    /// let read = |at| Request::new(Time(at), Op::Read, Bytes(0), Bytes(4096));
    /// assert_eq!(device.submit(read(500))?, 0);
    /// assert!(device.submit(read(499)).is_err());
    /// assert_eq!(device.submit(read(500))?, 1);
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn submit(&mut self, request: Request) -> Result<u64, Error> {
        Ok(self.0.submit(request)?)
    }

    /// Submits requests, as [`Device::submit`] does one by one: a million in a call are fine. Returns their numbers.
    ///
    /// # Errors
    /// One is refused: the error names its index. Those before it have been submitted, it and those after it have not.
    ///
    /// ```
    /// # use ssdlab::{Bytes, Config, Device, Op, Request, Time};
    /// let mut device = Device::open(&Config::named("tlc"))?;
    /// let reads = [0, 1, 2].map(|at| Request::new(Time(at), Op::Read, Bytes(at << 20), Bytes(4096)));
    /// assert_eq!(device.submit_all(&reads)?, 0..3);
    /// let error = device.submit_all(&reads).unwrap_err();
    /// assert!(error.to_string().starts_with("requests[0]: a request at 0 ns came after 2 ns"));
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn submit_all(&mut self, requests: &[Request]) -> Result<Range<u64>, Error> {
        Ok(self.0.submit_all(requests)?)
    }

    /// Plays everything that happens up to and including `time`.
    ///
    /// # Errors
    /// The drive fails, or its life ends: what has completed until then can be taken.
    ///
    /// ```
    /// # use ssdlab::{Config, Device, Time};
    /// let mut device = Device::open(&Config::named("tlc"))?;
    /// device.advance(Time(1_000))?;
    /// assert_eq!(device.now(), Time(1_000));
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn advance(&mut self, time: Time) -> Result<(), Error> {
        Ok(self.0.advance(time)?)
    }

    /// Plays until requests complete, or until nothing happens up to `limit`; whether completions can be taken.
    ///
    /// # Errors
    /// See [`Device::advance`].
    ///
    /// ```
    /// # use ssdlab::{Config, Device, Time};
    /// let mut device = Device::open(&Config::named("tlc"))?;
    /// assert!(!device.advance_to_completion(Time::NEVER)?); // nothing was asked
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn advance_to_completion(&mut self, limit: Time) -> Result<bool, Error> {
        Ok(self.0.advance_to_completion(limit)?)
    }

    /// Takes what has completed, in the order of completion.
    ///
    /// ```
    /// # use ssdlab::{Bytes, Config, Device, Op, Request, Time};
    /// let mut device = Device::open(&Config::named("tlc"))?;
    /// device.submit(Request::new(Time(0), Op::Write, Bytes(0), Bytes(4096)))?;
    /// device.advance_to_completion(Time::NEVER)?;
    /// let latencies: Vec<u64> = device.take_completions().map(|done| done.latency().0).collect();
    /// assert_eq!(latencies.len(), 1);
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn take_completions(&mut self) -> impl Iterator<Item = Completion> {
        self.0.take_completions()
    }

    /// When something happens next, if nothing is submitted before; nothing completes earlier.
    ///
    /// ```
    /// # use ssdlab::{Bytes, Config, Device, Op, Request, Time};
    /// let mut device = Device::open(&Config::named("tlc"))?;
    /// assert_eq!(device.next_event(), None);
    /// device.submit(Request::new(Time(700), Op::Read, Bytes(0), Bytes(4096)))?;
    /// assert!(device.next_event() > Some(Time(700)));
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn next_event(&self) -> Option<Time> {
        self.0.next_event()
    }

    /// Puts everything that is buffered on flash, and plays until all is idle.
    ///
    /// # Errors
    /// See [`Device::advance`].
    ///
    /// ```
    /// # use ssdlab::{Bytes, Config, Device, Op, Request, Time};
    /// let mut device = Device::open(&Config::named("tlc"))?;
    /// device.submit(Request::new(Time(0), Op::Write, Bytes(0), Bytes(4096)))?;
    /// device.flush()?;
    /// assert_eq!(device.outstanding(), 0);
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn flush(&mut self) -> Result<(), Error> {
        Ok(self.0.flush()?)
    }

    /// Leaves the drive alone, powered and idle, at the temperature of its rest: everything buffered is written, then
    /// its data grows older by `span`.
    ///
    /// # Errors
    /// See [`Device::advance`].
    ///
    /// ```
    /// # use ssdlab::{Config, Device, Span};
    /// let mut device = Device::open(&Config::named("tlc"))?;
    /// device.rest(Span(90 * 86_400 * 1_000_000_000))?; // three months
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn rest(&mut self, span: Span) -> Result<(), Error> {
        Ok(self.0.rest(span, None)?)
    }

    /// Writes the whole state to a file: [`Config::named`] with its path goes on from it, to the byte.
    ///
    /// # Errors
    /// The drive has failed, or the file cannot be written.
    ///
    /// ```
    /// # use ssdlab::{Bytes, Config, Device, Op, Request, Time};
    /// let path = std::env::temp_dir().join(format!("ssdlab-doc-{}.ckpt", std::process::id()));
    /// let mut device = Device::open(&Config::named("tlc"))?;
    /// device.submit(Request::new(Time(0), Op::Write, Bytes(0), Bytes(4096)))?;
    /// device.save(&path)?;
    /// let mut again = Device::open(&Config::named(path.to_str().expect("a path of text")))?;
    /// assert_eq!(again.outstanding(), 1);
    /// device.advance_to_completion(Time::NEVER)?;
    /// again.advance_to_completion(Time::NEVER)?;
    /// assert!(device.take_completions().eq(again.take_completions()));
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        Ok(checkpoint::write(&self.0, path)?)
    }

    /// The present.
    ///
    /// ```
    /// # use ssdlab::{Config, Device, Time};
    /// assert_eq!(Device::open(&Config::named("tlc"))?.now(), Time(0));
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn now(&self) -> Time {
        self.0.now()
    }

    /// Logical capacity.
    ///
    /// ```
    /// # use ssdlab::{Config, Device};
    /// assert!(Device::open(&Config::named("tlc"))?.capacity().0 > 1 << 39);
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn capacity(&self) -> Bytes {
        self.0.capacity()
    }

    /// Requests that were submitted and have not completed.
    ///
    /// ```
    /// # use ssdlab::{Bytes, Config, Device, Op, Request, Time};
    /// let mut device = Device::open(&Config::named("tlc"))?;
    /// device.submit(Request::new(Time(0), Op::Read, Bytes(0), Bytes(4096)))?;
    /// assert_eq!(device.outstanding(), 1);
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn outstanding(&self) -> u64 {
        self.0.outstanding()
    }
}
