//! What a policy of this axis is asked, and what it answers.

/// What a flash operation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// A read that a host request waits for.
    UserRead,
    /// A read of the drive's own: the old half of a partly written page, relocated data, the map.
    InternalRead,
    /// A program of host data.
    UserProgram,
    /// A program of the drive's own.
    InternalProgram,
    /// A block erase.
    Erase,
}

impl Class {
    /// How many classes there are.
    pub const COUNT: usize = 5;
    /// Every class, in the order of their numbers.
    pub const ALL: [Class; Class::COUNT] =
        [Class::UserRead, Class::InternalRead, Class::UserProgram, Class::InternalProgram, Class::Erase];

    /// Whether the operation senses a page.
    pub fn is_read(self) -> bool {
        matches!(self, Class::UserRead | Class::InternalRead)
    }
}
