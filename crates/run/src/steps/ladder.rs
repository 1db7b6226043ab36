//! The ladder: the ways to capture, tried in turn until one captures what was wanted.
//! Policy: a complete capture ends the climb, and so does a partial one: another way would run the workload
//! again for a result that is probably no better. After a miss the next way is tried if it may help with
//! what went wrong. Every verdict is recorded, and every step down is announced with its reason.

use std::collections::VecDeque;

use record::{Cause, Outcome, Reason, Rung, Tool, Verdict};

use super::error::RunError;
use super::session::{Session, StepResult};

/// The result of one way.
pub(super) struct Attempt<W> {
    pub(super) verdict: Verdict,
    /// It was abandoned for this one, with notes about it.
    pub(super) instead: Option<(W, Vec<String>)>,
}

/// A tool's ladder.
pub(super) trait Climb {
    /// One way to capture.
    type Way;
    const TOOL: Tool;

    fn rung(way: &Self::Way) -> Rung;

    /// Runs the workload this way, judges the result, and keeps it if it is usable.
    fn attempt(&mut self, way: &Self::Way, session: &mut Session<'_>)
    -> Result<Attempt<Self::Way>, RunError>;

    /// Whether another way may help with this.
    fn another_way_may_help(cause: Option<Cause>) -> bool;

    /// The note of a complete capture.
    fn success(&self, way: &Self::Way, verdict: &Verdict) -> String;

    /// What is used if no way captured anything.
    fn instead(&self) -> Option<String>;
}

pub(super) fn climb_down<C: Climb>(
    climber: &mut C,
    ways: Vec<C::Way>,
    asked_for: bool,
    session: &mut Session<'_>,
) -> Result<StepResult, RunError> {
    let mut ways = VecDeque::from(ways);
    while let Some(way) = ways.pop_front() {
        let Attempt { verdict, instead } = climber.attempt(&way, session)?;
        session.record(C::TOOL, C::rung(&way), &verdict);
        if was_interrupted(&verdict, session) {
            return Ok(StepResult::Interrupted(verdict.with_hint()));
        }
        if let Some((other, notes)) = instead {
            announce::<C>(&way, &verdict, &other, session);
            notes.into_iter().for_each(|note| session.note(note));
            ways.push_front(other);
            continue;
        }
        match verdict.outcome {
            Outcome::Captured => return Ok(StepResult::Done(Some(climber.success(&way, &verdict)))),
            Outcome::Partial => return Ok(StepResult::Failed { why: verdict.with_hint(), asked_for }),
            Outcome::Missed | Outcome::Failed => {}
        }
        match ways.front().filter(|_| C::another_way_may_help(verdict.cause)) {
            Some(next) => announce::<C>(&way, &verdict, next, session),
            None => {
                let instead = climber.instead().map(|text| format!("\n{text}")).unwrap_or_default();
                let why = format!("{}{instead}", verdict.with_hint());
                return Ok(StepResult::Failed { why, asked_for });
            }
        }
    }
    // There is always a way, and the last one returns.
    Ok(StepResult::Skipped { why: "there is no way to capture".to_owned(), asked_for })
}

/// The next way is the remedy.
fn announce<C: Climb>(way: &C::Way, verdict: &Verdict, next: &C::Way, session: &mut Session<'_>) {
    let what = verdict.with_evidence_quoted();
    session.warn(format!("{}, {}: {what}\nnext: {}", C::TOOL, C::rung(way), C::rung(next)));
}

/// A signal that comes after everything was captured ends the run, and not this step.
fn was_interrupted(verdict: &Verdict, session: &Session<'_>) -> bool {
    let last = session.manifest.passes.last();
    let during_the_pass = last.is_some_and(|pass| pass.ended_by_us == Some(Reason::Interrupted));
    during_the_pass || session.signals.interrupted() && verdict.outcome != Outcome::Captured
}
