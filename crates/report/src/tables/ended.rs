//! How the program ended, if not by itself and well: it stands above everything else.

use record::{Pass, PassKind, Reason, Step, StepName, StepStatus};

use crate::page::Page;

/// None of a run to its end.
pub(crate) fn ended_early(page: &Page<'_>) -> Option<String> {
    let rehearsal = page.passes.iter().find(|pass| pass.name.kind == PassKind::Rehearsal);
    let what = match rehearsal.and_then(of_program) {
        Some(what) => what,
        None => return of_a_step(page.steps),
    };
    Some(match page.analysis {
        Some(_) => format!("{what}: what follows is about that time"),
        None => what,
    })
}

fn of_program(pass: &Pass) -> Option<String> {
    let after = format!("after {:.1} s", pass.wall_ms as f64 / 1e3);
    match pass.ended_by_us {
        Some(Reason::Interrupted) => Some(format!("the program was interrupted {after}")),
        Some(Reason::Timeout) => {
            Some(format!("the program was ended {after}, at its limit (`workload.timeout`)"))
        }
        // As was asked for.
        Some(Reason::Stopped) => None,
        None if pass.ending.success() => None,
        None if pass.ending.is_signal() => Some(format!("the program was killed by {} {after}", pass.ending)),
        None => Some(format!("the program failed with {} {after}", pass.ending)),
    }
}

/// The program was recorded once, to its end; something after that was interrupted.
fn of_a_step(steps: &[Step]) -> Option<String> {
    let is_it = |step: &&Step| step.status == StepStatus::Interrupted && step.started.is_some();
    let step = steps.iter().filter(|step| step.name != StepName::Rehearse).find(is_it)?;
    Some(format!(
        "the run was interrupted in the step `{}`: what follows is about what was recorded before",
        step.name.as_str()
    ))
}
