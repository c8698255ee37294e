//! Simulated drives as block devices of real programs: the NBD protocol (Network Block Device) on what `served` has.
//!
//! | file | what |
//! |---|---|
//! | `wire.rs`, `handshake.rs`, `request.rs` | the protocol |
//! | `connection.rs` | a client: what it asks for, and what it gets |

mod connection;
mod handshake;
mod request;
mod wire;

pub use connection::{serve, uri};
pub use handshake::{Offer, Session, handshake};
pub use request::{Command, Frame, Job};
pub use wire::Errno;
