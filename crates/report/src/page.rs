//! Everything about a run, put together once for all documents.

use analysis::{Analysis, CounterRegions, Insight, Region};
use record::{Pass, SeenRanks, Step, StepName, StepStatus, VerdictRecord};
use trace::Trace;

/// Everything that a report may show. If a run does not have something, the report says so.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The run's name.
    pub title: &'a str,
    /// The command, as one would type it.
    pub workload: &'a str,
    pub verdicts: &'a [VerdictRecord],
    pub steps: &'a [Step],
    pub analysis: Option<&'a Analysis>,
    /// Where the findings' operators come from, if not from the same source as the rest.
    pub operators_source: Option<&'a str>,
    /// For the timeline.
    pub trace: Option<&'a Trace>,
    /// What ncu measured, and the same by region.
    pub measured: Option<&'a counters::Report>,
    pub counters: Option<&'a CounterRegions>,
    /// The folder with every metric by region, beside the documents.
    pub counters_at: &'a str,
    /// What limits it, what to change, how well it uses the device, what profiling cost.
    pub insight: &'a Insight,
    /// Names and values: machine, GPU, tools, versions.
    pub environment: &'a [(String, String)],
    pub passes: &'a [Pass],
    /// The ranks of a job that each have a run of their own.
    pub ranks: Option<&'a SeenRanks>,
    /// Passes and the exact command of each.
    pub commands: &'a [(String, String)],
    /// What the rehearsal saw.
    pub rehearsal: Option<Rehearsal<'a>>,
    pub warnings: &'a [String],
    /// Rows of a table in `report.md`.
    pub top: usize,
    /// What a reader meets first is about the whole recording, not about the steady iterations of its loop.
    pub whole: bool,
}

impl Page<'_> {
    /// Why MFU and MBU are unknown, if they are.
    pub(crate) fn no_efficiency(&self) -> &str {
        let has_no_work = |analysis: &Analysis| analysis.kernel_calls() == 0 && analysis.graphs == 0;
        if self.counters.is_none() && self.analysis.is_some_and(has_no_work) {
            return "no GPU work was recorded";
        }
        let why = self.insight.no_efficiency.as_deref();
        why.unwrap_or("the number of operations per stage is unknown (set `model.config`)")
    }

    /// The first of these steps that was not done and says why.
    pub(crate) fn not_done(&self, names: &[StepName]) -> Option<(&Step, &str)> {
        names.iter().find_map(|name| {
            let step = self.steps.iter().find(|step| step.name == *name)?;
            let note = step.note.as_deref().filter(|_| step.status != StepStatus::Done)?;
            Some((step, note))
        })
    }

    /// What MFU and MBU are based on: lines for all stages, then lines for the named region.
    pub(crate) fn assumptions(&self) -> Vec<(Option<&str>, &str)> {
        let rows = &self.insight.efficiency;
        let is_shared =
            |line: &String| rows.len() > 1 && rows.iter().all(|row| row.assumptions.contains(line));
        let shared = rows.first().into_iter().flat_map(|row| &row.assumptions).filter(|line| is_shared(line));
        let own = rows.iter().flat_map(|row| {
            let lines = row.assumptions.iter().filter(|line| !is_shared(line));
            lines.map(|line| (Some(row.region.as_str()), line.as_str()))
        });
        shared.map(|line| (None, line.as_str())).chain(own).collect()
    }

    /// What is to be said about the counters, each with its kind: `lost` if results are missing, or `note`.
    pub(crate) fn counter_notes(&self) -> Vec<(&'static str, &str)> {
        let damage = self.measured.and_then(|report| report.damage.as_ref()).map(|damage| &damage.what);
        let all = self.counters.into_iter().flat_map(|counters| &counters.notes);
        let (lost, notes): (Vec<&String>, Vec<&String>) = all.partition(|note| Some(*note) == damage);
        let lost = lost.into_iter().map(|note| ("lost", note.as_str()));
        lost.chain(notes.into_iter().map(|note| ("note", note.as_str()))).collect()
    }

    /// Whether it shows a run, and not files that somebody has recorded.
    pub(crate) fn is_of_a_run(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Why the profiling overhead is unknown.
    pub(crate) fn no_overhead(&self) -> &str {
        self.insight
            .no_overhead
            .as_deref()
            .unwrap_or("there is only one timeline, and none to compare it with")
    }
}

/// The regions of the rehearsal, and one sentence about them.
#[derive(Debug, Clone, Copy)]
pub struct Rehearsal<'a> {
    pub said: &'a str,
    pub regions: &'a [Region],
}
