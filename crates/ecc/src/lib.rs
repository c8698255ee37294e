//! The ECC of hpca24: a quasi-cyclic LDPC code for 4 KiB, its encoder and decoder, and read-retry prediction by
//! syndrome weight.
//!
//! Architecture invariant: no clock and no state; everything is a function of a word.

pub mod code;
pub mod decoder;
pub mod encoder;
pub mod prediction;
pub mod profile;
pub mod reference;
mod shifts;
pub mod simulation;
pub mod soft;

pub use code::{Code, Word};
pub use decoder::{Decoded, Decoder, Received, Schedule};
pub use encoder::Encoder;
pub use profile::Profile;
pub use soft::Fineness;
