//! Where an operation's data goes, by what it is: a plane has a queue of programs for each write class.

/// Host data; under three streams and more, host data whose last version was young.
pub const HOST: usize = 0;
/// Other host data.
pub const HOST_COLD: usize = 1;
/// Relocated data.
pub const RELOCATED: usize = 2;
/// Data that had been moved before.
pub const RELOCATED_AGAIN: usize = 3;
/// The map.
pub const MAP: usize = 4;
/// How many there are.
pub const COUNT: usize = 5;
