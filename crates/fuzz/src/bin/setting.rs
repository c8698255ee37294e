//! libFuzzer on the target `setting`: `make fuzz`.
#![no_main]

fuzz::engine!(setting);
