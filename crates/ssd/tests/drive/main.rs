//! The drive as its callers see it: keys, hosts, runs, checkpoints, observation, memory.

mod arbitration;
mod checkpoint;
mod drives;
mod explain;
mod extremes;
mod knobs;
mod large;
mod live;
mod memory;
mod own_ftl;
mod policies;
mod power_states;
mod queueing_theory;
mod rules;
mod steady;
mod steps;
mod timeline;
