//! libFuzzer on the target `state`: `make fuzz`.
#![no_main]

fuzz::engine!(state);
