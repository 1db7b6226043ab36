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
use report::{Format, Page, documents};
use run::rundir::Files;
use run::write_document;
use secrets::Redactor;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let input = arguments.next().ok_or("the trace is missing")?;
    let folder = arguments.next().ok_or("the folder to write to is missing")?;
    // Files are written as a run writes them: masked, and all at once.
    let files = Files::new(folder.clone(), Redactor::new(std::iter::empty(), &[]));

    let clock = Instant::now();
    let trace = part(&folder, "read", || trace::open(&[input]))?;
    let options = Options::default();
    let analysis = part(&folder, "analyze", || analyze(&trace, &options));
    let insight = part(&folder, "insight", || insight(Some((&trace, &analysis)), None));
    let page = Page {
        title: "bench",
        workload: "",
        verdicts: &[],
        steps: &[],
        analysis: Some(&analysis),
        operators_source: None,
        trace: Some(&trace),
        measured: None,
        counters: None,
        counters_at: "",
        insight: &insight,
        environment: &[],
        passes: &[],
        ranks: None,
        commands: &[],
        rehearsal: None,
        warnings: &[],
        top: 20,
        whole: false,
    };
    let formats = [Format::Perfetto, Format::Html, Format::Md, Format::Csv];
    let (tables, documents): (Vec<_>, Vec<_>) =
        documents(&page, &formats).into_iter().partition(|document| document.name.starts_with("csv/"));
    for document in documents {
        part(&folder, &document.name, || write_document(&files, &document))?;
    }
    part(&folder, "csv", || tables.iter().try_for_each(|table| write_document(&files, table)))?;
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
