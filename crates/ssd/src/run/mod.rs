//! A run: a loop over the device that replays a workload and collects statistics.

mod before;
pub mod checkpoint;
mod course;
mod device_given;
mod drive;
pub mod findings;
mod fingerprint;
mod host;
mod kept;
mod live;
pub mod manifest;
mod measured;
mod media;
mod options;
mod outcome;
mod packing;
mod part;
mod past_load;
mod playing;
mod precondition;
mod prepare;
mod reading;
mod refusal;
mod replay;
mod request_log;
mod result;
mod settling;
mod steady;
mod warming;
mod workload_given;

pub use checkpoint::Checkpoint;
pub use device_given::{DeviceWord, device_files, device_given};
pub use drive::{AnyDrive, RunDrive, build};
pub use fingerprint::Fingerprint;
pub use kept::keep_warmed;
pub use live::{Attended, Live};
pub use media::{open_media, write_media};
pub use options::{Declared, Given, Kind, OutputOptions, Replay, RunOptions, TraceOptions, declared};
pub use outcome::Outcome;
pub use part::PartCourse;
pub use playing::{Playing, open};
pub use precondition::Overwriting;
pub use prepare::{
    DriveInputs, Inputs, OtherDrive, Prepared, PreparedLive, PreparedOn, findings_of_settings,
    findings_without_other_way, prepare, prepare_live, prepare_live_on, prepare_on,
};
pub use refusal::{parse, refused};
pub use replay::Run;
pub use request_log::RequestLog;
pub use result::{as_json, result};
pub use steady::Round;
pub use warming::{Played, Warming, fill_past};
pub use workload_given::is_workload_key;
