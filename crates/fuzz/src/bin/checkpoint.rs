//! libFuzzer on the target `checkpoint`: `make fuzz`.
#![no_main]

fuzz::engine!(checkpoint);
