//! Tasks: what a program does whose next reads depend on its last ones, as a search in a graph does, or that waits for
//! all of a number of requests, as whoever loads a prompt's cache or writes a checkpoint does.
//!
//! A task makes a batch of requests at once, and the next batch when all of these have completed and the thinktime has
//! passed, this many times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::{Span, Time};

use crate::request::{TaskEnd, TaskKind};

/// A task under way.
struct Task {
    began: Time,
    /// The number of its first request, of all that the source has made.
    first: u64,
    /// Requests of the present batch that are to be made, and those that have not completed.
    to_make: u32,
    under_way: u32,
    /// Batches after it.
    left: u32,
}

/// A batch that has requests to make: from when, in which order, and whose place it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ready {
    time: Time,
    order: u64,
    place: u32,
}

/// The tasks of a job.
pub(super) struct Tasks {
    batch: u32,
    steps: u32,
    think: Span,
    tasks: Vec<Task>,
    /// Places among the tasks that are free.
    free: Vec<u32>,
    /// Batches that have requests to make.
    ready: BinaryHeap<Reverse<Ready>>,
    batches: u64,
}

impl Tasks {
    pub fn new(batch: u32, steps: u32, think: Span) -> Tasks {
        Tasks { batch, steps, think, tasks: Vec::new(), free: Vec::new(), ready: BinaryHeap::new(), batches: 0 }
    }

    /// When a task that has begun makes its next request, if one waits for nothing but time.
    pub fn next_time(&self) -> Option<Time> {
        self.ready.peek().map(|Reverse(ready)| ready.time)
    }

    /// A task begins, at a time that has come.
    pub fn begin(&mut self, time: Time, first: u64) {
        let task = Task { began: time, first, to_make: self.batch, under_way: 0, left: self.steps - 1 };
        let place = match self.free.pop() {
            Some(place) => {
                self.tasks[place as usize] = task;
                place
            }
            None => {
                self.tasks.push(task);
                self.tasks.len() as u32 - 1
            }
        };
        self.is_ready(time, place);
    }

    fn is_ready(&mut self, time: Time, place: u32) {
        self.ready.push(Reverse(Ready { time, order: self.batches, place }));
        self.batches += 1;
    }

    /// The next request is made: the task that it is of. Invariant: there is one.
    pub fn makes(&mut self) -> u32 {
        let Some(Reverse(Ready { place, .. })) = self.ready.peek().copied() else {
            unreachable!("Invariant: a request is made when its time has come")
        };
        let task = &mut self.tasks[place as usize];
        (task.to_make, task.under_way) = (task.to_make - 1, task.under_way + 1);
        if task.to_make == 0 {
            self.ready.pop();
        }
        place
    }

    /// A request of a task has completed; whether the task has ended with it.
    pub fn completed(&mut self, place: u32, time: Time) -> Option<TaskEnd> {
        let task = &mut self.tasks[place as usize];
        task.under_way -= 1;
        if task.to_make + task.under_way > 0 {
            return None;
        }
        if task.left == 0 {
            self.free.push(place);
            return Some(TaskEnd { kind: TaskKind::Whole, first: task.first, began: task.began, ended: time });
        }
        (task.left, task.to_make) = (task.left - 1, self.batch);
        self.is_ready(time + self.think, place);
        None
    }
}
