//! Which launches are measured: chosen from the timeline, or named in a plan.

use std::time::Duration;

use analysis::{KernelPatterns, LaunchGroups, Region, launch_groups, windows_within};
use nsight::ncu::{Demand, Entry, Pace, Part, Plan, Wanted, named, plan, samples};
use trace::{ActivityKind, Trace, in_windows};

use crate::config::NcuConfig;

/// Passes that a launch takes, roughly: ncu tells when it has begun.
const PASSES_OF_A_SET: [(&str, u32); 5] =
    [("basic", 10), ("default", 10), ("roofline", 17), ("detailed", 30), ("full", 40)];
const PASSES_OF_A_SECTION: u32 = 3;

/// What the choice is made from.
pub(super) struct Given<'a> {
    pub(super) config: &'a NcuConfig,
    pub(super) trace: &'a Trace,
    /// The regions of the gate; none when there is no gate.
    pub(super) regions: &'a [&'a Region],
    pub(super) entries: Option<&'a [Entry]>,
    pub(super) by_launch_shape: bool,
    pub(super) wanted: &'a Wanted,
    /// What the program takes without a profiler.
    pub(super) wall: Duration,
}

/// A plan, or a word on why there is none.
pub(super) enum Choice {
    Planned {
        plan: Plan,
        notes: Vec<String>,
    },
    /// The timeline has no kernel where one is wanted.
    NoLaunches,
}

pub(super) fn choose_launches(given: &Given<'_>) -> Result<Choice, String> {
    let mut launches = launches(given)?;
    let mut notes = Vec::new();
    let (mut share, mut count) =
        (given.config.coverage.0, u64::from(given.config.launches_per_kernel.max(1)));
    if let Some(entries) = given.entries {
        let (found, idle) = named(entries, &launches)?;
        for entry in idle {
            let what = entry.name.or(entry.regex).or(entry.region).unwrap_or_default();
            notes.push(format!("no launch fits `{what}` of the plan"));
        }
        launches = found;
        // What a plan names is wanted whole.
        share = 1.0;
        count = samples(entries).unwrap_or(count);
    }
    if launches.sequence.is_empty() {
        return Ok(Choice::NoLaunches);
    }
    let parts = parts(given, &launches);
    let plan = plan(&Demand {
        launches: &launches,
        parts: &parts,
        share,
        most: given.config.top_kernels,
        samples: count,
        by_launch_shape: given.by_launch_shape,
        passes: passes(given.wanted),
        pace: Pace::default(),
        budget_s: given.config.budget.map(|budget| budget.0.as_secs_f64()),
        wall_s: given.wall.as_secs_f64(),
    });
    if plan.invocations.is_empty() {
        let budget = given.config.budget.map_or(0.0, |budget| budget.0.as_secs_f64());
        return Err(format!("`ncu.budget` of {budget:.0} s is too short for a single launch"));
    }
    Ok(Choice::Planned { plan, notes })
}

/// The launches that the gate and the patterns let through.
fn launches(given: &Given<'_>) -> Result<LaunchGroups, String> {
    let patterns = KernelPatterns::new(&given.config.kernel_include, &given.config.kernel_exclude)?;
    let all = launch_groups(given.trace);
    let gate = windows_within(given.trace, given.regions);
    let within = |launch: usize| given.regions.is_empty() || in_windows(&gate, all.at_ns[launch]);
    let fits = |launch: usize| patterns.keep(&all.groups[all.sequence[launch] as usize].name);
    Ok(all.only(|launch| within(launch) && fits(launch)))
}

/// Each region of the gate, or the whole program.
fn parts(given: &Given<'_>, launches: &LaunchGroups) -> Vec<Part> {
    let part = |name: String, inside: &dyn Fn(i64) -> bool| Part {
        name,
        inside: launches.at_ns.iter().map(|at| inside(*at)).collect(),
    };
    if given.regions.is_empty() {
        return vec![part("the program".to_owned(), &|_| true)];
    }
    let of_region = |region: &&Region| {
        let windows = windows_within(given.trace, &[region]);
        part(region.path.to_string(), &|at| in_windows(&windows, at))
    };
    let parts: Vec<Part> = given.regions.iter().map(of_region).collect();
    // Nothing can be measured where nothing is launched; the verdict says so.
    parts.into_iter().filter(|part| part.inside.contains(&true)).collect()
}

/// How often a launch is replayed, as far as that can be said before.
pub(super) fn passes(wanted: &Wanted) -> u32 {
    let of_set = wanted
        .set
        .as_ref()
        .map(|set| PASSES_OF_A_SET.iter().find(|(name, _)| name == set).map_or(20, |(_, passes)| *passes));
    let sections = wanted.sections.len() as u32 * PASSES_OF_A_SECTION;
    let metrics = wanted.metrics.len().div_ceil(4) as u32;
    (of_set.unwrap_or(0) + sections + metrics).max(1)
}

/// Whether a trace knows of kernels.
pub(super) fn has_kernels(trace: &Trace) -> bool {
    trace.activities.kind.contains(&ActivityKind::Kernel)
}

/// One line: what will be measured, what it stands for, what it takes.
pub(super) fn told(plan: &Plan) -> String {
    let launches: u64 = plan.invocations.iter().map(|invocation| invocation.launches).sum();
    let launches = if launches == 1 { "1 launch".to_owned() } else { format!("{launches} launches") };
    let mut text = format!(
        "{launches} of {} kinds stand for {:.0} % of the GPU's time, about {:.0} s of replays",
        plan.chosen.len(),
        plan.covered * 100.0,
        plan.seconds.ceil(),
    );
    if plan.covered_without_budget > plan.covered + 0.005 {
        text.push_str(&format!(" (without the budget {:.0} %)", plan.covered_without_budget * 100.0));
    }
    let thin: Vec<String> = plan
        .parts
        .iter()
        .filter(|part| plan.parts.len() > 1 && part.share + 0.005 < plan.covered)
        .map(|part| format!("{} {:.0} %", part.name, part.share * 100.0))
        .collect();
    if !thin.is_empty() {
        text.push_str(&format!(" (less in {})", thin.join(", ")));
    }
    match plan.invocations.len() {
        1 => text.push_str(", in one run of the program"),
        runs => text.push_str(&format!(", in {runs} runs of the program")),
    }
    text
}
