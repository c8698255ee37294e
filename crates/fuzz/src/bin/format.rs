//! libFuzzer on the target `format`: `make fuzz`.
#![no_main]

fuzz::engine!(format);
