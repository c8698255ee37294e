//! Arrays of drives: against closed forms, against single devices, and against an oracle that follows where every
//! version of the data is.

mod devices;
mod exact;
mod explain;
mod knobs;
mod loss;
mod random;
mod server;
mod soak;
mod zones;
