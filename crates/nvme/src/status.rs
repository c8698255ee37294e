//! What commands end with.

/// A status: its type in bits 10:8 and its code in bits 7:0 (Base 2.0, 3.3.3.2.1 "Status Field Definition").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u16);

// Generic command status, type 0h (Base 2.0, 3.3.3.2.1.1; those from 80h on: NVM Command Set 1.0, 3.1.2).
#[allow(missing_docs)]
impl Status {
    pub const INVALID_OPCODE: Status = Status(0x001);
    pub const INVALID_FIELD: Status = Status(0x002);
    pub const DATA_TRANSFER_ERROR: Status = Status(0x004);
    pub const ABORTED_POWER_LOSS: Status = Status(0x005);
    pub const INTERNAL_ERROR: Status = Status(0x006);
    pub const ABORT_REQUESTED: Status = Status(0x007);
    pub const INVALID_NAMESPACE: Status = Status(0x00b);
    pub const COMMAND_SEQUENCE_ERROR: Status = Status(0x00c);
    pub const INVALID_SGL_TYPE: Status = Status(0x011);
    pub const SGL_LENGTH_INVALID: Status = Status(0x00f);
    pub const SGL_OFFSET_INVALID: Status = Status(0x016);
    pub const TRANSIENT_TRANSPORT_ERROR: Status = Status(0x022);
    pub const FAILED_FUSED: Status = Status(0x009);
    pub const MISSING_FUSED: Status = Status(0x00a);
    pub const SANITIZE_FAILED: Status = Status(0x01c);
    pub const SANITIZE_IN_PROGRESS: Status = Status(0x01d);
    pub const INVALID_PLACEMENT_LIST: Status = Status(0x02a);
    pub const LBA_OUT_OF_RANGE: Status = Status(0x080);
    pub const CAPACITY_EXCEEDED: Status = Status(0x081);
}

// Command specific status, type 1h (Base 2.0, 3.3.3.2.1.2; Connect: 6.3; NVM Command Set 1.0, 3.1.2).
#[allow(missing_docs)]
impl Status {
    pub const AER_LIMIT_EXCEEDED: Status = Status(0x105);
    pub const INVALID_LOG_PAGE: Status = Status(0x109);
    pub const INVALID_FORMAT: Status = Status(0x10a);
    pub const FEATURE_NOT_SAVEABLE: Status = Status(0x10d);
    pub const FEATURE_NOT_CHANGEABLE: Status = Status(0x10e);
    pub const NAMESPACE_CAPACITY: Status = Status(0x115);
    pub const NAMESPACE_IDENTIFIER_UNAVAILABLE: Status = Status(0x116);
    pub const NAMESPACE_ALREADY_ATTACHED: Status = Status(0x118);
    pub const NAMESPACE_IS_PRIVATE: Status = Status(0x119);
    pub const NAMESPACE_NOT_ATTACHED: Status = Status(0x11a);
    pub const THIN_PROVISIONING: Status = Status(0x11b);
    pub const CONTROLLER_LIST_INVALID: Status = Status(0x11c);
    pub const COMMAND_SET_NOT_SUPPORTED: Status = Status(0x129);
    pub const COMMAND_SET_NOT_ENABLED: Status = Status(0x12a);
    pub const INVALID_COMMAND_SET: Status = Status(0x12c);
    pub const CONNECT_INCOMPATIBLE_FORMAT: Status = Status(0x180);
    pub const CONNECT_CONTROLLER_BUSY: Status = Status(0x181);
    pub const CONNECT_INVALID_PARAMETERS: Status = Status(0x182);
    pub const CONNECT_INVALID_HOST: Status = Status(0x184);
    pub const AUTHENTICATION_REQUIRED: Status = Status(0x191);
    pub const READ_ONLY_RANGE: Status = Status(0x182);
    pub const COMMAND_SIZE_LIMIT: Status = Status(0x183);
}

// Media and data integrity errors, type 2h (Base 2.0, 3.3.3.2.1.3; NVM Command Set 1.0, 3.1.2).
#[allow(missing_docs)]
impl Status {
    pub const UNRECOVERED_READ_ERROR: Status = Status(0x281);
    pub const COMPARE_FAILURE: Status = Status(0x285);
    pub const DEALLOCATED_BLOCK: Status = Status(0x287);
}

impl Status {
    /// Whether the same command might succeed at another time: it does not say Do Not Retry.
    fn may_pass(self) -> bool {
        let passing = [
            Status::ABORTED_POWER_LOSS,
            Status::INTERNAL_ERROR,
            Status::ABORT_REQUESTED,
            Status::TRANSIENT_TRANSPORT_ERROR,
            Status::CONNECT_CONTROLLER_BUSY,
            Status::CAPACITY_EXCEEDED,
            Status::SANITIZE_IN_PROGRESS,
        ];
        passing.contains(&self)
    }

    /// The field of a completion, with the phase tag (0 in Fabrics) in bit 0, More in bit 14 where the error log tells
    /// more, and Do Not Retry in bit 15.
    pub fn field(self, more: bool) -> u16 {
        self.0 << 1 | u16::from(more) << 14 | u16::from(!self.may_pass()) << 15
    }
}
