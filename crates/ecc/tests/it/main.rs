//! Every integration test of this crate, as one program: it is linked once.

mod code;
