//! Format NVM and Sanitize: everything that a drive holds is deallocated (Base 2.0, 5.14 and 5.24).

use crate::bytes::Fields;
use crate::command::Command;
use crate::status::Status;

/// What of a drive all of its controllers share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub sanitize: Sanitize,
    /// Which events of placement hosts want.
    pub events: crate::fdp::Events,
}

/// The last sanitize operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sanitize {
    pub state: Progress,
    /// Dword 10 of the command.
    asked: u32,
    /// How many have ended: hosts are told of each.
    pub ended: u64,
    /// Nothing was written since.
    pub erased: bool,
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
    /// Reads a Sanitize command; returns whether the drive has something to do. Neither overwriting nor cryptographic erasure is supported, nor
    /// is what is left allocated (NDAS, bit 9).
    pub fn begin(&mut self, command: &Command) -> Result<bool, Status> {
        let ten = command.dword(10);
        match ten & 7 {
            _ if self.state == Progress::UnderWay => Err(Status::SANITIZE_IN_PROGRESS),
            EXIT_FAILURE => {
                if self.state == Progress::Failed {
                    self.state = Progress::Never;
                }
                Ok(false)
            }
            BLOCK_ERASE if ten & 1 << 9 == 0 => {
                (self.state, self.asked) = (Progress::UnderWay, ten);
                Ok(true)
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// The drive has done it, or could not.
    pub fn ends(&mut self, succeeded: bool) {
        self.state = if succeeded { Progress::Succeeded } else { Progress::Failed };
        self.erased = succeeded;
        self.ended += 1;
    }

    /// Sanitize Status: progress in 65,536ths, FFFFh where none is under way; the state, with whether nothing was written since in bit 8; the
    /// command; times that are not known (Base 2.0, 5.16.1.20).
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

/// Checks Format NVM: the one format, without metadata or protection information; nothing is erased, or user data (SES, bits 11:9).
pub(crate) fn check_format(command: &Command) -> Result<(), Status> {
    let ten = command.dword(10);
    if ![1, u32::MAX].contains(&command.namespace()) {
        return Err(Status::INVALID_NAMESPACE);
    }
    // LBAF in bits 3:0 and 13:12, MSET in 4, PI in 7:5.
    if ten & 0x30ff != 0 {
        return Err(Status::INVALID_FORMAT);
    }
    if ten >> 9 & 7 > 1 { Err(Status::INVALID_FIELD) } else { Ok(()) }
}
