//! What a capture really was, with its cause and what to do.

use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::remedy::remedy;
use crate::rung::Rung;
use crate::tool::Tool;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// What was wanted is there.
    Captured,
    /// Part of it is.
    Partial,
    /// The tool ran, or was not needed, and nothing that was wanted is there.
    Missed,
    /// There is no usable report.
    Failed,
}

impl Outcome {
    pub const ALL: [Self; 4] = [Self::Captured, Self::Partial, Self::Missed, Self::Failed];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Captured => "captured",
            Self::Partial => "partial",
            Self::Missed => "missed",
            Self::Failed => "failed",
        }
    }

    /// Whether the report can be analyzed.
    pub fn is_usable(self) -> bool {
        matches!(self, Self::Captured | Self::Partial)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub outcome: Outcome,
    pub cause: Option<Cause>,
    /// One sentence.
    pub text: String,
    /// What it is based on.
    pub evidence: Vec<String>,
    pub remedy: Option<String>,
    pub coverage: Vec<Coverage>,
}

/// Instances of a region in the report and in the rehearsals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    pub region: String,
    pub captured: u64,
    /// The fewest and the most that any rehearsal saw.
    pub expected: u64,
    pub expected_most: u64,
}

/// The verdict on one capture.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VerdictRecord {
    pub tool: Tool,
    pub rung: Rung,
    pub verdict: Verdict,
}

impl Verdict {
    /// There is a report, but the range that was asked for is not in it.
    pub fn lacks_the_range(&self) -> bool {
        self.outcome == Outcome::Missed
            && matches!(self.cause, Some(Cause::NoSuchRange | Cause::PathNotTaken))
    }

    /// The remedy comes from [`remedy`], by tool and cause.
    pub fn new(tool: Tool, outcome: Outcome, cause: Option<Cause>, text: impl Into<String>) -> Self {
        Self {
            outcome,
            cause,
            text: text.into(),
            evidence: Vec::new(),
            remedy: cause.and_then(|cause| remedy(tool, cause)).map(str::to_owned),
            coverage: Vec::new(),
        }
    }

    pub fn failed(tool: Tool, cause: Cause, text: impl Into<String>) -> Self {
        Self::new(tool, Outcome::Failed, Some(cause), text)
    }

    pub fn missed(tool: Tool, cause: Cause, text: impl Into<String>) -> Self {
        Self::new(tool, Outcome::Missed, Some(cause), text)
    }

    /// The same, with a different cause.
    #[must_use]
    pub fn because(mut self, tool: Tool, cause: Cause) -> Self {
        self.cause = Some(cause);
        self.remedy = remedy(tool, cause).map(str::to_owned);
        self
    }

    #[must_use]
    pub fn with_evidence(mut self, evidence: impl IntoIterator<Item = String>) -> Self {
        self.evidence.extend(evidence.into_iter().filter(|line| !line.is_empty()));
        self
    }

    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// `captured: 6 of 6 instances`, with the evidence and the remedy where something is missing.
    pub fn with_hint(&self) -> String {
        let hint = if self.outcome == Outcome::Captured { String::new() } else { self.hint() };
        format!("{}{hint}", self.with_evidence_quoted())
    }

    /// The sentence and the remedy, for what was not tried.
    pub fn text_with_hint(&self) -> String {
        format!("{}{}", self.text, self.hint())
    }

    fn hint(&self) -> String {
        self.remedy.as_ref().map(|remedy| format!("\nhint: {remedy}")).unwrap_or_default()
    }

    /// The same without the remedy.
    pub fn with_evidence_quoted(&self) -> String {
        let quoted: String = self
            .evidence
            .iter()
            .filter(|_| self.outcome != Outcome::Captured)
            .map(|line| format!("\n  {line}"))
            .collect();
        format!("{}: {}{quoted}", self.outcome.as_str(), self.text)
    }
}
