//! How a request ended: the status that an NVMe controller would give, for what this drive can refuse.

use std::fmt;

use crate::persist::stored_enum;

/// The status of a completion: Status Code Type and Status Code of the NVM Express Base Specification 2.0, section
/// 4.2.3, and of the Zoned Namespace Command Set Specification 1.1, Figure 13 (Command Specific Status Values).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// It was done.
    #[default]
    Success,
    /// The drive does not know the command: it has no zones.
    InvalidOpcode,
    /// A field of the command is not allowed, such as an append of more than the limit.
    InvalidField,
    /// The range goes over the boundary of a zone.
    ZoneBoundary,
    /// The zone is full.
    ZoneFull,
    /// The zone is read-only.
    ZoneReadOnly,
    /// The zone is offline.
    ZoneOffline,
    /// A write does not begin at the write pointer, or not within the zone random write area behind it.
    ZoneInvalidWrite,
    /// No further zone may be active.
    TooManyActive,
    /// No further zone may be open.
    TooManyOpen,
    /// The zone's state does not allow what was asked.
    InvalidTransition,
    /// The zone has no zone random write area, or the range is not one that it has written (TP 4076b).
    InvalidZoneOperation,
    /// No further zone may have a zone random write area (TP 4076b).
    RandomAreaUnavailable,
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 13] = [
        Status::Success,
        Status::InvalidOpcode,
        Status::InvalidField,
        Status::ZoneBoundary,
        Status::ZoneFull,
        Status::ZoneReadOnly,
        Status::ZoneOffline,
        Status::ZoneInvalidWrite,
        Status::TooManyActive,
        Status::TooManyOpen,
        Status::InvalidTransition,
        Status::InvalidZoneOperation,
        Status::RandomAreaUnavailable,
    ];

    /// Status Code Type and Status Code, as they are in a completion queue entry.
    #[must_use]
    pub const fn code(self) -> (u8, u8) {
        match self {
            Status::Success => (0, 0x00),
            Status::InvalidOpcode => (0, 0x01),
            Status::InvalidField => (0, 0x02),
            Status::ZoneBoundary => (1, 0xB8),
            Status::ZoneFull => (1, 0xB9),
            Status::ZoneReadOnly => (1, 0xBA),
            Status::ZoneOffline => (1, 0xBB),
            Status::ZoneInvalidWrite => (1, 0xBC),
            Status::TooManyActive => (1, 0xBD),
            Status::TooManyOpen => (1, 0xBE),
            Status::InvalidTransition => (1, 0xBF),
            Status::InvalidZoneOperation => (1, 0xB6),
            Status::RandomAreaUnavailable => (1, 0xB7),
        }
    }

    /// The name of it in the specification.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Status::Success => "Successful Completion",
            Status::InvalidOpcode => "Invalid Command Opcode",
            Status::InvalidField => "Invalid Field in Command",
            Status::ZoneBoundary => "Zone Boundary Error",
            Status::ZoneFull => "Zone Is Full",
            Status::ZoneReadOnly => "Zone Is Read Only",
            Status::ZoneOffline => "Zone Is Offline",
            Status::ZoneInvalidWrite => "Zone Invalid Write",
            Status::TooManyActive => "Too Many Active Zones",
            Status::TooManyOpen => "Too Many Open Zones",
            Status::InvalidTransition => "Invalid Zone State Transition",
            Status::InvalidZoneOperation => "Invalid Zone Operation Request",
            Status::RandomAreaUnavailable => "ZRWA Resources Unavailable",
        }
    }

    /// Whether what was asked was done.
    #[inline]
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Status::Success
    }
}

impl fmt::Display for Status {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str(self.name())
    }
}

stored_enum! {
    Status {
        0 = Success, 1 = InvalidOpcode, 2 = InvalidField, 3 = ZoneBoundary, 4 = ZoneFull, 5 = ZoneReadOnly, 6 = ZoneOffline,
        7 = ZoneInvalidWrite, 8 = TooManyActive, 9 = TooManyOpen, 10 = InvalidTransition,
        11 = InvalidZoneOperation, 12 = RandomAreaUnavailable,
    }
}
