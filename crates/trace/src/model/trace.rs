//! A whole trace, with its processes, threads and devices.

use std::collections::{BTreeSet, HashMap};

use input::Input;

use super::absent::OPEN;
use super::activities::Activities;
use super::diagnostic::{Diagnostic, DistinctDiagnostic, distinct};
use super::recording::{Recorder, Recording};
use super::series::Series;
use super::stacks::Stacks;
use super::strings::{StringId, Strings};
use super::tables::{Calls, Collectives, GraphNodes, Operators, Ranges, StreamEvents, Syncs};
use super::trouble::Trouble;
use crate::count::counted;
use crate::extent::Unread;
use crate::nest::{DEEPEST, nest};

#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// What it was read from, for people: `nsys 2025.3.2.0, schema 3.20.3`.
    pub source: String,
    /// Whose recordings it was read from.
    pub recorders: BTreeSet<Recorder>,
    pub strings: Strings,
    pub processes: Vec<Process>,
    pub threads: Vec<Thread>,
    pub devices: Vec<Device>,
    pub ranges: Ranges,
    pub calls: Calls,
    pub activities: Activities,
    pub syncs: Syncs,
    pub stream_events: StreamEvents,
    pub graph_nodes: GraphNodes,
    /// Nodes of launches of graphs that are in [`Trace::activities`] as a whole: most launches of those graphs were
    /// recorded without their nodes. What they refer to is beside those activities.
    pub graph_samples: Activities,
    /// Ranges that are not in [`Trace::ranges`] because they lie outside of its windows, and in which nodes of graphs
    /// were captured that run inside of them.
    pub capture_ranges: Ranges,
    pub operators: Operators,
    pub collectives: Collectives,
    /// Values over time. Each device has at most one of each source.
    pub series: Vec<Series>,
    /// What host threads were executing.
    pub stacks: Stacks,
    /// Annotations that the profiler has put on a device's timeline itself.
    pub gpu_annotations: u64,
    /// Marks, by how many there were: name and count.
    pub marks: HashMap<(StringId, StringId), u64>,
    pub diagnostics: Vec<Diagnostic>,
    /// What was not read for want of memory.
    pub unread: Vec<Unread>,
    /// Ranges are known to be missing: a diagnostic says why, or [`Trace::unread`].
    pub ranges_missing: bool,
    /// Why the tracer did not record all GPU activity, if CUPTI is the reason: a diagnostic says it in words.
    pub cupti_trouble: Option<CuptiTrouble>,
    /// What could not be sampled, and what the samples cost.
    pub sampling: Sampling,
    /// Why there is nothing to analyze, and what to do; for an empty trace.
    pub nothing: Option<String>,
    /// The machine it was recorded on: names and values, for people.
    pub machine: Vec<(String, String)>,
    /// The files it was read from, if any, with their processes.
    pub recordings: Vec<Recording>,
    /// When the recording of the first process began and the last event was seen.
    pub begin: i64,
    pub end: i64,
    /// When the first process was started, if it is known that all was recorded from then on.
    pub launched: Option<i64>,
    /// What the times count from, in nanoseconds since 1970, where that is known.
    pub session_start: Option<i64>,
    /// Stretches of time that were recorded, in order and apart; none when all of it was.
    pub windows: Vec<(i64, i64)>,
    /// Only what is inside the windows was kept, of more that was recorded; see [`Trace::keep_windows`].
    pub selected: Option<Selection>,
    /// When CUDA graphs were instantiated, by the clock of their nodes: thread, begin and end. Where that is not recorded,
    /// only calls that [`Trace::keep_windows`] left out.
    pub instantiations: Vec<(u32, i64, i64)>,
    /// By device, when it was busy with work that [`Trace::keep_windows`] left out, in order and apart.
    pub left_out: Vec<Vec<(i64, i64)>>,
    /// Of the names of ranges that have numbers in them, the pattern; see [`Trace::fold_names`].
    pub patterns: HashMap<StringId, StringId>,
    /// Ranges of libraries are to be regions, even beside the program's own.
    pub library_regions: bool,
}

impl Trace {
    /// What every reader does last: ranges in order, each below the one around it, and
    /// when it all began and ended.
    pub fn finish(&mut self) {
        let too_deep = nest(&mut self.ranges);
        self.say_too_deep(too_deep);
        self.measure();
    }

    /// Finds the pattern of every range's name, so that an analysis can take `step 7` and `step 8` as one
    /// region. Without it every name stays for itself.
    pub fn fold_names(&mut self) {
        let mut seen = vec![false; self.strings.len()];
        for name in self.ranges.name.iter().chain(&self.capture_ranges.name) {
            if std::mem::replace(&mut seen[name.index()], true) {
                continue;
            }
            if let Some(pattern) = nvtx::folded(self.strings.text(*name)) {
                let pattern = self.strings.intern(&pattern);
                self.patterns.insert(*name, pattern);
            }
        }
    }

    /// The index of a thread's process.
    pub fn process_of(&self, thread: u32) -> u32 {
        self.threads[thread as usize].process
    }

    /// No range, no work of a device, no call and no operator.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
            && self.calls.is_empty()
            && self.activities.is_empty()
            && self.operators.is_empty()
    }

    /// Whether anything of what happened is known to be missing.
    pub fn is_incomplete(&self) -> bool {
        !self.unread.is_empty() || self.diagnostics.iter().any(|diagnostic| diagnostic.lost)
    }

    /// Each diagnostic once, with how often it occurred.
    pub fn distinct_diagnostics(&self) -> Vec<DistinctDiagnostic<'_>> {
        distinct(&self.diagnostics)
    }

    /// Beside what there is already of the same device and source.
    pub(crate) fn add_series(&mut self, series: Series) {
        match self.series.iter_mut().find(|mine| mine.is_same(&series)) {
            Some(mine) => mine.absorb(series),
            None => self.series.push(series),
        }
    }

    /// Half of a file may be older than the other half.
    pub(crate) fn say_when_changed(&mut self, input: &Input) {
        if input.has_changed() {
            let text = format!(
                "`{}` changed while it was being read: try again when nothing writes to it any more",
                input.path().display()
            );
            self.diagnostics.push(Diagnostic { text, lost: true });
        }
    }

    pub(crate) fn say_too_deep(&mut self, ranges: u64) {
        if ranges > 0 {
            let text = format!(
                "{} nested more than {DEEPEST} deep: is something pushed and never popped?",
                counted(ranges, "range")
            );
            self.diagnostics.push(Diagnostic { text, lost: false });
        }
    }

    fn measure(&mut self) {
        let begins = self.ranges.begin.iter().chain(&self.calls.begin).chain(&self.activities.begin);
        let begins = begins.chain(&self.operators.begin);
        let ends = self.ranges.end.iter().filter(|end| **end != OPEN);
        let ends = ends.chain(&self.calls.end).chain(&self.activities.end).chain(&self.operators.end);
        self.begin = begins.copied().min().unwrap_or(0);
        self.end = ends.chain(&self.ranges.begin).copied().max().unwrap_or(0).max(self.begin);
    }
}

/// A process whose stacks could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableProcess {
    pub pid: u32,
    /// A sentence, and what to do in a line that begins with `hint: `.
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CuptiTrouble {
    /// Another profiler in the program uses it.
    Taken,
    NotLoaded,
}

/// By what [`Trace::keep_windows`] selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// Ranges that the user named.
    Ranges,
    /// The client of a server ran.
    Load,
}

/// How sampling beside the program went.
#[derive(Debug, Clone, Default)]
pub struct Sampling {
    pub troubles: Vec<SamplingTrouble>,
    /// Processes whose stacks could not be read, in the order in which that was found out.
    pub unreadable: Vec<UnreadableProcess>,
    /// Processor time of the samplers, and how long they ran.
    pub processor_ns: i64,
    pub wall_ns: i64,
    /// Stretches in which no sampler sampled, on purpose. In order; they do not overlap.
    pub pauses: Vec<(i64, i64)>,
    /// A sampler was killed, or still writes: its file does not end as it should.
    pub broken_off: bool,
}

impl Sampling {
    pub(crate) fn add(&mut self, other: Self) {
        self.troubles.extend(other.troubles);
        self.unreadable.extend(other.unreadable);
        self.processor_ns = self.processor_ns.saturating_add(other.processor_ns);
        self.wall_ns = self.wall_ns.max(other.wall_ns);
        let mut others = other.pauses;
        others.sort_unstable();
        // What only one of two samplers rested is no pause.
        self.pauses = match (self.pauses.is_empty(), others.is_empty()) {
            (true, _) => others,
            (_, true) => std::mem::take(&mut self.pauses),
            _ => common(&self.pauses, &others),
        };
        self.broken_off |= other.broken_off;
    }
}

/// What lies in stretches of both lists, which are in order.
fn common(some: &[(i64, i64)], others: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut found: Vec<(i64, i64)> = Vec::new();
    let (mut a, mut b) = (0, 0);
    while let (Some(one), Some(other)) = (some.get(a), others.get(b)) {
        let begin = one.0.max(other.0).max(found.last().map_or(i64::MIN, |last| last.1));
        let end = one.1.min(other.1);
        if begin < end {
            found.push((begin, end));
        }
        if one.1 < other.1 { a += 1 } else { b += 1 }
    }
    found
}

/// Something that was not sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingTrouble {
    pub trouble: Trouble,
    /// As the program counts it, if it is one device's.
    pub device: Option<u32>,
    /// What the library or the system said.
    pub said: String,
}

#[derive(Debug, Clone, Default)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// It came from a fork without an exec.
    pub forked: bool,
    pub name: String,
    /// `rank 3`, where it said so.
    pub label: String,
    /// From this time on [`Trace::stream_events`] has all of its events; None when it may lack any.
    pub stream_waits_since: Option<i64>,
}

impl Process {
    /// The number in `rank 3`.
    pub fn rank(&self) -> Option<u32> {
        self.label.strip_prefix("rank ")?.parse().ok()
    }
}

#[derive(Debug, Clone)]
pub struct Thread {
    /// Index into [`Trace::processes`].
    pub process: u32,
    pub id: u32,
    pub name: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Device {
    /// As the program counts it, or if its processes do not count alike, as the tool does.
    pub id: u32,
    pub name: Option<String>,
    /// What it is, wherever it is recorded: its UUID, or its machine and PCI address.
    pub identity: Option<String>,
}

impl Device {
    /// Whether two recordings of the same processes mean the same device.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.identity, &other.identity) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => (self.id, &self.name) == (other.id, &other.name),
        }
    }
}
