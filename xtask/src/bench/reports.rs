//! From a million kernels to every file of a report.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Row, example};
use crate::generate::write_nsys;
use crate::shell::quietly;

const KERNELS: u64 = 1_000_000;
const FEW_KERNELS: u64 = 50_000;
const TIMES: usize = 3;
/// The line behind those of the parts; its bytes are of memory.
const EVERYTHING: &str = "everything";

/// What one part took, and how large its file is.
struct Part {
    name: String,
    seconds: f64,
    bytes: f64,
}

/// Rows of the table, and a table of the parts.
pub(super) fn rows(folder: &Path) -> Result<(Vec<Row>, String)> {
    let program = example("rangefinder-run", "reports")?;
    eprintln!("reports of {KERNELS} kernels ...");
    let parts = best(&program, folder, KERNELS)?;
    eprintln!("reports of {FEW_KERNELS} kernels ...");
    let few = best(&program, folder, FEW_KERNELS)?;
    let (all, page) = (named(&parts, EVERYTHING)?, named(&few, "report.html")?);
    let rows = vec![
        Row {
            what: "from an export of nsys with 1 million kernels to every file of its report",
            measured: format!("{:.1} s (best of {TIMES}), {:.0} MB", all.seconds, all.bytes / 1e6),
            bound: "under 5 s on 2 cores".to_owned(),
            fine: all.seconds < 5.0,
        },
        Row {
            what: "`report.html` of 50,000 kernels",
            measured: format!("{:.2} MB", page.bytes / 1e6),
            bound: "under 3 MB".to_owned(),
            fine: page.bytes < 3e6,
        },
    ];
    Ok((rows, table(&parts)))
}

fn named<'p>(parts: &'p [Part], name: &str) -> Result<&'p Part> {
    parts.iter().find(|part| part.name == name).with_context(|| format!("`{name}` was not measured"))
}

fn table(parts: &[Part]) -> String {
    let mut text = "| part | time | size |\n|---|---:|---:|\n".to_owned();
    for part in parts {
        let size = match part.bytes {
            _ if part.name == EVERYTHING => format!("peak memory {:.0} MB", part.bytes / 1e6),
            0.0 => String::new(),
            bytes if bytes < 1e6 => format!("{:.1} kB", bytes / 1e3),
            bytes => format!("{:.1} MB", bytes / 1e6),
        };
        text.push_str(&format!("| {} | {:.1} ms | {size} |\n", part.name, part.seconds * 1e3));
    }
    text
}

/// Of each part the best, each time in a fresh process.
fn best(program: &Path, folder: &Path, kernels: u64) -> Result<Vec<Part>> {
    let (file, out) = (folder.join("made-up.sqlite"), folder.join("reports"));
    write_nsys(&file, kernels, None)?;
    fs_err::create_dir_all(&out)?;
    let mut best = parts(program, &file, &out)?;
    for _ in 1..TIMES {
        let again = parts(program, &file, &out)?;
        ensure!(best.len() == again.len(), "not the same parts each time");
        for (best, again) in best.iter_mut().zip(again) {
            best.seconds = best.seconds.min(again.seconds);
            best.bytes = best.bytes.max(again.bytes);
        }
    }
    fs_err::remove_file(&file)?;
    fs_err::remove_dir_all(&out)?;
    Ok(best)
}

fn parts(program: &Path, file: &Path, out: &Path) -> Result<Vec<Part>> {
    // Pending writes must not slow the measurement.
    quietly(&mut Command::new("sync"))?;
    let text = quietly(Command::new(program).args([file, out]))?;
    let part = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        Some(Part { name, seconds: words.next()?.parse().ok()?, bytes: words.next()?.parse().ok()? })
    };
    text.lines().map(|line| part(line).with_context(|| format!("`{line}` is not a part"))).collect()
}
