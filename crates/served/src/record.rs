//! The requests of a session as a workload, to be played again.

use workload::{Request, Source, TraceError};

/// Requests in the order of their times.
pub struct Recorded(std::vec::IntoIter<Request>);

impl Recorded {
    /// A workload of `requests`.
    pub fn new(requests: Vec<Request>) -> Recorded {
        Recorded(requests.into_iter())
    }
}

impl Source for Recorded {
    fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
        batch.extend(self.0.by_ref().take(max));
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        None
    }
}
