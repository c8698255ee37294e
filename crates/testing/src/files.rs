//! Files that devices name, as a user would write them.

use std::sync::OnceLock;

/// A file with some text, written once by each test program; its path.
fn file(place: &'static OnceLock<String>, name: &str, text: &str) -> &'static str {
    place.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("ssdlab-common-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    })
}

/// A chip of which half of the pages need retries.
pub fn measured_steps() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    let text = "pec,months,steps,pages\n0,0,0,10\n0,0,1,4\n0,0,2,3\n0,0,5,2\n0,0,9,1\n90000,1000,12,1\n";
    file(&PATH, "steps.csv", text)
}

/// The chip file of a user: tlc48 that wears out faster.
pub fn chip_file() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../presets/chips/tlc48.toml")).unwrap();
    let text = text.replace("\nshift = 0.60448", "\nshift = 0.8").replace("\ngrains = 7", "\ngrains = 5");
    file(&PATH, "chip.toml", &text)
}

/// A table that cuts tPRE by a half.
pub fn measured_rpt() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    file(&PATH, "rpt.csv", "pec,months,cut\n100000,1200,0.5\n")
}

/// Decision trees of first senses that look at everything of the kind, and leave some of it to chance.
pub fn trees() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    let rows = [
        "start,last,100,6,",
        "start,days,60,5,",
        "start,kind,0,4,",
        "start,leaf,,,1",
        "start,leaf,,,3",
        "start,leaf,,,9",
        "start,leaf,,,0",
        "haste,hasty_failed,2,6,",
        "haste,hasty_weight,30,5,",
        "haste,pec,900,4,",
        "haste,leaf,,,1",
        "haste,leaf,,,0.5",
        "haste,leaf,,,0.2",
        "haste,leaf,,,0.05",
        "pipeline,failed,3,9,",
        "pipeline,weight,40,7,",
        "pipeline,start,2,6,",
        "pipeline,hasty,0,5,",
        "pipeline,leaf,,,0",
        "pipeline,leaf,,,0.5",
        "pipeline,leaf,,,0.9",
        "pipeline,waiting,1,9,",
        "pipeline,leaf,,,1",
        "pipeline,layer,20,11,",
        "pipeline,leaf,,,1",
        "pipeline,leaf,,,0",
    ];
    file(&PATH, "trees.csv", &format!("question,feature,at_most,otherwise,value\n{}\n", rows.join("\n")))
}

/// Decision trees that say yes to whatever they are asked, and no step but the first.
pub fn yes_trees() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    let head = "question,feature,at_most,otherwise,value";
    file(&PATH, "yes.csv", &format!("{head}\nstart,leaf,,,0\nhaste,leaf,,,1\npipeline,leaf,,,1\n"))
}

/// The profile of a code that corrects almost nothing.
pub fn weak_code() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    let steps: Vec<String> = (0..=20).map(|step| format!("it_{step}")).collect();
    let row = |rber: f64, failures: u32| format!("{rber},10,{failures},{failures},{failures},{}10", "0,".repeat(20));
    let head = format!("rber,words,failures,predicted,predicted_failures,{}", steps.join(","));
    file(&PATH, "code.csv", &format!("{head}\n{}\n{}\n", row(0.0001, 0), row(0.004, 10)))
}
