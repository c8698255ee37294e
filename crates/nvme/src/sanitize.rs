//! Format NVM and Sanitize: everything that namespaces, or a drive, hold is deallocated (Base 2.0, 5.14 and 5.24).

use crate::bytes::Fields;
use crate::command::Command;
use crate::limits::BLOCK_SHIFTS;
use crate::namespace::Namespaces;
use crate::status::Status;

/// The state of a drive that all of its controllers share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub sanitize: Sanitize,
    pub namespaces: Namespaces,
    /// Which events of placement hosts want.
    pub events: crate::fdp::Events,
}

/// The last sanitize operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sanitize {
    pub state: Progress,
    /// Dword 10 of the command.
    asked: u32,
    /// How many have begun.
    pub begun: u64,
    /// How many have ended: hosts are told of each.
    pub ended: u64,
    /// Nothing was written since.
    pub erased: bool,
    /// It has failed, and no host has left the failure mode: what data there is is not touched.
    failure_mode: bool,
}

/// How far it is: SSTAT, bits 2:0 (Base 2.0, 5.16.1.20).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Progress {
    #[default]
    Never,
    Succeeded,
    UnderWay,
    Failed,
}

/// Block Erase, and the end of the failure mode: SANACT (Base 2.0, 5.24).
const EXIT_FAILURE: u32 = 1;
const BLOCK_ERASE: u32 = 2;

impl Sanitize {
    /// Why the data cannot be accessed now, if it cannot.
    pub fn refusal(&self) -> Option<Status> {
        match self.state {
            Progress::UnderWay => Some(Status::SANITIZE_IN_PROGRESS),
            _ if self.failure_mode => Some(Status::SANITIZE_FAILED),
            _ => None,
        }
    }

    /// Reads a Sanitize command; returns whether the drive has something to do. Neither overwriting nor cryptographic
    /// erasure is supported, nor is what is left allocated (NDAS, bit 9).
    pub fn begin(&mut self, command: &Command) -> Result<bool, Status> {
        let ten = command.dword(10);
        match ten & 7 {
            _ if self.state == Progress::UnderWay => Err(Status::SANITIZE_IN_PROGRESS),
            // Only after an operation that allowed it: AUSE, bit 3.
            EXIT_FAILURE if self.failure_mode && self.asked & 1 << 3 == 0 => Err(Status::SANITIZE_FAILED),
            EXIT_FAILURE => {
                self.failure_mode = false;
                Ok(false)
            }
            BLOCK_ERASE if ten & 1 << 9 == 0 => {
                (self.state, self.asked, self.failure_mode) = (Progress::UnderWay, ten, false);
                self.begun += 1;
                Ok(true)
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// The drive has done it, or could not.
    pub fn ends(&mut self, succeeded: bool) {
        self.state = if succeeded { Progress::Succeeded } else { Progress::Failed };
        (self.erased, self.failure_mode) = (succeeded, !succeeded);
        self.ended += 1;
    }

    /// Sanitize Status: progress in 65,536ths, FFFFh where none is under way; the state, with whether nothing was
    /// written since in bit 8; the command; times that are not known (Base 2.0, 5.16.1.20).
    pub fn log(&self) -> Vec<u8> {
        let progress = if self.state == Progress::UnderWay { 0 } else { u16::MAX };
        Fields::new(512)
            .u16(0, progress)
            .u16(2, self.state as u16 | u16::from(self.erased) << 8)
            .u32(4, self.asked)
            .u32s((8..32).step_by(4), u32::MAX)
            .take()
    }
}

/// The format that Format NVM asks for: one that there is, without metadata or protection information; nothing is
/// erased, or user data (SES, bits 11:9).
pub(crate) fn wanted_format(command: &Command) -> Result<usize, Status> {
    let ten = command.dword(10);
    // LBAF in bits 3:0 and 13:12, MSET in 4, PI in 7:5.
    let format = (ten & 0xf | (ten >> 12 & 3) << 4) as usize;
    if ten & 0xf0 != 0 || format >= BLOCK_SHIFTS.len() {
        return Err(Status::INVALID_FORMAT);
    }
    if ten >> 9 & 7 > 1 { Err(Status::INVALID_FIELD) } else { Ok(format) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sanitize(ten: u32) -> Command {
        let mut entry = [0; 64];
        entry[40..44].copy_from_slice(&ten.to_le_bytes());
        Command(entry)
    }

    #[test]
    fn a_failed_operation_refuses_access_until_it_is_left_or_another_one_succeeds() {
        let mut of = Sanitize::default();
        assert_eq!(of.begin(&sanitize(EXIT_FAILURE)), Ok(false), "there is nothing to leave");
        // Restricted: nobody leaves the failure.
        assert_eq!((of.begin(&sanitize(BLOCK_ERASE)), of.refusal()), (Ok(true), Some(Status::SANITIZE_IN_PROGRESS)));
        assert_eq!(of.begin(&sanitize(BLOCK_ERASE)), Err(Status::SANITIZE_IN_PROGRESS));
        of.ends(false);
        assert_eq!(of.refusal(), Some(Status::SANITIZE_FAILED));
        assert_eq!(of.begin(&sanitize(EXIT_FAILURE)), Err(Status::SANITIZE_FAILED));
        assert_eq!(of.begin(&sanitize(BLOCK_ERASE | 1 << 3)), Ok(true));
        of.ends(false);
        // Unrestricted.
        assert_eq!((of.begin(&sanitize(EXIT_FAILURE)), of.refusal()), (Ok(false), None));
        assert_eq!(of.log()[2] & 7, 3, "the log keeps that it has failed");
        assert_eq!(of.begin(&sanitize(BLOCK_ERASE)), Ok(true));
        of.ends(true);
        assert_eq!((of.refusal(), of.ended), (None, 3));
        assert_eq!(of.log()[2..4], [1, 1]);
    }
}
