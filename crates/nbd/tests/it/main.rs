//! A server with clients in the same process.

mod client;
mod clocks;
mod data;
mod protocol;
