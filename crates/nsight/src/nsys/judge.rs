//! Compares a report with the rehearsals: how much of what was wanted is there.

use analysis::Region;
use record::{Cause, Coverage, Outcome, Tool, Verdict, advice, counted};
use trace::Trace;

use crate::clue::Clue;
use crate::wish::{Wanted, listed, wanted};

const TOOL: Tool = Tool::Nsys;

/// Everything a verdict is based on.
#[derive(Debug)]
pub struct Case<'a> {
    pub report: &'a Trace,
    /// What each rehearsal saw; empty without one.
    pub rehearsed: &'a [&'a [Region]],
    /// The gate as the user wrote it, applied in the tool or afterwards.
    pub wish: Option<&'a str>,
    /// The gate was applied in the tool: the report has no ranges around it.
    pub gated: bool,
    /// How many instances the requested range end records.
    pub limit: Option<u64>,
    /// Why the report cannot have the counts of a rehearsal, if so: only a part was to be recorded.
    pub uncompared: Option<&'a str>,
    /// The rehearsal could not see any range.
    pub blind: bool,
    /// What the log says.
    pub clues: &'a [Clue],
    pub ending: Ending,
}

/// How the pass ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// By itself, and well.
    Well,
    /// The workload failed; how.
    WorkloadFailed(String),
    /// nsys itself was killed; it reports how the workload ends by an exit code.
    ToolKilled(String),
    /// nsys ended it after the range, as requested.
    AfterRange,
    /// The same, or by itself: now and then nsys ends with 0 all the same.
    WellOrAfterRange,
    TimedOut,
    Interrupted,
    /// It was stopped after `capture.duration`.
    Stopped,
}

/// What the counts alone say.
enum Counts {
    All,
    /// More or fewer, but within the range of the rehearsals.
    Varying,
    More,
    Some,
    None,
}

pub fn judge(case: &Case<'_>) -> Verdict {
    let seen = analysis::regions(case.report);
    let known = case.rehearsed.first().copied().unwrap_or_default();
    let regions = if known.is_empty() { &seen } else { known };
    let parts = case.wish.map(|wish| wanted(wish, regions)).unwrap_or_default();
    // What matches a pattern is counted as one region.
    let (patterns, named): (Vec<&Wanted<'_>>, Vec<&Wanted<'_>>) =
        parts.iter().partition(|part| part.pattern().is_some());
    let wanted: Vec<&Region> = match case.wish {
        Some(_) => once_each(named.iter().flat_map(|part| part.regions.iter().copied())),
        None => regions.iter().collect(),
    };
    if let Some(wish) = case.wish.filter(|_| parts.iter().all(|part| part.regions.is_empty())) {
        return no_such_range(wish, &parts, &seen);
    }
    let report = case.report;
    if report.ranges.is_empty() && report.calls.is_empty() && report.activities.is_empty() && known.is_empty()
    {
        let text = "the report is empty: no ranges, CUDA calls or kernels";
        return explained(Verdict::missed(TOOL, Cause::NothingRecorded, text), case);
    }
    let mut coverage = coverage(&wanted, &seen, case);
    coverage.extend(patterns.iter().filter_map(|part| pattern_coverage(part, &seen, case)));
    let mut verdict = by_counts(&coverage, &seen, case);
    let absent: Vec<String> =
        parts.iter().filter(|part| part.regions.is_empty()).map(Wanted::absent).collect();
    if verdict.outcome == Outcome::Captured && !absent.is_empty() {
        let why = crate::proof::absent(&parts, regions);
        let correct = why.iter().map(|(part, why)| format!("correct or remove `{part}`: {why}"));
        verdict =
            verdict.because(TOOL, Cause::NoSuchRange).with_remedy(correct.collect::<Vec<_>>().join("; "));
        verdict.outcome = Outcome::Partial;
        verdict.text = format!("{}; {}", verdict.text, absent.join(", "));
    }
    explained(Verdict { coverage, ..verdict }, case)
}

/// The verdict by counts alone.
fn by_counts(coverage: &[Coverage], seen: &[Region], case: &Case<'_>) -> Verdict {
    let captured: u64 = coverage.iter().map(|row| row.captured).sum();
    let expected: u64 = coverage.iter().map(|row| row.expected).sum();
    let most: u64 = coverage.iter().map(|row| row.expected_most).sum();
    match counts(coverage, captured, expected, case) {
        Counts::All => Verdict::new(TOOL, Outcome::Captured, None, all(captured, expected, case, seen)),
        Counts::Varying => {
            let text = format!(
                "{}; the count varies from run to run ({expected} to {most} in the rehearsals)",
                counted(captured, "instance")
            );
            Verdict::new(TOOL, Outcome::Captured, Some(Cause::CountVaries), text)
        }
        Counts::More => {
            let text = format!(
                "{}, more than the {expected} of the rehearsal: the count varies from run to run",
                counted(captured, "instance")
            );
            Verdict::new(TOOL, Outcome::Captured, Some(Cause::CountVaries), text)
        }
        Counts::Some => {
            let text = format!("{captured} of {}", counted(expected, "instance"));
            Verdict::new(TOOL, Outcome::Partial, Some(Cause::RecordsLost), text)
        }
        Counts::None if seen.is_empty() => {
            let text = format!("the rehearsal saw {}, but the report has none", counted(most, "range"));
            Verdict::missed(TOOL, Cause::ClientNotSeen, text)
        }
        Counts::None => {
            let text = format!(
                "none of {}; the report has {}: the program did not reach it this time",
                counted(most, "instance"),
                counted(seen.len() as u64, "other region")
            );
            Verdict::missed(TOOL, Cause::PathNotTaken, text)
        }
    }
}

/// Parts of a gate may match the same region.
fn once_each<'a>(regions: impl Iterator<Item = &'a Region>) -> Vec<&'a Region> {
    let mut once: Vec<&Region> = Vec::new();
    for region in regions {
        if !once.iter().any(|other| other.kind == region.kind && other.path == region.path) {
            once.push(region);
        }
    }
    once
}

fn no_such_range(wish: &str, parts: &[Wanted<'_>], seen: &[Region]) -> Verdict {
    let there = (!seen.is_empty()).then(|| listed(seen));
    let absent = match parts {
        [part] => part.absent(),
        _ => format!("no range named `{wish}`"),
    };
    Verdict::missed(TOOL, Cause::NoSuchRange, format!("{absent} in the report"))
        .with_remedy(advice::ranges_in_report(there.as_deref()))
}

/// Instances in the report, each counted once.
fn coverage(wanted: &[&Region], seen: &[Region], case: &Case<'_>) -> Vec<Coverage> {
    let mut captured = vec![0; wanted.len()];
    // Without a gate, paths are complete.
    let known = if case.gated { case.rehearsed.first().copied().unwrap_or_default() } else { seen };
    for region in seen {
        if let Some(place) = meant_by(region, wanted, known) {
            captured[place] += region.instances;
        }
    }
    let rows = wanted.iter().zip(captured).map(|(region, captured)| {
        let is_same = |other: &Region| other.path == region.path && other.kind == region.kind;
        compared(region.path.to_string(), captured, is_same, case)
    });
    rows.collect()
}

/// Instances of all that a pattern matches: the names themselves may differ from run to run.
fn pattern_coverage(part: &Wanted<'_>, seen: &[Region], case: &Case<'_>) -> Option<Coverage> {
    let pattern = part.pattern()?;
    let is_it = |region: &Region| pattern.matches(&region.path);
    let captured = seen.iter().filter(|region| is_it(region)).map(|region| region.instances).sum();
    Some(compared(pattern.to_string(), captured, is_it, case))
}

/// A count beside that of the rehearsals.
fn compared(region: String, captured: u64, is_it: impl Fn(&Region) -> bool, case: &Case<'_>) -> Coverage {
    let count = |regions: &&[Region]| -> u64 {
        regions.iter().filter(|region| is_it(region)).map(|region| region.instances).sum()
    };
    let counts: Vec<u64> = case.rehearsed.iter().map(count).collect();
    // Without a rehearsal, or with a blind one, there is nothing to compare with.
    let blind = case.rehearsed.iter().all(|regions| regions.is_empty());
    let expected = counts.iter().copied().min().filter(|_| !blind).unwrap_or(captured);
    let expected_most = counts.into_iter().max().filter(|_| !blind).unwrap_or(captured);
    Coverage { region, captured, expected, expected_most }
}

fn counts(coverage: &[Coverage], captured: u64, expected: u64, case: &Case<'_>) -> Counts {
    if let Some(limit) = case.limit {
        return match captured {
            0 => Counts::None,
            captured if captured >= limit => Counts::All,
            _ => Counts::Some,
        };
    }
    // Even if the count varies, nothing is nothing.
    if captured == 0 && coverage.iter().any(|row| row.expected_most > 0) {
        return Counts::None;
    }
    // Under a gate a path may have lost its beginning and be counted as another.
    let short =
        if case.gated { captured < expected } else { coverage.iter().any(|row| row.captured < row.expected) };
    if short {
        return Counts::Some;
    }
    if coverage.iter().any(|row| row.expected < row.expected_most) {
        return Counts::Varying;
    }
    if captured > expected { Counts::More } else { Counts::All }
}

fn all(captured: u64, expected: u64, case: &Case<'_>, seen: &[Region]) -> String {
    match (case.limit, case.rehearsed.is_empty(), case.uncompared) {
        (Some(_), _, _) if captured < expected => {
            let of = counted(expected, "instance");
            format!("{captured} of {of}, all that the requested `--capture-range-end` records")
        }
        (_, true, Some(why)) => {
            format!("{}; not compared with a rehearsal, because {why}", counted(captured, "instance"))
        }
        (_, true, None) if seen.is_empty() => "the whole program; it opens no ranges".to_owned(),
        (_, true, None) => format!("{}, with no rehearsal to compare with", counted(captured, "instance")),
        (_, false, _) if expected == 0 && captured == 0 => {
            "the program opens no ranges; all of it was recorded".to_owned()
        }
        (_, false, _) => format!("{captured} of {}", counted(expected, "instance")),
    }
}

/// What the log, the report and the end of the pass add to the counts.
fn explained(mut verdict: Verdict, case: &Case<'_>) -> Verdict {
    let diagnostics = case.report.distinct_diagnostics();
    let lost = diagnostics.iter().filter(|distinct| distinct.diagnostic.lost).map(ToString::to_string);
    let lost: Vec<String> = case.report.unread.iter().map(ToString::to_string).chain(lost).collect();
    let says = |cause: Cause| case.clues.iter().find(|clue| clue.cause == cause);
    let complete = verdict.outcome == Outcome::Captured;
    let saw_none = case.blind || case.rehearsed.first().is_some_and(|regions| regions.is_empty());
    let blind = saw_none && !case.report.ranges.is_empty();
    let heavier = [Cause::CuptiInUse, Cause::UnsupportedDriver, Cause::NotPermitted, Cause::RecordsLost];
    if let Some(clue) = refused_to_the_workload(case) {
        if complete {
            verdict.text = format!("{}; {WITHOUT_CUPTI}", verdict.text);
        }
        if verdict.cause.is_none() {
            verdict = verdict.because(TOOL, clue.cause);
        }
        verdict.evidence.push(clue.line.clone());
    } else if let Some(clue) = heavier.into_iter().find_map(says) {
        // Data that was lost or not permitted had been asked for.
        verdict = verdict.because(TOOL, clue.cause);
        verdict.evidence.push(clue.line.clone());
        if complete {
            verdict.outcome = Outcome::Partial;
            verdict.text = format!("{}, but some of what was requested is not in the report", verdict.text);
        }
    } else if !lost.is_empty() {
        verdict = verdict.because(TOOL, Cause::RecordsLost);
        if complete {
            verdict.outcome = Outcome::Partial;
            verdict.text = format!("{}, but records were lost", verdict.text);
        }
    }
    verdict.evidence.extend(lost);
    match &case.ending {
        Ending::Well | Ending::Stopped => {}
        Ending::WorkloadFailed(how) => {
            verdict = verdict.because(TOOL, Cause::WorkloadFailed);
            verdict.text = format!("{}; the workload ended with {how}", verdict.text);
        }
        Ending::ToolKilled(how) => {
            verdict = verdict.because(TOOL, Cause::ToolError);
            if complete {
                verdict.outcome = Outcome::Partial;
            }
            verdict.text = format!("{}; nsys itself was killed by {how}", verdict.text);
        }
        Ending::TimedOut => {
            verdict = verdict.because(TOOL, Cause::TimedOut);
            // What it would still have done is unknown.
            if complete {
                verdict.outcome = Outcome::Partial;
            }
            verdict.text = format!("{}; the capture exceeded `workload.timeout`", verdict.text);
        }
        Ending::Interrupted if !complete => verdict = verdict.because(TOOL, Cause::Interrupted),
        Ending::Interrupted => {}
        Ending::AfterRange if verdict.outcome == Outcome::Captured => {
            verdict.cause = Some(Cause::EndedAfterRange);
            verdict.evidence.push("nsys ended the workload with SIGTERM when the range closed".to_owned());
        }
        Ending::AfterRange => {}
        Ending::WellOrAfterRange => {
            let short = |row: &Coverage| row.captured < row.expected;
            if verdict.outcome == Outcome::Captured && verdict.coverage.iter().any(short) {
                verdict.cause = Some(Cause::EndedAfterRange);
                let evidence =
                    "nsys was asked to end the workload when the range closes, and ended with 0 itself";
                verdict.evidence.push(evidence.to_owned());
            }
        }
    }
    if blind && verdict.cause.is_none() {
        verdict.cause = Some(Cause::RehearsalWasBlind);
        verdict.text = format!(
            "{}; the rehearsal saw no ranges, so the count cannot be \
        checked",
            verdict.text
        );
    }
    verdict
}

const WITHOUT_CUPTI: &str =
    "the workload's own profiler cannot use CUPTI under nsys: its trace has no GPU activity";

/// CUPTI allows only one client. nsys comes first: a second one, such as the PyTorch profiler, is rejected
/// and says so, and the report is complete.
fn refused_to_the_workload<'a>(case: &Case<'a>) -> Option<&'a Clue> {
    let by_pytorch = |clue: &&Clue| {
        clue.line.contains(super::log::REFUSED_BY_CUPTI) && clue.line.contains("getCuptiStatus")
    };
    let refused = case.clues.iter().find(by_pytorch)?;
    let alone = case.clues.iter().all(|clue| clue.cause == Cause::CuptiInUse);
    let lost = case.report.is_incomplete();
    (alone && !lost && case.report.activities.kernels() > 0).then_some(refused)
}

/// Which of the wanted regions a region of a report is. A gated report has no ranges around the gate: the
/// path of the instance that opens it has lost its beginning, is not one of the `known` regions, and is
/// compared from its end; later ones are complete again.
pub fn meant_by(seen: &Region, wanted: &[&Region], known: &[Region]) -> Option<usize> {
    let is_same = |other: &Region| other.kind == seen.kind && other.path == seen.path;
    let is_cut = |whole: &Region| {
        seen.kind == whole.kind
            && seen.path.domain == whole.path.domain
            && whole.path.names.ends_with(&seen.path.names)
    };
    let exact = wanted.iter().position(|other| is_same(other));
    exact.or_else(|| {
        let cut = wanted.iter().position(|other| is_cut(other))?;
        (!known.iter().any(is_same)).then_some(cut)
    })
}
