//! The order in which a die and its bus serve waiting operations.
//!
//! Contract: a policy gives each class a rank; of two waiting operations the one of the lower rank goes
//! first, and of equal ranks the older one. A policy must not depend on anything else.

mod fifo;
mod read_first;
mod user_first;

/// What a flash operation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// A read that a host request waits for.
    UserRead,
    /// A read of the drive's own: the old half of a partly written page, data on the move, the map.
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

units::choices! {
    /// Which waiting operation goes first.
    pub enum Order {
        /// First come, first served.
        Fifo = "fifo",
        /// Reads before programs and erases (fast12 §3.2, RPS; asplos21 §7.1).
        ReadFirst = "read-first",
        /// Host reads, then host writes, then everything internal (electronics25 §7.1).
        UserFirst = "user-first",
    }
}

impl Order {
    /// The rank of each class: lower goes first.
    pub fn ranks(self) -> [u8; Class::COUNT] {
        let rank = match self {
            Order::Fifo => fifo::rank,
            Order::ReadFirst => read_first::rank,
            Order::UserFirst => user_first::rank,
        };
        Class::ALL.map(rank)
    }
}
