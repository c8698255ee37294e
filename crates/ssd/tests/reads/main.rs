//! Reads, and what keeps them waiting at a die: exact times, retries, decoding, errors.

mod contention;
mod data_errors;
mod heat;
mod lone_requests;
mod media;
mod read_disturb;
mod read_retry;
mod read_successors;
mod reserved_dies;
mod retry_in_flash;
mod schemes_on_devices;
mod soft_decoding;
mod suspension;
