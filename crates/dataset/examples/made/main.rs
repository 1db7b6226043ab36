//! `made RUNS RANKS KERNELS FOLDER`: writes a made-up dataset, and prints what is true of it as JSON.
//! `cargo xtask generate fleet` runs it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the command line")]

mod fleet;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use fleet::Plan;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok()).filter(|number| *number > 0);
    let (Some(runs), Some(ranks), Some(kernels), Some(folder)) =
        (number(0), number(1), number(2), words.get(3))
    else {
        eprintln!("made RUNS RANKS KERNELS FOLDER");
        return ExitCode::from(2);
    };
    let shown = std::io::stderr().is_terminal();
    let written = Plan { runs, ranks, kernels }.write(Path::new(folder), |done| {
        if shown {
            eprint!("\r{done} of {runs} runs");
            let _ = std::io::stderr().flush();
        }
    });
    match written {
        Ok(truth) => {
            println!("{:#}", truth.json());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
