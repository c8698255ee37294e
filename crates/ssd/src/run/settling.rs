//! The beginning of a run on a drive that starts in the middle of its life (`age.precondition = "closed-form"`): the
//! load itself is played until the drive holds what it holds under it. The flash is in the state of a long run at full
//! speed from the start. The write buffer is empty, and would take up a stretch of writes at the speed of the DRAM: it
//! has settled when it fills no further. A load that does not fill it leaves dies idle, and so fewer planes collect
//! than at full speed: it has settled when the collections that were under way at the start have ended. Those that go
//! on then are those of blocks that were opened since, as at any later time.

/// Requests after which the buffer is looked at (assumed: some for each die, and few beside any run).
const STRETCH: u64 = 256;
/// Requests that may be played so, at most: four million blocks of 4 KiB are larger than any buffer.
pub(super) const MOST: u64 = 1 << 22;

/// How full the write buffer has been in the stretches played so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settling {
    /// Requests that collections are waited for at most (assumed: as many as count).
    patience: u64,
    all: u64,
    /// Requests of the present stretch, and most pages that the buffer has held in it.
    requests: u64,
    most: u32,
    /// The most pages of all stretches before this one, if there was one.
    before: Option<u32>,
}

impl Settling {
    pub fn new(patience: u64) -> Settling {
        Settling { patience, all: 0, requests: 0, most: 0, before: None }
    }

    /// One request more is submitted, to a drive that buffers this many pages. Whether the load has settled: in a
    /// stretch the buffer has held no more than in those before, and `at_rest` says the same of collection.
    pub fn settles(&mut self, buffered_pages: u32, at_rest: impl Fn() -> bool) -> bool {
        self.most = self.most.max(buffered_pages);
        self.requests += 1;
        self.all += 1;
        if self.requests < STRETCH {
            return false;
        }
        let settled = self.before.is_some_and(|before| self.most <= before) && (self.all >= self.patience || at_rest());
        let before = Some(self.before.unwrap_or(0).max(self.most));
        *self = Settling { requests: 0, most: 0, before, ..*self };
        settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests until a load settles.
    fn until_settled(at_rest: u64, buffered: impl Fn(u64) -> u32) -> u64 {
        let mut settling = Settling::new(5_000);
        1 + (0..MOST).position(|request| settling.settles(buffered(request), || request >= at_rest)).unwrap() as u64
    }

    #[test]
    fn a_load_settles_when_its_buffer_fills_no_further() {
        assert_eq!(until_settled(0, |_| 0), 2 * STRETCH);
        assert_eq!(until_settled(0, |request| 3 + (request % 7) as u32), 2 * STRETCH);
        assert_eq!(until_settled(2_000, |_| 0), 8 * STRETCH, "collections from the start end with request 2,000");
        assert_eq!(until_settled(MOST, |_| 0), 20 * STRETCH, "as many requests as count, 5,000");
        // Full with the last request of a stretch, and a stretch in which it is not fuller.
        assert_eq!(until_settled(0, |request| request.min(10_239) as u32), 10_240 + STRETCH);
    }
}
