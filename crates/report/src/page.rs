//! What a run has to say, put together once for every form it is told in.

use analysis::{CounterRegions, Findings, Insight, Region};
use trace::Trace;

/// Everything that a report may show. What a run does not have is absent, and said so.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The run's name.
    pub title: &'a str,
    /// The command, as one would type it.
    pub workload: &'a str,
    pub verdicts: &'a [VerdictLine],
    pub steps: &'a [StepLine],
    pub findings: Option<&'a Findings>,
    /// Where the operators of the findings come from, if not from where the rest does.
    pub operators_source: Option<&'a str>,
    /// For the timeline.
    pub trace: Option<&'a Trace>,
    /// What ncu measured, and what that is for each region.
    pub measured: Option<&'a counters::Report>,
    pub counters: Option<&'a CounterRegions>,
    /// The folder with every metric by region, beside the documents.
    pub counters_at: &'a str,
    /// What limits it, what to change, how well it uses the device, what profiling cost.
    pub insight: &'a Insight,
    /// Names and values: machine, GPU, tools, versions.
    pub environment: &'a [(String, String)],
    pub passes: &'a [PassLine],
    /// Passes and the exact command of each.
    pub commands: &'a [(String, String)],
    /// What the rehearsal saw.
    pub rehearsal: Option<Rehearsal<'a>>,
    pub warnings: &'a [String],
}

impl Page<'_> {
    /// Why MFU and MBU are not known, where they are not.
    pub(crate) fn no_efficiency(&self) -> &str {
        let why = self.insight.no_efficiency.as_deref();
        why.unwrap_or("nothing says how many operations a stage needs (`model.config`)")
    }

    /// What MFU and MBU are told from: of all stages, then of the region that is named.
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

    /// Why it is not known what profiling cost.
    pub(crate) fn no_overhead(&self) -> &str {
        self.insight.no_overhead.as_deref().unwrap_or("the program was recorded only once")
    }
}

/// The regions of the rehearsal, and one sentence about them.
#[derive(Debug, Clone, Copy)]
pub struct Rehearsal<'a> {
    pub said: &'a str,
    pub regions: &'a [Region],
}

/// One time that the workload was run.
#[derive(Debug, Clone)]
pub struct PassLine {
    pub name: String,
    /// `exit code 0`, `signal 9`.
    pub ending: String,
    pub wall_ms: u64,
    /// Of all processes.
    pub user_ms: u64,
    pub system_ms: u64,
    /// Of the largest process.
    pub max_rss_kb: u64,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
}

/// What one capture was.
#[derive(Debug, Clone)]
pub struct VerdictLine {
    pub tool: String,
    pub rung: String,
    /// `captured`, `partial`, `missed` or `failed`.
    pub outcome: String,
    pub cause: Option<String>,
    pub text: String,
    pub evidence: Vec<String>,
    pub remedy: Option<String>,
}

#[derive(Debug, Clone)]
pub struct StepLine {
    pub name: String,
    /// `done`, `skipped`, `failed` or `interrupted`.
    pub status: String,
    pub ms: Option<u64>,
    pub note: String,
}
