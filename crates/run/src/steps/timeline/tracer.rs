//! The timeline of our own tracer: the rehearsal's trace, if it has GPU activity.

use record::{Cause, Outcome, Rung, Tool, Verdict, counted};
use trace::{CuptiTrouble, Trace};

use super::super::scene::Scene;
use super::super::session::{Session, StepResult};
use crate::rehearsal::Inventory;

const TOOL: Tool = Tool::Tracer;

pub(super) const SAW_NOTHING: &str =
    "nothing for a timeline: the tracer saw no ranges, CUDA calls or kernels";

/// None if the rehearsal has no GPU activity.
pub(super) fn by_the_tracer(
    inventory: Option<&Inventory>,
    asked_for: bool,
    session: &mut Session<'_>,
) -> Option<StepResult> {
    let verdict = judge(&inventory?.trace)?;
    session.record(TOOL, Rung::Rehearsal, &verdict);
    Some(match verdict.outcome {
        Outcome::Captured => {
            StepResult::Done(Some(format!("from Rangefinder's tracer: {}", verdict.with_hint())))
        }
        _ => StepResult::Failed { why: verdict.with_hint(), asked_for },
    })
}

/// The timeline if there is no nsys, and the rehearsal has no GPU activity; `why` there is no nsys. None if the
/// rehearsal has no ranges, either.
pub(super) fn ranges_only(inventory: Option<&Inventory>, why: impl std::fmt::Display) -> Option<StepResult> {
    let found = inventory.filter(|inventory| !inventory.is_empty());
    found.map(|_| StepResult::Done(Some(format!("from Rangefinder's tracer ({why})"))))
}

/// The user wants the tracer's timeline, whatever is in it.
pub(super) fn only_the_tracer(scene: Scene<'_>, asked_for: bool, session: &mut Session<'_>) -> StepResult {
    let inventory = scene.inventory;
    let ranges = inventory.map_or(0, |inventory| inventory.trace.ranges.len());
    by_the_tracer(inventory, asked_for, session).unwrap_or_else(|| match ranges {
        0 if scene.blind => {
            StepResult::Skipped { why: "the tracer could not record the program".to_owned(), asked_for }
        }
        0 => StepResult::Skipped { why: SAW_NOTHING.to_owned(), asked_for },
        ranges => {
            let ranges = counted(ranges as u64, "range");
            StepResult::Done(Some(format!("from Rangefinder's tracer: {ranges}, no GPU activity")))
        }
    })
}

fn judge(trace: &Trace) -> Option<Verdict> {
    let lost = trace.diagnostics.iter().filter(|said| said.lost).map(|said| said.text.clone());
    let lost: Vec<String> = trace.unread.iter().map(ToString::to_string).chain(lost).collect();
    if trace.calls.is_empty() && trace.activities.is_empty() && lost.is_empty() {
        return None;
    }
    let text = format!(
        "{}, {}, {}",
        counted(trace.activities.kernels() as u64, "kernel"),
        counted(trace.calls.len() as u64, "CUDA call"),
        counted(trace.ranges.len() as u64, "range")
    );
    let partial = |cause: Cause, text: String| Verdict::new(TOOL, Outcome::Partial, Some(cause), text);
    let verdict = match trace.cupti_trouble {
        _ if lost.is_empty() => Verdict::new(TOOL, Outcome::Captured, None, text),
        Some(CuptiTrouble::Taken) => {
            partial(Cause::CuptiInUse, format!("{text}; another profiler in the workload took over CUPTI"))
        }
        Some(CuptiTrouble::NotLoaded) => partial(Cause::ToolBroken, text),
        None => partial(Cause::RecordsLost, text),
    };
    Some(verdict.with_evidence(lost))
}
