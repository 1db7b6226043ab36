//! Steps 5 to 7, as far as this version has them.

use super::flow::{Run, StepResult};
use crate::config::Enable;

pub(super) fn timeline(run: &Run) -> StepResult {
    let nsys = &run.resolved.config.nsys;
    let gated = nsys.nvtx_capture.is_some() && run.resolved.set_by_user("nsys.nvtx_capture");
    let enabled = nsys.enable == Enable::True && run.resolved.set_by_user("nsys.enable");
    skip("nsys", nsys.enable, enabled || gated)
}

pub(super) fn counters(run: &Run) -> StepResult {
    let ncu = &run.resolved.config.ncu;
    let gated = !ncu.nvtx_include.is_empty() && run.resolved.set_by_user("ncu.nvtx_include");
    let enabled = ncu.enable == Enable::True && run.resolved.set_by_user("ncu.enable");
    skip("ncu", ncu.enable, enabled || gated)
}

pub(super) fn analyse() -> StepResult {
    StepResult::Skipped { why: "there is no capture to analyse".to_owned(), asked_for: false }
}

/// Asked for: set to `true`, or gated, in a layer the user wrote.
fn skip(tool: &str, enable: Enable, asked_for: bool) -> StepResult {
    let (why, asked_for) = match enable {
        Enable::False => (format!("`{tool}.enable=false`"), false),
        Enable::Auto | Enable::True => (format!("this version does not capture with {tool} yet"), asked_for),
    };
    StepResult::Skipped { why, asked_for }
}
