//! libFuzzer on the target `nvme`: `make fuzz`.
#![no_main]

fuzz::engine!(nvme);
