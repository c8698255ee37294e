//! Simulated drives as block devices of real programs: a server of the NBD protocol (Network Block Device).
//!
//! ```text
//!  client ── socket ──► connection: a thread that reads requests ──► engine: a thread that owns the drive and its time
//!    ▲                                                                 │
//!    └───────────────── outlet: replies, and the data ◄────────────────┘
//! ```
//!
//! | file | what |
//! |---|---|
//! | `wire.rs`, `handshake.rs`, `request.rs` | the protocol |
//! | `stream.rs` | sockets |
//! | `arrivals.rs` | clients that have called, and how far they are read |
//! | `connection.rs`, `outlet.rs` | a client: what it asks for, and what it gets |
//! | `store.rs` | the data of an export |
//! | `drive.rs` | the simulated drive and the requests that it works on |
//! | `real_clock.rs`, `virtual_clock.rs` | when requests come, and when their replies leave |
//! | `watch.rs` | programs seen from outside: whether a client waits |
//! | `record.rs` | the requests of a session, to be played again |
//! | `server.rs` | exports, their engines, and clients as they come and go |

mod arrivals;
mod connection;
mod drive;
mod handshake;
mod lag;
mod outlet;
mod real_clock;
mod record;
mod request;
mod server;
mod store;
mod stream;
mod tcp;
mod virtual_clock;
mod watch;
mod wire;

pub use handshake::{Offer, Session, handshake};
pub use lag::Lag;
pub use outlet::MOST_REQUESTS;
pub use record::Recorded;
pub use request::{Command, Frame, Job};
pub use server::{Clock, Exported, Finished, Server};
pub use store::{Extent, Store};
pub use stream::{Listener, Stream};
pub use virtual_clock::{Pace, Think, Watched};
pub use wire::Errno;
