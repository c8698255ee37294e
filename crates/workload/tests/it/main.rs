//! Every integration test of this crate, as one program: it is linked once.

mod common;
mod convert;
mod fields;
mod files;
mod generator;
mod phases;
mod shared_traces;
mod volumes;
