//! Reading a report of ncu, against NVIDIA's own reader on the same file.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::{Row, example};
use crate::generate::write_ncu_rep;
use crate::shell::{quietly, tools_folder};

const KERNELS: u32 = 300;

/// Everything we read of a metric, read with theirs.
const THEIRS: &str = "\
import sys, time
import ncu_report
clock = time.perf_counter()
report = ncu_report.load_report(sys.argv[1])
results = metrics = 0
for at in range(report.num_ranges()):
    group = report.range_by_idx(at)
    for i in range(group.num_actions()):
        action = group.action_by_idx(i)
        results += 1
        for name in action.metric_names():
            metric = action.metric_by_name(name)
            metric.name(), metric.value()
            metrics += 1
print(time.perf_counter() - clock, 0, results, metrics)
";

pub(super) fn rows(folder: &Path) -> Result<Vec<Row>> {
    eprintln!("a report of {KERNELS} kernels ...");
    let file = folder.join("made-up.ncu-rep");
    write_ncu_rep(&file, KERNELS)?;
    let megabytes = file.metadata()?.len() as f64 / 1e6;
    let program = example("rangefinder-counters", "read")?;
    let ours = best(7, || said(Command::new(&program).arg(&file)))?;
    let packages = tools_folder().join("python/ncu-report-2026.3.1");
    ensure!(packages.exists(), "ncu_report is missing\nhint: cargo xtask tools");
    let python = crate::python::interpreter()?;
    let theirs =
        best(3, || said(Command::new(&python).args(["-c", THEIRS]).arg(&file).env("PYTHONPATH", &packages)))?;
    ensure!(ours.counted == theirs.counted, "{:?} against {:?}", ours.counted, theirs.counted);
    fs_err::remove_file(&file)?;
    let ratio = theirs.seconds / ours.seconds;
    Ok(vec![
        Row {
            what: "a report of ncu, 300 kernels of 600 metrics, against `ncu_report` 2026.3.1",
            measured: format!(
                "{megabytes:.0} MB in {:.1} ms (best of 7), {ratio:.0}x as fast as {:.2} s (best of 3)",
                ours.seconds * 1e3,
                theirs.seconds
            ),
            bound: "at least 20x, under 100 ms".to_owned(),
            fine: ratio >= 20.0 && ours.seconds < 0.1,
        },
        Row {
            what: "the same, anonymous memory (RssAnon)",
            measured: format!("{:.0} MB", ours.megabytes),
            bound: "under 50 MB".to_owned(),
            fine: ours.megabytes < 50.0,
        },
    ])
}

/// What a fresh process says of itself.
struct Said {
    seconds: f64,
    megabytes: f64,
    /// Results and metrics.
    counted: [f64; 2],
}

fn said(command: &mut Command) -> Result<Said> {
    let text = quietly(command)?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [seconds, megabytes, results, metrics] = numbers[..] else {
        anyhow::bail!("{command:?} printed `{}`", text.trim());
    };
    Ok(Said { seconds, megabytes, counted: [results, metrics] })
}

fn best(times: usize, mut run: impl FnMut() -> Result<Said>) -> Result<Said> {
    let mut best = run()?;
    for _ in 1..times {
        let again = run()?;
        best.seconds = best.seconds.min(again.seconds);
        best.megabytes = best.megabytes.max(again.megabytes);
    }
    Ok(best)
}
