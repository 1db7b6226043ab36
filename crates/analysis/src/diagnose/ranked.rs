//! The findings about a trace: the causes in its loops, the one with the most to gain first.

use trace::{ActivityKind, Trace, counted};

use super::case::{Candidate, Case};
use super::causes::classes::classes;
use super::causes::{before, copies, host, kernels, limits, waits};
use super::finding::{Cause, Finding};
use super::no_finding::{NoFinding, is_incomplete};
use super::open_ranges::OpenRanges;
use crate::attribute::Attribution;
use crate::kernels::Families;
use crate::loop_::{Loop, Steady};
use crate::replay::Index;
use crate::time::Devices;

/// A gain that is smaller is not worth a finding.
const WORTH_A_WORD: f64 = 1.05;
/// Another cause explains launching that is late, if removing it gains this much.
const EXPLAINS: f64 = 1.1;
/// and saves this part of what launching at once would.
const EXPLAINS_AT_LEAST: f64 = 0.5;
/// A cause that saves less of it, once those before it are gone, is a symptom of them.
const MOST_OF_ITS_OWN: f64 = 0.75;
/// Start-up comes first when it is longer than this and most of the recording,
const LONG: i64 = 1_000_000_000;
/// and the loop has no more to gain than this.
const LITTLE: f64 = 1.25;
/// With more of the names lost, kernels cannot be told apart.
const LOST: f64 = 0.1;
/// Work that a recording without a loop must have.
const A_FEW: usize = 16;
/// Loops that are looked into, and findings that are told: nobody follows more advice.
const MOST_LOOPS: usize = 32;
const MOST: usize = 12;

/// The findings, or why there are none.
#[derive(Debug)]
pub(crate) struct Diagnosis {
    pub(crate) findings: Vec<Finding>,
    pub(crate) none: Option<NoFinding>,
}

impl Diagnosis {
    fn of(findings: Vec<Finding>, why_none: impl FnOnce() -> NoFinding) -> Self {
        let none = findings.is_empty().then(why_none);
        Self { findings, none }
    }
}

/// Fills in what the loops' steady iterations show, and returns the findings.
pub(crate) fn diagnose(
    trace: &Trace,
    attribution: &Attribution,
    families: &Families,
    loops: &mut [Loop],
) -> Diagnosis {
    if names_are_lost(trace) {
        return Diagnosis::of(Vec::new(), || NoFinding::NamesLost);
    }
    let index = Index::of(trace, attribution);
    let devices = Devices::of(trace, attribution);
    let opened = |process: u32| OpenRanges::of(trace, attribution, process);
    if loops.is_empty() {
        let unexamined = || NoFinding::unexamined(trace, None);
        let Some(whole) = whole(trace) else { return Diagnosis::of(Vec::new(), unexamined) };
        let open = opened(whole.process);
        let time = devices.in_loop(&whole).unwrap_or_default();
        let case = Case::of(trace, attribution, families, (&index, &open), &whole, time, true);
        // Of a few launches there is nothing to say.
        let case = case.filter(|case| case.graph.works.len() >= A_FEW);
        let Some(case) = case else { return Diagnosis::of(Vec::new(), unexamined) };
        let found = of_case(&case, true).into_iter().map(|(finding, _)| finding).collect();
        return Diagnosis::of(found, || NoFinding::examined(trace, case.busy));
    }
    let names: Vec<Option<String>> = loops.iter().map(|found| found.called(loops)).collect();
    let mut names = names.iter();
    let (mut all, mut before): (Vec<Found>, Vec<Finding>) = Default::default();
    let mut examined = None;
    let shown = loops.len().min(MOST_LOOPS);
    // Loops of one process follow each other.
    for (number, of_process) in
        loops[..shown].chunk_by_mut(|a, b| a.steady.process == b.steady.process).enumerate()
    {
        let open = opened(of_process[0].steady.process);
        for (at, found) in of_process.iter_mut().enumerate() {
            let is_main = (number, at) == (0, 0);
            let time = devices.in_loop(&found.steady);
            found.without_work = !trace.activities.is_empty() && time.is_none();
            if let Some(time) = time {
                found.busy_share = Some(time.busy_share());
                found.idle = time.causes.shares(time.whole());
            }
            let case = time.and_then(|time| {
                Case::of(trace, attribution, families, (&index, &open), &found.steady, time, false)
            });
            let case = case.filter(|case| !case.graph.works.is_empty());
            if is_main {
                examined = case.as_ref().map(|case| case.busy);
            }
            let findings = case.map(|case| of_case(&case, is_main)).unwrap_or_default();
            let of = names.next().cloned().flatten();
            if is_main {
                before = before::findings(trace, attribution, (&index, &open), found);
                before.iter_mut().for_each(|finding| tell_whose(finding, of.as_deref()));
            }
            findings
                .into_iter()
                .for_each(|(finding, saved)| join(&mut all, Found { finding, saved, of: of.clone() }));
        }
    }
    // Of several loops, the time that is saved in all; a limit stands where the main loop has it.
    let has_limit = all.first().is_some_and(|found| found.finding.is_limit());
    all[usize::from(has_limit)..].sort_by(|a, b| b.saved.total_cmp(&a.saved));
    let told = |found: Found| {
        let Found { mut finding, of, .. } = found;
        // That nothing is in the way is not known of what is lost.
        if finding.cause == Cause::Healthy && is_incomplete(trace) {
            finding.title.push_str(", as far as was recorded");
        }
        tell_whose(&mut finding, of.as_deref());
        finding
    };
    let of_loops: Vec<Finding> = all.into_iter().take(MOST).map(told).collect();
    // What comes first is not known where nothing is left to examine.
    if of_loops.is_empty() && is_incomplete(trace) {
        before.clear();
    }
    let span = trace.end.saturating_sub(loops[0].recorded_since());
    // A loop with little to gain, behind a start of which it is known where the time goes.
    let little =
        |finding: &Finding| finding.is_limit() || finding.gain.is_some_and(|gain| gain.factor < LITTLE);
    let is_large = |finding: &Finding| finding.time_ns >= LONG && finding.time_ns.saturating_mul(2) >= span;
    let is_first = of_loops.first().is_none_or(little)
        && before.first().is_some_and(|first| is_large(first) && before::is_known(first));
    let findings = if is_first {
        before.into_iter().chain(of_loops).collect()
    } else {
        of_loops.into_iter().chain(before).collect()
    };
    Diagnosis::of(findings, || match examined {
        Some(busy) => NoFinding::examined(trace, busy),
        None => NoFinding::unexamined(trace, loops.first()),
    })
}

/// Whether a damaged file has left so few names of kernels that nothing can be said of them.
fn names_are_lost(trace: &Trace) -> bool {
    let launches = &trace.activities.launches;
    let lost = launches.iter().filter(|launch| trace.strings.is_lost(launch.name)).count();
    lost as f64 > LOST * launches.len() as f64
}

/// A finding, the time it saves in all iterations, and what tells the process of its loop apart, if there are several.
struct Found {
    finding: Finding,
    saved: f64,
    of: Option<String>,
}

/// Ranks do the same: one cause in one place is one finding.
fn join(all: &mut Vec<Found>, found: Found) {
    let same = |other: &&mut Found| {
        other.finding.cause == found.finding.cause && other.finding.place.region == found.finding.place.region
    };
    match all.iter_mut().find(same) {
        Some(known) => {
            let others = known.finding.also_in;
            if found.saved > known.saved {
                *known = found;
            }
            known.finding.also_in = others + 1;
        }
        None => all.push(found),
    }
}

/// `… (rank 3, and 7 other loops)`, where there are loops of several processes.
fn tell_whose(finding: &mut Finding, of: Option<&str>) {
    let Some(of) = of else { return };
    let others = match finding.also_in {
        0 => String::new(),
        others => format!(", and {}", counted(u64::from(others), "other loop")),
    };
    finding.title.push_str(&format!(" ({of}{others})"));
}

/// From the first work of the busiest process to its last.
fn whole(trace: &Trace) -> Option<Steady> {
    let activities = &trace.activities;
    let mut times = vec![0i64; trace.processes.len()];
    let kernels = (0..activities.len()).filter(|at| activities.kind[*at] == ActivityKind::Kernel);
    kernels.for_each(|at| {
        let time = &mut times[activities.process[at] as usize];
        *time = time.saturating_add(activities.duration(at));
    });
    let process = (0u32..).zip(&times).filter(|(_, time)| **time > 0).max_by_key(|(_, time)| **time)?.0;
    let own = |at: &usize| activities.process[*at] == process;
    let begin = (0..activities.len()).filter(own).map(|at| activities.begin[at]).min()?;
    let end = (0..activities.len()).filter(own).map(|at| activities.end[at]).max()?;
    let calls = (0..trace.calls.len()).filter(|at| trace.process_of(trace.calls.thread[*at]) == process);
    let launched = calls.clone().map(|at| trace.calls.begin[at]).filter(|at| *at < end).min()?;
    let last = calls.map(|at| trace.calls.end[at]).max()?.saturating_add(1);
    let (on_host, on_device) = (vec![launched, last], vec![begin, end]);
    Some(Steady { process, on_host, on_device, end, ..Steady::default() })
}

/// With the time that each would save in all iterations.
fn of_case(case: &Case<'_>, is_main: bool) -> Vec<(Finding, f64)> {
    let classes = classes(case);
    let mut all: Vec<Candidate> = Vec::new();
    all.extend(waits::candidates(case));
    all.extend(copies::candidates(case, &classes));
    all.extend(host::candidates(case));
    all.extend(kernels::candidates(case, &classes));
    let factor = |candidate: &Candidate| {
        candidate.then.as_ref().map_or(WORTH_A_WORD, |then| case.now / then.likely.max(1.0))
    };
    all.retain(|candidate| factor(candidate) >= WORTH_A_WORD);
    let saved = |candidate: &Candidate| {
        candidate.then.as_ref().map_or(0.0, |then| (case.now - then.likely).max(0.0) * case.iterations())
    };
    // The host is late with launches behind a wait, too: then the wait is the cause, unless launching takes far more.
    let launching =
        all.iter().filter(|candidate| candidate.cause == Cause::LaunchBound).map(saved).fold(0.0, f64::max);
    let is_explained = all.iter().any(|candidate| {
        explains(candidate.cause)
            && factor(candidate) >= EXPLAINS
            && saved(candidate) >= EXPLAINS_AT_LEAST * launching
    });
    let saved = |candidate: &Candidate| {
        let saved = saved(candidate);
        if candidate.cause == Cause::LaunchBound && is_explained { saved * 1e-3 } else { saved }
    };
    all.sort_by(|a, b| saved(b).total_cmp(&saved(a)).then_with(|| a.title.cmp(&b.title)));
    let mut all = each_its_own_time(case, all);
    // A device that is busy has little to gain: what it is busy with comes first.
    if is_main
        && !all.iter().any(|candidate| candidate.then.is_none() || factor(candidate) >= EXPLAINS)
        && let Some(limit) = limits::limit(case, &classes)
    {
        all.insert(0, limit);
    }
    let saved: Vec<f64> = all.iter().map(saved).collect();
    let mut findings: Vec<Finding> = all.into_iter().map(|candidate| case.finding(candidate)).collect();
    if let Some(why) = case.no_gain() {
        let without = findings.iter_mut().filter(|finding| !finding.is_limit());
        without.for_each(|finding| finding.evidence.push(why.clone()));
    }
    findings.into_iter().zip(saved).collect()
}

/// Without what another one explains: with those before it removed, a cause must still save most of what it saves alone.
fn each_its_own_time(case: &Case<'_>, all: Vec<Candidate>) -> Vec<Candidate> {
    let (mut graph, mut now) = (case.graph.clone(), case.now);
    let mut kept = Vec::new();
    for candidate in all {
        if let Some((then, changed)) =
            candidate.then.as_ref().and_then(|then| Some((then, then.changed.as_ref()?)))
        {
            let mut without = graph.clone();
            without.change_as(&case.graph, changed);
            let left = case.replayed(&without);
            if now - left < MOST_OF_ITS_OWN * (case.now - then.likely) {
                continue;
            }
            (graph, now) = (without, left);
        }
        kept.push(candidate);
    }
    kept
}

/// Causes that make launches late, without being about launching.
fn explains(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Sync
            | Cause::PageableCopy
            | Cause::BlockingCopy
            | Cause::Allocation
            | Cause::HostCode
            | Cause::DataLoading
            | Cause::HostContention
    )
}
