//! Which lines of the program the GPU waits for, from samples of the host's stacks.

use std::ops::Range;

use trace::{StackSamples, ThreadState, Trace, counted};

use super::finding::{Cause, Finding};
use super::open_ranges::OpenRanges;
use super::where_host::{Doing, doing};
use crate::attribute::Attribution;
use crate::loop_::Loop;
use crate::time::{Busy, HostLine, WORTH_A_WORD, busy, common_place, host_places, listed, own_places};

/// Of fewer samples nothing is said.
pub(super) const FEWEST: usize = 20;
/// A line is the place of a finding if so much of the samples is in it.
const MOST: f64 = 0.3;
/// A thread that waits in so much of its samples is held up by others.
const HALF: f64 = 0.5;

/// So many stacks that could not be read may change what is told.
const UNREAD: f64 = 0.05;

const LOAD_AHEAD: &str = "load ahead in other processes (`num_workers` of the `DataLoader`), or make that code shorter; \
                          or launch the next iteration's work before it, so that the GPU has something to do";

/// Causes that are about what the host does.
fn is_host(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::HostCode | Cause::DataLoading | Cause::LaunchBound | Cause::HostContention | Cause::Allocation
    )
}

/// Adds to each finding about the host which lines it executes while the GPU waits, as far as samples tell.
pub(crate) fn name_lines(trace: &Trace, attribution: &Attribution, loops: &[Loop], findings: &mut [Finding]) {
    let samples = &trace.stacks.samples;
    if samples.is_empty() || !findings.iter().any(|finding| is_host(finding.cause)) {
        return;
    }
    let Some(window) = Window::of(trace, loops) else { return };
    let open = OpenRanges::of(trace, attribution, window.process);
    let rows = window.idle_rows(trace, &busy(trace));
    let pauses = Pauses::of(samples, findings);
    for finding in findings.iter_mut().filter(|finding| is_host(finding.cause)) {
        let inside = region_node(trace, attribution, finding.place.region.as_deref());
        // A thread that waits does not launch, and neither does one that does what another finding is about.
        let launches = finding.cause == Cause::LaunchBound;
        let node = |row: usize| open.node_at(samples.thread[row], samples.at[row]);
        let is_meant = |row: &usize| {
            let is_here = inside
                .is_none_or(|outer| node(*row).is_some_and(|node| attribution.tree.is_within(node, outer)));
            let may_launch =
                || samples.state[*row] == ThreadState::Running && pauses.lie_around(samples, *row);
            is_here && (!launches || may_launch())
        };
        // What is about certain moments is only told by samples of those: elsewhere the GPU waits for something else.
        let moments = &finding.place.during;
        let meant: Vec<usize> = match moments.is_empty() {
            true => rows.iter().copied().filter(is_meant).collect(),
            false => during(samples, moments)
                .into_iter()
                .filter(|row| inside.map_or(node(*row).is_none(), |_| is_meant(row)))
                .collect(),
        };
        if meant.len() < FEWEST {
            continue;
        }
        let mut lines = Lines::of(trace, &meant);
        if !moments.is_empty() {
            // Between launches it is the program's own code that runs, whatever it calls.
            let own = own_places(trace, &meant, &rows);
            if own.first().is_some_and(|place| doing(trace, place) == Doing::Loading) {
                finding.advice = LOAD_AHEAD.to_owned();
            }
            lines.places = own.into_iter().map(|place| place.line).collect();
        }
        let region =
            finding.place.region.as_deref().map(|region| format!(" in `{region}`")).unwrap_or_default();
        let when = match moments.is_empty() {
            true if launches && !pauses.rows.is_empty() => {
                format!("while the GPU waited for launches{region}")
            }
            true => format!("while the GPU waited{region}"),
            false => "in this time".to_owned(),
        };
        finding.place.line = lines.place();
        finding.evidence.extend(lines.sentences(&when, meant.len()));
        if finding.place.line.is_none()
            && let Some(common) = common_place(trace, &meant, HALF)
        {
            finding.place.line = Some(format!("{}, in what it calls", common.place));
            let share = common.share * 100.0;
            finding.evidence.push(format!("in {share:.0} % of them `{}` was being executed", common.place));
        }
    }
}

/// Times that findings are about.
struct Pauses {
    /// Samples in them, in order.
    rows: Vec<usize>,
    /// From the first to the last of them. Of others it is not known whether they are in one.
    span: Range<i64>,
}

impl Pauses {
    fn of(samples: &StackSamples, findings: &[Finding]) -> Self {
        let all: Vec<(u32, i64, i64)> =
            findings.iter().flat_map(|finding| &finding.place.during).copied().collect();
        let begin = all.iter().map(|(_, begin, _)| *begin).min();
        let end = all.iter().map(|(_, _, end)| *end).max();
        let span = begin.zip(end).map_or(i64::MIN..i64::MAX, |(begin, end)| begin..end);
        Self { rows: during(samples, &all), span }
    }

    /// A sample between them.
    fn lie_around(&self, samples: &StackSamples, row: usize) -> bool {
        self.span.contains(&samples.at[row]) && self.rows.binary_search(&row).is_err()
    }
}

/// Samples of these threads in these times.
pub(super) fn during(samples: &StackSamples, moments: &[(u32, i64, i64)]) -> Vec<usize> {
    let mut found = Vec::new();
    for (thread, begin, end) in moments {
        let first = samples.at.partition_point(|at| at < begin);
        let last = samples.at.partition_point(|at| at < end);
        found.extend((first..last.max(first)).filter(|row| samples.thread[*row] == *thread));
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn region_node(trace: &Trace, attribution: &Attribution, region: Option<&str>) -> Option<u32> {
    let region = region?;
    let tree = &attribution.tree;
    (0..tree.nodes.len() as u32).find(|node| tree.path(trace, *node).to_string() == region)
}

/// The steady iterations of the main loop, or the whole recording.
struct Window {
    process: u32,
    begin: i64,
    end: i64,
}

impl Window {
    fn of(trace: &Trace, loops: &[Loop]) -> Option<Self> {
        if let Some(main) = loops.first() {
            let begin = *main.steady.on_device.first()?;
            return Some(Self { process: main.steady.process, begin, end: main.steady.end });
        }
        let process = trace.calls.thread.first().map(|thread| trace.process_of(*thread))?;
        Some(Self { process, begin: trace.begin, end: trace.end })
    }

    /// Samples in it of threads that call CUDA, at moments at which no device has work.
    fn idle_rows(&self, trace: &Trace, busy: &Busy) -> Vec<usize> {
        let mut calls = vec![false; trace.threads.len()];
        trace.calls.thread.iter().for_each(|thread| calls[*thread as usize] = true);
        let samples = &trace.stacks.samples;
        let first = samples.at.partition_point(|at| *at < self.begin);
        let last = samples.at.partition_point(|at| *at < self.end);
        (first..last)
            .filter(|row| {
                let thread = samples.thread[*row];
                calls[thread as usize]
                    && trace.process_of(thread) == self.process
                    && !busy.contains(samples.at[*row])
            })
            .collect()
    }
}

/// What samples are about.
struct Lines {
    /// Places and their share, the largest first.
    places: Vec<HostLine>,
    /// The share that waits for the interpreter's lock, and what the threads that have it execute.
    waiting: f64,
    holders: Vec<HostLine>,
    /// The share whose stacks could not be read.
    unread: f64,
    /// The share in system calls, and what the program's other threads and processes execute meanwhile.
    blocked: f64,
    others: Vec<HostLine>,
}

impl Lines {
    fn of(trace: &Trace, rows: &[usize]) -> Self {
        let samples = &trace.stacks.samples;
        let in_state = |state: ThreadState| -> Vec<usize> {
            rows.iter().copied().filter(|row| samples.state[*row] == state).collect()
        };
        let waiting = in_state(ThreadState::WaitsForInterpreter);
        let blocked = in_state(ThreadState::Blocked);
        let share = |rows_of: &[usize]| rows_of.len() as f64 / rows.len().max(1) as f64;
        let beside = |rows_of: &[usize], same_process: bool| {
            let around = rows_of.iter().flat_map(|row| running_beside(trace, *row, same_process));
            host_places(trace, around)
        };
        let places = host_places(trace, rows.iter().copied());
        let read: f64 = places.iter().map(|line| line.share).sum();
        Self {
            unread: (1.0 - read).max(0.0),
            places,
            waiting: share(&waiting),
            holders: beside(&waiting, true),
            blocked: share(&blocked),
            others: beside(&blocked, false),
        }
    }

    /// The line to look at: the one that holds the thread up, if it mostly waits for another.
    fn place(&self) -> Option<String> {
        let held_up = |share: f64, by: &[HostLine]| share >= HALF && !by.is_empty();
        let lines = match () {
            () if held_up(self.waiting, &self.holders) => &self.holders,
            () if held_up(self.blocked, &self.others) => &self.others,
            () => &self.places,
        };
        lines.first().filter(|line| line.share >= MOST).map(|line| line.place.clone())
    }

    fn sentences(&self, when: &str, samples: usize) -> Vec<String> {
        let unread = match self.unread {
            unread if unread >= UNREAD => {
                format!(", {:.0} % of them without stacks that could be read", unread * 100.0)
            }
            _ => String::new(),
        };
        let mut told = vec![format!(
            "{when}, the host was {} ({}{unread})",
            listed(&self.places),
            counted(samples as u64, "sample")
        )];
        if self.waiting >= WORTH_A_WORD && !self.holders.is_empty() {
            told.push(format!(
                "in {:.0} % of them it waited for Python's interpreter lock, and the thread that had it was {}",
                self.waiting * 100.0,
                listed(&self.holders)
            ));
        }
        if self.blocked >= MOST && !self.others.is_empty() {
            told.push(format!(
                "in {:.0} % of them it was blocked; meanwhile other threads and processes of the program were {}",
                self.blocked * 100.0,
                listed(&self.others)
            ));
        }
        told
    }
}

/// Samples of other threads that ran at about the same moment: of the same process, or of any.
fn running_beside(trace: &Trace, row: usize, same_process: bool) -> Vec<usize> {
    let samples: &StackSamples = &trace.stacks.samples;
    let (at, thread) = (samples.at[row], samples.thread[row]);
    let half = (trace.stacks.interval_ns / 2).max(1);
    let first = samples.at.partition_point(|other| *other < at - half);
    let last = samples.at.partition_point(|other| *other <= at + half);
    let is_meant = |other: &usize| {
        samples.thread[*other] != thread
            && samples.state[*other] == ThreadState::Running
            && (!same_process || trace.process_of(samples.thread[*other]) == trace.process_of(thread))
    };
    (first..last).filter(is_meant).collect()
}
