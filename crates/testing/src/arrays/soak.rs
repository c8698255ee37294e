//! Random arrays of random devices under random loads: `soak arrays N` (crates/ssd/examples/soak.rs).

use array::{Array, ArrayConfig, MemberDrive};
use ssd::persist::{Reader, Writer};
use ssd::{Completion, Config, Device, Drive, Probe, RunDrive, RunError, Unwatched};
use units::{Bytes, Span};
use workload::{Op, Request};

use super::books::{Books, Expected};
use super::oracle::{BLOCK, Watching};
use super::zoned;
use crate::soak::{self, Case, Dice, LONG_ENOUGH, OfZones, Player, Seeds, Verdict, Watch, campaign, judged};
use crate::watcher::{Watched, probe};

/// Most bytes of a drive: every byte of an array is read.
const LARGEST: Bytes = Bytes::from_mib(16);

/// A drive of an array.
#[derive(Clone, Debug)]
pub struct Member {
    /// Settings of the device on top of `tlc-page`.
    pub device: Vec<String>,
    /// It stands by.
    pub spare: bool,
    /// When it fails.
    pub fails_at: Option<Span>,
    /// The mean of its life.
    pub mean_life: Option<Span>,
}

/// An array and a load.
#[derive(Clone, Debug)]
pub struct ArrayCase {
    /// Seed, requests, depth and workload.
    pub load: Case,
    /// Keys of the section `array`.
    pub array: Vec<String>,
    /// Its drives; spare ones come last.
    pub drives: Vec<Member>,
}

impl ArrayCase {
    /// The array file, and the command that plays it.
    pub fn how(&self) -> String {
        let is_bare = |value: &str| value.parse::<f64>().is_ok() || value == "true" || value == "false";
        let mut file = "[array]\n".to_owned();
        for word in &self.array {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            file += &if is_bare(value) { format!("{key} = {value}\n") } else { format!("{key} = \"{value}\"\n") };
        }
        for (index, Member { device, spare, fails_at, mean_life }) in self.drives.iter().enumerate() {
            file += &format!("[drive.drive-{index}]\ndevice = \"tlc-page\"\nspare = {spare}\n");
            let times = [("fails_at", fails_at), ("mean_life", mean_life)];
            times.iter().filter_map(|(key, time)| Some((key, (*time).as_ref()?))).for_each(|(key, time)| {
                file += &format!("{key} = \"{}ns\"\n", time.0);
            });
            file += &format!("settings = {device:?}\n");
        }
        let words: String = self.load.workload.iter().map(|word| format!(" --set {word}")).collect();
        let Case { seed, requests, depth, .. } = self.load;
        format!("{file}# ssdlab run -q --array FILE --seed {seed} --requests {requests} --replay closed:{depth}{words}")
    }
}

/// Any array of any devices that are small enough.
pub fn draw(seed: u64) -> ArrayCase {
    let d = &mut Dice::new(seed, "soak array");
    let (mut array, width, parity) = layout(d);
    let (declustered, hashed) = (d.chance(40), d.chance(40));
    let drawn = if hashed { "hashed" } else { "declustered" };
    array.push(format!("placement={}", if declustered { drawn } else { "rotated" }));
    let in_use = match declustered {
        _ if parity == 0 => width,
        true => width + d.below(3),
        false => width * d.from(1, if width < 4 { 2 } else { 1 }),
    };
    array.push(format!("chunk={}", d.one(&["4KiB", "8KiB", "64KiB"])));
    let (bandwidth, latency) = d.one(&[("none", "0ns"), ("none", "5us"), ("2GB/s", "0ns"), ("300MB/s", "2us")]);
    array.extend([format!("link_bandwidth={bandwidth}"), format!("link_latency={latency}")]);
    let spares = if parity > 0 { d.below(3) } else { 0 };
    if parity > 0 {
        array.extend(policies(d, parity));
        if width - parity > 1 {
            array.push(format!("rewrite={}", d.one(&["fewest-reads", "read-modify-write", "reconstruct", "log"])));
            array.push(format!("log_spare={}", d.one(&["0.3", "0.6", "0.8"])));
            array.push(format!("log_wait={}", d.one(&["20us", "100us", "1ms"])));
        }
    }
    let kinds: Vec<Vec<String>> = (0..d.from(1, 3)).map(|kind| device(seed * 64 + kind, soak::draw, &[], d)).collect();
    let failing = if parity > 0 { d.below(parity + 2) } else { d.below(6) / 5 };
    let scale = d.one(&[100, 5_000, 100_000]);
    let lives = d.chance(10);
    let drives = (0..in_use + spares).map(|index| Member {
        device: kinds[d.below(kinds.len() as u64) as usize].clone(),
        spare: index >= in_use,
        fails_at: (index < failing).then(|| Span::from_us(d.below(scale))),
        mean_life: (lives && d.chance(50)).then(|| Span::from_ms(d.from(5, 200))),
    });
    let drives = drives.collect();
    let workload = vec![
        format!("workload.rw={}", d.one(&["randrw", "randrw", "randwrite", "rw", "randread"])),
        format!("workload.bs={}", d.one(&["4KiB", "16KiB", "64KiB", "300KiB"])),
        format!("workload.queues={}", d.from(1, 3)),
    ];
    let (requests, depth) = (d.one(&[100, 300, 1000]), d.one(&[1, 4, 16, 64]));
    ArrayCase { load: Case { seed, requests, depth, device: Vec::new(), workload, own: false }, array, drives }
}

/// The array of a soak with that number: one in ten is of drives with zones.
pub fn nth(number: u64) -> ArrayCase {
    if number % 10 == 7 { of_zones(number) } else { draw(number) }
}

/// Any stripe or mirror of drives with zones.
pub fn of_zones(seed: u64) -> ArrayCase {
    let d = &mut Dice::new(seed, "soak array of zones");
    let is_mirror = d.chance(50);
    let (width, parity) = if is_mirror { d.one(&[(2, 1), (3, 2)]) } else { (d.from(1, 4), 0) };
    let (bandwidth, latency) = d.one(&[("none", "0ns"), ("none", "5us"), ("2GB/s", "0ns"), ("300MB/s", "2us")]);
    let mut array = vec![
        format!("layout={}", if is_mirror { "mirror" } else { "stripe" }),
        format!("link_bandwidth={bandwidth}"),
        format!("link_latency={latency}"),
    ];
    if is_mirror {
        array.push(format!("copies={width}"));
        array.extend(policies(d, parity).into_iter().filter(|word| !word.starts_with("scrub_rate")));
    }
    let in_use = if is_mirror && width == 2 { width * d.from(1, 2) } else { width };
    // What is in a random area stands in the buffer of one drive.
    let settings = ["zones.random_area=0B", d.one(&["geometry.dies=1", "geometry.dies=2"])];
    let device = device(seed * 64, soak::zoned, &settings, d);
    let failing = if is_mirror { d.below(parity + 2) } else { d.below(6) / 5 };
    let scale = d.one(&[100, 5_000, 100_000]);
    let member = |index: u64, d: &mut Dice| Member {
        device: device.clone(),
        spare: false,
        fails_at: (index < failing).then(|| Span::from_us(d.below(scale))),
        mean_life: None,
    };
    let drives = (0..in_use).map(|index| member(index, d)).collect();
    let workload = vec![
        format!("workload.rw={}", d.one(&["write", "rw", "randrw", "randwrite"])),
        format!("workload.bs={}", d.one(&["4KiB", "16KiB", "64KiB"])),
        format!("workload.queues={}", d.from(1, 3)),
    ];
    let (requests, depth) = (d.one(&[100, 300, 1000]), d.one(&[1, 4, 16, 64]));
    let load = Case { seed, requests, depth, device: Vec::new(), workload, own: false };
    let first = d.below(3) as usize;
    let mut case = ArrayCase { load, array, drives };
    // One that divides the zones of the drives, if there is one.
    let chunks = [format!("chunk={}", ["4KiB", "8KiB", "64KiB"][first]), "chunk=4KiB".into()];
    let array = case.array.clone();
    for chunk in chunks {
        case.array = array.iter().cloned().chain([chunk]).collect();
        if array_of(&case, || Unwatched).is_ok() {
            break;
        }
    }
    case
}

/// A layout, its units a stripe, and how many of them are parity.
fn layout(d: &mut Dice) -> (Vec<String>, u64, u64) {
    let layout = d.one(&["stripe", "mirror", "mirror", "raid5", "raid5", "raid6", "erasure", "erasure"]);
    let (width, parity) = match layout {
        "stripe" => (d.from(1, 4), 0),
        "mirror" => d.one(&[(2, 1), (3, 2)]),
        "raid5" => (d.from(2, 4), 1),
        "raid6" => (d.from(3, 5), 2),
        _ => {
            let parity = d.from(1, 3);
            (parity + d.from(1, 3), parity)
        }
    };
    let mut words = vec![format!("layout={layout}")];
    match layout {
        "stripe" => {}
        "mirror" => words.push(format!("copies={width}")),
        _ => words.push(format!("data={}", width - parity)),
    }
    words.extend((layout == "erasure").then(|| format!("parity={parity}")));
    (words, width, parity)
}

/// What the host of an array with redundancy may do.
fn policies(d: &mut Dice, parity: u64) -> Vec<String> {
    vec![
        format!("select={}", d.one(&["primary", "round-robin", "shortest-queue"])),
        format!("hedge={}", d.one(&["none", "delay", "percentile"])),
        format!("hedge_delay={}", d.one(&["10us", "100us", "2ms"])),
        format!("hedge_percentile={}", d.one(&["50.0", "95.0"])),
        format!("extra_reads={}", d.below(parity.min(2) + 1)),
        format!("coordinate={}", d.one(&["none", "none", "staggered", "together", "shortest-queue"])),
        format!("window={}", d.one(&["300us", "10ms"])),
        format!("rebuild_rate={}", d.one(&["50MB/s", "2GB/s"])),
        format!("rebuild_depth={}", d.from(1, 6)),
        format!("scrub_rate={}", d.one(&["none", "20MB/s", "500MB/s"])),
        format!("repair={}", d.chance(70)),
    ]
}

/// Any small device of those that `draw` draws, with those settings. Data that a drive loses by itself, when its power
/// is cut, is nothing that an array makes good for.
fn device(first: u64, draw: fn(u64) -> Case, settings: &[&str], d: &mut Dice) -> Vec<String> {
    let limited = d.chance(50).then(|| format!("read.fail_fast={}", d.one(&["1", "2", "5"])));
    let more = ["geometry.channels=1", "geometry.chips=1", "geometry.dies=1", "ftl.raid=none", "power.cut_at=[]"];
    let more = || more.iter().chain(settings).map(|word| word.to_string()).chain(limited.clone());
    let drawn = (0..1000).map(|number| {
        let mut case = draw(first * 1000 + number);
        case.device.extend(more());
        case
    });
    let is_small = |case: &Case| {
        let plan = soak::configuration(case).ok().and_then(|config| config.plan().ok());
        plan.is_some_and(|plan| plan.capacity() <= LARGEST)
    };
    drawn.into_iter().find(is_small).map_or_else(|| more().collect(), |case| case.device)
}

/// An array with those who watch it and its drives.
struct Built {
    array: Array<Device<Watched>>,
    watching: Watching,
    watches: Vec<Watch>,
}

fn built(case: &ArrayCase) -> Result<Built, RunError> {
    let mut watches = Vec::new();
    let array = array_of(case, || {
        watches.push(Watch::default());
        probe(watches[watches.len() - 1].clone())
    })?;
    let watching = Watching::new(array.placement(), case.drives.len());
    // It knows nothing of zones that are written in order: `zoned::check` says where their data has to be.
    let array = if Drive::zones(&array).is_some() { array } else { array.observed_by(Box::new(watching.clone())) };
    Ok(Built { array, watching, watches })
}

/// The array of a case, its drives each with a probe.
fn array_of<P: Probe>(case: &ArrayCase, mut probe: impl FnMut() -> P) -> Result<Array<Device<P>>, RunError> {
    let mut config = ArrayConfig::default();
    for word in &case.array {
        units::document::apply_word(&format!("array.{word}"), &mut [&mut config])?;
    }
    let (mut drives, mut seeds) = (Vec::new(), Vec::new());
    for (index, Member { device, spare, fails_at, mean_life }) in case.drives.iter().enumerate() {
        let mut device_config: Config = ssd::presets::load("tlc-page")?.config;
        device.iter().try_for_each(|word| device_config.set(word))?;
        let seed = case.load.seed * 100 + index as u64;
        let drive = Device::watched(&device_config, seed, probe())?;
        let name = format!("drive-{index}");
        drives.push(MemberDrive {
            name,
            drive: Box::new(drive),
            spare: *spare,
            fails_at: *fails_at,
            mean_life: *mean_life,
        });
        seeds.push(seed);
    }
    Ok(Array::new(&config, drives, case.load.seed)?.overwritten(&seeds))
}

/// The requests of a load: those of a host that knows of zones, where the array has any, and otherwise in whole blocks.
fn requests<D: RunDrive>(case: &ArrayCase, array: &Array<D>) -> Result<Vec<Request>, RunError> {
    if let Some(zones) = Drive::zones(array) {
        let words: Vec<&str> = case.load.workload.iter().map(String::as_str).collect();
        let source = workload::presets::get("default", &words)?.source(array.capacity(), case.load.seed)?;
        let source = OfZones::new(source, case.load.seed, array.capacity(), Bytes(zones.size()));
        let whole = array.capacity();
        // A zone may be smaller than what is appended.
        let fits =
            |request: Request| Request { bytes: request.bytes.min(Bytes(whole.0 - request.offset.0)), ..request };
        return Ok(Player::of(&case.load, Box::new(source))?.requests.into_iter().map(fits).collect());
    }
    let last = array.capacity().0 / BLOCK;
    let in_blocks = |request: Request| {
        let first = (request.offset.0 / BLOCK).min(last - 1);
        let end = (request.offset.0 + request.bytes.0).div_ceil(BLOCK).clamp(first + 1, last);
        Request { offset: Bytes(first * BLOCK), bytes: Bytes((end - first) * BLOCK), ..request }
    };
    let each = Player::new(&case.load, array.capacity())?.requests.into_iter();
    Ok(each.map(|request| if request.op == Op::Flush { request } else { in_blocks(request) }).collect())
}

/// Saves an array of a case in the middle of its load, whatever is under way, and plays it on; and another one that is
/// loaded: both are the same in all that they do.
///
/// # Errors
/// What differs.
pub fn resumed(case: &ArrayCase) -> Result<(), RunError> {
    let broken = |what: &str| RunError::Broken(format!("{what} of an array that was saved differ"));
    let d = &mut Dice::new(case.load.seed, "soak checkpoints of arrays");
    let mut array = begun(array_of(case, || Unwatched)?)?;
    let requests = requests(case, &array)?;
    let half = d.below(requests.len() as u64) as usize;
    let mut before = Vec::new();
    hand_over(&mut array, &requests[..half], case.load.depth, &mut before)?;
    let longest = d.one(&[1, 20_000, 3_000_000]);
    let until = array.now() + Span(d.below(longest));
    array.advance(until)?;
    let saved = state_of(&array);
    let mut loaded = array_of(case, || Unwatched)?;
    loaded.read_state(&mut Reader::new(&mut &saved[..])).map_err(|_| broken("the forms"))?;
    if state_of(&loaded) != saved {
        return Err(broken("the states"));
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let ends = [(&mut array, &mut ours), (&mut loaded, &mut theirs)].map(|(array, completions)| {
        hand_over(array, &requests[half..], case.load.depth, completions)?;
        array.flush()?;
        completions.extend(array.take_completions());
        Ok::<_, RunError>(format!("{:?}{:?}", array.now(), array.counters_so_far()))
    });
    let [ours_end, theirs_end] = ends;
    if ours != theirs || ours_end != theirs_end {
        return Err(broken("the completions"));
    }
    let has_failed = ours_end.is_err() || array.drives().any(|drive| drive.failure().is_some());
    if !has_failed && state_of(&array) != state_of(&loaded) {
        return Err(broken("the ends"));
    }
    ours_end.map(drop)
}

/// All of its state.
fn state_of<D: RunDrive>(array: &Array<D>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut state = Writer::new(&mut bytes);
    array.write_state(&mut state);
    state.finish().expect("Invariant: memory takes what is written");
    bytes
}

/// An array whose workload begins.
fn begun<D: RunDrive>(mut array: Array<D>) -> Result<Array<D>, RunError> {
    while array.is_on_its_way() && !array.comes_into_its_state(10_000)? {}
    array.workload_begins();
    Ok(array)
}

/// Hands requests over, this many at once; what completes meanwhile.
fn hand_over<D: RunDrive>(
    array: &mut Array<D>,
    requests: &[Request],
    depth: u32,
    completions: &mut Vec<Completion>,
) -> Result<(), RunError> {
    for request in requests {
        while array.outstanding() >= u64::from(depth) && array.advance_to_completion(LONG_ENOUGH)? {
            completions.extend(array.take_completions());
        }
        if array.outstanding() >= u64::from(depth) {
            return Ok(());
        }
        let request = Request { time: array.now(), ..*request };
        array.submit(request)?;
    }
    Ok(())
}

/// Plays a case; what can be seen of it in the end.
fn play(case: &ArrayCase) -> Result<String, RunError> {
    let Built { array, watching, watches } = built(case)?;
    let broken = |text: String| RunError::Broken(text);
    let mut array = begun(array)?;
    let (mut books, depth) = (Books::default(), u64::from(case.load.depth));
    for request in requests(case, &array)? {
        while array.outstanding() >= depth && array.advance_to_completion(LONG_ENOUGH)? {
            books.take(&mut array);
        }
        if array.outstanding() >= depth {
            let stuck = || broken(format!("{} requests are outstanding and nothing happens", array.outstanding()));
            // Otherwise it is busy with itself.
            return if array.idle() { Err(stuck()) } else { Ok(String::new()) };
        }
        let request = Request { time: array.now(), ..request };
        books.submit(&mut array, request)?;
    }
    let has_zones = Drive::zones(&array).is_some();
    if has_zones {
        zoned::play_to_the_end(&mut array, &mut books)?;
    } else {
        books.play_to_the_end(&mut array, case.load.seed)?;
    }
    let counters: Vec<_> = array.drives().map(Drive::counters).collect();
    let failures = |drive: &Device<Watched>| {
        let counters = Drive::counters(drive);
        counters.requests_uncorrectable
            + counters.requests_aborted
            + counters.requests_refused
            + u64::from(drive.end_of_life().is_some())
    };
    let exact = array.drives().all(|drive| failures(drive) == 0);
    let counted = array.counters_so_far();
    let nothing_lost = exact && counted.drives_failed <= array.placement().code.parity as u64;
    let expected = Expected { nothing_lost, exact: exact && !has_zones, nothing_given_up: exact };
    books.check(&array, &watching.oracle(), expected).map_err(broken)?;
    let counted = format!("{counted:?}");
    if has_zones && exact {
        zoned::check(&mut array, &watches)?;
    }
    if let Some(wrong) = watches.iter().find_map(Watch::wrong) {
        return Err(broken(wrong));
    }
    for drive in array.drives() {
        drive.check().map_err(broken)?;
        drive.check_mapping().map_err(broken)?;
    }
    Ok(format!("{:?}{counters:?}{counted}{:?}", array.now(), books.completions.values()))
}

/// Plays a case and checks everything that holds for every array; one case in eight is played twice, and one in four is
/// saved and loaded.
pub fn verdict(case: &ArrayCase) -> Verdict {
    judged(|| {
        let ended = play(case)?;
        let again = if case.load.seed.is_multiple_of(8) { play(case)? } else { ended.clone() };
        if case.load.seed % 4 == 1 {
            resumed(case)?;
        }
        if again == ended { Ok(()) } else { Err(RunError::Broken("two runs of the same differ".into())) }
    })
}

/// Plays these seeds until `wanted` arrays were accepted; returns a report and the failures.
pub fn soak(seeds: Seeds, wanted: u64, threads: usize) -> (String, Vec<String>) {
    campaign("arrays", seeds, wanted, threads, |seed| {
        let case = nth(seed);
        let verdict = verdict(&case);
        let how = if matches!(verdict, Verdict::Failed(_)) { case.how() } else { String::new() };
        (verdict, how)
    })
}
