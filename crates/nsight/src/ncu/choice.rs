//! Which launches are measured: selected from the timeline, or listed in a plan.

use std::time::Duration;

use analysis::{
    KernelPatterns, LaunchGroups, Region, launch_groups, launches_at_once, launches_in, limits_from_samples,
};
use nvtx::NcuGate;
use record::counted;
use trace::{ActivityKind, Trace};

use super::choose::Wanted;
use super::entry::{Entry, named, samples};
use super::pace::Pace;
use super::plan::{Demand, Part, Plan, plan};
use super::target::Target;

/// Roughly how many passes a launch takes: ncu only reports it once it runs.
const PASSES_OF_A_SET: [(&str, u32); 5] =
    [("basic", 10), ("default", 10), ("roofline", 17), ("detailed", 30), ("full", 40)];
/// The throughput of an SM is the highest of many: it takes nine passes on an H200, and the seven
/// other sections of the defaults nine together.
const PASSES_OF_A_THROUGHPUT: u32 = 9;
/// Collected in one pass on an H200: those of `ncu.quick`. Of others, about four are.
const AT_ONCE: [&str; 10] = [
    "gpu__time_duration",
    "dram__throughput",
    "lts__lts2xbar_cycles_active",
    "lts__xbar2lts_cycles_active",
    "l1tex__data_pipe_lsu_wavefronts",
    "sm__inst_executed",
    "sm__inst_executed_pipe_fma",
    "sm__inst_executed_pipe_alu",
    "sm__pipe_tensor_cycles_active",
    "sm__warps_active",
];
const METRICS_OF_A_PASS: usize = 4;

/// Kernels are measured inside the program's ranges if that covers at most this much less of the wanted
/// share: a start-up has kernels of its own.
const LOST_OUTSIDE: f64 = 0.1;

/// Which kernels the user wants to measure.
#[derive(Debug, Clone, Default)]
pub struct Preferences {
    /// Patterns of wanted names; empty for all.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// The share of kernel time that the selection must represent.
    pub coverage: f64,
    /// Maximum number of kernels.
    pub most: Option<u32>,
    pub launches_per_kernel: u32,
    /// Time limit for the replays.
    pub budget: Option<Duration>,
}

/// The input of the selection.
#[derive(Debug)]
pub struct Given<'a> {
    pub preferences: &'a Preferences,
    pub trace: &'a Trace,
    /// What was named, each to be covered; empty for the whole program.
    pub targets: &'a [Target],
    /// Gates that name several start/end ranges: ncu sees only what is launched while all of one are open.
    pub at_once: &'a [NcuGate],
    /// Whether ncu sees only what is launched in them.
    pub gated: bool,
    /// If none is named: regions to restrict the measurement to if they contain what matters, so that a
    /// warm-up outside of them is not measured.
    pub outermost: &'a [&'a Region],
    /// Whatever thread it is launched by.
    pub any_thread: bool,
    pub entries: Option<&'a [Entry]>,
    pub by_launch_shape: bool,
    pub wanted: &'a Wanted,
    /// How long the program takes without a profiler.
    pub wall: Duration,
    pub allowance: Allowance,
}

/// How much time ncu may take, and how fast it is.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    pub budget: Option<Duration>,
    pub pace: Pace,
}

impl Allowance {
    /// Before anything was measured.
    pub fn at_first(preferences: &Preferences) -> Self {
        Self { budget: preferences.budget, pace: Pace::default() }
    }
}

/// A plan, or why there is none.
#[derive(Debug)]
pub enum Choice {
    Planned {
        plan: Plan,
        notes: Vec<String>,
        /// Whether ncu is restricted to the outermost regions.
        within: bool,
    },
    /// The timeline has no wanted kernel; `chosen` if by names or patterns.
    NoLaunches { notes: Vec<String>, chosen: bool },
    /// Not one fits the budget.
    NoTime(String),
}

pub fn choose_launches(given: &Given<'_>) -> Result<Choice, String> {
    let all = launch_groups(given.trace);
    let mut launches = all.clone();
    let mut notes = Vec::new();
    let inside = |launches: &LaunchGroups, regions: &[&Region]| {
        launches_in(given.trace, launches, regions, given.any_thread)
    };
    let named_regions: Vec<&Region> = given.targets.iter().flat_map(|target| &target.regions).collect();
    if given.gated && !(given.targets.is_empty() && given.at_once.is_empty()) {
        let at_once = given.at_once.iter().map(|gate| launches_at_once(given.trace, &launches, gate));
        let members: Vec<Vec<bool>> = at_once.chain([inside(&launches, &named_regions)]).collect();
        launches = launches.only(|launch| members.iter().any(|member| member[launch]));
    }
    let gate_share = share(&launches, &all);
    let patterns = KernelPatterns::new(&given.preferences.include, &given.preferences.exclude)?;
    launches =
        launches.only(|launch| patterns.keep(&launches.groups[launches.sequence[launch] as usize].name));
    let (mut wanted_share, mut most) = (given.preferences.coverage, given.preferences.most);
    let mut count = u64::from(given.preferences.launches_per_kernel.max(1));
    if let Some(entries) = given.entries {
        let (found, idle) = named(entries, &launches)?;
        for entry in idle {
            let what = entry.name.or(entry.regex).or(entry.region).unwrap_or_default();
            notes.push(format!("no launch matches `{what}` of the plan"));
        }
        launches = found;
        // Everything a plan lists is wanted.
        (wanted_share, most) = (1.0, None);
        count = samples(entries).unwrap_or(count);
    }
    if launches.sequence.is_empty() {
        let chosen = given.entries.is_some() || !patterns.is_empty();
        return Ok(Choice::NoLaunches { notes, chosen });
    }
    let mut parts: Vec<Part> = given
        .targets
        .iter()
        .map(|target| {
            let regions: Vec<&Region> = target.regions.iter().collect();
            Part { name: target.name.clone(), inside: inside(&launches, &regions) }
        })
        // Nothing can be measured if nothing is launched; the verdict says so.
        .filter(|part| part.inside.contains(&true))
        .collect();
    if parts.is_empty() {
        parts.push(Part { name: "the program".to_owned(), inside: vec![true; launches.sequence.len()] });
    }
    let in_samples = limits_from_samples(given.trace);
    let told: Vec<bool> = launches.groups.iter().map(|group| in_samples.contains(&group.name)).collect();
    let planned_of = |samples: u64, visible: &[bool]| {
        plan(&Demand {
            launches: &launches,
            parts: &parts,
            share: wanted_share,
            most,
            samples,
            by_launch_shape: given.by_launch_shape,
            passes: passes(given.wanted),
            pace: given.allowance.pace,
            budget_s: given.allowance.budget.map(|budget| budget.as_secs_f64()),
            wall_s: given.wall.as_secs_f64(),
            seen: all.sequence.len(),
            visible,
            told: &told,
        })
    };
    // Prefer a few launches of each kernel to many of some.
    let planned = |visible: &[bool]| {
        let mut best = (count, planned_of(count, visible));
        let mut samples = count / 2;
        while samples > 0 && best.1.covered + 0.005 < best.1.covered_without_budget {
            let fewer = planned_of(samples, visible);
            if fewer.covered > best.1.covered + 0.005 {
                best = (samples, fewer);
            }
            samples /= 2;
        }
        best
    };
    let (mut samples, mut plan) = planned(&[]);
    let mut within = None;
    if !given.outermost.is_empty() {
        let visible = inside(&launches, given.outermost);
        let (fewer, kept) = planned(&visible);
        // A user who names kernels or wants all of them gets them.
        let least = match given.preferences.include.is_empty() {
            true => plan.covered.min(wanted_share) * (1.0 - (1.0 - wanted_share).min(LOST_OUTSIDE)),
            false => plan.covered,
        };
        if kept.covered + 0.005 >= least && !kept.invocations.is_empty() {
            within = Some(plan.covered);
            (samples, plan) = (fewer, kept);
        }
    }
    if plan.invocations.is_empty() {
        let budget = given.allowance.budget.map_or(0.0, |budget| budget.as_secs_f64());
        return Ok(Choice::NoTime(format!("`ncu.budget` of {budget:.0} s is too short for a single launch")));
    }
    notes.extend(graphs(given.trace));
    let mut text = summary(&plan);
    if gate_share < 0.995 {
        text.push_str(&format!("; the ranges take {:.0} % of the GPU's time", gate_share * 100.0));
    }
    if samples < count {
        text.push_str(&format!(", {samples} of each instead of {count}, to fit the budget"));
    }
    if let Some(anywhere) = within {
        let names: Vec<String> = given.outermost.iter().map(|region| format!("`{}`", region.path)).collect();
        text.push_str(&format!(", inside {}", names.join(", ")));
        if anywhere > plan.covered + 0.005 {
            text.push_str(&format!(" ({:.0} % including kernels that run only outside)", anywhere * 100.0));
        }
    }
    let is_open = |kernel: &str| !in_samples.contains(kernel);
    if !in_samples.is_empty() && plan.chosen.iter().any(|kind| is_open(&kind.kernel)) {
        text.push_str("; first the kernels whose limit the samples leave open");
    }
    notes.push(text);
    Ok(Choice::Planned { plan, notes, within: within.is_some() })
}

/// The share of all kernel time that some kernels take.
fn share(some: &LaunchGroups, all: &LaunchGroups) -> f64 {
    some.total_ns() as f64 / all.total_ns().max(1) as f64
}

/// Graphs that were recorded as a whole hide their kernels from the selection.
fn graphs(trace: &Trace) -> Option<String> {
    let activities = &trace.activities;
    let time = |wanted: ActivityKind| -> i64 {
        let of_kind = (0..activities.len()).filter(|at| activities.kind[*at] == wanted);
        of_kind.map(|at| activities.duration(at)).sum()
    };
    let (graphs, kernels) = (time(ActivityKind::Graph), time(ActivityKind::Kernel));
    let share = graphs as f64 / (graphs + kernels).max(1) as f64;
    (share > 0.03).then(|| {
        format!(
            "CUDA graphs take {:.0} % of the GPU's time, and their kernels were not recorded individually; \
            set `rehearsal.graph_nodes=true` to select them",
            share * 100.0
        )
    })
}

/// How often a launch is replayed, as far as that can be predicted.
pub fn passes(wanted: &Wanted) -> u32 {
    let of_set = wanted
        .set
        .as_ref()
        .map(|set| PASSES_OF_A_SET.iter().find(|(name, _)| name == set).map_or(20, |(_, passes)| *passes));
    // That of DRAM is counted in one.
    let is_throughput = |name: &&String| {
        name.contains("throughput") && !name.contains("dram") || name.starts_with("SpeedOfLight")
    };
    let named = wanted.sections.iter().chain(&wanted.metrics);
    let throughput = u32::from(named.filter(is_throughput).count() > 0) * PASSES_OF_A_THROUGHPUT;
    let sections = (wanted.sections.len() as u32).saturating_sub(1) * 9 / 7;
    let is_at_once = |name: &&String| AT_ONCE.contains(&name.split('.').next().unwrap_or_default());
    let plain = wanted.metrics.iter().filter(|name| !is_throughput(name));
    let (at_once, others): (Vec<&String>, Vec<&String>) = plain.partition(is_at_once);
    let metrics = u32::from(!at_once.is_empty()) + others.len().div_ceil(METRICS_OF_A_PASS) as u32;
    (of_set.unwrap_or(0) + throughput + sections + metrics).max(1)
}

/// Whether a trace has kernels.
pub fn has_kernels(trace: &Trace) -> bool {
    trace.activities.kind.contains(&ActivityKind::Kernel)
}

/// One line: what will be measured, what it represents, how long it takes.
fn summary(plan: &Plan) -> String {
    let launches: u64 = plan.invocations.iter().map(|invocation| invocation.launches).sum();
    let (launches, kinds) = (counted(launches, "launch"), counted(plan.chosen.len() as u64, "kind"));
    let mut text = format!(
        "{launches} of {kinds} for {:.0} % of the kernels' time, about {:.0} s on top of the program's own \
        time",
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::super::command::Selection;
    use super::super::outermost::outermost;
    use super::*;

    /// A start-up with kernels of its own, a warm-up of 20 launches, and 80 more in a range.
    fn session(start_up_ns: &[i64], each_ns: i64) -> Trace {
        let mut trace = Trace::default();
        trace.processes.push(trace::Process { pid: 1, ..trace::Process::default() });
        trace.threads.push(trace::Thread { process: 0, id: 1, name: None });
        trace.devices.push(trace::Device::default());
        let start_up = start_up_ns.len();
        for kernel in 0..=start_up {
            let kernel = if kernel < start_up { format!("init{kernel}") } else { "gemm".to_owned() };
            let name = trace.strings.intern(&kernel);
            trace.activities.launches.push(trace::Launch {
                name,
                short_name: name,
                mangled: name,
                grid: [1; 3],
                block: [1; 3],
                ..trace::Launch::default()
            });
        }
        for number in 0..start_up + 100 {
            let begin = (number as i64 - start_up as i64) * 1_000;
            let (name, correlation) = (trace.strings.intern("cudaLaunchKernel"), number as u32 + 1);
            let end = begin + 1;
            trace.calls.push(trace::Call { begin, end, name, correlation, ..trace::Call::default() });
            let end = begin + start_up_ns.get(number).unwrap_or(&each_ns);
            let detail = number.min(start_up) as u32;
            let row = trace::Activity { begin, end, correlation, detail, ..trace::Activity::default() };
            trace.activities.push(row);
        }
        let (domain, name) = (trace.strings.intern(""), trace.strings.intern("decode"));
        let (begin, end) = (19_500, 100_000);
        trace.ranges.push(trace::Range { domain, name, begin, end, ..trace::Range::default() });
        trace.finish();
        trace
    }

    /// As the defaults of the program have it, with one of them set.
    fn preferences(change: impl FnOnce(&mut Preferences)) -> Preferences {
        let mut preferences = Preferences {
            coverage: 0.9,
            launches_per_kernel: 1,
            budget: Some(Duration::from_secs(300)),
            ..Preferences::default()
        };
        change(&mut preferences);
        preferences
    }

    /// With these preferences, and ncu kept to what is launched while all of these are open.
    fn chosen(trace: &Trace, preferences: &Preferences, at_once: &[NcuGate]) -> (Plan, bool, String) {
        let regions = analysis::regions(trace);
        let outermost = if at_once.is_empty() { outermost(&regions).regions } else { Vec::new() };
        let choice = choose_launches(&Given {
            preferences,
            trace,
            targets: &[],
            at_once,
            gated: !at_once.is_empty(),
            outermost: &outermost,
            any_thread: false,
            entries: None,
            by_launch_shape: true,
            wanted: &Wanted::default(),
            wall: Duration::from_secs(10),
            allowance: Allowance::at_first(preferences),
        });
        match choice {
            Ok(Choice::Planned { plan, within, notes }) => (plan, within, notes.join("; ")),
            _ => unreachable!("there are launches, and time"),
        }
    }

    /// What ncu does not see it does not count.
    #[test]
    fn launches_are_skipped_only_while_all_ranges_of_a_gate_are_open() {
        let mut trace = session(&[], 10);
        let domain = trace.strings.intern("");
        for (name, begin, end) in [("sx", 9_500, 40_500), ("sy", 29_500, 90_500)] {
            let name = trace.strings.intern(name);
            let range = trace::Range { domain, name, begin, end, ..trace::Range::default() };
            trace.ranges.push(trace::Range { kind: trace::Kind::StartEnd, ..range });
        }
        trace.finish();
        let gate = NcuGate::parse("sx,sy").unwrap();
        let (plan, _, told) = chosen(&trace, &preferences(|_| ()), &[gate]);
        let Selection::Launches { skip, count, .. } = plan.invocations[0].selection else { panic!() };
        assert!(skip + count <= 11, "11 of 100 launches lie in both: {skip} are skipped, {count} measured");
        assert!(told.contains("the ranges take 11 % of the GPU's time"), "{told}");
    }

    #[test]
    fn the_warm_up_is_not_what_is_measured() {
        let within = |trace: &Trace, preferences: &Preferences| {
            let (_, within, told) = chosen(trace, preferences, &[]);
            (within, told)
        };
        let named = |names: &[&str]| {
            preferences(|wanted| wanted.include = names.iter().map(|name| (*name).to_owned()).collect())
        };
        let usual = session(&[130], 10);
        let (is_within, told) = within(&usual, &preferences(|_| ()));
        assert!(
            is_within && told.contains("inside `:decode` (100 % including kernels that run only outside)"),
            "{told}"
        );
        let (is_within, told) = within(&usual, &preferences(|wanted| wanted.coverage = 1.0));
        assert!(!is_within && !told.contains("inside"), "all of it was asked for: {told}");
        assert!(within(&usual, &named(&["gemm"])).0);
        assert!(!within(&usual, &named(&["gemm", "init"])).0, "it was named");
        assert!(!within(&session(&[300], 10), &preferences(|_| ())).0, "too much of it is outside");
        assert!(
            !within(&session(&[1000; 10], 1), &preferences(|wanted| wanted.most = Some(1))).0,
            "nearly all of it is outside"
        );
    }

    #[test]
    fn the_quick_preset_takes_one_pass() {
        let preset = include_str!("../../../../presets/ncu.quick.yaml");
        let named =
            preset.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split_whitespace().next());
        let mut wanted = Wanted { sections: vec!["LaunchStats".to_owned()], ..Wanted::default() };
        wanted.metrics = named.map(str::to_owned).collect();
        assert_eq!((wanted.metrics.len(), passes(&wanted)), (AT_ONCE.len(), 1));
        wanted.metrics.push("sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed".to_owned());
        assert_eq!(passes(&wanted), 2);
        wanted.metrics.push("sm__throughput.avg.pct_of_peak_sustained_elapsed".to_owned());
        assert_eq!(passes(&wanted), 11);
    }
}
