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

/// The profile of a code that corrects almost nothing.
pub fn weak_code() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    let steps: Vec<String> = (0..=20).map(|step| format!("it_{step}")).collect();
    let row = |rber: f64, failures: u32| format!("{rber},10,{failures},{failures},{failures},{}10", "0,".repeat(20));
    let head = format!("rber,words,failures,predicted,predicted_failures,{}", steps.join(","));
    file(&PATH, "code.csv", &format!("{head}\n{}\n{}\n", row(0.0001, 0), row(0.004, 10)))
}
