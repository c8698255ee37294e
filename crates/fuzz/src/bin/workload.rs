//! libFuzzer on the target `workload`: `make fuzz`.
#![no_main]

fuzz::engine!(workload);
