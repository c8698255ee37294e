//! libFuzzer on the target `trace`: `make fuzz`.
#![no_main]

fuzz::engine!(trace);
