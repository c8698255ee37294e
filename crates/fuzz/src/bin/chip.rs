//! libFuzzer on the target `chip`: `make fuzz`.
#![no_main]

fuzz::engine!(chip);
