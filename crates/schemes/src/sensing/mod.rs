//! How long a sense precharges.
//!
//! Contract: a policy sees whether the sense is a retry's and whether a retry with reduced timing has failed already, and
//! nothing else. The read-timing parameter table (RPT), which is profiled, gives the reduction of tPRE.

mod adaptive;

units::choices! {
    /// The timing of senses.
    pub enum Sensing {
        /// The chip's default tPRE.
        Default = "default",
        /// In retries tPRE by the RPT, changed with SET FEATURE before and after (AR2, asplos21 section 6.2).
        Adaptive = "adaptive",
    }
}

impl Sensing {
    /// Whether a sense takes the RPT's tPRE.
    pub fn reduces(self, retry: bool, failed: bool) -> bool {
        match self {
            Sensing::Default => false,
            Sensing::Adaptive => adaptive::reduces(retry, failed),
        }
    }
}
