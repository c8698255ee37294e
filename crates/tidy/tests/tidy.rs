//! The layers of ARCHITECTURE.md, checked against every `Cargo.toml`; and the shape of modules and functions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tidy::Modules;

/// Each crate and the crates of the workspace that it may depend on.
const LAYERS: [(&str, &[&str]); 19] = [
    ("units", &[]),
    ("workload", &["units"]),
    ("nand", &["units"]),
    ("ecc", &["units"]),
    ("schemes", &["units", "nand"]),
    ("ssd", &["units", "workload", "nand", "ecc", "schemes"]),
    ("array", &["units", "workload", "ssd"]),
    ("logs", &["workload", "ssd"]),
    ("tier", &["units"]),
    ("ssdlab", &["units", "workload", "ssd", "tier"]),
    ("capi", &["units", "workload", "ssd", "logs"]),
    ("served", &["units", "workload", "ssd"]),
    ("nbd", &["units", "workload", "served"]),
    ("nvme", &["units", "workload", "ssd", "served"]),
    ("web", &["units", "workload", "nand", "schemes", "ssd"]),
    ("testing", &["units", "workload", "nand", "ssd", "array"]),
    ("tidy", &[]),
    ("fuzz", &["units", "workload", "nand", "ecc", "ssd", "served", "nbd", "nvme"]),
    (
        "python",
        &["units", "workload", "nand", "ecc", "schemes", "ssd", "array", "logs", "tier", "served", "nbd", "nvme"],
    ),
];

#[test]
fn no_crate_depends_on_a_higher_layer() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found: Vec<String> =
        fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    let mut known: Vec<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(found, known, "a new crate needs its place in ARCHITECTURE.md and here");
    for (name, allowed) in LAYERS {
        let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or("").split("\n[").next().unwrap();
        for (other, _) in LAYERS {
            let depends = dependencies.lines().any(|line| line.starts_with(&format!("{other}.")));
            assert!(!depends || allowed.contains(&other), "{name} must not depend on {other}");
        }
    }
}

#[test]
fn layers_without_a_clock_read_none() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ["units", "nand", "ecc", "schemes", "workload", "ssd", "array", "logs"] {
        for file in rust_files(&crates.join(name).join("src")) {
            let text = fs::read_to_string(&file).unwrap();
            if file.ends_with("ssd/src/bench.rs") {
                continue; // Compiled into tests only.
            }
            assert!(!text.contains("std::time"), "{} reads a clock", file.display());
            assert!(
                !text.contains("thread_rng") && !text.contains("RandomState"),
                "{} draws at random",
                file.display()
            );
        }
    }
}

/// Files of that ending in a folder and those below it, but for what is built there.
fn files_of(ending: &str, folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() && !path.is_symlink() {
            if !name.starts_with('.') && !["target", "results"].contains(&&*name) {
                files.extend(files_of(ending, &path));
            }
        } else if path.extension().is_some_and(|of| of == ending) {
            files.push(path);
        }
    }
    files
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    files_of("rs", folder)
}

/// Files of a crate's `src` by the paths of their modules.
fn modules(name: &str) -> Vec<(String, PathBuf)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(name).join("src");
    let module = |file: PathBuf| {
        let relative = file.strip_prefix(&src).unwrap().with_extension("");
        let words: Vec<&str> = relative.iter().map(|word| word.to_str().unwrap()).collect();
        let words: Vec<&str> = words.into_iter().filter(|word| !["lib", "mod"].contains(word)).collect();
        (words.join("::"), file)
    };
    rust_files(&src).into_iter().map(module).collect()
}

/// The crates whose shape is checked: not what tests share, whose functions list what is drawn.
fn crates() -> impl Iterator<Item = &'static str> {
    LAYERS.iter().map(|(name, _)| *name).filter(|name| *name != "testing")
}

#[test]
fn modules_of_a_crate_make_no_circles() {
    let mut found = Vec::new();
    for name in crates() {
        let files: Vec<(String, String)> =
            modules(name).into_iter().map(|(path, file)| (path, fs::read_to_string(file).unwrap())).collect();
        let circles = Modules::new(files.iter().map(|(path, text)| (path.clone(), text.as_str()))).circles();
        found.extend(circles.iter().map(|circle| format!("in {name}:\n{circle}")));
    }
    assert!(found.is_empty(), "circles of modules\n{}", found.join("\n"));
}

/// The rooms of the drive, each of which may take from those before it and from itself. The flash knows nothing of the
/// FTL: what it asks of it, it asks of a `Placement`.
const ROOMS: [&str; 36] = [
    "persist",
    "status",
    "streams",
    "arena",
    "agenda",
    "meter",
    "phases",
    "policies",
    "bench",
    "violation",
    "error",
    "lifetime",
    "config",
    "bounds",
    "zones",
    "presets",
    "observe",
    "window",
    "fdp",
    "core",
    "buffer",
    "read_cache",
    "translation",
    "arbitration",
    "firmware",
    "commands",
    "host",
    "flash",
    "ftl",
    "writes",
    "power",
    "drive",
    "media",
    "back_end",
    "device",
    "run",
];

#[test]
fn no_room_of_the_drive_takes_from_a_higher_one() {
    let files: Vec<(String, String)> =
        modules("ssd").into_iter().map(|(path, file)| (path, fs::read_to_string(file).unwrap())).collect();
    let back = Modules::new(files.iter().map(|(path, text)| (path.clone(), text.as_str()))).arrows_back(&ROOMS);
    assert!(back.is_empty(), "against the order of rooms:\n{}", back.join("\n"));
}

/// The drive's files by their modules, tests left out.
fn drive() -> Vec<(String, String)> {
    let files = modules("ssd").into_iter().filter(|(path, _)| path.rsplit("::").next() != Some("tests"));
    files.map(|(path, file)| (path, fs::read_to_string(file).unwrap())).collect()
}

/// Which files of a folder call which, through `self`, by methods of these types.
fn calls_within(folder: &str, types: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = drive();
    files.retain(|(path, _)| path.split("::").next() == Some(folder));
    files.iter_mut().for_each(|(path, _)| *path = path.rsplit("::").next().unwrap().to_owned());
    tidy::arrows_by_calls(&files, types)
}

/// Folders of the drive whose files are read one after the other: each calls, through `self`, those before it in the
/// table of its `mod.rs` alone. The types whose methods these are, and a call that is known to be there.
const TABLES: [(&str, &[&str], [&str; 2]); 3] = [
    ("flash", &["Flash", "FlashAt", "FlashView"], ["settle", "review"]),
    (
        "back_end",
        &["BackEnd", "Dispatch", "Learning", "MapAt", "PowerAt", "ReadsAt", "Zoning"],
        ["zones", "zone_programs"],
    ),
    ("device", &["Device"], ["drive", "device"]),
];

#[test]
fn a_file_calls_those_before_it_in_its_table_alone() {
    for (folder, types, [from, known]) in TABLES {
        let (_, table) = drive().into_iter().find(|(path, _)| path == folder).unwrap();
        // What a module's own file says of itself is in the table as `mod.rs`.
        let name = |file: &str| if file == folder { "mod".to_owned() } else { file.to_owned() };
        let place = |file: &str| {
            table.find(&format!("`{}.rs`", name(file))).unwrap_or_else(|| panic!("{file}.rs is not in it"))
        };
        let arrows = calls_within(folder, types);
        assert!(arrows[from].contains(known), "{arrows:?}");
        for (file, to) in &arrows {
            let back: Vec<&String> = to.iter().filter(|other| place(other) > place(file)).collect();
            assert!(
                back.is_empty(),
                "{folder}/{file}.rs calls {back:?}, which come after it in the table of {folder}/mod.rs"
            );
        }
    }
}

/// What is to become small: today's number, which may only fall, and the aim.
const DEVICE_METHODS: (usize, usize) = (37, 40);
const BACK_END_METHODS: (usize, usize) = (141, 40);
const FTL_PATHS: (usize, usize) = (58, 25);

fn only_falls(what: &str, now: usize, (kept, aim): (usize, usize)) {
    assert!(now <= kept, "{what}: {now}, and there were {kept}; the aim is {aim}");
    assert!(
        now == kept,
        "{what}: {now} now, {kept} before: write the new number down in crates/tidy/tests/tidy.rs, so that it stays"
    );
}

#[test]
fn neither_the_device_nor_its_back_end_has_a_further_method() {
    for (of, kept) in [("Device", DEVICE_METHODS), ("BackEnd", BACK_END_METHODS)] {
        let methods = drive().iter().map(|(_, text)| tidy::methods(text, &[of]).len()).sum();
        only_falls(&format!("methods of impl {of}"), methods, kept);
    }
}

#[test]
fn no_further_part_of_the_ftl_is_reached_from_outside() {
    // In `config/` it is the section of that name.
    let is_outside = |path: &str| !["ftl", "config"].contains(&path.split("::").next().unwrap());
    let outside = drive().into_iter().filter(|(path, _)| is_outside(path));
    let paths: BTreeSet<String> = outside.flat_map(|(_, text)| tidy::members_of(&text, "ftl")).collect();
    only_falls("paths `ftl.…` outside ftl/", paths.len(), FTL_PATHS);
}

/// The longest function, from its signature to its closing brace [lines].
const LONGEST_FUNCTION: usize = 70;

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for (_, file) in crates().flat_map(modules) {
        for function in tidy::functions(&fs::read_to_string(&file).unwrap()) {
            if function.lines > LONGEST_FUNCTION {
                long.push(format!("{}:{}: {}: {} lines", file.display(), function.line, function.name, function.lines));
            }
        }
    }
    assert!(long.is_empty(), "longer than {LONGEST_FUNCTION} lines:\n{}", long.join("\n"));
}

/// Parameters that name a thing: their type says which kind of thing.
const IDS: [&str; 13] =
    ["op", "id", "slot", "command", "die", "plane", "block", "channel", "lpn", "ppn", "queue", "fetch", "waiter"];

/// Places within what is a type: of a block in its plane, of a plane in its die. Crates whose functions take them as
/// numbers.
const PLACES: [(&str, &[&str]); 3] = [("ssd", &["block", "plane"]), ("schemes", &["block"]), ("python", &["block"])];

/// Functions that take such a number bare, by their modules, and why.
const BARE: [(&str, &[&str], &str); 10] = [
    (
        "array::log",
        &["piece", "find", "gather", "trim"],
        "a block of the array's address space and its place in the log; a request of the array's host",
    ),
    ("ssd::observe::stats::latency", &["record"], "a submission queue, by its place among the host's"),
    ("units::condition", &["of_block"], "the counter of a random draw; units knows no blocks"),
    ("ssd::arbitration", &["set_waiting"], "a submission queue, by its place among the host's"),
    ("ssd::config::host", &["priority"], "a submission queue, by its place among the host's"),
    ("workload::request", &["completed", "on"], "a number of the trace, which the device takes modulo its queues"),
    (
        "nand::geometry",
        &["plane", "block_index", "flash_block_index"],
        "a place in a die or in a plane, which are types",
    ),
    (
        "nand::model::outcomes",
        &["of", "name", "read", "first_in_haste", "added_in_haste", "rber", "found", "worst_page", "codeword_rate"],
        "to be a type: the drive packs it",
    ),
    ("nand::model::erasing", &["block"], "the number of a block in a population of chips: a random draw's counter"),
    ("nand::model::variation", &["of_block", "log_of_block"], "the same"),
];

fn bare_ids(text: &str) -> Vec<(String, String)> {
    let bare = |kind: &str| ["u8", "u16", "u32", "u64", "usize"].contains(&kind.trim_start_matches('&'));
    let visible = tidy::functions(text).into_iter().filter(|function| function.visible);
    let of = |function: tidy::Function| {
        let ids = function.parameters.into_iter().filter(|(name, kind)| IDS.contains(&name.as_str()) && bare(kind));
        ids.map(move |(name, kind)| (function.name.clone(), format!("{name}: {kind}"))).collect::<Vec<_>>()
    };
    visible.flat_map(of).collect()
}

#[test]
fn ids_are_types() {
    let mut found = Vec::new();
    for name in crates() {
        let places = PLACES.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, places)| places);
        for (module, file) in modules(name) {
            let module = if module.is_empty() { name.to_owned() } else { format!("{name}::{module}") };
            let mut bare = bare_ids(&fs::read_to_string(&file).unwrap());
            bare.retain(|(_, parameter)| !places.contains(&parameter.split(':').next().unwrap()));
            let excepted = |function: &str| BARE.iter().any(|(at, of, _)| *at == module && of.contains(&function));
            for (at, functions, _) in BARE.iter().filter(|(at, _, _)| *at == module) {
                for function in *functions {
                    assert!(bare.iter().any(|(name, _)| name == function), "{at}::{function} is no exception any more");
                }
            }
            let refused = bare.iter().filter(|(function, _)| !excepted(function));
            found.extend(refused.map(|(function, parameter)| format!("{module}::{function}: {parameter}")));
        }
    }
    assert!(found.is_empty(), "bare numbers that name a thing:\n{}", found.join("\n"));
}

/// Items of modules of the drive whose types have a tuple of three or more, whose members have no names. The aim is
/// none: what becomes a struct leaves this list, and nothing joins.
const TUPLES: [(&str, &[&str]); 5] = [
    ("ssd::phases", &["phase"]),
    ("ssd::ftl::blocks::check", &["Found", "counts"]),
    ("ssd::ftl::mapping::table", &["places"]),
    ("ssd::ftl::stationary", &["Plane"]),
    ("ssd::ftl::stripes", &["Stripes"]),
];

#[test]
fn no_further_tuple_of_three_has_no_names() {
    let (mut joined, mut left) = (Vec::new(), Vec::new());
    for name in crates() {
        for (module, file) in modules(name).into_iter().filter(|(path, _)| path.rsplit("::").next() != Some("tests")) {
            let module = if module.is_empty() { name.to_owned() } else { format!("{name}::{module}") };
            let found = tidy::wide_tuples(&fs::read_to_string(&file).unwrap());
            let known = TUPLES.iter().find(|(at, _)| *at == module).map_or(&[][..], |(_, items)| items);
            joined.extend(
                found.iter().filter(|item| !known.contains(&item.as_str())).map(|item| format!("{module}::{item}")),
            );
            left.extend(known.iter().filter(|item| !found.contains(**item)).map(|item| format!("{module}::{item}")));
        }
    }
    assert!(joined.is_empty(), "tuples of three and more: make structs of them\n{}", joined.join("\n"));
    assert!(left.is_empty(), "no tuples of three any more: take them off TUPLES\n{}", left.join("\n"));
}

#[test]
fn comments_and_pages_have_no_long_lines() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut long = Vec::new();
    for ending in ["rs", "md"] {
        let files = files_of(ending, root);
        assert!(files.len() > 50);
        for file in files {
            let lines = tidy::long_lines(&fs::read_to_string(&file).unwrap(), ending == "rs");
            long.extend(lines.iter().map(|line| format!("{}:{line}", file.display())));
        }
    }
    assert!(long.is_empty(), "more than {} columns: {long:#?}", tidy::COLUMNS);
}

#[test]
fn the_checks_see_what_they_look_for() {
    let long = "x".repeat(121);
    let text = format!("/// {long}\n/// | {long}\n/// ```\n/// {long}\n/// ```\nlet a = \"{long}\";\n// {long}\n");
    assert_eq!(tidy::long_lines(&text, true), [1, 7]);
    assert_eq!(tidy::long_lines(&format!("{long}\n| {long}\n![{long}]\n```\n{long}\n```\n"), false), [1]);
    let circles =
        |files: &[(&str, &str)]| Modules::new(files.iter().map(|(path, text)| ((*path).to_owned(), *text))).circles();
    let none: Vec<String> = Vec::new();
    // A face re-exports; its children take from each other in one direction, also through the face.
    assert_eq!(
        circles(&[
            ("", "pub mod a; mod b; pub use b::B;"),
            ("a", "mod c; mod d; pub use d::D; #[cfg(test)] mod tests { use crate::B; } // use crate::B;"),
            ("a::c", "use super::{D, d::other}; fn f() -> D { other(\"crate::B\") }"),
            ("a::d", "pub struct D<'a>(&'a str); pub fn other() -> char { '\\'' }"),
            ("b", "pub struct B(crate::a::D);"),
        ]),
        none
    );
    let files = [("", "mod a; mod b;"), ("a::c", "use crate::b::B;"), ("b", "pub struct B;")];
    let rooms = || Modules::new(files.map(|(path, text)| (path.to_owned(), text)));
    assert_eq!(rooms().arrows_back(&["b", "a"]), none);
    assert_eq!(rooms().arrows_back(&["a", "b"]), ["  a::c -> b: B"]);
    assert_eq!(rooms().arrows_back(&["a"]), ["  a::c or b has no place in the order"]);
    for (files, arrows) in [
        // By a nested use and by a path in the code, through a re-export of the root.
        (
            vec![
                ("", "mod a; mod b; pub use b::B;"),
                ("a", "fn f() { crate::B::new() } pub struct A;"),
                ("b", "use crate::{x, a::{y, A}};"),
            ],
            "  a -> b: crate::B::new\n  b -> a: y",
        ),
        // A child takes what its parent defines, and the parent uses the child.
        (
            vec![("", "mod a; struct S(a::T);"), ("a", "pub struct T(super::S);")],
            "  lib -> a: a::T\n  a -> lib: super::S",
        ),
        // A re-export that the parent uses itself.
        (vec![("", "mod a; pub use a::T; struct S(T);"), ("a", "use super::S;")], "  lib -> a: T\n  a -> lib: S"),
    ] {
        assert_eq!(circles(&files), [arrows]);
    }
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let arrows = tidy::arrows_by_calls(
        &[
            file(
                "a",
                "impl<P: Fn() -> u8> D<P> { fn a(&self) { self.b::<u8>(); self.own(); self.x.c() } fn own() {} }",
            ),
            file(
                "b",
                "impl D<u8> { fn b(&self) { fn inner() {} self.view().a() } fn view() { self.inner() } } impl T for D { fn t() {} }",
            ),
            file(
                "c",
                "impl D<u8> { fn c() { self.b(); other.a() } } impl E { fn a() { self.c() } } #[cfg(test)] impl D { fn b() {} }",
            ),
            file("d", "impl W<'_> { fn d(self) { self.view().b(); self.x.a() } }"),
            file("e", "impl W<'_> { fn e(self) {} } impl D<u8> { fn f(self) { self.view().d(); X(self).c() } }"),
        ],
        &["D", "W"],
    );
    let to = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(
        arrows,
        BTreeMap::from([
            ("a".into(), to(&["b"])),
            ("b".into(), to(&["a"])),
            ("c".into(), to(&["b"])),
            ("d".into(), to(&["b"])),
            ("e".into(), to(&["b", "d"]))
        ])
    );
    assert_eq!(tidy::methods("impl D { fn a() { fn b() {} } } impl T for D { fn c() {} }", &["D"]), ["a"]);
    let text = "self.ftl.blocks.room(x).y; ftl.planes[0].z; plan.config.ftl.streams; ftl::x; ftl.planes.0";
    assert_eq!(tidy::members_of(text, "ftl"), to(&["ftl.blocks.room", "ftl.planes"]));
    let text = format!(
        "pub(super) fn f<'a>(&self, mut die: &'a u32, name: u32, plane: PlaneId) -> u8 {{{}}}",
        "\n".repeat(70)
    );
    assert_eq!(tidy::functions(&text)[0].lines, LONGEST_FUNCTION + 1);
    assert_eq!(bare_ids("pub(crate) fn f(&self, die: u32, name: u32, plane: PlaneId) {} fn g(die: u32) {}").len(), 1);
    assert_eq!(bare_ids("pub trait T { fn f(queue: &u16); }").len(), 1);
    assert!(bare_ids("#[cfg(test)] mod tests { pub fn f(die: u32) {} }").is_empty());
    let text =
        "fn a(x: &mut (u8, u8, u8)) {} fn b() -> Option<Vec<(u8, [u8; 2], M<u8, u8>)>>; struct C { x: (u8, u8, u8,) }
        type D = [(u8, u8, u8); 2]; const E: [(u8, u8, u8); 2] = []; enum F { G((u8, u8, u8)) }";
    assert_eq!(tidy::wide_tuples(text), to(&["a", "b", "C", "D", "E", "F"]));
    let text = "fn a<const N: usize>(x: u8, y: u8, z: (u8, u8)) -> impl Fn(u8, u8, u8) -> (M<u8, u8, u8>, u8) { let x = (1, 2, 3); }
        struct B<T>(u8, u8, T); type C = fn(u8, u8, u8); enum D { E(u8, u8, u8) } #[cfg(test)] fn f(x: (u8, u8, u8)) {}";
    assert!(tidy::wide_tuples(text).is_empty());
}
