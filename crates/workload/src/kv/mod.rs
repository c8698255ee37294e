//! The KV cache of an engine that serves a language model: what of prompts is known is read from the drive, the rest is
//! computed and written.
//!
//! Prompts are taken as Mooncake's traces have them (R. Qin et al., "Mooncake: Trading More Storage for Less
//! Computation", FAST'25): a prompt is a list of blocks, each named by all tokens up to its end, so that prompts which
//! begin alike share their first blocks. A prompt's time to its first token is that of reading its known blocks, of
//! waiting for an engine, and of computing its other tokens (prefill). What follows, token by token, is left out: it
//! keeps to the memory of the engine.

mod cache;
mod options;
mod prompts;
mod source;

use std::path::Path;

use units::{Bytes, ConfigError};

pub use options::{Kv, Recompute};

use crate::request::Source;

impl Kv {
    /// Its requests to a device of `capacity`.
    ///
    /// # Errors
    /// A parameter cannot be met, or the file of prompts cannot be read.
    pub(crate) fn source(&self, capacity: Bytes, seed: u64) -> Result<Box<dyn Source>, ConfigError> {
        self.check(capacity)?;
        Ok(Box::new(source::Engine::new(self, capacity, seed)?))
    }

    /// The file that its prompts come from.
    pub fn file(&self) -> Option<&Path> {
        (self.prompts != options::GENERATED).then(|| Path::new(&self.prompts))
    }
}

#[cfg(test)]
mod tests;
