//! Comparisons of a real program with itself: how many call it faster or slower. And with one that does 20 % more.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Row, nvtx_program, release};

/// Comparisons of the program with itself, and how many processes each side has.
const SAME: usize = 200;
const PROCESSES: [&str; 3] = ["5", "8", "12"];
/// Comparisons with the slower one.
const SLOWER: usize = 30;

pub(super) fn rows(folder: &Path) -> Result<Vec<Row>> {
    let program = release()?;
    let paced = nvtx_program(folder, "paced")?;
    let compare = |processes: &str, post: &str| -> Result<Value> {
        let mut command = Command::new(&program);
        command.args(["compare", "--repeat", processes, "--json", "compare.warmup=0", "--"]);
        command.arg(&paced).args(["60", "20", "5", "--"]).arg(&paced).args(["60", "20", post]);
        let output = command.current_dir(folder).stdin(Stdio::null()).stderr(Stdio::null()).output()?;
        fs_err::remove_dir_all(folder.join("runs"))?;
        serde_json::from_slice(&output.stdout).with_context(|| format!("{command:?} printed no JSON"))
    };
    let verdict = |document: &Value| document["time"]["verdict"].as_str().unwrap_or_default().to_owned();
    let (mut alarms, mut same, mut widths) = (0, 0, Vec::new());
    for round in 0..SAME {
        let document = compare(PROCESSES[round % PROCESSES.len()], "5")?;
        let found = verdict(&document);
        alarms += usize::from(found == "slower" || found == "faster");
        same += usize::from(found == "same");
        let half = document["time"]["high"].as_f64().unwrap_or(1.0)
            / document["time"]["ratio"].as_f64().unwrap_or(1.0);
        widths.push(half - 1.0);
        if round % 20 == 19 {
            eprintln!("{} of {SAME} comparisons: {alarms} alarms, {same} same", round + 1);
        }
    }
    widths.sort_by(f64::total_cmp);
    let mut found = 0;
    for _ in 0..SLOWER {
        found += usize::from(verdict(&compare("12", "10")?) == "slower");
    }
    Ok(vec![
        Row {
            what: "comparisons of a C program with itself, 5, 8 or 12 processes a side, that end in `faster` or `slower`",
            measured: format!(
                "{alarms} of {SAME} ({same} `same`; half of the intervals are wider than ±{:.1} %)",
                widths[widths.len() / 2] * 100.0
            ),
            bound: "at most 2".to_owned(),
            fine: alarms <= 2,
        },
        Row {
            what: "the same against one that does 20 % more, 12 processes a side, that end in `slower`",
            measured: format!("{found} of {SLOWER}"),
            bound: "target: at least 29 on a quiet machine".to_owned(),
            fine: found >= 29,
        },
    ])
}
