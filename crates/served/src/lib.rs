//! Simulated drives served to real programs: what is the same whatever the protocol is.
//!
//! ```text
//!  client ── socket ──► a thread that reads requests (the protocol's) ──► engine: a thread that owns the drive and its time
//!    ▲                                                                      │
//!    └─────────────────── outlet: replies, and the data ◄───────────────────┘
//! ```
//!
//! | file | what |
//! |---|---|
//! | `stream.rs`, `tcp.rs` | sockets |
//! | `arrivals.rs` | clients that have called, and how far they are read |
//! | `work.rs` | what a client asks a drive for |
//! | `outlet.rs` | what a client gets |
//! | `store.rs`, `unsettled.rs` | the data of a drive, and what a power cut can still undo |
//! | `export.rs` | a drive as connections see it, and what its engine is told |
//! | `drive.rs` | the simulated drive and the requests that it works on |
//! | `real_clock.rs`, `virtual_clock.rs`, `pace.rs` | when requests come, and when their replies leave |
//! | `watch.rs` | programs seen from outside: whether a client waits |
//! | `record.rs` | the requests of a session, to be played again |
//! | `server.rs` | drives, their engines, and clients as they come and go |

mod arrivals;
mod drive;
mod export;
mod lag;
mod outlet;
mod pace;
mod real_clock;
mod record;
mod server;
mod store;
mod stream;
mod tcp;
mod unsettled;
mod virtual_clock;
mod watch;
mod work;

pub use arrivals::{Caller, Input, Reading};
pub use export::{Export, NotDone, Opened};
pub use lag::Lag;
pub use outlet::{Answers, MOST_BYTES, MOST_REQUESTS, Message, Outlet, Reply, SENT_AT_ONCE};
pub use pace::{Pace, Think, Watched};
pub use record::Recorded;
pub use server::{Clock, Exported, Finished, Protocol, Served, Server};
pub use store::{Changes, Extent, Store};
pub use stream::{Listener, Place, Stream};
pub use work::{Answer, Asked, Did, Failure, Queue, Step, Work};
