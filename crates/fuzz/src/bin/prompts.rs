//! libFuzzer on the target `prompts`: `make fuzz`.
#![no_main]

fuzz::engine!(prompts);
