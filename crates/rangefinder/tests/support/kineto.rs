//! A trace as PyTorch's profiler writes it, made up.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::json;

/// Kernels one after another, each launched in a range of its own or in one that several share. `range` and `kernel`
/// name them by their number.
pub fn write(
    path: &Path,
    kernels: u64,
    range: impl Fn(u64) -> String,
    kernel: impl Fn(u64) -> String,
) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "{{\"schemaVersion\": 1, \"deviceProperties\": [{{\"id\": 0}}], \"traceEvents\": [")?;
    let process =
        json!({"ph": "M", "name": "process_name", "pid": 42, "tid": 0, "ts": 0, "args": {"name": "python"}});
    for number in 0..kernels {
        let (at, correlation) = (1_000 + number * 100, number + 1);
        for event in [
            json!({"ph": "X", "cat": "user_annotation", "name": range(number), "pid": 42, "tid": 42, "ts": at, "dur": 90}),
            json!({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 42, "tid": 42, "ts": at + 5,
                   "dur": 4, "args": {"correlation": correlation}}),
            json!({"ph": "X", "cat": "kernel", "name": kernel(number), "pid": 0, "tid": 7, "ts": at + 20,
                   "dur": 10 + number % 7, "args": {"device": 0, "stream": 7, "correlation": correlation,
                   "grid": [1, 1, 1], "block": [32, 1, 1]}}),
        ] {
            writeln!(out, "{event},")?;
        }
    }
    writeln!(out, "{process}\n]}}")?;
    out.flush()
}
