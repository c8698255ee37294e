//! Checkpoints: the whole state of a device in a file, to go on from in another process.
//!
//! A file is a line of text, the length of a header and the header (JSON), the state (`crate::persist`, compressed),
//! and the BLAKE3 digest of all that. The header has what the device is built from; what follows from it is not in the
//! state. A device that was saved and loaded goes on as if it had never stopped, byte for byte.
//!
//! What may differ between the device that was saved and the one that goes on: nothing, but where nothing was under way
//! [`POLICIES`] and policies from outside, which decide what is done next and keep no state.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use units::section::Section;
use units::value::Scalar;
use units::{ConfigError, Document, Span, Time};

use super::drive::{AnyDrive, RunDrive};
use super::kept::{self, Kept, Key};
use super::manifest;
use super::packing;
use super::refusal::refused;
use crate::RESULTS_VERSION;
use crate::config::{Config, PastLoad, Plan};
use crate::device::Device;
use crate::drive::Drive;
use crate::error::RunError;
use crate::observe::probe::Probe;
use crate::persist::{Reader, Writer};
use crate::policies::Policies;
use crate::presets::{self, DeviceSpec};

/// The first line of a checkpoint.
const MAGIC: &[u8] = b"ssdlab checkpoint\n";
/// The version of the file's form.
const FORMAT: u64 = 14;
/// Bytes of the digest.
const DIGEST: usize = 32;
/// The longest header that is read: a configuration has some 10 kB, and an array has one of each drive.
const LONGEST_HEADER: u32 = 1 << 24;

/// The release that writes and reads.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Keys that may differ where nothing was under way: they decide what is done next and keep no state, or one that is
/// forgotten then (references of reads).
pub const POLICIES: &[&str] = &[
    "read.start",
    "read.tracking",
    "read.records",
    "read.record_groups",
    "read.next",
    "read.fail_fast",
    "read.fail_busy",
    "read.pipeline",
    "read.sensing",
    "read.predictor",
    "read.t_pred",
    "read.prediction_accuracy",
    "read.rpt",
    "read.trees",
    "read.rpt_error",
    "read.age_error",
    "ecc.code",
    "ecc.soft",
    "ecc.soft_after",
    "ecc.code_2bit",
    "ecc.code_3bit",
    "ecc.strength",
    "ecc.t_decode",
    "ecc.t_failed",
    "ecc.t_retried",
    "ecc.decoders",
    "ecc.buffer",
    "bus.transfer",
    "schedule.order",
    "schedule.suspend_program",
    "schedule.suspend_erase",
    "schedule.safe_points",
    "schedule.suspend_budget",
    "schedule.suspensions",
    "energy.sense_mw",
    "energy.program_mw",
    "energy.erase_mw",
    "energy.transfer_nj",
    "energy.decode_nj",
    "energy.prediction_nj",
];

/// What another build has otherwise, and is refused for.
fn build() -> [(&'static str, Value); 3] {
    [("format", json!(FORMAT)), ("ssdlab", json!(RELEASE)), ("results_version", json!(RESULTS_VERSION))]
}

/// A key whose value "auto" is that of the device that was saved.
const DECIDED: &str = "age.load";

/// When a run saves its drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SaveAt {
    /// When the run is over, everything buffered is on flash and the drive has nothing more to do by itself.
    #[default]
    Rest,
    /// When the last request has completed, as it stands.
    End,
    /// When the workload has gone on for so long, as it stands.
    After(Span),
}

impl units::value::Value for SaveAt {
    fn expects() -> String {
        format!("\"rest\", \"end\" (as it stands when the last request has completed), or {}", Span::expects())
    }
    fn read(scalar: &Scalar) -> Option<SaveAt> {
        match scalar {
            Scalar::Text(text) if text == "rest" => Some(SaveAt::Rest),
            Scalar::Text(text) if text == "end" => Some(SaveAt::End),
            other => Span::read(other).map(SaveAt::After),
        }
    }
    fn write(&self) -> Scalar {
        match self {
            SaveAt::Rest => Scalar::Text("rest".into()),
            SaveAt::End => Scalar::Text("end".into()),
            SaveAt::After(span) => span.write(),
        }
    }
}

/// A checkpoint whose header has been read. The state is read, and its digest checked, when the device is built.
pub struct Checkpoint {
    path: PathBuf,
    header: Value,
    /// The digest that its file ended with when the header was read.
    digest: Option<[u8; DIGEST]>,
}

impl Checkpoint {
    /// Reads the header of a file, and refuses what another build has written.
    pub fn open(path: &Path) -> Result<Checkpoint, ConfigError> {
        let origin = path.display().to_string();
        let mut file = File::open(path).map_err(|error| unreadable(&origin, &error))?;
        let header = read_header(&mut file, &origin)?;
        Ok(Checkpoint { path: path.to_owned(), header, digest: digest_of(&mut file) })
    }

    /// What it says of its drive ([`RunDrive::header`]).
    pub fn header(&self) -> &Value {
        &self.header
    }

    /// Its file.
    pub fn origin(&self) -> String {
        self.path.display().to_string()
    }

    /// Gives a drive, which was built from what the header says, the state that the saved one had.
    pub fn restore(&self, drive: &mut impl Drive) -> Result<(), ConfigError> {
        let origin = self.origin();
        if let Some(kept) = self.kept() {
            return restored(drive, &self.header, &StateOf::Kept(&kept), &origin);
        }
        let bytes = std::fs::read(&self.path).map_err(|error| unreadable(&origin, &error))?;
        let (header, state) = unsealed(&bytes, &origin)?;
        restored(drive, &header, &state, &origin)
    }

    /// Its state, where other runs of the process have gone on from it: it was whole then. A file that was replaced
    /// since its header was read is read as a whole.
    fn kept(&self) -> Option<Arc<Kept>> {
        let now = File::open(&self.path).ok().and_then(|mut file| digest_of(&mut file));
        now.filter(|_| now == self.digest).and_then(|digest| kept::recall(Key(digest)))
    }

    /// The device that it is of, called as the file.
    pub fn spec(&self) -> Result<DeviceSpec, ConfigError> {
        let origin = self.path.display().to_string();
        check_of_device(&self.header, &origin)?;
        let name = self.path.file_stem().map_or_else(|| origin.clone(), |stem| stem.to_string_lossy().into_owned());
        let config = config_of(&self.header, &origin)?;
        let (inherited, described) = (config.clone(), config.clone());
        let files = vec![self.path.clone()];
        Ok(DeviceSpec { name, about: String::new(), source: String::new(), config, inherited, described, files })
    }

    /// Checks that a drive of this configuration can go on from it.
    pub fn check(&self, plan: &Plan) -> Result<(), ConfigError> {
        check(&self.header, plan, &self.path.display().to_string())
    }

    /// Builds the device, with the state that it had.
    pub fn device(&self, config: &Config) -> Result<Device, ConfigError> {
        let origin = self.path.display().to_string();
        if let Some(kept) = self.kept() {
            return device_of(config, &self.header, &StateOf::Kept(&kept), &origin);
        }
        let mut file = File::open(&self.path).map_err(|error| unreadable(&origin, &error))?;
        load(config, &mut file, &origin)
    }

    /// The drive of the checkpoint, as any drive.
    pub fn drive(&self, config: &Config) -> Result<Box<AnyDrive>, ConfigError> {
        Ok(Box::new(self.device(config)?))
    }

    /// Builds the device and plays what it had under way of its host's, until that has come to its end.
    pub(super) fn settled(&self, config: &Config) -> Result<Device, RunError> {
        let mut device = self.device(config)?;
        while device.outstanding() > 0 && device.advance_to_completion(Time::NEVER)? {
            device.take_completions();
        }
        device.take_completions();
        Ok(device)
    }
}

/// The digest that a checkpoint's file ends with.
fn digest_of(file: &mut File) -> Option<[u8; DIGEST]> {
    let mut digest = [0; DIGEST];
    file.seek(io::SeekFrom::End(-(DIGEST as i64))).and_then(|_| file.read_exact(&mut digest)).ok()?;
    Some(digest)
}

/// The checkpoint that a word for a device names, if it does: a file that begins as one, and no preset.
pub fn given(device: &str) -> Option<PathBuf> {
    let mut line = [0; MAGIC.len()];
    let path = Path::new(device);
    // What is no file, a pipe above all, is not read.
    let may_be = path.is_file() && !presets::names().any(|name| name == device);
    let is_one = may_be && File::open(path).is_ok_and(|mut file| file.read_exact(&mut line).is_ok());
    (is_one && line == *MAGIC).then(|| path.to_owned())
}

/// Checks that a file is a checkpoint of this build, and whole.
pub fn verify(path: &Path) -> Result<(), ConfigError> {
    let origin = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| unreadable(&origin, &error))?;
    unsealed(&bytes, &origin).map(drop)
}

/// Writes a checkpoint to a file.
pub fn write(drive: &(impl RunDrive + ?Sized), path: &Path) -> Result<(), RunError> {
    check_sound(drive)?;
    let written = File::create(path).map(BufWriter::new).and_then(|mut file| {
        pack(drive, &mut file)?;
        file.flush()
    });
    written.map_err(|error| RunError::Output { path: path.display().to_string(), problem: error.to_string() })
}

impl<P: Probe> Device<P> {
    /// Writes the whole state: [`Device::load`] goes on from it. A device that has failed is refused.
    pub fn save(&self, to: &mut dyn Write) -> Result<(), RunError> {
        check_sound(self)?;
        pack(self, to).map_err(|error| RunError::Output { path: "checkpoint".into(), problem: error.to_string() })
    }
}

/// Refuses a drive that has failed.
fn check_sound(drive: &(impl Drive + ?Sized)) -> Result<(), RunError> {
    let Some(failure) = drive.failure() else { return Ok(()) };
    let problem = format!("the device cannot be saved, because it has failed: {failure}");
    Err(refused("checkpoint", &problem, "save it before").into())
}

/// Writes a drive as a checkpoint.
fn pack(drive: &(impl RunDrive + ?Sized), to: &mut dyn Write) -> io::Result<()> {
    seal(drive.header(), |state| drive.write_state(state), to)
}

/// Writes a header and a state as a checkpoint.
pub(super) fn seal(mut header: Value, write: impl FnOnce(&mut Writer), to: &mut dyn Write) -> io::Result<()> {
    let mut to = Hashed { to, hash: blake3::Hasher::new() };
    for (name, value) in build() {
        header[name] = value;
    }
    let header = header.to_string();
    to.write_all(MAGIC)?;
    to.write_all(&(header.len() as u32).to_le_bytes())?;
    to.write_all(header.as_bytes())?;
    packing::pack(&mut to, |packed| {
        let mut state = Writer::new(packed);
        write(&mut state);
        state.finish()
    })?;
    to.to.write_all(to.hash.finalize().as_bytes())
}

impl Device {
    /// A device in the state that [`Device::save`] has written. The configuration is that of the device that was saved,
    /// but for [`POLICIES`] where nothing was under way. The seed is that of the saved device.
    pub fn load(config: &Config, from: &mut dyn Read) -> Result<Device, ConfigError> {
        load(config, from, "checkpoint")
    }
}

/// The state of a whole checkpoint, as it is before it is packed: for tests of how a state is read.
#[doc(hidden)]
pub fn state_of(whole: &[u8]) -> Option<Vec<u8>> {
    let (_, StateOf::Packed { packed, .. }) = unsealed(whole, "checkpoint").ok()? else { return None };
    let mut state = Vec::new();
    packing::unpack(packed).and_then(|mut unpacked| unpacked.read_to_end(&mut state)).ok()?;
    Some(state)
}

/// Whether bytes can be read as the state of a device. What a digest stands for is not checked.
#[doc(hidden)]
pub fn is_state(config: &Config, mut bytes: &[u8]) -> Result<bool, ConfigError> {
    let mut device = Device::new(config, 1)?;
    Ok(Reader::new(&mut bytes).whole(|state| device.read_state(state)).is_ok())
}

/// Passes on what is written, and hashes it.
struct Hashed<'a> {
    to: &'a mut dyn Write,
    hash: blake3::Hasher,
}

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

pub(super) fn unreadable(origin: &str, error: &io::Error) -> ConfigError {
    refused(origin, &format!("cannot be read: {error}"), "give the path of a checkpoint (ssdlab run --save FILE)")
}

pub(super) fn damaged(origin: &str) -> ConfigError {
    refused(origin, "is damaged: its digest is another one", "copy it again, or make it again")
}

/// What a device is built from, and where it stands.
pub(super) fn header_of<P: Probe>(device: &Device<P>) -> Value {
    let plan = device.plan();
    json!({
        "seed": device.seed(),
        "time_ns": device.now().0,
        "outstanding": device.outstanding(),
        "rests": device.rests(),
        "config": plan.config.to_toml(),
        "policies": manifest::policies(&plan.config.policies),
        "files": files_of(plan),
    })
}

/// What the files hold that a configuration names, as digests by their keys: it is compared, not how they are called.
pub(super) fn files_of(plan: &Plan) -> Value {
    let digest = |content: Value| json!(blake3::hash(content.to_string().as_bytes()).to_hex().as_str());
    let ecc = &plan.config.ecc;
    let code = |name: &str| workload::content_hash(Path::new(name)).ok();
    json!({
        "chip.model": manifest::cells(plan).map(digest),
        "read.rpt": manifest::rpt(plan).map(digest),
        "read.trees": manifest::trees(plan).map(digest),
        "ecc.code": ecc.code.as_deref().and_then(code),
        "ecc.code_2bit": code(&ecc.code_2bit),
        "ecc.code_3bit": code(&ecc.code_3bit),
    })
}

/// Reads up to the end of the header, and refuses what another build has written.
fn read_header(from: &mut dyn Read, origin: &str) -> Result<Value, ConfigError> {
    let mut start = [0; MAGIC.len() + 4];
    let is_one = from.read_exact(&mut start).is_ok() && start.starts_with(MAGIC);
    if !is_one {
        let remedy = "make one with `ssdlab run --save FILE` or Device.save";
        return Err(refused(origin, "is no checkpoint of a device", remedy));
    }
    let length = u32::from_le_bytes(start[MAGIC.len()..].try_into().expect("Invariant: four bytes follow the line"));
    if length > LONGEST_HEADER {
        return Err(damaged(origin));
    }
    let mut text = vec![0; length as usize];
    from.read_exact(&mut text).map_err(|_| damaged(origin))?;
    let header: Value = serde_json::from_slice(&text).map_err(|_| damaged(origin))?;
    for (name, ours) in build() {
        let theirs = header.get(name).ok_or_else(|| damaged(origin))?;
        if *theirs != ours {
            let problem = format!("was written by another build: its {name} is {theirs}, and here it is {ours}");
            return Err(refused(
                origin,
                &problem,
                "make it again with this build, or go on with the one that wrote it",
            ));
        }
    }
    Ok(header)
}

pub(super) fn config_of(header: &Value, origin: &str) -> Result<Config, ConfigError> {
    let text = header["config"].as_str().ok_or_else(|| damaged(origin))?;
    let mut config = Config::default();
    config.apply(&Document::parse(text, origin)?, &[])?;
    Ok(config)
}

/// Refuses the checkpoint of an array, or of flash without a drive, where that of a device is needed.
fn check_of_device(header: &Value, origin: &str) -> Result<(), ConfigError> {
    if header.get("media").is_some() {
        return Err(refused(origin, "is the checkpoint of flash without a drive", "open it as Media"));
    }
    if header.get("drives").is_none() {
        return Ok(());
    }
    Err(refused(
        origin,
        "is the checkpoint of an array",
        "give the array's file with it (--array FILE --from CHECKPOINT)",
    ))
}

/// Checks that a drive of this configuration can go on from what a checkpoint's header says of one.
pub fn check(header: &Value, plan: &Plan, origin: &str) -> Result<(), ConfigError> {
    check_of_device(header, origin)?;
    check_same(header, plan, origin)
}

/// Checks that a header is of what has this configuration.
pub(super) fn check_same(header: &Value, plan: &Plan, origin: &str) -> Result<(), ConfigError> {
    let theirs = config_of(header, origin)?;
    let (rests, files) = (header["rests"] == json!(true), files_of(plan));
    let mut differ = Vec::new();
    let mut policies = false;
    for (our, their) in plan.config.sections().iter().zip(theirs.sections()) {
        for key in our.keys() {
            let name = format!("{}.{}", our.name(), key.name);
            let (ours, theirs) = (shown(*our, key.name), shown(their, key.name));
            if name == DECIDED && ours == "\"auto\"" {
                continue;
            }
            let is_policy = POLICIES.contains(&name.as_str());
            let both_files = files.get(&name).is_some() && is_file(&ours) && is_file(&theirs);
            let problem = if ours != theirs && !both_files {
                format!("{name} was {theirs} and is {ours}")
            } else if other_content(&header["files"][&name], &files[&name]) {
                format!("{name} = {ours} has another content")
            } else {
                continue;
            };
            if !(rests && is_policy) {
                policies |= is_policy;
                differ.push(problem);
            }
        }
    }
    let stand_ins = stand_ins_that_differ(&header["policies"], &plan.config.policies);
    if !rests {
        policies |= !stand_ins.is_empty();
        differ.extend(stand_ins);
    }
    if differ.is_empty() {
        return Ok(());
    }
    let more = if differ.len() > 4 { format!("; and {} keys more", differ.len() - 4) } else { String::new() };
    let problem = format!("is of another drive: {}{more}", differ[..differ.len().min(4)].join("; "));
    let remedy = if policies {
        "give it the policies that it had, or save a drive at rest, as `ssdlab run --save` does"
    } else {
        "leave the device out, and it is that of the checkpoint; or make a checkpoint of this one"
    };
    Err(refused(origin, &problem, remedy))
}

/// Policies from outside that are not those of a header. Names of files do not count.
fn stand_ins_that_differ(was: &Value, is: &Policies) -> Vec<String> {
    let is = manifest::policies(is).unwrap_or_default();
    let function = |all: &Value, axis: &str| all[axis]["function"].as_str().unwrap_or("none").to_owned();
    let differ = Policies::AXES.iter().filter_map(|axis| {
        let (theirs, ours) = (function(was, axis), function(&is, axis));
        if theirs != ours {
            Some(format!("policies.{axis} was {theirs} and is {ours}"))
        } else {
            let other_text = was[axis]["sha256"] != is[axis]["sha256"];
            other_text.then(|| format!("policies.{axis} = {ours} has another text"))
        }
    });
    differ.collect()
}

/// A value as a device file has it.
fn shown(section: &dyn Section, key: &str) -> String {
    section.get(key).expect("Invariant: a section has every key that it lists").to_string()
}

/// Whether two digests of what a key names differ. A drive that cannot meet errors has none of its chip.
fn other_content(was: &Value, is: &Value) -> bool {
    !was.is_null() && !is.is_null() && was != is
}

fn is_file(value: &str) -> bool {
    let value = value.trim_matches('"');
    value.ends_with(".toml") || value.ends_with(".csv")
}

/// Where the state of a checkpoint is.
pub(super) enum StateOf<'a> {
    /// In its file, under this digest.
    Packed { packed: &'a [u8], digest: [u8; DIGEST] },
    /// In memory.
    Kept(&'a Kept),
}

/// The header of a whole checkpoint, and its state.
pub(super) fn unsealed<'a>(bytes: &'a [u8], origin: &str) -> Result<(Value, StateOf<'a>), ConfigError> {
    let mut rest = bytes;
    // What another version has written is refused as such, whatever follows.
    let header = read_header(&mut rest, origin)?;
    let (packed, digest) = rest.split_last_chunk::<DIGEST>().ok_or_else(|| damaged(origin))?;
    if blake3::hash(&bytes[..bytes.len() - DIGEST]).as_bytes() != digest {
        return Err(damaged(origin));
    }
    Ok((header, StateOf::Packed { packed, digest: *digest }))
}

fn load(config: &Config, from: &mut dyn Read, origin: &str) -> Result<Device, ConfigError> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).map_err(|error| unreadable(origin, &error))?;
    let (header, state) = unsealed(&bytes, origin)?;
    device_of(config, &header, &state, origin)
}

/// A device that goes on from a checkpoint.
fn device_of(config: &Config, header: &Value, state: &StateOf, origin: &str) -> Result<Device, ConfigError> {
    check(header, &config.plan()?, origin)?;
    let mut config = config.clone();
    if config.age.load == PastLoad::Auto {
        config.age.load = config_of(header, origin)?.age.load;
    }
    let seed = header["seed"].as_u64().ok_or_else(|| damaged(origin))?;
    let mut device = Device::new(&config, seed)?;
    restored(&mut device, header, state, origin)?;
    Ok(device)
}

/// Gives a drive the state that a checkpoint has.
fn restored(drive: &mut impl Drive, header: &Value, state: &StateOf, origin: &str) -> Result<(), ConfigError> {
    take_state(header, state, origin, |state| {
        drive.read_state(state)?;
        Ok(drive.now())
    })
}

/// Hands the state of a checkpoint over; who takes it says at which time it stands.
pub(super) fn take_state(
    header: &Value,
    state: &StateOf,
    origin: &str,
    take: impl FnOnce(&mut Reader) -> io::Result<Time>,
) -> Result<(), ConfigError> {
    // The digest is right: what does not fit was written by a build whose state has another form.
    let taken = match state {
        StateOf::Kept(kept) => kept.take(take),
        StateOf::Packed { packed, digest } => {
            let mut unpacked = packing::unpack(packed).map_err(|_| damaged(origin))?;
            kept::of_checkpoint(Key(*digest), &mut *unpacked, take)
        }
    };
    if !taken.is_ok_and(|now| header["time_ns"] == json!(now.0)) {
        let remedy = "make it again with this build, or go on with the one that wrote it";
        return Err(refused(origin, "was written by another build: its state has another form", remedy));
    }
    Ok(())
}
