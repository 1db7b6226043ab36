//! What `analyze --out` takes as the number of regions grows.

use std::path::Path;

use anyhow::Result;

use super::Row;
use super::analysis::{Measured, measure};
use crate::generate::write_nsys;

const MILLION: u64 = 1_000_000;
/// Kernels, and the regions they are in.
const SIZES: [(u64, u64); 5] =
    [(MILLION, 1_000), (MILLION, 10_000), (MILLION, 100_000), (MILLION, MILLION), (10 * MILLION, MILLION)];
/// Megabytes.
const MOST_MEMORY: f64 = 3000.0;
const LARGEST_PAGE: f64 = 16.0;

/// Rows of the table, and a table by size.
pub(super) fn rows(program: &Path, folder: &Path) -> Result<(Vec<Row>, String)> {
    let mut table = "| kernels | regions | time | peak memory | report.html | analysis.json | regions.csv | \
                     trace.perfetto |\n|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let (mut last, mut largest) = (None, 0f64);
    for (kernels, regions) in SIZES {
        eprintln!("analyze --out, {kernels} kernels in {regions} regions ...");
        let (file, out) = (folder.join("made-up.sqlite"), folder.join("bounds"));
        write_nsys(&file, kernels, Some(regions))?;
        let command = ["analyze", "--out"].map(str::to_owned);
        let paths = [&out, &file].map(|path| path.display().to_string());
        let program = program.display().to_string();
        // Every region for itself, although their names differ in numbers only.
        let apart = ["regions.fold=false".to_owned()];
        let measured = measure(&[&[program][..], &command, &paths, &apart].concat(), &[])?;
        let size = |name: &str| out.join(name).metadata().map_or(0.0, |metadata| metadata.len() as f64 / 1e6);
        largest = largest.max(size("report.html"));
        table.push_str(&format!(
            "| {kernels} | {regions} | {:.1} s | {:.0} MB | {:.1} MB | {:.1} MB | {:.1} MB | {:.0} MB |\n",
            measured.seconds,
            measured.megabytes,
            size("report.html"),
            size("analysis.json"),
            size("csv/regions.csv"),
            size("trace.perfetto")
        ));
        fs_err::remove_file(&file)?;
        fs_err::remove_dir_all(&out)?;
        last = Some(measured);
    }
    let Measured { seconds, megabytes } = last.unwrap_or(Measured { seconds: 0.0, megabytes: 0.0 });
    let rows = vec![
        Row {
            what: "`analyze --out`, 10 million kernels in 1 million regions (`cargo xtask bench bounds`)",
            measured: format!("{seconds:.1} s, {megabytes:.0} MB"),
            bound: format!("under {MOST_MEMORY:.0} MB"),
            fine: megabytes < MOST_MEMORY,
        },
        Row {
            what: "`report.html`, however many regions there are",
            measured: format!("{largest:.1} MB"),
            bound: format!("under {LARGEST_PAGE:.0} MB"),
            fine: largest < LARGEST_PAGE,
        },
    ];
    Ok((rows, table))
}
