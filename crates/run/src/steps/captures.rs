//! Steps 5 to 7, as far as this version has them.

use super::flow::{Run, StepResult};
use crate::config::Enable;

pub(super) fn timeline(run: &Run) -> StepResult {
    let asked_for = asked_for(run, "nsys", run.resolved.config.nsys.enable, "nsys.nvtx_capture");
    skip("nsys", run.resolved.config.nsys.enable, asked_for)
}

pub(super) fn counters(run: &Run) -> StepResult {
    let asked_for = asked_for(run, "ncu", run.resolved.config.ncu.enable, "ncu.nvtx_include");
    skip("ncu", run.resolved.config.ncu.enable, asked_for)
}

pub(super) fn analyse() -> StepResult {
    StepResult::Skipped { why: "there is no capture to analyse".to_owned(), asked_for: false }
}

/// Set to `true`, or gated, in a layer the user wrote.
fn asked_for(run: &Run, tool: &str, enable: Enable, gate: &str) -> bool {
    let enabled = enable == Enable::True && run.resolved.set_by_user(&format!("{tool}.enable"));
    let gated = enable != Enable::False && run.resolved.set_by_user(gate);
    enabled || gated
}

fn skip(tool: &str, enable: Enable, asked_for: bool) -> StepResult {
    let why = match enable {
        Enable::False => format!("`{tool}.enable=false`"),
        Enable::Auto | Enable::True => format!("this version does not capture with {tool} yet"),
    };
    StepResult::Skipped { why, asked_for }
}
