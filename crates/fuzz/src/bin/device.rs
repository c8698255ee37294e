//! libFuzzer on the target `device`: `make fuzz`.
#![no_main]

fuzz::engine!(device);
