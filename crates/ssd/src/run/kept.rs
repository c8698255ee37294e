//! States that runs begin in, kept in memory. FTLs as loads have left them: runs of a process that begin with the same
//! load on the same FTL play it once. What schemes change, how dies read and in which order they work, the FTL alone
//! does not see. And checkpoints that several runs go on from: they are read once. What is large in such a state the
//! runs share, and change their own copies of what they change.
//!
//! Nothing is kept unless [`keep_warmed`] has said how much; a run of its own gains nothing from it.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use units::Bytes;
use workload::Past;

use crate::config::Config;
use crate::device::Device;
use crate::drive::Drive as _;
use crate::ftl::Ftl;
use crate::observe::probe::Probe;
use crate::observe::stats::Warmed;
use crate::persist::{Reader, SharedState, State, Writer};

/// Sections and keys of the configuration that the FTL alone does not ask: a test changes them all.
const NOT_ASKED: &[&str] = &["bus.", "ecc.", "read.", "schedule.", "energy."];

/// All that decides what a load makes of an FTL: a digest of the configuration but for what is not asked, of the load
/// and its random numbers, and of the state that it begins in, in which the rest has left its mark.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(pub [u8; 32]);

impl Key {
    /// None where nothing is kept, where nobody can tell two loads apart, or where policies from outside decide, which
    /// may remember.
    pub fn of<P: Probe>(past: &dyn Past, device: &mut Device<P>) -> Option<Key> {
        if lock().most == 0 || !device.plan().config.policies.sources().is_empty() {
            return None;
        }
        let (identity, seed) = (past.identity()?, device.seed());
        let mut digest = blake3::Hasher::new();
        for text in [&asked(&device.plan().config), &identity, &seed.to_string()] {
            digest.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        device.play_ftl(|ftl, _| save(ftl, &mut digest));
        Some(Key(*digest.finalize().as_bytes()))
    }
}

/// What is set of the keys that the FTL may ask.
fn asked(config: &Config) -> String {
    let mut text = String::new();
    for section in config.sections() {
        for key in section.keys() {
            let name = format!("{}.{}", section.name(), key.name);
            if !NOT_ASKED.iter().any(|not| name.starts_with(not)) {
                text += &format!("{name} = {:?}\n", section.get(key.name));
            }
        }
    }
    text
}

fn save(ftl: &Ftl, to: &mut dyn Write) {
    let mut to = Writer::new(to);
    State::save(ftl, &mut to);
    to.finish().expect("Invariant: memory takes what is written");
}

/// An FTL after a load, or a drive of which there is a checkpoint.
pub(super) struct Kept {
    key: Key,
    state: Form,
    /// What came of the load.
    pub warmed: Warmed,
}

/// A state that is kept.
enum Form {
    /// As it was written, which no run has gone on from yet.
    Written(Vec<u8>),
    /// As runs that go on from it share it.
    Shared(SharedState),
}

impl Form {
    fn bytes(&self) -> usize {
        match self {
            Form::Written(bytes) => bytes.len(),
            Form::Shared(state) => state.bytes(),
        }
    }
}

impl Kept {
    /// Puts a device's FTL into this state.
    pub fn restore<P: Probe>(&self, device: &mut Device<P>) {
        let loaded = device.play_ftl(|ftl, _| self.take(|state| State::load(ftl, state)));
        loaded.expect("Invariant: an FTL of the same configuration has written it");
    }

    /// Hands the state over.
    pub fn take<T>(&self, take: impl FnOnce(&mut Reader) -> io::Result<T>) -> io::Result<T> {
        match &self.state {
            Form::Written(bytes) => noted(self.key, &mut bytes.as_slice(), self.warmed, take),
            Form::Shared(state) => Reader::again(state, &mut &[][..]).whole(take),
        }
    }
}

/// Checkpoints that are remembered as having been read, at most (assumed).
const READ: NonZeroUsize = NonZeroUsize::new(1024).expect("this is not 0");

/// The states that are kept, the latest ones.
struct All {
    /// Bytes that may be kept, and that are.
    most: usize,
    bytes: usize,
    states: LruCache<Key, Arc<Kept>>,
    /// Checkpoints that have been read, by their digests.
    read: LruCache<Key, ()>,
}

static ALL: LazyLock<Mutex<All>> =
    LazyLock::new(|| Mutex::new(All { most: 0, bytes: 0, states: LruCache::unbounded(), read: LruCache::new(READ) }));

fn lock() -> MutexGuard<'static, All> {
    // Nothing is left half done in it.
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl All {
    fn make_room(&mut self) {
        while self.bytes > self.most {
            let Some((_, oldest)) = self.states.pop_lru() else { return };
            self.bytes -= oldest.state.bytes();
        }
    }
}

/// From now on runs of this process keep up to this many bytes of FTLs that loads have been played through
/// (`host.warmed_pages`), and of checkpoints that are read more than once, for other runs that begin with the same.
/// Results do not depend on it.
pub fn keep_warmed(most: Bytes) {
    let mut all = lock();
    all.most = most.0 as usize;
    all.make_room();
}

/// What is kept under a key.
pub(super) fn recall(key: Key) -> Option<Arc<Kept>> {
    lock().states.get(&key).cloned()
}

/// Keeps the state of a device's FTL after a load.
pub(super) fn keep<P: Probe>(key: Key, device: &mut Device<P>, warmed: Warmed) {
    let mut bytes = Vec::new();
    device.play_ftl(|ftl, _| save(ftl, &mut bytes));
    bytes.shrink_to_fit();
    put(Kept { key, state: Form::Written(bytes), warmed });
}

fn put(kept: Kept) {
    let mut all = lock();
    all.bytes += kept.state.bytes();
    if let Some(older) = all.states.put(kept.key, Arc::new(kept)) {
        all.bytes -= older.state.bytes();
    }
    all.make_room();
}

/// Hands a state over that is read from there, and keeps it to be shared.
fn noted<T>(
    key: Key,
    from: &mut dyn io::Read,
    warmed: Warmed,
    take: impl FnOnce(&mut Reader) -> io::Result<T>,
) -> io::Result<T> {
    let mut state = SharedState::default();
    let taken = Reader::noting(from, &mut state).whole(take)?;
    put(Kept { key, state: Form::Shared(state), warmed });
    Ok(taken)
}

/// Hands the state of a checkpoint over that is read from there. Where it has been read before it is kept, if there is
/// room.
pub(super) fn of_checkpoint<T>(
    key: Key,
    from: &mut dyn io::Read,
    take: impl FnOnce(&mut Reader) -> io::Result<T>,
) -> io::Result<T> {
    let keeps = {
        let mut all = lock();
        all.most > 0 && all.read.put(key, ()).is_some()
    };
    if keeps { noted(key, from, Warmed::default(), take) } else { Reader::new(from).whole(take) }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use units::ConfigError;
    use workload::{PastOfGenerator, Request, Source, TraceError};

    use super::*;
    use crate::presets;
    use crate::run::before::Before;
    use crate::run::warming::{Played, Warming};

    /// Ends of every kind of value: a key takes those of its own kind, beside its own words.
    const ENDS: &[&str] = &[
        "0",
        "1",
        "2",
        "40",
        "0.5",
        "3.0",
        "0ns",
        "70us",
        "9ms",
        "1h",
        "1KiB",
        "16KiB",
        "100MB/s",
        "4GB/s",
        "none",
        "[]",
        "[1]",
        "[2, 3, 2]",
        "[70us]",
        "true",
        "false",
    ];

    /// How much is kept holds for the process: tests that say so take turns.
    static TURNS: Mutex<()> = Mutex::new(());

    fn small(device: &str) -> Config {
        let mut config = presets::load(device).unwrap().config;
        let words =
            ["geometry.channels=2", "geometry.chips=1", "geometry.dies=1", "geometry.blocks=48", "geometry.pages=12"];
        let start =
            ["ftl.over_provisioning=1.0", "age.precondition=closed-form", "age.load=full", "buffer.size=256KiB"];
        words.iter().chain(&start).for_each(|word| config.set(word).unwrap());
        config
    }

    fn past(config: &Config, more: &[&str]) -> PastOfGenerator {
        let words = ["workload.rw=randwrite", "workload.bs=16KiB", "workload.random_distribution=zipf:0.9"];
        let load = workload::presets::get("default", &[&words, more].concat()).unwrap();
        PastOfGenerator::new(&load, config.plan().unwrap().capacity(), 1)
    }

    /// The key of a load on a drive, and the state that it leaves.
    fn played(config: &Config) -> Option<(Key, Vec<u8>)> {
        let past = past(config, &[]);
        let mut device = Device::new(config, 1).ok()?;
        let Ok(Played::Load(mut load)) = Warming::of(&past, false, &mut device) else { return None };
        let key = Key::of(&past, &mut device)?;
        while !load.play(&mut device, 4096).unwrap() {}
        let mut ftl = Vec::new();
        device.play_ftl(|alone, _| save(alone, &mut ftl));
        Some((key, ftl))
    }

    /// Whatever else is set, the same key is the same state: all that is not asked is set to all that it takes.
    #[test]
    fn what_is_not_asked_changes_nothing() {
        let _turn = TURNS.lock();
        // Nothing that is kept here is found again: every state is played.
        keep_warmed(Bytes(1));
        let (mut shared, mut tried) = (0, 0);
        // With a load that leaves dies idle times of the chip decide how much is collected: they are asked.
        let bases = [("tlc", "full"), ("tlc", "0.05"), ("fast12-slc", "full"), ("electronics25", "0.05")];
        for (turn, (device, load)) in bases.into_iter().enumerate() {
            let mut base = small(device);
            base.set(&format!("age.load={load}")).unwrap();
            let (key, state) = played(&base).unwrap();
            for section in Config::default().sections() {
                for declared in section.keys() {
                    let name = format!("{}.{}", section.name(), declared.name);
                    if !NOT_ASKED.iter().any(|not| name.starts_with(not)) {
                        continue;
                    }
                    let own = declared.expects.split('"').skip(1).step_by(2);
                    // Each value in every other turn.
                    for value in ENDS.iter().copied().chain(own).skip(turn % 2).step_by(2) {
                        let mut config = base.clone();
                        if config.set(&format!("{name}={value}")).is_err() || config.plan().is_err() {
                            continue;
                        }
                        let Some((other, left)) = played(&config) else { continue };
                        tried += 1;
                        shared += u32::from(other == key);
                        assert!(other != key || left == state, "{device}: {name} = {value}");
                    }
                }
            }
        }
        assert!(tried > 150 && shared * 10 > tried * 9, "{shared} of {tried}");
    }

    /// Times and reads of one job's requests say nothing of what it writes; seeds and addresses do.
    #[test]
    fn loads_are_told_apart_by_what_they_write() {
        let config = small("tlc");
        let key = |words: &[&str]| past(&config, words).identity().unwrap();
        let first = |words: &[&str]| {
            let mut requests = Vec::new();
            past(&config, words).source(false).unwrap().fill(&mut requests, 200).unwrap();
            requests.iter().map(|request| (request.op, request.offset, request.bytes)).collect::<Vec<_>>()
        };
        let mixed = ["workload.rw=randrw", "workload.read_ratio=0.2"];
        let same: [&[&str]; 4] = [
            &["workload.rate_iops=100"],
            &["workload.arrivals=batches:12", "workload.rate_iops=5000", "workload.requests=3"],
            &mixed,
            &["workload.rate_iops=none"],
        ];
        for words in same {
            assert_eq!((key(words), first(words)), (key(&[]), first(&[])), "{words:?}");
        }
        let other: [&[&str]; 5] = [
            &["workload.rw=write"],
            &["workload.random_distribution=zipf:0.8"],
            &["workload.footprint=10MiB"],
            &["workload.bs=32KiB"],
            &["workload.hint=1"],
        ];
        other.iter().for_each(|words| assert_ne!(key(words), key(&[]), "{words:?}"));
        // Of several jobs, or of a sequence with reads in it, times decide the order and kinds the place.
        let sequence = ["workload.rw=rw", "workload.read_ratio=0.3"];
        assert_ne!(key(&sequence), key(&["workload.rw=rw", "workload.read_ratio=0.4"]));
        let twice = ["workload.numjobs=2", "workload.footprint=10MiB"];
        assert_ne!(key(&[&twice[..], &["workload.rate_iops=100"]].concat()), key(&twice));
    }

    /// A load whose addresses lie beyond the drive.
    struct Beyond(PastOfGenerator);

    struct Shifted(Box<dyn Source>, Bytes);

    impl Past for Beyond {
        fn source(&self, reads: bool) -> Result<Box<dyn Source>, ConfigError> {
            let capacity = small("electronics25").plan().unwrap().capacity();
            Ok(Box::new(Shifted(self.0.source(reads)?, capacity)))
        }
        fn written(&self) -> Vec<Range<u64>> {
            self.0.written()
        }
        fn is_uniform(&self, _: Bytes, _: Bytes) -> bool {
            false
        }
    }

    impl Source for Shifted {
        fn fill(&mut self, batch: &mut Vec<Request>, max: usize) -> Result<(), TraceError> {
            let from = batch.len();
            self.0.fill(batch, max)?;
            batch[from..].iter_mut().for_each(|request| request.offset = Bytes(request.offset.0 + 3 * self.1.0));
            Ok(())
        }
        fn progress(&self) -> Option<f64> {
            None
        }
    }

    /// Addresses beyond the drive wrap around before the run as they do in it.
    #[test]
    fn a_load_beyond_the_drive_leaves_it_as_the_one_that_it_wraps_to() {
        let _turn = TURNS.lock();
        keep_warmed(Bytes(0));
        let config = small("electronics25");
        let left = |past: &dyn Past| {
            let mut device = Device::new(&config, 1).unwrap();
            let Ok(Played::Load(mut load)) = Warming::of(past, false, &mut device) else {
                panic!("it is to be played")
            };
            while !load.play(&mut device, 4096).unwrap() {}
            let mut ftl = Vec::new();
            device.play_ftl(|alone, _| save(alone, &mut ftl));
            ftl
        };
        assert_eq!(left(&past(&config, &[])), left(&Beyond(past(&config, &[]))));
    }

    /// A run that begins with what another one has played gives the same.
    #[test]
    fn what_is_kept_is_what_would_be_played() {
        let _turn = TURNS.lock();
        let config = small("electronics25");
        let past = past(&config, &[]);
        let begin = |device: &mut Device| match Warming::of(&past, false, device) {
            Ok(Played::Load(mut load)) => {
                let mut steps = 1;
                while !load.play(device, 256).unwrap() {
                    steps += 1;
                }
                (steps, Before::<Device>::warmed(load.as_ref()).unwrap())
            }
            _ => panic!("it is to be played"),
        };
        let mut device = Device::new(&config, 1).unwrap();
        let (steps, warmed) = begin(&mut device);
        let key = Key([7; 32]);
        keep_warmed(Bytes(1 << 30));
        keep(key, &mut device, warmed);
        let mut other = Device::new(&config, 1).unwrap();
        let kept = recall(key).unwrap();
        kept.restore(&mut other);
        assert!(steps > 3);
        assert_eq!(format!("{:?}", kept.warmed), format!("{warmed:?}"));
        let state = |device: &mut Device| {
            let mut ftl = Vec::new();
            device.play_ftl(|alone, _| save(alone, &mut ftl));
            ftl
        };
        assert_eq!(state(&mut device), state(&mut other));
        other.check().unwrap();
        keep_warmed(Bytes(0));
        assert!(recall(key).is_none());
    }
}
