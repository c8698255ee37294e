//! What is seen of a device: the statistics that it keeps and a run reports, and probes that watch it.

pub mod check;
pub mod explain;
pub mod ledger;
pub mod probe;
pub mod stats;
pub mod timeline;
pub mod watch;
