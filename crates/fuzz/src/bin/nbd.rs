//! libFuzzer on the target `nbd`: `make fuzz`.
#![no_main]

fuzz::engine!(nbd);
