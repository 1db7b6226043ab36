//! The time that advice is about.

use nvtx::Kind;
use serde::Serialize;

use crate::attribute::is_library;
use crate::findings::Findings;

/// Ranges that hold less of the work than this are not what the program is about.
const MUCH_OF_THE_WORK: f64 = 0.3;

/// What a share is a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Whole {
    /// From the first to the last work of the devices.
    Run,
    /// The part of the run in which a range is open or its work is running, if ranges hold much of the work.
    Ranges,
}

impl Whole {
    /// `8 % of the time in ranges`
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "the GPU's active time",
            Self::Ranges => "the time in ranges",
        }
    }
}

/// A whole and how long it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time {
    pub(super) of: Whole,
    pub(super) ns: f64,
}

impl Time {
    pub(super) fn of_run(findings: &Findings) -> Self {
        let devices = findings.idle.iter().filter(|row| row.region.is_none());
        let ns = devices.map(|row| row.busy_ns.saturating_add(row.idle_ns)).sum::<i64>();
        Self { of: Whole::Run, ns: ns.max(1) as f64 }
    }

    /// The time in ranges if they hold much of the work: start-up and warm-up outside them say little about it.
    pub(super) fn that_matters(findings: &Findings) -> Self {
        let all = findings.kernel_ns();
        let inside: i64 =
            findings.idle.iter().filter_map(|row| row.in_ranges_ns).fold(0, i64::saturating_add);
        let attributed = in_own_ranges(findings, all) as f64;
        match inside > 0 && attributed >= all as f64 * MUCH_OF_THE_WORK {
            true => Self { of: Whole::Ranges, ns: inside as f64 },
            false => Self::of_run(findings),
        }
    }
}

/// The most kernel time that one domain or start/end region holds, libraries' own ranges aside.
fn in_own_ranges(findings: &Findings, all_ns: i64) -> i64 {
    let domains = findings.unattributed.domains.iter().filter(|(domain, _)| !is_library(domain));
    let push_pop = domains.map(|(_, outside)| all_ns.saturating_sub(outside.gpu_ns));
    let regions = findings.regions.iter();
    let start_end = regions.filter(|row| row.kind == Kind::StartEnd && !is_library(&row.domain));
    push_pop.chain(start_end.map(|row| row.gpu_inclusive_ns)).max().unwrap_or(0)
}
