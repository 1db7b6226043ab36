//! Writes any trace as Perfetto reads it, and says what that took.
//!
//! `cargo xtask generate nsys 1000000 big.sqlite`, then
//! `cargo run --release -p rangefinder-report --example perfetto -- big.sqlite big.perfetto`
#![allow(clippy::print_stdout, reason = "what it finds is its output")]

use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let input = arguments.next().ok_or("the trace is missing")?;
    let output = arguments.next().ok_or("the file to write is missing")?;
    let trace = trace::open(&[input])?;
    let before = peak_kilobytes()?;
    let clock = Instant::now();
    let written = report::write_perfetto(&trace, fs_err::File::create(output)?)?;
    let seconds = clock.elapsed().as_secs_f64();
    let activities = trace.activities.len();
    println!("{activities} activities, {} calls, {} ranges", trace.calls.len(), trace.ranges.len());
    println!("{written:?}");
    println!("{seconds:.2} s, peak memory {} kB more than to read it", peak_kilobytes()? - before);
    Ok(())
}

fn peak_kilobytes() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse().ok());
    Ok(peak.ok_or("no VmHWM in /proc/self/status")?)
}
