//! Writes the inputs that a target starts from into a folder: `seeds TARGET FOLDER`, and lists the targets: `seeds`.

use std::io;
use std::path::Path;

use fuzz::{TARGETS, inputs};

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, folder] = &words[..] else {
        TARGETS.iter().for_each(|target| println!("{}", target.name));
        return Ok(());
    };
    for target in TARGETS.iter().filter(|target| target.name == name) {
        for (input, bytes) in inputs(target) {
            std::fs::write(Path::new(folder).join(input), bytes)?;
        }
    }
    Ok(())
}
