//! Timeline and counters together: what limits the program, and what to change.

use counters::Report;
use serde::Serialize;
use trace::Trace;

use crate::diagnose::{Finding, with_counters};
use crate::document::Analysis;
use crate::kernels::{Efficiency, Joined, RooflinePoint, join, roofline};
use crate::time::Overhead;

#[derive(Debug, Clone, Default, Serialize)]
pub struct Insight {
    /// None without a timeline that has kernels, or without counters.
    pub joined: Option<Joined>,
    pub roofline: Vec<RooflinePoint>,
    /// What limits the program, the first to look at first.
    pub findings: Vec<Finding>,
    /// MFU and MBU of stages, or why they are unknown.
    pub efficiency: Vec<Efficiency>,
    pub no_efficiency: Option<String>,
    /// Profiling overhead by region, or why it is unknown.
    pub overhead: Vec<Overhead>,
    pub no_overhead: Option<String>,
    /// Why the overhead is doubtful.
    pub unsteady: Option<String>,
}

/// From the timeline, the counters, or both.
pub fn insight(timeline: Option<(&Trace, &Analysis)>, report: Option<&Report>) -> Insight {
    let joined = timeline
        .zip(report)
        .map(|((trace, _), report)| join(trace, report))
        .filter(|joined| !joined.kernels.is_empty());
    let findings = timeline.map(|(_, analysis)| match joined.as_ref().zip(report) {
        Some((joined, report)) => {
            with_counters(&analysis.findings, (&analysis.loops, &analysis.idle), joined, report)
        }
        None => analysis.findings.clone(),
    });
    Insight {
        joined,
        roofline: report.map(roofline).unwrap_or_default(),
        findings: findings.unwrap_or_default(),
        ..Insight::default()
    }
}
