//! Project tasks: `cargo xtask test`, `gpu-test`, `bench`, `fuzz`, `dist`, `wheel`, `tools`.

mod bench;
mod chromium;
mod cluster;
mod debian;
mod dist;
mod fuzz;
mod generate;
mod launchers;
mod python;
mod shell;
mod test;
mod tools;
mod wheel;

use std::process::ExitCode;

use anyhow::Result;

const HELP: &str = "\
cargo xtask test [--changed [REVISION]] [--real-gates] [--allow-missing] [-- NEXTEST ARGUMENTS]
    Fetches the vendor tools and a Chromium, checks formatting, compiles everything with
    clippy's warnings, and runs every test. Prints what took how long; the last line says
    how many tests passed, failed and were skipped. A tool that cannot be fetched fails
    the run unless --allow-missing is given.
    --changed: only the packages that differ from REVISION (HEAD, if none is given), and
    those that depend on them.
    --real-gates: hold the truth tables of gates against the real nsys, all rows of two
    versions, instead of a few. Done anyway when the code that predicts them has changed.
    Examples: cargo xtask test --changed
              cargo xtask test -- -E 'test(loops)'
cargo xtask test --cluster
    Asks the fleet's questions of a real Spark: fetches PySpark (456 MB), needs Java 17
    or 21. Not part of `cargo xtask test`.
cargo xtask gpu-test [SECTION ...]
    Tests that need a GPU (xtask/gpu/run.py): requires an NVIDIA GPU, nvcc and a
    Python with PyTorch and transformers. No test of `cargo xtask test` needs a GPU.
cargo xtask tools
    Only fetches the tools, into target/tools.
cargo xtask bench [counters | reports | bounds | diff | export | alarms]
    Measures the release build, as ratios against other programs in the same
    run, and prints the table of docs/benchmarks.md. `counters` is reading
    reports of ncu alone, `reports` is from 1 million kernels to every file,
    `bounds` is memory and sizes against the number of regions. `alarms` compares a
    program with itself 200 times, about 20 minutes, and is only run if it is named.
cargo xtask bench against BINARY
    What became slower since BINARY, an earlier release build: both take turns, and
    the ratio of each round is taken.
cargo xtask fuzz [--seconds N] [TARGET ...]
    Runs every fuzz target (or those named) for N seconds each, 60 by default, and
    prints executions and coverage. Inputs that break a parser are kept in
    target/fuzz/TARGET/faults.
cargo xtask dist
    Builds the release archive in target/dist: the binary for glibc 2.17 and newer,
    manual pages, completions, licences, checksums. Checks what the binary and the
    tracer inside it need, and runs the binary once.
cargo xtask wheel [--debug]
    Builds the wheel of rangefinder-gpu in target/wheels: the program and the Python
    package in one, for any CPython on Linux with glibc 2.17 or newer. With --debug,
    quickly, for this machine.
cargo xtask generate nsys KERNELS FILE [--regions REGIONS]
cargo xtask generate kineto BYTES FILE
cargo xtask generate ncu-rep KERNELS FILE
cargo xtask generate ranks RANKS KERNELS FOLDER CAUSE
    Writes a synthetic trace or report of that size.
cargo xtask generate fleet RUNS RANKS KERNELS FOLDER
    Writes a synthetic dataset: so many runs of so many ranks with so many kernels
    each, about 7 bytes a kernel. Prints what is true of it.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(words: &[&str]) -> Result<ExitCode> {
    match words {
        ["test", "--cluster"] => cluster::main(),
        ["test", rest @ ..] => match test_options(rest) {
            Some(options) => test::main(&options),
            None => usage(),
        },
        ["gpu-test", sections @ ..] => gpu_test(sections),
        ["tools"] => {
            let missing = tools::fetch_all()?;
            Ok(if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        ["bench"] => bench::main(bench::Section::All),
        ["bench", "counters"] => bench::main(bench::Section::Counters),
        ["bench", "reports"] => bench::main(bench::Section::Reports),
        ["bench", "bounds"] => bench::main(bench::Section::Bounds),
        ["bench", "diff"] => bench::main(bench::Section::Diff),
        ["bench", "export"] => bench::main(bench::Section::Export),
        ["bench", "alarms"] => bench::main(bench::Section::Alarms),
        ["bench", "against", before] => bench::main(bench::Section::Against(before.into())),
        ["measure", command @ ..] => {
            Ok(if bench::measure_main(command)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        ["fuzz", rest @ ..] => fuzz::main(rest),
        ["dist"] => dist::main(),
        ["wheel"] => wheel::main(false),
        ["wheel", "--debug"] => wheel::main(true),
        ["generate", "nsys", kernels, path] => {
            generate::write_nsys(path.as_ref(), kernels.parse()?, None)?;
            Ok(ExitCode::SUCCESS)
        }
        ["generate", "nsys", kernels, path, "--regions", regions] => {
            generate::write_nsys(path.as_ref(), kernels.parse()?, Some(regions.parse()?))?;
            Ok(ExitCode::SUCCESS)
        }
        ["generate", "kineto", bytes, path] => {
            generate::write_kineto(path.as_ref(), bytes.parse()?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["generate", "ncu-rep", kernels, path] => {
            generate::write_ncu_rep(path.as_ref(), kernels.parse()?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["generate", "ranks", ranks, kernels, folder, cause] => {
            generate::write_ranks(folder.as_ref(), ranks.parse()?, kernels.parse()?, cause)?;
            Ok(ExitCode::SUCCESS)
        }
        ["generate", "fleet", runs, ranks, kernels, folder] => {
            let words = [
                "run",
                "--release",
                "--quiet",
                "--package",
                "rangefinder-dataset",
                "--example",
                "made",
                "--",
            ];
            let folder = std::path::absolute(folder)?;
            let status = shell::cargo().args(words).args([runs, ranks, kernels]).arg(folder).status()?;
            Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        _ => usage(),
    }
}

fn test_options(words: &[&str]) -> Option<test::Options> {
    let mut options = test::Options::default();
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        match word {
            "--allow-missing" => options.allow_missing = true,
            "--real-gates" => options.real_gates = true,
            "--changed" => {
                let since = words.next_if(|next| !next.starts_with('-'));
                options.changed = Some(since.unwrap_or("HEAD").to_owned());
            }
            "--" => options.filters = words.by_ref().map(str::to_owned).collect(),
            _ => return None,
        }
    }
    Some(options)
}

fn usage() -> Result<ExitCode> {
    eprint!("{HELP}");
    Ok(ExitCode::from(2))
}

/// Builds what is tested, and leaves the rest to a script that also runs without cargo.
fn gpu_test(sections: &[&str]) -> Result<ExitCode> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = std::process::Command::new(cargo)
        .args(["build", "--release", "--package", "rangefinder"])
        .current_dir(&root)
        .status()?;
    anyhow::ensure!(built.success(), "the release build failed");
    let status = std::process::Command::new("python3")
        .arg(root.join("xtask/gpu/run.py"))
        .arg("--rangefinder")
        .arg(root.join("target/release/rangefinder"))
        .args(sections)
        .status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
