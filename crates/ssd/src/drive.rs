//! What a drive is to those who play requests on it: a run, a server, another simulator. [`Device`](crate::Device) is
//! one; what is made of devices, or stands in for one, is another.

use std::fmt;
use std::io;
use std::ops::Range;
use std::vec::Drain;

use serde_json::{Map, Value};
use units::{Bytes, Conditions, ConfigError, Span, Temperature, Time};
use workload::Request;

use crate::config::Plan;
use crate::error::RunError;
use crate::fdp::FdpSeen;
use crate::host::Completion;
use crate::observe::stats::series::Sample;
use crate::observe::stats::{Counters, DriveState, Finding, Start, Totals};
use crate::persist::{Reader, Writer};
use crate::power::PowerSeen;
use crate::window::Window;
use crate::zones::ZonesSeen;

/// A drive.
///
/// Contract: requests are submitted in the order of time, none before [`Drive::now`] unless others still wait to
/// arrive; time goes on by `advance` alone, and completions are taken in the order in which they came. The same
/// requests at the same times give the same completions.
pub trait Drive {
    /// Logical capacity.
    fn capacity(&self) -> Bytes;
    /// The present simulated time.
    fn now(&self) -> Time;
    /// The latest time for which a request can be submitted.
    fn latest(&self) -> Time;

    /// Hands a request over, which arrives at `request.time`; returns its number, which counts from 0. Requests for
    /// which the queues have no room wait in the host, in order.
    ///
    /// # Errors
    /// It comes too late or lies beyond the capacity: nothing has changed. The drive has failed.
    fn submit(&mut self, request: Request) -> Result<u64, RunError>;
    /// Hands several over, as one by one; returns their numbers.
    ///
    /// # Errors
    /// See [`Drive::submit`]: of the first that is refused. Those before it have been submitted, those after it have
    /// not.
    fn submit_all(&mut self, requests: &[Request]) -> Result<Range<u64>, BatchError> {
        submit_all(self.submitted(), requests, |request| self.submit(request))
    }
    /// Requests that have been submitted.
    fn submitted(&self) -> u64;
    /// Requests that have been submitted and have not completed.
    fn outstanding(&self) -> u64;
    /// Those among them that have not arrived yet: what a caller keeps few.
    fn pending_arrivals(&self) -> usize;
    /// What has been done of the requests that it works on, in requests: of each the share of its pages.
    fn partly_served(&self) -> f64 {
        0.0
    }

    /// When something happens next, if nothing is submitted before. None where nothing happens until then.
    fn next_event(&self) -> Option<Time>;
    /// Whether nothing is going to happen until a request is submitted.
    fn idle(&self) -> bool {
        self.next_event().is_none()
    }
    /// Plays everything that happens up to and including `time`, which is the present then.
    ///
    /// # Errors
    /// The drive fails, or its life ends: what has completed until then can be taken.
    fn advance(&mut self, time: Time) -> Result<(), RunError>;
    /// Plays until requests complete, or until nothing happens up to `limit`; whether completions can be taken.
    ///
    /// # Errors
    /// See [`Drive::advance`].
    fn advance_to_completion(&mut self, limit: Time) -> Result<bool, RunError>;
    /// Plays until fewer than `pending` arrivals wait, or until nothing happens up to `limit`; whether so few wait.
    /// Time does not go on from there: what is submitted next is not too late.
    ///
    /// # Errors
    /// See [`Drive::advance`].
    fn advance_to_arrivals(&mut self, pending: usize, limit: Time) -> Result<bool, RunError>;
    /// Takes the requests that have completed, in the order of completion.
    fn take_completions(&mut self) -> Drain<'_, Completion>;
    /// Puts everything buffered on flash, and plays until all is idle.
    ///
    /// # Errors
    /// See [`Drive::advance`].
    fn flush(&mut self) -> Result<(), RunError>;
    /// Is left alone for `span`, powered and idle: at a temperature, or at that of its rest. First everything buffered
    /// is written. Then all data grows older by the span (by Arrhenius' law, at the temperature), and blocks are
    /// visited for refresh as configured; what that moves is played. The drive's time goes on by what it plays alone:
    /// the times of requests, power cuts and faults do not count the rest.
    ///
    /// # Errors
    /// See [`Drive::advance`].
    fn rest(&mut self, span: Span, at: Option<Temperature>) -> Result<(), RunError>;
    /// Why it cannot go on, if it has failed.
    fn failure(&self) -> Option<&RunError> {
        None
    }
    /// Writes its whole state.
    fn write_state(&self, to: &mut Writer);
    /// Takes a state that was written, where it was built from the same.
    ///
    /// # Errors
    /// It was written by another build, or of another drive.
    fn read_state(&mut self, from: &mut Reader) -> io::Result<()>;
    /// Its host opens or closes a window for what need not be done now, or uses windows no more.
    fn set_window(&mut self, _window: Window) {}
    /// What is submitted from now on only brings it into its state.
    fn workload_is_to_come(&mut self) {}
    /// The workload begins: what was submitted before brought it into its state.
    fn workload_begins(&mut self) {}
    /// What is measured is counted from now on.
    fn counting_begins(&mut self) {}
    /// Where in its life it was at the start.
    fn start_of_life(&self) -> Start {
        Start::AsWritten
    }
    /// Whether what it began with still goes on: a load settles when it does not, or where that makes no difference any
    /// more.
    fn settles(&self) -> bool {
        false
    }
    /// Pages in its write buffer.
    fn buffered_pages(&self) -> u32 {
        0
    }
    /// When its life ended, if it has.
    fn end_of_life(&self) -> Option<Time> {
        None
    }
    /// It is looked at, some hundred times in a run.
    fn is_looked_at(&mut self) {}
    /// What puts the numbers of the drives in doubt that it is made of; none where it is one drive, and is judged as
    /// that.
    fn findings_of_parts(&self) -> Option<Vec<Finding>> {
        None
    }

    /// Its zones, where it has any.
    fn zones(&self) -> Option<ZonesSeen<'_>> {
        None
    }
    /// Its reclaim units, where it takes placement hints.
    fn fdp(&self) -> Option<FdpSeen<'_>> {
        None
    }
    /// What power cuts have done to it, where its power can be cut or its map is kept for the case.
    fn power(&self) -> Option<PowerSeen<'_>> {
        None
    }
    /// Cuts its power now; it comes back at once. What was under way is aborted.
    ///
    /// # Errors
    /// Its power cannot be cut: nothing has changed. It fails.
    fn cut(&mut self) -> Result<(), RunError> {
        Err(ConfigError {
            origin: "array".into(),
            line: None,
            key: None,
            problem: "is served, and the power of an array cannot be cut".into(),
            remedy: "serve a drive".into(),
        }
        .into())
    }
    /// Sections of a result that it adds.
    fn sections(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Bytes of its flash.
    fn raw_bytes(&self) -> Bytes {
        self.plan().layout.raw_bytes()
    }
    /// The conditions of the flash page behind a byte address; none where it was never written.
    fn conditions(&self, _offset: Bytes) -> Option<Conditions> {
        None
    }
    /// Its worked-out configuration.
    fn plan(&self) -> &Plan;
    /// Counts of what has happened since its start.
    fn counters(&self) -> Counters;
    /// All that it has counted since its start.
    fn totals(&self) -> Totals;
    /// Of each plane, the pages programmed since its start, and those of host data among them.
    fn pages_of_planes(&self) -> Vec<(u64, u64)>;
    /// How it stands, for a time series.
    fn sample(&self) -> Sample;
    /// How it stands at the end of a run.
    fn state(&self) -> DriveState;
    /// Checks what must hold at the end of a run.
    ///
    /// # Errors
    /// What does not hold: a defect.
    fn check_all(&mut self) -> Result<(), RunError>;
}

/// A batch of which a request was refused: those before it have been submitted, neither it nor those after it have
/// been.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchError {
    /// Which, from 0: this many have been submitted.
    pub index: usize,
    /// Why.
    pub error: RunError,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "requests[{}]: {}", self.index, self.error)
    }
}

impl std::error::Error for BatchError {}

/// Submits requests one after another; returns their numbers, which follow one another. `first` is the number of the
/// next one.
pub(crate) fn submit_all(
    first: u64,
    requests: &[Request],
    mut submit: impl FnMut(Request) -> Result<u64, RunError>,
) -> Result<Range<u64>, BatchError> {
    for (index, request) in requests.iter().enumerate() {
        submit(*request).map_err(|error| BatchError { index, error })?;
    }
    Ok(first..first + requests.len() as u64)
}
