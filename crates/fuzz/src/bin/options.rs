//! libFuzzer on the target `options`: `make fuzz`.
#![no_main]

fuzz::engine!(options);
