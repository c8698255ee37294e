//! NVMe/TCP: each queue of a host is a connection (NVM Express TCP Transport Specification 1.0).

mod connection;
mod pdu;
mod queue;

pub use connection::{serve, uri};
pub use pdu::{End, Fatal, Framing, Unit};
pub use queue::{Answers, Queue, Side, Waits};
