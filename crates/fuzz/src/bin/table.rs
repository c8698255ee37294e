//! libFuzzer on the target `table`: `make fuzz`.
#![no_main]

fuzz::engine!(table);
