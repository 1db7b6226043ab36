//! Step 6, as far as this version has it.

use super::flow::{Run, StepResult};
use crate::config::Enable;

pub(super) fn counters(run: &Run) -> StepResult {
    let ncu = &run.resolved.config.ncu;
    let gated = !ncu.nvtx_include.is_empty() && run.resolved.set_by_user("ncu.nvtx_include");
    let enabled = ncu.enable == Enable::True && run.resolved.set_by_user("ncu.enable");
    skip("ncu", ncu.enable, asked_for(run, enabled, "ncu.enable", gated, "ncu.nvtx_include"))
}

/// Who asked for a capture: set to `true`, or gated, in a layer the user wrote.
fn asked_for(run: &Run, enabled: bool, enable: &str, gated: bool, gate: &str) -> Option<String> {
    let key = if enabled { enable } else { gate };
    (enabled || gated).then(|| {
        format!("asked for by {} ({key})", run.files.redactor.text(&run.resolved.source(key).to_string()))
    })
}

fn skip(tool: &str, enable: Enable, asked_for: Option<String>) -> StepResult {
    if enable == Enable::False {
        return StepResult::Skipped { why: format!("`{tool}.enable=false`"), asked_for: false };
    }
    let why = format!("this version does not capture with {tool} yet");
    match asked_for {
        Some(who) => StepResult::Skipped {
            why: format!("{why}, and it was {who}\nhint: run without it, or set `{tool}.enable=auto`"),
            asked_for: true,
        },
        None => StepResult::Skipped { why, asked_for: false },
    }
}
