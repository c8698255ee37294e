//! What goes wrong.

use std::fmt;

use ssd::media::MediaBatchError;
use ssd::{BatchError, RunError};

/// Why something was not done. Its text says what was expected and how to mend it.
///
/// ```
/// use ssdlab::{Config, Device, Error};
/// let error = Device::open(&Config::named("tlcc")).err().expect("there is no such drive");
/// assert!(matches!(error, Error::Input(_)));
/// assert!(error.to_string().contains("did you mean `tlc`?"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// What was given cannot be used. Nothing has changed, but what stood before it in a batch, which is submitted.
    ///
    /// ```
    /// # use ssdlab::{Bytes, Config, Device, Error, Op, Request, Time};
    /// let mut device = Device::open(&Config::named("tlc"))?;
    /// let beyond = Request::new(Time(0), Op::Read, device.capacity(), Bytes(1));
    /// assert!(matches!(device.submit(beyond), Err(Error::Input(_))));
    /// # Ok::<(), Error>(())
    /// ```
    Input(String),
    /// The drive's life has ended: too few good blocks are left. What has completed before is valid.
    ///
    /// ```
    /// let stays = |error: &ssdlab::Error| matches!(error, ssdlab::Error::EndOfLife(_));
    /// assert!(stays(&ssdlab::Error::EndOfLife("the drive's life has ended".into())));
    /// ```
    EndOfLife(String),
    /// The drive cannot go on, or a file cannot be written.
    ///
    /// ```
    /// # use ssdlab::{Config, Device, Error};
    /// let device = Device::open(&Config::named("tlc"))?;
    /// assert!(matches!(device.save("/no/such/folder/drive.ckpt".as_ref()), Err(Error::Failed(_))));
    /// # Ok::<(), Error>(())
    /// ```
    Failed(String),
}

impl Error {
    fn of(text: String, error: &RunError) -> Error {
        match error {
            RunError::Config(_) | RunError::Trace(_) | RunError::OutOfRange { .. } => Error::Input(text),
            RunError::BackInTime { .. } | RunError::BeyondHorizon { .. } => Error::Input(text),
            RunError::EndOfLife { .. } => Error::EndOfLife(text),
            _ => Error::Failed(text),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Error::Input(text) | Error::EndOfLife(text) | Error::Failed(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Error {}

impl From<RunError> for Error {
    fn from(error: RunError) -> Error {
        Error::of(error.to_string(), &error)
    }
}

impl From<units::ConfigError> for Error {
    fn from(error: units::ConfigError) -> Error {
        Error::Input(error.to_string())
    }
}

impl From<MediaBatchError> for Error {
    fn from(refused: MediaBatchError) -> Error {
        Error::of(refused.to_string(), &refused.error)
    }
}

impl From<BatchError> for Error {
    fn from(refused: BatchError) -> Error {
        Error::of(refused.to_string(), &refused.error)
    }
}
