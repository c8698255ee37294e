//! How a drive says that it is, as in the SMART / Health Information log of NVMe (NVM Express Base Specification, log
//! page 02h).

/// The log's entries that follow from a drive's blocks and reads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Smart {
    /// Spare blocks that are left, of those that it had when it was new [%].
    pub available_spare: f64,
    /// Below which it warns [%].
    pub available_spare_threshold: f64,
    /// Mean P/E cycles of a block over those after which blocks fail (`wear.endurance`) [%]; none where they never do.
    pub percentage_used: Option<f64>,
    /// Pages read that neither retries nor parity could correct.
    pub media_errors: u64,
    /// It is in read-only mode.
    pub read_only: bool,
}

impl Smart {
    /// The log's bits: 0, little spare is left; 2, its reliability is degraded, since it has been used up; 3, it is in
    /// read-only mode.
    pub fn critical_warning(&self) -> u64 {
        let spare = self.available_spare < self.available_spare_threshold;
        let used_up = self.percentage_used.is_some_and(|used| used >= 100.0);
        u64::from(spare) | u64::from(used_up) << 2 | u64::from(self.read_only) << 3
    }
}
