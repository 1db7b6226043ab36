//! Two sides of a comparison, as text.

use analysis::compare::{
    Comparison, CountersChange, Decision, Difference, Doubt, FunctionChange, Named, Reason, Stray, Timed,
    Verdict,
};
use analysis::{BoundKind, Cause, IdleCause};
use serde::Serialize;

use crate::form::markdown::{Markdown, cell, sentence};
use crate::form::shown::Digits;
use crate::form::terminal::{Names, Terminal};
use crate::printable::printable;
use crate::tables::{
    OUTSIDE, Tabular, View, beyond_the_whole, changes, counter_changes, operator_changes, shape, signed,
};
use crate::units::{about, bytes, counted, duration, fixed, number, percent, roughly};

const NO_LOOP: &str = "no loop was found on both sides; a range around each iteration makes it known";
const WIDEST_NAME: usize = 48;
/// Reasons that are told; the others are in the table.
const MOST_REASONS: usize = 4;
/// Names in one reason.
const MOST_NAMES: usize = 4;

const ON_SCREEN: Terminal = Terminal {
    view: View::Screen,
    rows: usize::MAX,
    widest_name: WIDEST_NAME,
    names: Names::Short,
    absent: None,
};
const IN_MARKDOWN: Markdown = Markdown {
    view: View::Sheet,
    rows: usize::MAX,
    names: Names::Short,
    digits: Digits::Grouped,
    absent: "",
};

/// A fact around the program that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Around {
    pub name: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// A comparison, and what it is of.
#[derive(Debug, Serialize)]
pub struct Diff<'d> {
    pub schema: u32,
    /// What each side was read from.
    pub sides: [&'d str; 2],
    /// The first line: what changed, and why.
    pub conclusion: String,
    #[serde(flatten)]
    pub comparison: &'d Comparison,
    /// Environment and configuration, where they differ.
    pub around: &'d [Around],
    /// What makes the comparison less than it seems.
    pub notes: &'d [String],
}

impl<'d> Diff<'d> {
    pub fn new(
        sides: [&'d str; 2],
        comparison: &'d Comparison,
        around: &'d [Around],
        notes: &'d [String],
    ) -> Self {
        Self { schema: 1, sides, conclusion: conclusion(comparison), comparison, around, notes }
    }

    /// For a terminal; `top` rows of the table.
    pub fn screen(&self, top: usize) -> String {
        let mut text = format!("{}\n", printable(&self.conclusion));
        self.evidence().iter().for_each(|line| text.push_str(&format!("  {}\n", printable(line))));
        if !self.around.is_empty() {
            text.push_str("\nchanged around it\n");
            let widest = self.around.iter().map(|one| one.name.chars().count()).max().unwrap_or(0);
            for Around { name, before, after } in self.around {
                let line = format!("{name:widest$}  {} → {}", of_side(before), of_side(after));
                text.push_str(&format!("{}\n", printable(&line)));
            }
        }
        if !self.comparison.changes.is_empty() {
            let table = changes(self.comparison, top);
            text.push_str(&format!("\nwhat an iteration is made of\n{}", ON_SCREEN.text(&table)));
            beyond_the_whole(self.comparison).iter().for_each(|line| text.push_str(&format!("({line})\n")));
        }
        let operators = operator_changes(self.comparison, top);
        if operators.len() > 0 {
            text.push_str(&format!("\nwhat operators start in an iteration\n{}", ON_SCREEN.text(&operators)));
        }
        if !self.comparison.counters.is_empty() {
            let table = counter_changes(self.comparison, top);
            text.push_str(&format!("\n{}\n{}", self.measured(top), ON_SCREEN.text(&table)));
        }
        for line in self.counts() {
            text.push_str(&format!("{}\n", printable(&line)));
        }
        self.notes.iter().for_each(|note| text.push_str(&format!("note: {}\n", printable(note))));
        text
    }

    /// For a comment on a change; `top` rows of the table.
    pub fn markdown(&self, top: usize) -> String {
        let mut text = format!("**{}**\n", sentence(&self.conclusion));
        if !self.evidence().is_empty() {
            text.push('\n');
        }
        self.evidence().iter().for_each(|line| text.push_str(&format!("- {}\n", sentence(line))));
        if !self.around.is_empty() {
            text.push_str("\n| changed around it | before | after |\n|---|---|---|\n");
            for Around { name, before, after } in self.around {
                let [name, before, after] = [name.as_str(), of_side(before), of_side(after)].map(cell);
                text.push_str(&format!("| {name} | {before} | {after} |\n"));
            }
        }
        if !self.comparison.changes.is_empty() {
            text.push_str(&format!("\n{}", IN_MARKDOWN.table(&changes(self.comparison, top))));
            beyond_the_whole(self.comparison).iter().for_each(|line| text.push_str(&format!("\n({line})\n")));
        }
        let operators = operator_changes(self.comparison, top);
        if operators.len() > 0 {
            text.push_str(&format!("\n{}", IN_MARKDOWN.table(&operators)));
        }
        if !self.comparison.counters.is_empty() {
            let table = IN_MARKDOWN.table(&counter_changes(self.comparison, top));
            text.push_str(&format!("\n{}:\n\n{table}", self.measured(top)));
        }
        let more: Vec<String> =
            self.counts().into_iter().chain(self.notes.iter().map(|note| format!("note: {note}"))).collect();
        if !more.is_empty() {
            text.push('\n');
        }
        more.iter().for_each(|line| text.push_str(&format!("- {}\n", sentence(line))));
        text
    }

    /// The times behind the first line, and the other reasons.
    pub(super) fn evidence(&self) -> Vec<String> {
        let Comparison { timed, time, process, .. } = self.comparison;
        let of_processes = process.as_ref().or(time.as_ref().filter(|_| *timed == Timed::Process));
        let round_ns = of_processes.map(|time| time.values.iter().sum());
        let mut lines: Vec<String> = time.iter().map(|time| times(timed, time, round_ns)).collect();
        // Of too few runs, one line says so.
        if let Some(process) = process.as_ref().filter(|process| process.doubt != Some(Doubt::TooFew)) {
            lines.push(match is_open(process) && !time.as_ref().is_some_and(is_open) {
                // What was wanted is decided: no more runs for this.
                true => {
                    let mut process = process.clone();
                    process.doubt = None;
                    format!(
                        "{}; whether that changed is undecided",
                        times(&Timed::Process, &process, round_ns)
                    )
                }
                false => times(&Timed::Process, process, round_ns),
            });
        }
        lines.extend(self.comparison.strays.iter().map(apart));
        if is_unknown(self.comparison) {
            lines.push(format!("what changed is not known: {NO_LOOP}"));
        }
        let mut told_reasons = self.comparison.reasons.iter();
        let first = told_reasons.next();
        // The first line has the one or the other.
        lines.extend(self.comparison.function.iter().zip(first).map(|(function, first)| match first.is {
            Difference::Host { .. } => format!("in all, {}", told(self.comparison, first)),
            _ => in_function(function),
        }));
        let other = told_reasons.take(MOST_REASONS - 1);
        lines.extend(other.map(|reason| format!("also: {}", told(self.comparison, reason))));
        let limits = [
            (&self.comparison.limits_gone, "no longer a finding"),
            (&self.comparison.limits_new, "a new finding"),
        ];
        for (names, told) in limits {
            lines.extend(names.iter().map(|name| format!("{told}: {}", in_words(name))));
        }
        let in_first_line = usize::from(has_only_counters(self.comparison));
        let limits = other_limits(self.comparison).skip(in_first_line).take(MOST_REASONS);
        lines.extend(limits.map(|line| format!("under ncu, {line}")));
        let left = self.comparison.reasons.len().saturating_sub(MOST_REASONS);
        if left > 0 {
            lines.push(format!("and {}", counted(left as u64, "smaller difference")));
        }
        lines
    }

    /// What the table of counters is of.
    pub(super) fn measured(&self, top: usize) -> String {
        let all = self.comparison.counters.len();
        let shown = if all > top { format!(", the first {top} of {all}") } else { String::new() };
        format!("what ncu measured of kernels{shown}")
    }

    pub(super) fn counts(&self) -> Vec<String> {
        let often = |side: Option<analysis::compare::Often>| match side {
            None => "0".to_owned(),
            Some(often) if often.varies => format!("about {}", number(often.mean)),
            Some(often) => often.usual.to_string(),
        };
        let line = |count: &analysis::compare::CountChange| {
            format!(
                "in each iteration: `{}` {} → {}",
                count.name,
                often(count.often[0]),
                often(count.often[1])
            )
        };
        self.comparison.counts.iter().take(MOST_REASONS * 2).map(line).collect()
    }
}

pub(super) fn of_side(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("none")
}

/// Kernels that something else limits now.
fn other_limits(comparison: &Comparison) -> impl Iterator<Item = String> {
    comparison.counters.iter().filter_map(|change| {
        let [before, after] = change.other_limit()?;
        let name = &change.shown()?.short_name;
        Some(format!("`{name}` is limited by {} instead of {}", limit_told(after), limit_told(before)))
    })
}

/// A cause by its name; one of a newer version has only that.
fn in_words(cause: &str) -> &str {
    Cause::ALL.into_iter().find(|known| known.as_str() == cause).map_or(cause, |known| known.in_words())
}

fn limit_told(limit: BoundKind) -> &'static str {
    match limit {
        BoundKind::Tensor => "the tensor pipe",
        BoundKind::Fp32 => "the FP32 pipe",
        BoundKind::Fp64 => "the FP64 pipe",
        BoundKind::Issue => "the issue slots",
        other => other.as_str(),
    }
}

fn has_only_counters(comparison: &Comparison) -> bool {
    comparison.time.is_none() && comparison.changes.is_empty() && !comparison.counters.is_empty()
}

/// Where there is nothing but counters.
fn only_counters(comparison: &Comparison) -> String {
    let kernels = comparison.counters.len() as u64;
    let is_on_both = |change: &&CountersChange| change.kernel.iter().all(Option::is_some);
    let both = comparison.counters.iter().filter(is_on_both).count() as u64;
    let other = other_limits(comparison).count() as u64;
    match other_limits(comparison).next() {
        Some(first) if other == 1 => format!("another limit: under ncu, {first}"),
        Some(first) => format!("other limits of {other} kernels: under ncu, {first}"),
        None if both == kernels => {
            format!("the same limits: {}, measured by ncu on both sides", counted(kernels, "kernel"))
        }
        None => format!(
            "other kernels: {} of {} were measured by ncu on both sides, and have the same limits",
            both,
            counted(kernels, "kernel")
        ),
    }
}

/// `encode train.py`, as it is named elsewhere.
fn in_function(change: &FunctionChange) -> String {
    let called = match change.function.rsplit_once(' ') {
        Some((function, file)) => format!("`{function} ({file})`"),
        None => format!("`{}`", change.function),
    };
    let [before, after] = change.ns.map(about);
    // That no sample is in it says no more than this: it may be gone, or have another name.
    let takes = match change.ns {
        [_, 0.0] => format!("no longer takes {before} of an iteration"),
        [0.0, _] => format!("takes {after} of an iteration, and took none before"),
        _ => format!("takes {after} of an iteration instead of {before}"),
    };
    format!("{called} {takes}, by samples of the stack")
}

/// Neither whether anything changed nor what: the first line says that it is undecided, and no more.
fn is_unknown(comparison: &Comparison) -> bool {
    comparison.time.as_ref().is_some_and(is_open) && comparison.reasons.is_empty() && without_loop(comparison)
}

fn is_open(time: &Decision) -> bool {
    time.verdict == Verdict::Undecided
}

/// It is the same in every run of the program, and needs no several.
fn is_counted(difference: &Difference) -> bool {
    match difference {
        Difference::Kernel { .. }
        | Difference::AllKernels { .. }
        | Difference::Idle { .. }
        | Difference::Host { .. } => false,
        Difference::Processes { .. }
        | Difference::Region { .. }
        | Difference::Graphs { .. }
        | Difference::Kernels { .. }
        | Difference::Copies { .. }
        | Difference::Calls { .. }
        | Difference::Shape { .. }
        | Difference::Renamed { .. } => true,
    }
}

fn without_loop(comparison: &Comparison) -> bool {
    !matches!(comparison.timed, Timed::Iteration { .. })
}

/// The first line.
fn conclusion(comparison: &Comparison) -> String {
    if has_only_counters(comparison) {
        return only_counters(comparison);
    }
    let verdict = match &comparison.time {
        None => "undecided, there is no time to compare".to_owned(),
        Some(time) => match (time.verdict, time.doubt) {
            (Verdict::Slower, _) => format!("slower, {} times as long", fixed(time.ratio, 3)),
            (Verdict::Faster, _) => format!("faster, {}x as fast", fixed(1.0 / time.ratio, 2)),
            (Verdict::Same, _) => format!("same, within {}", percent(comparison.margin)),
            (Verdict::Undecided, Some(Doubt::TooFew)) => {
                let [a, b] = time.processes;
                match a.min(b) {
                    1 => "undecided, a single run does not tell about time".to_owned(),
                    fewest => format!("undecided, {fewest} runs are too few to tell about time"),
                }
            }
            (Verdict::Undecided, _) => "undecided, the times vary too much".to_owned(),
        },
    };
    if is_unknown(comparison) {
        return verdict;
    }
    let why = match comparison.reasons.first() {
        Some(reason) => match &comparison.function {
            Some(function) if matches!(reason.is, Difference::Host { .. }) => in_function(function),
            _ => told(comparison, reason),
        },
        None if comparison.time.as_ref().is_some_and(|time| time.verdict == Verdict::Same) => {
            "nothing changed".to_owned()
        }
        None if without_loop(comparison) => format!("why is not known, because {NO_LOOP}"),
        None => format!(
            "the same work as before, and no part of an iteration changed by more than {} of the whole",
            percent(comparison.margin)
        ),
    };
    // Of what is not decided, only how it was.
    let is_only_seen = comparison.time.as_ref().is_some_and(is_open)
        && comparison.reasons.first().is_some_and(|reason| !is_counted(&reason.is));
    if is_only_seen { format!("{verdict}; in these runs, {why}") } else { format!("{verdict}: {why}") }
}

/// `an iteration of ':step' took 1.00 ms before and 1.10 ms after: 1.100 times as long (99 %: …; 15 and 15 processes)`
fn times(timed: &Timed, time: &Decision, round_ns: Option<f64>) -> String {
    let what = match timed {
        Timed::Iteration { region: Some(region) } => format!("an iteration of `{region}`"),
        Timed::Iteration { region: None } => "an iteration".to_owned(),
        Timed::Process => "the process".to_owned(),
        Timed::Recording => "the recording".to_owned(),
    };
    let [before, after] = time.values.map(duration);
    let [a, b] = time.processes;
    let runs = match (a, b) {
        (1, 1) => "one run of each".to_owned(),
        _ => format!("{a} and {}", counted(b, "run")),
    };
    // Of too few, it would say more than they do.
    let is_known = time.doubt != Some(Doubt::TooFew);
    let is_faster = time.verdict == Verdict::Faster;
    let factor = |ratio: f64| if is_faster { fixed(1.0 / ratio, 2) } else { fixed(ratio, 3) };
    let (unit, as_what) = if is_faster { ("x", "as fast") } else { ("", "times as long") };
    let interval = match (time.low, time.high) {
        (Some(low), Some(high)) if is_known => {
            let [from, to] = if is_faster { [high, low] } else { [low, high] }.map(factor);
            format!("99 %: {from}{unit} to {to}{unit}; ")
        }
        _ => String::new(),
    };
    let mut text = format!(
        "{what} took {before} before and {after} after: {}{unit} {as_what} ({interval}{runs})",
        factor(time.ratio)
    );
    let would_do = |enough: Option<u64>| match enough {
        Some(enough) => {
            let time =
                round_ns.map(|ns| format!(", {}", roughly(ns / 1e9 * enough as f64))).unwrap_or_default();
            format!("; about {enough} runs of each would decide (`--repeat {enough}`{time})")
        }
        None => String::new(),
    };
    match time.doubt {
        Some(Doubt::TooFew) => {
            text.push_str(
                "; it takes at least 5 runs of each to decide (`--repeat 5` of `compare` or `run`)",
            );
        }
        Some(Doubt::TooNoisy { enough }) => text.push_str(&would_do(enough)),
        Some(Doubt::TwoModes { b: after, modes, enough }) => {
            let side = if after { "after" } else { "before" };
            text.push_str(&format!(
                "; {side}, the runs are of two kinds: {} of {} took {} times as long as the others{}",
                modes.slow,
                modes.slow + modes.quick,
                fixed(modes.ratio, 2),
                would_do(enough)
            ));
        }
        None => {}
    }
    text
}

/// One run that is not like the others of its side.
fn apart(stray: &Stray) -> String {
    let side = if stray.b { "after" } else { "before" };
    format!(
        "{side}, run {} took {} times as long as the median of the others; it counts, too",
        stray.run,
        fixed(stray.ratio, 2)
    )
}

fn told(comparison: &Comparison, reason: &Reason) -> String {
    let whole = comparison.iteration_ns[1] - comparison.iteration_ns[0];
    let place = reason.place.as_ref().map(|place| format!("`{place}`"));
    let within = place.as_ref().map(|place| format!(" in {place}")).unwrap_or_default();
    let text = match &reason.is {
        Difference::Processes { before, after } => {
            let were = if *after == 1 { "was" } else { "were" };
            return format!("{} {were} recorded instead of {before}", counted(*after, "process"));
        }
        Difference::Region { before, after, kernels } => {
            let place = place.unwrap_or_default();
            let with = match kernels {
                0 => String::new(),
                more => format!(", with {}", more_of(*more, "kernel")),
            };
            match (before, after) {
                (0, after) => format!("{place} is new, {} in each iteration{with}", times_told(*after)),
                (before, 0) => {
                    format!("{place} is gone, it was there {} in each iteration{with}", times_told(*before))
                }
                (before, after) => {
                    format!("{place} runs {} in each iteration instead of {before}{with}", times_told(*after))
                }
            }
        }
        Difference::Graphs { before, after, launches_before, launches_after } => match after {
            0 => format!(
                "kernels are no longer launched by CUDA graphs: {} in each iteration instead of {}",
                counted(*launches_after, "kernel launch"),
                counted(*before, "graph launch")
            ),
            after => format!(
                "kernels are launched by CUDA graphs: {} in each iteration instead of {}",
                counted(*after, "graph launch"),
                counted(*launches_before, "kernel launch")
            ),
        },
        Difference::Kernels { more, fewer } => match (more.count, fewer.count) {
            (_, 0) => format!("{}{within}", kernels_told(more, "more", " in each iteration")),
            (0, _) => format!("{}{within}", kernels_told(fewer, "fewer", " in each iteration")),
            _ => {
                let more = kernels_told(more, "more", " in each iteration");
                let place = place.map(|place| format!(", in {place}")).unwrap_or_default();
                format!("{more}, and {}{place}", kernels_told(fewer, "fewer", ""))
            }
        },
        Difference::Copies { direction, more: 0, bytes: moved } => {
            let [before, after] = moved.map(|moved| bytes(moved as f64));
            format!("copies ({direction}){within} move {after} in each iteration instead of {before}")
        }
        Difference::Copies { direction, more, bytes: moved } => {
            let size = bytes(moved[0].abs_diff(moved[1]) as f64);
            format!("{} ({direction}, {size}) in each iteration{within}", more_of(*more, "copy"))
        }
        Difference::Calls { name, more } => {
            let count = if *more > 0 { "more" } else { "fewer" };
            format!("{} {count} `{name}` in each iteration", more.unsigned_abs())
        }
        Difference::Shape { name, grid, block, others } => {
            let [before, after] = if grid[0] == grid[1] { block } else { grid }.map(shape);
            let what = if grid[0] == grid[1] { "blocks" } else { "a grid" };
            let more = match others {
                0 => String::new(),
                others => format!(", and {} changed with it", counted(*others, "other kernel")),
            };
            format!("`{name}`{within} runs with {what} of {after} instead of {before}{more}")
        }
        Difference::Renamed { before, after, others } => {
            let more = match others {
                0 => String::new(),
                others => format!(", and {} like it", counted(*others, "kernel")),
            };
            format!("`{after}`{within} does what `{before}` did, as often{more}")
        }
        Difference::Kernel { name, ratio } => {
            format!("`{name}`{within} takes {} times as long", fixed(*ratio, 3))
        }
        Difference::AllKernels { ratio, clock_mhz } => {
            let why = match clock_mhz {
                Some([before, after]) => {
                    format!(": the SM clock was {after:.0} MHz instead of {before:.0} MHz")
                }
                None => ", as with another clock".to_owned(),
            };
            format!("all kernels take {} times as long, about alike{why}", fixed(*ratio, 3))
        }
        Difference::Idle { cause } => {
            let longer = if reason.more_ns > 0.0 { "longer" } else { "less" };
            let work = place.map(|place| format!(" before the work of {place}")).unwrap_or_default();
            format!("the GPU waits {longer} {}{work}", waits_for(*cause))
        }
        Difference::Host { ratio } => {
            let within = if reason.place.is_some() { within } else { format!(" {OUTSIDE}") };
            format!("the host takes {} times as long{within}", fixed(*ratio, 3))
        }
    };
    format!("{text} ({} of {})", signed(reason.more_ns), signed(whole))
}

/// `2 more kernels in each iteration: 'a', 'b'`
fn kernels_told(kernels: &Named, which: &str, often: &str) -> String {
    let shown: Vec<String> = kernels.names.iter().take(MOST_NAMES).map(|name| format!("`{name}`")).collect();
    let rest = match kernels.names.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        1 => " and 1 other".to_owned(),
        rest => format!(" and {rest} others"),
    };
    format!("{}{often}: {}{rest}", counted(kernels.count, &format!("{which} kernel")), shown.join(", "))
}

fn times_told(times: u64) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times") }
}

/// `2 more kernels`, `1 fewer copy`.
fn more_of(more: i64, what: &str) -> String {
    let which = if more > 0 { "more" } else { "fewer" };
    counted(more.unsigned_abs(), &format!("{which} {what}"))
}

fn waits_for(cause: IdleCause) -> &'static str {
    match cause {
        IdleCause::Host => "for the host",
        IdleCause::Sync => "while the host waits for it",
        IdleCause::Copy => "while the host waits for a copy",
        IdleCause::Launch => "for launches to arrive",
        IdleCause::TrueGap => "for other streams or events",
        IdleCause::Unknown => "for something that was not recorded",
    }
}
