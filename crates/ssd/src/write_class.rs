//! Where an operation's data goes, by what it is: a plane has a queue of programs for each write class.

use crate::persist::stored_enum;

/// What written data is, and so which stream of a plane takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum WriteClass {
    /// Host data; under three streams and more, host data whose last version was young; with hints, that of the first handle.
    Host,
    /// Other host data; with hints, that of the second handle.
    HostCold,
    /// Relocated data.
    Relocated,
    /// Data that had been moved before; where there is parity (`ftl.raid`), which knows no such data, the parity.
    RelocatedAgain,
    /// The map.
    Map,
}

impl WriteClass {
    /// How many there are.
    pub const COUNT: usize = 5;

    /// All of them.
    pub const ALL: [WriteClass; WriteClass::COUNT] =
        [WriteClass::Host, WriteClass::HostCold, WriteClass::Relocated, WriteClass::RelocatedAgain, WriteClass::Map];

    /// What the host writes, in the order of placement handles.
    pub const OF_HANDLES: [WriteClass; 2] = [WriteClass::Host, WriteClass::HostCold];

    /// What parity is written as.
    pub const PARITY: WriteClass = WriteClass::RelocatedAgain;

    /// Everything but relocated data.
    pub const NOT_RELOCATED: [WriteClass; 3] = [WriteClass::Host, WriteClass::HostCold, WriteClass::Map];

    /// Whether collection moves it.
    pub fn is_relocated(self) -> bool {
        matches!(self, WriteClass::Relocated | WriteClass::RelocatedAgain)
    }
}

stored_enum! {
    WriteClass { 0 = Host, 1 = HostCold, 2 = Relocated, 3 = RelocatedAgain, 4 = Map, }
}
