//! A log of requests that the test keeps.

use std::sync::{Arc, Mutex};

use ssd::{Completion, RequestLog, RunError};

/// Keeps what completes: a clone of it sees what the run is given.
#[derive(Clone, Default)]
pub struct KeptLog(Arc<Mutex<Vec<Completion>>>);

impl KeptLog {
    /// What has completed so far, in the order of completion.
    pub fn completions(&self) -> Vec<Completion> {
        self.0.lock().unwrap().clone()
    }
}

impl RequestLog for KeptLog {
    fn push(&mut self, completion: &Completion) -> Result<(), RunError> {
        self.0.lock().unwrap().push(*completion);
        Ok(())
    }
    fn close(self: Box<Self>) -> Result<(u64, Vec<u8>), RunError> {
        Ok((self.0.lock().unwrap().len() as u64, Vec::new()))
    }
}
