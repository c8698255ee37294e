//! What a client asks a drive for, whatever its protocol calls it.

use std::collections::VecDeque;
use std::time::Instant;

use ssd::Status;
use ssd::zones::ZoneDescriptor;
use units::{Bytes, Time};
use workload::{Op, Request};

/// One operation of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What the drive does.
    pub op: Op,
    /// The first byte; 0 for a flush.
    pub offset: u64,
    /// How many bytes; 0 for a flush.
    pub bytes: u64,
    /// What the data belongs to ([`Request::hint`]).
    pub hint: u16,
    /// Of a read: the drive may give up early ([`Request::limited`]).
    pub limited: bool,
}

impl Step {
    /// An operation on a range.
    pub fn new(op: Op, offset: u64, bytes: u64) -> Step {
        let (offset, bytes) = if op.has_address() { (offset, bytes) } else { (0, 0) };
        Step { op, offset, bytes, hint: 0, limited: false }
    }

    /// A flush.
    pub fn flush() -> Step {
        Step::new(Op::Flush, 0, 0)
    }

    /// This step with a placement hint.
    #[must_use]
    pub fn hinted(self, hint: u16) -> Step {
        Step { hint, ..self }
    }

    /// This step, marked so that the drive need not try everything if `limited` (Limited Retry).
    #[must_use]
    pub fn limited(self, limited: bool) -> Step {
        Step { limited, ..self }
    }

    pub(crate) fn request(&self, time: Time, queue: Queue) -> Request {
        let request = Request::new(time, self.op, Bytes(self.offset), Bytes(self.bytes));
        Request { limited: self.limited, ..request.on(queue.0).hinted(self.hint) }
    }
}

/// Steps that begin at the same time.
pub(crate) struct Stage {
    pub steps: Vec<Step>,
    /// It begins only if this says so then.
    pub only_if: Option<Box<dyn FnOnce() -> bool + Send>>,
}

/// What a client's request makes a drive do: stages, each of which begins when all of the one before it is done. It
/// ends with the first stage of which something fails.
pub struct Work(pub(crate) VecDeque<Stage>);

impl Work {
    /// One operation.
    pub fn of(step: Step) -> Work {
        Work::at_once(vec![step])
    }

    /// Operations that begin at the same time: at least one.
    pub fn at_once(steps: Vec<Step>) -> Work {
        assert!(!steps.is_empty(), "Invariant: a stage has something to do");
        Work(VecDeque::from([Stage { steps, only_if: None }]))
    }

    /// Another operation when these are done.
    #[must_use]
    pub fn then(mut self, step: Step) -> Work {
        self.0.push_back(Stage { steps: vec![step], only_if: None });
        self
    }

    /// Another operation when these are done, if the data is as it should be then: otherwise it ends with
    /// [`Failure::Unlike`].
    #[must_use]
    pub fn then_if(mut self, is_so: impl FnOnce() -> bool + Send + 'static, step: Step) -> Work {
        self.0.push_back(Stage { steps: vec![step], only_if: Some(Box::new(is_so)) });
        self
    }

    /// The operation that its place among requests of the same time is decided by.
    pub(crate) fn first(&self) -> Step {
        self.0.front().and_then(|stage| stage.steps.first()).copied().expect("Invariant: there is something to do")
    }
}

/// A submission queue of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue(pub u16);

/// What a drive has done.
#[derive(Clone, Debug, Default)]
pub struct Did {
    /// Where the data of its last operation that is no flush begins: of an append where the drive has put it.
    pub offset: u64,
    /// The first of the drive's requests that have changed its data, whose numbers follow one another.
    pub request: Option<u64>,
    /// Of a report of zones: all from the first one on that was asked for. Of an action on zones: those that it was
    /// asked for.
    pub zones: Vec<ZoneDescriptor>,
    /// Where that was asked for: what each placement handle can still write to its reclaim unit.
    pub handles: Vec<(u16, Bytes)>,
}

/// Why a drive has not done what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Data cannot be read: no retry step corrects it.
    Uncorrectable,
    /// The drive is read-only.
    ReadOnly,
    /// The power was cut.
    PowerCut,
    /// The data is not what a further stage was to begin with.
    Unlike,
    /// It is not what zones allow.
    Refused(Status),
    /// The drive has failed and does nothing any more.
    Failed,
}

/// Answers a request: what has come of it, and when the answer should leave where that is known. It returns a time
/// before the client has the answer, and after the machine's disk was waited for.
pub type Answer = Box<dyn FnOnce(Result<Did, Failure>, Option<Instant>) -> Instant + Send>;

/// A request of a client.
pub struct Asked {
    /// What the drive is to do.
    pub work: Work,
    /// What happens then.
    pub answer: Answer,
}
