//! Devices by name, by file or described in a line: TOML with the sections of [`Config`], on top of a `base`.

mod described;

use std::path::{Path, PathBuf};

use units::value::nearest;
use units::{ConfigError, Document};

use crate::config::Config;

macro_rules! preset {
    ($name:literal) => {
        ($name, include_str!(concat!("../presets/", $name, ".toml")))
    };
}

/// Every preset, in the order in which they are listed: its name and its text.
const ALL: &[(&str, &str)] = &[
    preset!("tlc"),
    preset!("tlc-page"),
    preset!("qlc"),
    preset!("plc"),
    preset!("asplos21"),
    preset!("fast12-slc"),
    preset!("fast12-mlc"),
    preset!("hpca24"),
    preset!("electronics25"),
    preset!("mqsim"),
    preset!("mqsim-ideal"),
    preset!("xg6"),
    preset!("micron-9200"),
    preset!("micron-7500"),
    preset!("micron-7600"),
    preset!("hbf"),
    preset!("zns"),
    preset!("zn540"),
];

/// The keys that may stand above the sections of a device file.
const TOP_LEVEL: [&str; 3] = ["about", "source", "base"];
/// How errors call the text of a device file.
const TEXT: &str = "device text";
/// Files may build on files this deep.
const MAX_DEPTH: usize = 8;

/// A device description that was found by name or read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSpec {
    /// The preset's name, or the file's name without its folder and ending.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// Where its values come from.
    pub source: String,
    /// The configuration.
    pub config: Config,
    /// The settings that nobody has made for this device: those of a preset, or of the one that a file builds on.
    pub inherited: Config,
    /// The configuration as the preset or the file has it, without settings beside it.
    pub described: Config,
    /// The device files that were read, each before the one that it builds on; none of presets.
    pub files: Vec<PathBuf>,
}

/// The presets' names.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// The preset called `word`, the device file at that path, the device that it describes (`2TB, 16 ch x 4 dies, TLC,
/// PCIe 5 x4`), or, where it has several lines, the device file whose text it is, called by its `about`. A file without
/// a `base` builds on `tlc`.
pub fn load(word: &str) -> Result<DeviceSpec, ConfigError> {
    load_at(word, Path::new(""), 0)
}

/// The device that a text describes as a device file would. It is called `device`; files that it builds on are looked
/// for in the working directory.
pub fn read(text: &str) -> Result<DeviceSpec, ConfigError> {
    build(text, TEXT, "device", Path::new(""), 0)
}

/// The text of the device file that a description in a line stands for; none where `word` is a name or a path.
pub fn described(word: &str) -> Option<Result<String, ConfigError>> {
    described::text_of(word)
}

fn load_at(word: &str, folder: &Path, depth: usize) -> Result<DeviceSpec, ConfigError> {
    if let Some((name, text)) = ALL.iter().find(|(name, _)| *name == word) {
        return build(text, &format!("preset {name}"), name, Path::new(""), depth);
    }
    if word.contains('\n') {
        let spec = build(word, TEXT, "device", folder, depth).map_err(|error| error.without_line_in(TEXT))?;
        let name = if spec.about.is_empty() { spec.name } else { spec.about.clone() };
        return Ok(DeviceSpec { name, ..spec });
    }
    let fail = |problem: String, remedy: String| {
        Err(ConfigError { origin: format!("device `{word}`"), line: None, key: None, problem, remedy })
    };
    if let Some(path) = [folder.join(word), PathBuf::from(word)].into_iter().find(|path| path.is_file()) {
        let text = match units::file::read_text(&path) {
            Ok(text) => text,
            Err(problem) => {
                return fail(problem, "a device file is a page of TOML; a trace is given as --workload".into());
            }
        };
        let name = path.file_stem().map_or_else(|| word.to_owned(), |stem| stem.to_string_lossy().into_owned());
        let mut spec = build(&text, word, &name, path.parent().unwrap_or(Path::new("")), depth)?;
        spec.files.insert(0, path);
        return Ok(spec);
    }
    if let Some(text) = described::text_of(word) {
        return build(&text?, "described device", word, Path::new(""), depth);
    }
    let remedy = match nearest(word, names()) {
        _ if word.contains(' ') && !word.contains('/') => {
            "a device in a line has commas between its parts: \"2TB, 16 ch x 4 dies, TLC\"".to_owned()
        }
        Some(near) => format!("did you mean `{near}`? (or give the path of a device file)"),
        None => {
            format!("the presets are {}; or give the path of a device file", names().collect::<Vec<_>>().join(", "))
        }
    };
    fail("there is no such preset or file".into(), remedy)
}

fn build(text: &str, origin: &str, name: &str, folder: &Path, depth: usize) -> Result<DeviceSpec, ConfigError> {
    let document = Document::parse(text, origin)?;
    let is_preset = folder == Path::new("") && origin.starts_with("preset ");
    let base = match document.text("base")? {
        Some(base) if depth == MAX_DEPTH => {
            return Err(ConfigError {
                origin: origin.into(),
                line: None,
                key: Some("base".into()),
                problem: format!("\"{base}\" is the {MAX_DEPTH}th base in a row"),
                remedy: "do two files build on each other?".into(),
            });
        }
        Some(base) => Some(load_at(&base, folder, depth + 1)?),
        None if is_preset => None,
        None => Some(load("tlc")?),
    };
    let (mut config, files) = base.map_or_else(Default::default, |base| (base.config, base.files));
    let built_on = config.clone();
    let inherited = files_of(&mut config).map(|name| name.map(|name| name.clone()));
    config.apply(&document, &TOP_LEVEL)?;
    for (name, before) in files_of(&mut config).into_iter().zip(inherited) {
        if let Some(given) = name.filter(|given| before.as_ref() != Some(given)) {
            *given = beside(folder, given);
        }
    }
    let text_of = |key: &str| document.text(key).map(Option::unwrap_or_default);
    let inherited = if is_preset { config.clone() } else { built_on };
    let (about, source) = (text_of("about")?, text_of("source")?);
    let described = config.clone();
    Ok(DeviceSpec { name: name.into(), about, source, config, inherited, described, files })
}

/// The values of the keys that may name a file, where they are set.
fn files_of(config: &mut Config) -> [Option<&mut String>; 6] {
    let ecc = &mut config.ecc;
    let (model, rpt, trees) = (config.chip.model.as_mut(), config.read.rpt.as_mut(), config.read.trees.as_mut());
    [model, rpt, trees, ecc.code.as_mut(), Some(&mut ecc.code_2bit), Some(&mut ecc.code_3bit)]
}

/// The path of a file that lies beside the device file which names it; another name is left as it is.
fn beside(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    if path.is_file() { path.to_string_lossy().into_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bytes, Ppn, Span};

    #[test]
    fn every_preset_is_complete_sourced_and_possible() {
        for name in names() {
            let spec = load(name).unwrap_or_else(|error| panic!("{error}"));
            assert!(!spec.about.is_empty() && !spec.source.is_empty(), "{name} says what it is and where it is from");
            spec.config.plan().unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn the_default_configuration_is_the_tlc_preset_without_its_chip_and_what_papers_leave_out() {
        let mut tlc = load("tlc").unwrap().config;
        assert_eq!(tlc.chip.model.as_deref(), Some("auto"));
        (tlc.chip.model, tlc.chip.t_pre) = (None, Span::ZERO);
        let mut text = String::new();
        for (ours, theirs) in Config::default().to_toml().lines().zip(tlc.to_toml().lines()) {
            if ours != theirs {
                text.push_str(&format!("{ours}, {theirs}\n"));
            }
        }
        // Neutral where a preset of a paper says nothing.
        let differs = [
            "t_submit = \"1us\", t_submit = \"2us\"",
            "t_firmware = \"0ns\", t_firmware = \"3us\"",
            "cores = 1, cores = 4",
            "t_complete = \"1us\", t_complete = \"3us\"",
            "read_through = true, read_through = false",
            "allocation = \"plane\", allocation = \"superblock\"",
            "pacing = \"none\", pacing = \"token\"",
            "unit = \"page\", unit = \"4KiB\"",
            "start = \"default\", start = \"patrolled\"",
            "next = \"table\", next = \"tailored\"",
            "",
        ];
        assert_eq!(text, differs.join("\n"));
    }

    #[test]
    fn a_configuration_reads_back_as_it_was_written() {
        for name in names() {
            let config = load(name).unwrap().config;
            let mut again = Config::default();
            again.apply(&Document::parse(&config.to_toml(), "text").unwrap(), &[]).unwrap();
            assert_eq!(config, again, "{name}");
        }
    }

    /// The entries of asplos21 Table 1 and section 7.1 that a device without errors has.
    #[test]
    fn asplos21_has_the_papers_configuration() {
        let plan = load("asplos21").unwrap().config.plan().unwrap();
        let (layout, timings) = (plan.layout, &plan.timings);
        assert_eq!((layout.channels, layout.dies, layout.planes_per_die), (4, 16, 2));
        assert_eq!((layout.blocks, layout.pages, layout.page_size), (1888, 576, Bytes::from_kib(16)));
        let reads = [0, 1, 2].map(|page| timings.read(&layout, Ppn(page)));
        assert_eq!(reads, [78, 117, 78].map(Span::from_us));
        assert_eq!((timings.slowest_program(), timings.erase), (Span::from_us(700), Span::from_ms(5)));
        assert_eq!((plan.t_dma(16_384), plan.config.ecc.t_decode), (Span::from_us(16), Span::from_us(20)));
        assert!(layout.raw_bytes() >= Bytes(512 << 30));
    }

    /// The entries of fast12 Table 1 that a device without suspension has.
    #[test]
    fn fast12_has_the_papers_configuration() {
        for (name, dma, read, program, erase, page, plane) in
            [("fast12-slc", 20, 10, 140, 1508, 2, 512), ("fast12-mlc", 40, 25, 660, 3324, 4, 1024)]
        {
            let plan = load(name).unwrap().config.plan().unwrap();
            let layout = plan.layout;
            assert_eq!((layout.channels, layout.dies, layout.planes_per_die), (16, 16, 4));
            assert_eq!(layout.page_size, Bytes::from_kib(page));
            assert_eq!(u64::from(layout.blocks * layout.pages) * layout.page_size.0, plane << 20);
            assert_eq!(plan.t_dma(layout.page_size.0 as u32), Span::from_us(dma));
            assert_eq!(plan.timings.read(&layout, Ppn(0)), Span::from_us(read));
            assert_eq!(
                (plan.timings.slowest_program(), plan.timings.erase),
                (Span::from_us(program), Span::from_us(erase))
            );
            assert_eq!(plan.config.host.link_bandwidth.0, 2_000_000_000);
            assert_eq!((plan.config.buffer.size, plan.config.ftl.over_provisioning), (Bytes(64_000_000), 0.3));
        }
    }

    /// The entries of hpca24 Table I that a device without errors has.
    #[test]
    fn hpca24_has_the_papers_configuration() {
        let plan = load("hpca24").unwrap().config.plan().unwrap();
        let (layout, timings) = (plan.layout, &plan.timings);
        assert_eq!((layout.channels, layout.dies, layout.planes_per_die), (8, 32, 4));
        assert_eq!((layout.blocks, layout.pages, layout.page_size), (1888, 576, Bytes::from_kib(16)));
        assert_eq!(timings.read(&layout, Ppn(1)), Span::from_us(40));
        assert_eq!((timings.slowest_program(), timings.erase), (Span::from_us(400), Span::from_us(3500)));
        assert_eq!((plan.t_dma(16_384), plan.config.ecc.t_decode), (Span::from_us(13), Span::from_us(1)));
        assert_eq!(plan.config.host.link_bandwidth.0, 8_000_000_000);
        assert!(layout.raw_bytes() >= Bytes(2 << 40));
    }

    /// The entries of electronics25 Table 2; tVR is the chip model's.
    #[test]
    fn electronics25_has_the_papers_configuration() {
        let plan = load("electronics25").unwrap().config.plan().unwrap();
        let (layout, timings) = (plan.layout, &plan.timings);
        assert_eq!((layout.channels, layout.chips, layout.planes_per_die), (8, 2, 4));
        assert_eq!((layout.blocks, layout.pages, layout.page_size), (497, 2112, Bytes::from_kib(16)));
        assert_eq!(timings.read(&layout, Ppn(2)), Span::from_us(40));
        assert_eq!((timings.slowest_program(), timings.erase), (Span::from_us(350), Span::from_us(3500)));
        assert_eq!(plan.config.ftl.over_provisioning, 0.2);
    }

    #[test]
    fn a_missing_device_names_its_neighbour() {
        assert!(load("tcl").unwrap_err().to_string().contains("did you mean `tlc`?"));
        assert!(load("zzzzzzz").unwrap_err().to_string().contains("the presets are tlc, tlc-page, qlc, plc, asplos21"));
    }

    #[test]
    fn a_word_of_several_lines_is_the_text_of_a_device_file() {
        let text = "base = \"qlc\"\ngeometry.channels = 4\nchip.t_read = \"60us\"\n";
        let spec = load(text).unwrap();
        assert_eq!((spec.name.as_str(), spec.config.geometry.channels), ("device", 4));
        assert_eq!(spec.config, read(text).unwrap().config);
        assert_eq!(load("about = \"mine\"\n").unwrap().name, "mine");
        assert_eq!(spec.config.geometry.blocks, load("qlc").unwrap().config.geometry.blocks);
        // A program wrote the text: its keys name the place, its lines do not. What cannot be parsed has a line.
        let refused = |text: &str| load(text).unwrap_err().to_string();
        assert!(refused("base = \"tlc\"\ngeometry.chanels = 4\n").starts_with("device text: geometry.chanels: "));
        assert!(refused("base = \"tlc\"\n= 4\n").starts_with("device text:2: "));
    }

    #[test]
    fn a_file_builds_on_its_base_and_names_files_beside_it() {
        let folder = std::env::temp_dir().join(format!("ssdlab-presets-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("mine.toml", "base = \"other.toml\"\n[chip]\nt_read = \"50us\"\n");
        write(
            "other.toml",
            "base = \"hpca24\"\n[chip]\nt_prog = \"1ms\"\n[read]\nrpt = \"rpt.csv\"\n[ecc]\ncode = \"no.csv\"\n",
        );
        write("rpt.csv", "pec,months,cut\n");
        write("a.toml", "base = \"b.toml\"\n");
        write("b.toml", "base = \"a.toml\"\n");
        let at = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let mine = load(&at("mine.toml")).unwrap();
        assert_eq!(mine.name, "mine");
        assert_eq!(mine.config.chip.t_prog, Some(vec![Span::from_ms(1)]));
        assert_eq!(mine.config.geometry.blocks, 1888);
        // The names of presets, and of files that are not there, stay as they are.
        let preset = load("hpca24").unwrap().config.chip.model;
        let names = (mine.config.read.rpt, mine.config.ecc.code, mine.config.chip.model);
        assert_eq!(names, (Some(at("rpt.csv")), Some("no.csv".into()), preset));
        assert!(load(&at("a.toml")).unwrap_err().to_string().contains("build on each other"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
