//! Arrays of drives under random loads, and an oracle of where their data is.

mod books;
mod oracle;
mod soak;
mod zoned;

pub use books::{Books, Expected};
pub use oracle::{BLOCK, Oracle, Watching};
pub use soak::{ArrayCase, Member, draw, nth, of_zones, resumed, soak, verdict};
