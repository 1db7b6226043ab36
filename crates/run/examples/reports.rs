//! Everything from a trace to the files of its report, and what each part took: what
//! `cargo xtask bench reports` measures.
//!
//! `reports TRACE FOLDER` prints a line for each part, `name seconds bytes`, and then
//! `everything seconds bytes-of-peak-memory`.
#![allow(clippy::print_stdout, reason = "what it finds is its output")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use analysis::{Options, analyze, insight};
use report::Page;
use run::rundir::Files;
use secrets::Redactor;

/// Rows of each table, as in `report.md`.
const TOP: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let input = arguments.next().ok_or("the trace is missing")?;
    let folder = arguments.next().ok_or("the folder to write to is missing")?;
    // Files are written as a run writes them: masked, and all at once.
    let files = Files::new(folder.clone(), Redactor::new(std::iter::empty(), &[]));
    files.folder("csv")?;

    let clock = Instant::now();
    let trace = part(&folder, "read", || trace::open(&[input]))?;
    let options = Options::default();
    let findings = part(&folder, "analyse", || analyze(&trace, &options));
    let insight = part(&folder, "insight", || insight(Some((&trace, &findings)), None));
    let page = Page {
        title: "bench",
        workload: "",
        verdicts: &[],
        steps: &[],
        findings: Some(&findings),
        trace: Some(&trace),
        counters: None,
        insight: &insight,
        environment: &[],
        commands: &[],
        warnings: &[],
    };
    part(&folder, "trace.perfetto", || {
        files.unmasked("trace.perfetto", |out| report::write_perfetto(&trace, out).map(drop))
    })?;
    type Told<'a> = &'a dyn Fn() -> String;
    let texts: [(&str, Told<'_>); 5] = [
        ("report.html", &|| report::html(&page)),
        ("stakeholder_summary.md", &|| report::stakeholder_markdown(&page)),
        ("report.md", &|| report::terminal(&findings, TOP)),
        ("kernels.md", &|| report::kernels_markdown(&findings)),
        ("operators.md", &|| report::operators_markdown(&findings)),
    ];
    for (name, told) in texts {
        part(&folder, name, || files.text(name, &told()))?;
    }
    part(&folder, "analysis.json", || files.json("analysis.json", &findings))?;
    part(&folder, "csv", || {
        let write = |table: &report::CsvTable<'_>| {
            files.stream(&format!("csv/{}", table.name), |out| table.write(out))
        };
        report::csv_tables(&page).iter().try_for_each(write)
    })?;
    println!("everything {} {}", clock.elapsed().as_secs_f64(), peak_bytes()?);
    Ok(())
}

/// Does one part, and tells what it took and how much it left below its name.
fn part<T>(folder: &Path, name: &str, work: impl FnOnce() -> T) -> T {
    let clock = Instant::now();
    let made = work();
    println!("{name} {} {}", clock.elapsed().as_secs_f64(), size(&folder.join(name)));
    made
}

/// Of a file, or of all files in a folder.
fn size(path: &Path) -> u64 {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| size(&entry.path())).sum(),
        Err(_) => path.metadata().map_or(0, |metadata| metadata.len()),
    }
}

fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak: Option<u64> = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse().ok());
    Ok(peak.ok_or("no VmHWM in /proc/self/status")? * 1024)
}
