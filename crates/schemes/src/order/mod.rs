//! The order in which a die and its bus serve waiting operations.
//!
//! Contract: a policy gives each class a rank; of two waiting operations the one of the lower rank goes
//! first, and of equal ranks the older one. A policy must not depend on anything else.

mod contract;
mod fifo;
mod read_first;
mod user_first;

pub use contract::Class;

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

    /// The ranks of the classes while the write queue is full (`schedule.write_queue`): no read passes a write then,
    /// under any order (`assumed`: fast12 §5.3 asks for a limit and leaves open what it does).
    pub fn ranks_behind_full_queue(self) -> [u8; Class::COUNT] {
        Class::ALL.map(fifo::rank)
    }
}
