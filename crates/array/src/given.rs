//! An array as its user gives it: a file with a section `[array]` and one `[drive.NAME]` for each kind of drive, and
//! what is given beside it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use ssd::DeviceSpec;
use ssd::run::checkpoint::Checkpoint;
use ssd::run::manifest::{device, sections};
use ssd::run::{
    DeviceWord, DriveInputs, device_files, device_given, findings_of_settings, findings_without_other_way,
    is_workload_key, refused,
};
use ssd::stats::Finding;
use ssd::{Config, Drive, Plan, RunError, Watch};
use units::section::Section;
use units::{Bytes, ConfigError, Document, Span, Stream};

use crate::array::Array;
use crate::config::{ArrayConfig, refusal};
use crate::coordinate::Coordinate;
use crate::member::MemberDrive;
use crate::report::of_several;
use crate::saved::SavedArray;
use crate::zones::ArrayZones;

/// The device of drives that name none, where none is given beside them.
const USUAL: &str = "tlc";

units::section! {
    /// Drives of one kind in an array.
    pub struct DriveSection in "drive" {
        /// Preset, or device file; "none" means what is given beside the array file, or tlc.
        device: Option<String> = None,
        /// Named scheme, or choices on its axes.
        scheme: Option<String> = None,
        /// State at the start, such as "pec=2000,retention=6mo".
        age: Option<String> = None,
        /// Configuration keys, "section.key=value" each.
        settings: Vec<String> = Vec::new(),
        /// How many there are of it.
        count: u16 = 1,
        /// They stand by, to take over from drives that fail.
        spare: bool = false,
        /// They fail at this time of the workload.
        fails_at: Option<Span> = None,
        /// They fail by chance: their lives are exponential with this mean, from when they are in use on (of spare
        /// drives, from when they take over).
        mean_life: Option<Span> = None,
    }
}

/// What is given beside the file for drives of one kind (`drive.NAME.KEY=VALUE`): it goes before all else.
#[derive(Default)]
struct Beside {
    /// Device, scheme and age.
    section: DriveSection,
    /// Configuration keys.
    settings: Vec<String>,
}

/// A kind of drive in an array.
struct Kind {
    name: String,
    section: DriveSection,
    spec: DeviceSpec,
    findings: Vec<Finding>,
}

/// An array that has been read and checked.
pub struct ArrayGiven {
    config: ArrayConfig,
    kinds: Vec<Kind>,
    /// The first device: what of a result concerns one device is about it.
    pub first: DeviceSpec,
    /// Bytes of the address space.
    pub capacity: Bytes,
    /// What is to be known of it.
    pub note: Option<String>,
    /// What its drives' settings say of the result.
    pub findings: Vec<Finding>,
}

impl ArrayGiven {
    /// Reads an array file. Of what is given beside it, the device is that of drives that name none, the scheme
    /// replaces that of each drive, age and settings are applied after each drive's own, settings of the section
    /// `array` to the array, and `drive.NAME.KEY` to drives of that name after all others. The file in place of a
    /// device stands for none.
    ///
    /// # Errors
    /// A mistake in the file, or in what is given: where, and what to write instead.
    pub fn read(path: &str, inputs: &DriveInputs, seed: u64) -> Result<ArrayGiven, ConfigError> {
        let document = document_at(path)?;
        let mut config = ArrayConfig::default();
        document.apply(&mut [&mut config], &["about", "drive"])?;
        let is_of_array = |word: &&String| word.trim_start().starts_with("array.");
        for word in inputs.settings.iter().filter(is_of_array) {
            units::document::apply_word(word, &mut [&mut config])?;
        }
        let beside = Some(inputs.device).filter(|device| !matches!(device, DeviceWord::Named(word) if *word == path));
        let names = document.parts("drive")?;
        if names.is_empty() {
            let remedy = "write a section [drive.NAME] with device = \"tlc\" and count = 4, say";
            return Err(ConfigError { origin: path.into(), ..refusal("layout", "has no drives", remedy) });
        }
        let folder = Path::new(path).parent().unwrap_or(Path::new(""));
        let of_kinds = words_of(inputs.settings, &names)?;
        let has_windows = config.coordinate != Coordinate::None;
        let kind = |(name, words): (String, Vec<Word>)| {
            let mut section = DriveSection::default();
            document.apply_part("drive", &name, &mut section, &[])?;
            let beside_file = given_beside(&words, &mut section)?;
            let of_drive = |error: ConfigError| {
                let origin = format!("{path}, drive.{name}: {}", error.origin);
                ConfigError { origin, ..error }
            };
            let Resolved { spec, findings } =
                resolved(&section, folder, inputs, beside, &beside_file, has_windows).map_err(of_drive)?;
            Ok(Kind { name, section, spec, findings })
        };
        let kinds = names.into_iter().zip(of_kinds).map(kind).collect::<Result<Vec<Kind>, ConfigError>>()?;
        if beside.is_some() && kinds.iter().all(|kind| kind.section.device.is_some()) {
            let remedy = format!("leave it out, or leave out `device` in a section [drive.NAME] of {path}");
            return Err(refused("--device", "is given with an array whose drives all name theirs", &remedy));
        }
        let replaced = replaced(&kinds, inputs);
        let mut given = ArrayGiven::checked(config, kinds, seed)?;
        let notes: Vec<String> = [replaced, given.note.take()].into_iter().flatten().collect();
        given.note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(given)
    }

    fn checked(config: ArrayConfig, kinds: Vec<Kind>, seed: u64) -> Result<ArrayGiven, ConfigError> {
        let mut plans: Vec<Plan> = Vec::new();
        for Kind { name, section, spec, .. } in &kinds {
            let key = |key: &str| format!("drive.{name}.{key}");
            let fail = |of: &str, problem: &str, remedy: &str| {
                Err(ConfigError { key: Some(key(of)), ..refusal("", problem, remedy) })
            };
            if section.mean_life == Some(Span::ZERO) {
                return fail("mean_life", "is 0", "write a positive time, such as \"100ms\" of the workload");
            }
            if section.count == 0 {
                return fail("count", "is 0", "write a positive number, or leave the section out");
            }
            plans.push(spec.config.plan()?);
        }
        let in_use: usize =
            kinds.iter().filter(|kind| !kind.section.spare).map(|kind| usize::from(kind.section.count)).sum();
        let capacities: Vec<Bytes> = plans.iter().map(Plan::capacity).collect();
        let smallest = *capacities.iter().min().expect("Invariant: there are drives");
        let layout = config.layout(in_use, smallest, seed)?;
        let has_spares = kinds.iter().any(|kind| kind.section.spare);
        ArrayZones::new(&config, &layout, plans.iter(), has_spares)?;
        let larger = kinds.iter().zip(&capacities).filter(|(_, capacity)| **capacity > smallest);
        let names: Vec<&str> = larger.map(|(kind, _)| kind.name.as_str()).collect();
        let note = (!names.is_empty()).then(|| {
            let larger = names.join(", ");
            format!(
                "the smallest drive rules: of each drive {smallest} are used, and {larger} {} more",
                if names.len() == 1 { "has" } else { "have" }
            )
        });
        let first = kinds.iter().find(|kind| !kind.section.spare).expect("Invariant: a layout has drives").spec.clone();
        let each = kinds.iter().flat_map(|kind| kind.findings.iter().map(|of| (kind.name.as_str(), of.clone())));
        let without = kinds.iter().filter(|_| config.code(in_use).is_ok_and(|code| code.parity == 0));
        let without = without.filter_map(|kind| Some((kind.name.as_str(), findings_without_other_way(&kind.spec)?)));
        let findings = of_several(each.chain(without));
        let capacity = config.capacity(&layout)?;
        Ok(ArrayGiven { config, kinds, first, capacity, note, findings })
    }

    /// Everything that decides what the array does.
    ///
    /// # Errors
    /// A file that a drive's configuration names cannot be read.
    pub fn manifest(&self, inputs: &DriveInputs) -> Result<Value, RunError> {
        let mut all = sections([("config", &self.config as &dyn Section)]);
        let drives = self.kinds.iter().map(|Kind { name, section, spec, .. }| {
            let mut drive = json!({
                "name": name,
                "count": section.count,
                "spare": section.spare,
                "fails_at_ns": section.fails_at.map(|span| span.0),
            });
            if let Some(span) = section.mean_life {
                drive["mean_life_ns"] = json!(span.0);
            }
            drive["device"] = device(&spec.name, &spec.config.plan()?, inputs.fingerprint)?;
            Ok(drive)
        });
        all["drives"] = Value::Array(drives.collect::<Result<_, RunError>>()?);
        Ok(all)
    }

    /// The drives, by their names.
    fn drives(&self) -> impl Iterator<Item = (String, &Kind)> {
        self.kinds.iter().flat_map(|kind| {
            let Kind { name, section, .. } = kind;
            let of = move |number| if section.count == 1 { name.clone() } else { format!("{name}-{number}") };
            (1..=section.count).map(move |number| (of(number), kind))
        })
    }

    /// Checks that it can go on from a checkpoint.
    ///
    /// # Errors
    /// The file cannot be read, or is of another array: in what they differ.
    pub(crate) fn saved(&self, path: &Path) -> Result<SavedArray, ConfigError> {
        let checkpoint = Checkpoint::open(path)?;
        let plans: Vec<Plan> = self.kinds.iter().map(|kind| kind.spec.config.plan()).collect::<Result<_, _>>()?;
        let plan =
            |kind: &Kind| self.kinds.iter().zip(&plans).find(|(of, _)| of.name == kind.name).map(|(_, plan)| plan);
        let drives = self.drives().filter_map(|(name, kind)| Some((name, plan(kind)?)));
        SavedArray::check(checkpoint, &self.config, drives)
    }

    /// Builds the array: in its initial state, or in that of a checkpoint. `watch` says who watches a drive, by its
    /// name and configuration.
    ///
    /// # Errors
    /// A drive cannot be built, or the checkpoint not be read.
    pub fn build(
        &self,
        seed: u64,
        checkpoint: Option<&Path>,
        mut watch: impl FnMut(&str, &Config) -> Result<Option<Watch>, RunError>,
    ) -> Result<Array, RunError> {
        let saved = checkpoint.map(|path| self.saved(path)).transpose()?;
        let random = Stream::new(seed, "array-drive");
        let (mut drives, mut seeds) = (Vec::new(), Vec::new());
        for (index, (name, Kind { section, spec, .. })) in self.drives().enumerate() {
            let own = match &saved {
                Some(saved) => saved.seeds[index],
                // The first drive is that of a run without an array.
                None if index == 0 => seed,
                None => random.bits(index as u64),
            };
            seeds.push(own);
            let drive = ssd::run::build(&spec.config, own, watch(&name, &spec.config)?)?;
            drives.push(MemberDrive {
                name,
                drive,
                spare: section.spare,
                fails_at: section.fails_at,
                mean_life: section.mean_life,
            });
        }
        let seed = saved.as_ref().map_or(seed, |saved| saved.seed);
        let mut array = Array::new(&self.config, drives, seed)?;
        debug_assert_eq!(array.capacity(), self.capacity);
        match &saved {
            Some(saved) => saved.restore(&mut array)?,
            None => array = array.overwritten(&seeds),
        }
        Ok(array)
    }
}

/// A drive that has been worked out, and what its settings say of the result.
struct Resolved {
    spec: DeviceSpec,
    findings: Vec<Finding>,
}

/// A drive of the array, with its scheme, age and settings; `device` is that of drives that name none. In windows of
/// the array (`coordinate`) it collects up to `gc.idle_stop` whether it does so when it is idle or not.
fn resolved(
    section: &DriveSection,
    folder: &Path,
    inputs: &DriveInputs,
    device: Option<DeviceWord>,
    Beside { section: over, settings }: &Beside,
    has_windows: bool,
) -> Result<Resolved, ConfigError> {
    let own = device_of(section, folder, over);
    let word = own.as_deref().map_or(device.unwrap_or(DeviceWord::Named(USUAL)), DeviceWord::Named);
    let scheme = over.scheme.as_deref().or(inputs.scheme).or(section.scheme.as_deref());
    let ages = [section.age.as_deref(), inputs.age, over.age.as_deref()];
    let ages = ages.into_iter().flatten().collect::<Vec<&str>>().join(",");
    let settings: Vec<String> = section.settings.iter().chain(of_drives(inputs)).chain(settings).cloned().collect();
    let mut spec = device_given(word, scheme, Some(&ages), &settings)?;
    spec.config.policies = inputs.policies.clone();
    let mut in_array = spec.clone();
    if has_windows {
        in_array.config.gc.idle.get_or_insert(Span::ZERO);
    }
    Ok(Resolved { findings: findings_of_settings(scheme, &settings, &in_array)?, spec })
}

/// The device that drives of a kind name, or that is given for them beside the file: a file is looked for in `folder`,
/// then in the working directory.
fn device_of(section: &DriveSection, folder: &Path, over: &DriveSection) -> Option<String> {
    let in_folder = section.device.as_ref().map(|word| folder.join(word)).filter(|path| path.is_file());
    let in_folder = in_folder.map(|path| path.to_string_lossy().into_owned());
    over.device.clone().or(in_folder).or_else(|| section.device.clone())
}

/// The files that are read for the devices that an array's drives name, or that are given for them in `settings`: the
/// names of the drives, each with a device file and those that this one builds on ([`device_files`]).
///
/// # Errors
/// A mistake in a file, or in the settings.
pub fn drive_files(path: &str, settings: &[String]) -> Result<Vec<(String, Vec<PathBuf>)>, ConfigError> {
    let document = document_at(path)?;
    let names = document.parts("drive")?;
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let of_kinds = words_of(settings, &names)?;
    let files = |(name, words): (&String, Vec<Word>)| {
        let mut section = DriveSection::default();
        document.apply_part("drive", name, &mut section, &[])?;
        let over = given_beside(&words, &mut section)?.section;
        let word = device_of(&section, folder, &over);
        Ok((name.clone(), word.map_or(Ok(Vec::new()), |word| device_files(&word))?))
    };
    names.iter().zip(of_kinds).map(files).collect()
}

/// The document that an array file holds.
fn document_at(path: &str) -> Result<Document, ConfigError> {
    let text = units::file::read_text(Path::new(path)).map_err(|problem| ConfigError {
        origin: path.into(),
        line: None,
        key: None,
        problem,
        remedy: "give an array file (TOML), such as examples/array.toml".into(),
    })?;
    Document::parse(&text, path)
}

/// The settings beside an array file that are those of all its drives.
fn of_drives<'a>(inputs: &'a DriveInputs) -> impl Iterator<Item = &'a String> {
    let is_of_array = |word: &str| word.trim_start().starts_with("array.") || of_a_kind(word).is_some();
    inputs.settings.iter().filter(move |word| !is_of_array(word) && !is_workload_key(word))
}

/// A setting of drives of one kind.
struct Word<'a> {
    /// As it was given.
    given: &'a str,
    /// Without the name.
    key: &'a str,
    value: &'a str,
}

/// What stands behind `drive.`, where a setting is one of drives of one kind.
fn of_a_kind(word: &str) -> Option<&str> {
    word.trim_start().strip_prefix("drive.")
}

/// The settings of drives of each kind.
fn words_of<'a>(settings: &'a [String], names: &[String]) -> Result<Vec<Vec<Word<'a>>>, ConfigError> {
    let mut of_kinds: Vec<Vec<Word>> = names.iter().map(|_| Vec::new()).collect();
    for word in settings.iter().filter_map(|word| of_a_kind(word)) {
        let (kind, word) = word_of(word, names)?;
        of_kinds[kind].push(word);
    }
    Ok(of_kinds)
}

/// Of which kind a setting is, `NAME.KEY=VALUE`.
fn word_of<'a>(word: &'a str, names: &[String]) -> Result<(usize, Word<'a>), ConfigError> {
    let keys_of = |name: &String| word.strip_prefix(name.as_str())?.strip_prefix('.');
    let kind = (0..names.len()).filter(|kind| keys_of(&names[*kind]).is_some()).max_by_key(|kind| names[*kind].len());
    let given = format!("--set drive.{word}");
    let Some(kind) = kind else {
        let name = word.split(['.', '=']).next().unwrap_or(word);
        let remedy = format!("the array has {}: write --set drive.NAME.KEY=VALUE", names.join(", "));
        return Err(refused(&given, &format!("the array has no drive.{name}"), &remedy));
    };
    let pair = keys_of(&names[kind]).and_then(|pair| pair.split_once('='));
    let (key, value) = pair.ok_or_else(|| refused(&given, "has no `=`", "write --set drive.NAME.KEY=VALUE"))?;
    Ok((kind, Word { given: word, key: key.trim(), value }))
}

/// Takes what is given beside the file for drives of one kind. What the file alone says otherwise, such as their
/// number, goes into `section`.
fn given_beside(words: &[Word], section: &mut DriveSection) -> Result<Beside, ConfigError> {
    let mut beside = Beside::default();
    for Word { given, key, value } in words {
        if key.contains('.') {
            beside.settings.push(format!("{key}={value}"));
            continue;
        }
        let target = if ["device", "scheme", "age"].contains(key) { &mut beside.section } else { &mut *section };
        units::document::apply_word(&format!("drive.{key}={value}"), &mut [target])
            .map_err(|error| ConfigError { origin: format!("--set drive.{given}"), ..error })?;
    }
    Ok(beside)
}

/// Which of the drives' own inputs are replaced by what is given beside the file, and of which drives.
fn replaced(kinds: &[Kind], inputs: &DriveInputs) -> Option<String> {
    fn keys<'a>(age: Option<&'a str>, settings: impl Iterator<Item = &'a String>) -> Vec<String> {
        let of_age = age.into_iter().flat_map(|age| age.split(',')).map(|pair| format!("age.{}", pair.trim()));
        let all = of_age.chain(settings.cloned());
        all.filter_map(|word| Some(word.split_once('=')?.0.trim().to_owned())).collect()
    }
    let scheme = inputs.scheme.map(|_| "scheme".to_owned());
    let of_scheme = scheme.into_iter().map(|what| (what, true));
    let of_keys = keys(inputs.age, of_drives(inputs)).into_iter().map(|key| (key, false));
    let each = of_scheme.chain(of_keys).filter_map(|(what, is_scheme)| {
        let has = |kind: &&Kind| match is_scheme {
            true => kind.section.scheme.is_some(),
            false => keys(kind.section.age.as_deref(), kind.section.settings.iter()).contains(&what),
        };
        let names: Vec<&str> = kinds.iter().filter(has).map(|kind| kind.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{what} (of {})", names.join(", ")))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("what is given beside the array replaces {}", each.join(", ")))
}
