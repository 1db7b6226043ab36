//! What a capture really was, told from the report and the rehearsal.

use analysis::Region;
use serde::Serialize;
use trace::Trace;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// What was wanted is there.
    Captured,
    /// A part of it is.
    Partial,
    /// The tool ran, and nothing that was wanted is there.
    Missed,
    /// There is no usable report.
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    GateNeverOpened,
    ClientNotSeen,
    RecordsLost,
    RehearsalWasBlind,
    NothingRecorded,
    ImporterNotFound,
    ImporterBroken,
    AgentLost,
    ReportUnreadable,
    ExportFailed,
    NotStarted,
    Refused,
    WorkloadFailed,
    TimedOut,
    DiskFull,
    NoReport,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    pub outcome: Outcome,
    pub cause: Option<Cause>,
    /// One sentence.
    pub text: String,
    /// What it is told from.
    pub evidence: Vec<String>,
    pub remedy: Option<String>,
    pub coverage: Vec<Coverage>,
}

/// Instances of a region in the report and in the rehearsal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Coverage {
    pub region: String,
    pub captured: u64,
    pub expected: u64,
}

impl Verdict {
    pub fn failed(cause: Cause, text: impl Into<String>, remedy: Option<String>) -> Self {
        Self {
            outcome: Outcome::Failed,
            cause: Some(cause),
            text: text.into(),
            evidence: Vec::new(),
            remedy,
            coverage: Vec::new(),
        }
    }

    #[must_use]
    pub fn with_evidence(mut self, evidence: impl IntoIterator<Item = String>) -> Self {
        self.evidence.extend(evidence);
        self
    }
}

/// Holds a report against a rehearsal. `wanted` are the regions that were asked for; all
/// of them when there was no gate.
pub fn judge(report: &Trace, rehearsed: &[Region], wanted: &[&Region], gated: bool) -> Verdict {
    let seen = analysis::regions(report);
    let coverage: Vec<Coverage> = wanted
        .iter()
        .map(|region| {
            let found = seen.iter().find(|other| same(other, region, gated));
            Coverage {
                region: region.path.to_string(),
                captured: found.map_or(0, |found| found.instances),
                expected: region.instances,
            }
        })
        .collect();
    let captured: u64 = coverage.iter().map(|row| row.captured.min(row.expected)).sum();
    let expected: u64 = coverage.iter().map(|row| row.expected).sum();
    let lost: Vec<String> = report
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.lost)
        .map(|diagnostic| diagnostic.text.clone())
        .collect();
    let verdict = |outcome, cause, text: String, remedy: Option<&str>| Verdict {
        outcome,
        cause,
        text,
        evidence: lost.clone(),
        remedy: remedy.map(str::to_owned),
        coverage: coverage.clone(),
    };
    let all = format!("{captured} of {expected} instances");
    if rehearsed.is_empty() && !seen.is_empty() {
        let text = format!("{} regions are in the report, and the rehearsal saw none", seen.len());
        return verdict(Outcome::Captured, Some(Cause::RehearsalWasBlind), text, None);
    }
    if report.ranges.is_empty() && report.calls.is_empty() && report.activities.is_empty() && expected == 0 {
        let text = "the report is empty: no range, no CUDA call, no kernel".to_owned();
        let remedy = "the program uses neither NVTX nor CUDA, or this nsys sees neither in it";
        return verdict(Outcome::Missed, Some(Cause::NothingRecorded), text, Some(remedy));
    }
    if expected == 0 {
        return verdict(
            Outcome::Captured,
            None,
            "the program opens no range; all of it was recorded".to_owned(),
            None,
        );
    }
    if captured == 0 {
        let text = format!("the rehearsal saw {expected} ranges, the report has none of them");
        let remedy = "use a newer nsys (2025 sees every NVTX), or an older NVTX client (Python nvtx 0.2.8)";
        return verdict(Outcome::Missed, Some(Cause::ClientNotSeen), text, Some(remedy));
    }
    if captured < expected {
        let remedy = "look at the counts: what varies from run to run is no loss";
        return verdict(Outcome::Partial, Some(Cause::RecordsLost), all, Some(remedy));
    }
    if !lost.is_empty() {
        return verdict(
            Outcome::Partial,
            Some(Cause::RecordsLost),
            format!("{all}, but records were lost"),
            None,
        );
    }
    verdict(Outcome::Captured, None, all, None)
}

/// A gated report has no range around the gate: paths are compared from their ends.
fn same(seen: &Region, wanted: &Region, gated: bool) -> bool {
    let (a, b) = (&seen.path, &wanted.path);
    if seen.kind != wanted.kind || a.domain != b.domain {
        return false;
    }
    if gated { a.names == b.names || b.names.ends_with(&a.names) } else { a.names == b.names }
}
