//! How the state in a checkpoint is compressed: with zstd, a C library, which a module for browsers does not have.

use std::io::{self, Read, Write};

/// How hard zstd tries: more takes several times as long and gains little (docs/decisions).
#[cfg(not(target_family = "wasm"))]
const LEVEL: i32 = 1;

/// Compresses what `write` writes.
#[cfg(not(target_family = "wasm"))]
pub(super) fn pack(to: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut packed = zstd::Encoder::new(to, LEVEL)?;
    write(&mut packed)?;
    packed.finish()?;
    Ok(())
}

/// What [`pack`] has compressed.
#[cfg(not(target_family = "wasm"))]
pub(super) fn unpack(packed: &[u8]) -> io::Result<Box<dyn Read + '_>> {
    Ok(Box::new(zstd::Decoder::new(packed)?))
}

#[cfg(target_family = "wasm")]
pub(super) fn pack(_: &mut dyn Write, _: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_family = "wasm")]
pub(super) fn unpack(_: &[u8]) -> io::Result<Box<dyn Read + '_>> {
    Err(io::ErrorKind::Unsupported.into())
}
