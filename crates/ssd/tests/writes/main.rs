//! Programs and erases, and what the flash translation layer makes of them: collection, streams, caches, parity, wear.

mod copies;
mod end_of_life;
mod erasing;
mod fast;
mod faults;
mod garbage_collection;
mod hints;
mod learned;
mod lifetime;
mod map_unit;
mod pass_order;
mod raid;
mod rest;
mod slc_cache;
mod stationary;
mod superblocks;
mod warming;
mod zones;
