//! Every integration test of this crate, as one program: it is linked once.

mod arbitration;
mod common;
mod contention;
mod data;
mod end_of_life;
mod erasing;
mod explain;
mod garbage_collection;
mod knobs;
mod large;
mod lifetime;
mod lone_requests;
mod memory;
mod oracle;
mod queueing_theory;
mod random_devices;
mod read_retry;
mod resources;
mod retry_in_flash;
mod rules;
mod soak;
mod steady;
mod suspension;
mod tidy;
mod timeline;
