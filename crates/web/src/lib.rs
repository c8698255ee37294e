//! The lab as a WebAssembly module, for the page that `make page` builds (docs/page.md): questions in, answers out,
//! both as JSON.
//!
//! What is asked goes the way of native runs: [`ssd::run::prepare`], [`ssd::run::open`], [`ssd::run::Playing::step`];
//! so do errors, whose text is the native one. A run is played in steps, between which the page may give it up.
//!
//! [`Lab::ask`] is all of the interface; `module.rs` passes it through the module's memory. Files, threads and sockets
//! are not there.

mod catalogue;
mod chips;
mod lab;
#[cfg(target_family = "wasm")]
mod module;
mod question;
mod slices;

pub use lab::Lab;
