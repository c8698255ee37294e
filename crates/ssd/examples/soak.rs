//! Plays random devices of every axis against every invariant: `make soak N=50000`.
//!
//! `soak N` plays seeds from 1 on until N devices were accepted; `soak seed S` plays one seed and prints its command.

#[path = "../tests/it/common/files.rs"]
mod files;
#[path = "../tests/it/common/soak.rs"]
mod soak;
#[path = "../tests/it/common/watcher.rs"]
mod watcher;

use std::process::ExitCode;

use soak::Verdict;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |word: &str| word.parse::<u64>().ok().filter(|n| *n > 0);
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [wanted] if number(wanted).is_some() => {
            std::panic::set_hook(Box::new(|_| {}));
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            let (report, failures) = soak::soak(number(wanted).unwrap_or(1), threads);
            println!("{report}");
            if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        ["seed", seed] if number(seed).is_some() => {
            let case = soak::draw(number(seed).unwrap_or(1));
            println!("{}", case.command());
            match soak::verdict(&case) {
                Verdict::Passed => println!("passed"),
                Verdict::Refused(key) => println!("refused for {key}"),
                Verdict::Failed(text) => println!("failed: {text}"),
            }
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: soak N (devices to accept), or soak seed S");
            ExitCode::from(2)
        }
    }
}
