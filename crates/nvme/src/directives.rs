//! Directives: Identify, Streams (Base 2.0, 8.7) and Data Placement (TP 4146). A stream is a placement handle of the
//! drive, as a placement identifier is.

use crate::bytes::Fields;
use crate::command::{Answer, Command, Outcome, admin};
use crate::limits::BLOCK_SHIFTS;
use crate::status::Status;
use crate::subsystem::Subsystem;

/// Directive types (dword 11, bits 15:8) and their operations (bits 7:0).
const IDENTIFY: u32 = 0;
const STREAMS: u32 = 1;

/// What a host has done with streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    pub enabled: bool,
}

impl Streams {
    pub fn command(&mut self, command: &Command, drive: &Subsystem) -> Outcome {
        let eleven = command.dword(11);
        let (kind, operation) = (eleven >> 8 & 0xff, eleven & 0xff);
        let data = match (command.opcode(), kind, operation) {
            // Return parameters (8.7.2.1): supported at 0, enabled at 32, kept over a reset at 64, a bit a type. Data
            // Placement (2) is always on.
            (admin::DIRECTIVE_RECEIVE, IDENTIFY, 1) => {
                Fields::new(4096).u8(0, 0x7).u8(32, 0x5 | u8::from(self.enabled) << 1).u8(64, 0x4).take()
            }
            // Enable (8.7.2.2): ENDIR is bit 0 of dword 12, and the type in bits 15:8.
            (admin::DIRECTIVE_SEND, IDENTIFY, 1) if command.dword(12) >> 8 & 0xff == STREAMS => {
                self.enabled = command.dword(12) & 1 != 0;
                return Ok(Answer::default());
            }
            _ if !self.enabled => return Err(Status::INVALID_FIELD.into()),
            // Return parameters (8.7.3.1): all streams are open to everybody.
            (admin::DIRECTIVE_RECEIVE, STREAMS, 1) => {
                let page = (drive.preferred.0 >> BLOCK_SHIFTS[0]) as u32;
                Fields::new(32).u16(0, drive.handles).u16(2, drive.handles).u32(16, page).u16(20, 1).take()
            }
            // Get status (8.7.3.2): none is open for good.
            (admin::DIRECTIVE_RECEIVE, STREAMS, 2) => Fields::new(131_072).take(),
            // Allocate resources (8.7.3.3): none is anybody's own.
            (admin::DIRECTIVE_RECEIVE, STREAMS, 3) => return Ok(Answer::result(0u32)),
            // Release an identifier, or resources (8.7.3.4 and 8.7.3.5).
            (admin::DIRECTIVE_SEND, STREAMS, 1 | 2) => return Ok(Answer::default()),
            _ => return Err(Status::INVALID_FIELD.into()),
        };
        // NUMD, dwords from 0, says how much is wanted.
        let length = (u64::from(command.dword(10)) + 1) * 4;
        Ok(Answer::data(data[..data.len().min(usize::try_from(length).unwrap_or(usize::MAX))].to_vec()))
    }
}
