//! Random devices under random loads, beside oracles and held to every invariant.

mod checked;
mod data;
mod media;
mod oracle;
mod power;
mod random_devices;
mod resources;
mod soak;
mod zones;
