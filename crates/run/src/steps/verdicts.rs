//! Verdicts, written down and told.

use nsight::verdict::{Outcome, Verdict};

use super::flow::Run;
use crate::rundir::VerdictRecord;

pub(super) fn record(run: &mut Run, tool: &str, rung: &str, verdict: &Verdict) {
    run.manifest.verdicts.push(VerdictRecord {
        tool: tool.to_owned(),
        rung: rung.to_owned(),
        verdict: verdict.clone(),
    });
}

/// `captured: 6 of 6 instances`, and what to do.
pub(super) fn told(verdict: &Verdict) -> String {
    let remedy = verdict.remedy.as_ref().filter(|_| verdict.outcome != Outcome::Captured);
    let remedy = remedy.map(|remedy| format!("\nhint: {remedy}")).unwrap_or_default();
    format!("{}{remedy}", seen(verdict))
}

/// A rung that left nothing, and the next, which is the remedy.
pub(super) fn stepped_down(tool: &str, rung: &str, verdict: &Verdict, next: &str) -> String {
    format!("{tool}, {rung}: {}\nnext: {next}", seen(verdict))
}

fn seen(verdict: &Verdict) -> String {
    let quoted: String = verdict
        .evidence
        .iter()
        .filter(|_| verdict.outcome != Outcome::Captured)
        .map(|line| format!("\n  {line}"))
        .collect();
    format!("{}: {}{quoted}", verdict.outcome.as_str(), verdict.text)
}
