//! Reads a report and says what that took: what `cargo xtask bench counters` measures.
#![allow(clippy::print_stdout, reason = "what it finds is its output")]

use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).ok_or("the report is missing")?;
    let clock = Instant::now();
    let report = counters::open(Path::new(&file))?;
    let seconds = clock.elapsed().as_secs_f64();
    // Memory that is our own: pages of the mapped file are not, and can be dropped at any time.
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kilobytes: f64 = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
        .ok_or("no RssAnon in /proc/self/status")?;
    let metrics: usize = report.results.iter().map(|result| result.metrics.len()).sum();
    println!("{seconds} {} {} {metrics}", kilobytes * 1024.0 / 1e6, report.results.len());
    Ok(())
}
