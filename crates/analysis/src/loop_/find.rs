//! The loops of every process, as one table.

use serde::Serialize;
use trace::Trace;

use super::from_launches::repeats;
use super::from_ranges::{Repeating, repeating, run_at_once};
use super::launched::{Launched, launched, total_of};
use super::slow::{SlowIterations, only_at_first};
use super::steady::{growth, median, warm_up};
use crate::attribute::{Attribution, Times};
use crate::idle_causes::IdleCause;
use crate::origin::Origin;

/// What a loop was found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoopSource {
    Ranges,
    /// `ProfilerStep#N` of PyTorch's profiler.
    ProfilerSteps,
    Launches,
}

/// A part of the program that repeats.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loop {
    pub process: u32,
    #[serde(flatten)]
    pub origin: Origin,
    pub source: LoopSource,
    /// Where it was found by ranges.
    pub region: Option<String>,
    pub iterations: u64,
    /// Of those, slower ones at the beginning.
    pub warm_up: u64,
    /// Of the steady iterations, on the device where it has work in them.
    pub begin_ns: i64,
    pub end_ns: i64,
    /// From the beginning of the recording to the first iteration: before the first event, where the program is known to
    /// have run already.
    pub start_up_ns: i64,
    /// What one takes for itself, without what lies between two of them; known where it was found by ranges.
    #[serde(skip)]
    pub instance_ns: Option<i64>,
    /// Several threads are in it at once.
    #[serde(skip)]
    pub(crate) at_once: bool,
    /// Of the steady iterations.
    pub period_ns: Option<Period>,
    /// Of the steady iterations, those that take more than twice as long as usual: nothing that is said of an iteration is about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowIterations>,
    /// Of the first and the last quarter of the steady iterations, if they take longer and longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth_ns: Option<[i64; 2]>,
    /// The part of the steady iterations in which a device works; none without work of devices.
    pub busy_share: Option<f64>,
    /// Devices have work in the recording, and none in the steady iterations.
    #[serde(skip)]
    pub without_work: bool,
    /// What devices wait for in the rest, as parts of the whole.
    pub idle: Vec<(IdleCause, f64)>,
    #[serde(skip)]
    pub(crate) steady: Steady,
}

impl Loop {
    /// `rank 3`, `recording 1` or `process 77`, whatever tells its process apart from those of other loops.
    pub fn called(&self, loops: &[Self]) -> Option<String> {
        let is_other = |other: &&Self| (other.process, other.origin) != (self.process, self.origin);
        let mut others = loops.iter().filter(is_other).peekable();
        others.peek()?;
        let same_origin = others.any(|other| other.origin == self.origin);
        let process = same_origin.then(|| format!("process {}", self.process));
        let parts: Vec<String> = self.origin.called().into_iter().chain(process).collect();
        Some(parts.join(", "))
    }

    /// When the device begins each steady iteration, in the times of the trace.
    pub fn begins(&self) -> &[i64] {
        &self.steady.on_device
    }

    /// The same of all iterations, those of the warm-up first.
    pub fn all_begins(&self) -> impl Iterator<Item = i64> {
        self.steady.warm_up.iter().chain(&self.steady.on_device).copied()
    }

    /// When the recording of its program began.
    pub(crate) fn recorded_since(&self) -> i64 {
        self.all_begins().next().unwrap_or(0).saturating_sub(self.start_up_ns)
    }

    /// When the host does.
    pub fn begins_on_host(&self) -> &[i64] {
        &self.steady.on_host
    }

    /// When the last one ends, in the times of the trace.
    pub fn end(&self) -> i64 {
        self.steady.end
    }
}

impl Steady {
    /// Whether iterations of about the usual length make up a fair part of the time: what is repeated between long
    /// pauses alone is no loop.
    fn is_regular(&self) -> bool {
        let ends = self.on_device.iter().skip(1).copied().chain([self.end]);
        let lengths: Vec<i64> =
            self.on_device.iter().zip(ends).map(|(begin, end)| end.saturating_sub(*begin)).collect();
        let Some(usual) = median(&lengths) else { return false };
        let total = |most: i64| {
            lengths
                .iter()
                .filter(|length| **length <= most)
                .fold(0i64, |sum, length| sum.saturating_add(*length))
        };
        total(usual.saturating_mul(USUAL)) as f64 >= LEAST_USUAL * total(i64::MAX) as f64
    }
}

/// The steady iterations, in the times of the trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Steady {
    /// Index into [`Trace::processes`].
    pub(crate) process: u32,
    /// Where it was found by ranges.
    pub(crate) node: Option<u32>,
    /// When the host begins each one.
    pub(crate) on_host: Vec<i64>,
    /// When the device does.
    pub(crate) on_device: Vec<i64>,
    /// When the last one ends.
    pub(crate) end: i64,
    /// When the device begins each one before them.
    pub(crate) warm_up: Vec<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Period {
    pub p50: i64,
    pub p95: i64,
    pub min: i64,
    pub max: i64,
}

/// An iteration that takes so many times the median is not of the usual length.
const USUAL: i64 = 4;
/// The part of the time that the usual ones take at least.
const LEAST_USUAL: f64 = 0.25;
/// The name that PyTorch's profiler gives to a step.
const PROFILER_STEP: &str = "ProfilerStep#";

/// The main loop of each process first, those with the most work before others. Ranges of libraries make a loop only
/// where nothing else does.
pub(crate) fn loops(trace: &Trace, attribution: &Attribution) -> Vec<Loop> {
    let launches = launched(trace, attribution);
    let of_program = of_ranges_or_launches(trace, attribution, &launches, false);
    match of_program.is_empty() && attribution.libraries.are_regions() {
        true => of_ranges_or_launches(trace, attribution, &launches, true),
        false => of_program,
    }
}

fn of_ranges_or_launches(
    trace: &Trace,
    attribution: &Attribution,
    launches: &[Vec<Launched>],
    of_libraries: bool,
) -> Vec<Loop> {
    let mut found: Vec<(i64, Vec<Loop>)> = Vec::new();
    // Kernels without their names look alike.
    let names_lost = trace.activities.launches.iter().any(|launch| trace.strings.is_lost(launch.name));
    let repeating = repeating(trace, attribution, of_libraries);
    for ((process, launches), of_ranges) in (0u32..).zip(launches).zip(repeating) {
        let all = total_of(launches.iter().map(|launch| launch.kernel_ns));
        let loops: Vec<Loop> = match of_ranges.is_empty() {
            false => {
                let row = |repeating| by_ranges(trace, attribution, process, launches, repeating);
                of_ranges.into_iter().map(row).collect()
            }
            true if names_lost => Vec::new(),
            true => repeats(launches)
                .into_iter()
                .map(|repeats| {
                    let last = &launches[repeats.end - 1];
                    let begins = repeats.starts.iter().map(|start| launches[*start].at).collect();
                    let times = times(launches, begins, last.at);
                    row(trace, process, LoopSource::Launches, None, times)
                })
                // Between selected ranges there is time that is not looked at.
                .filter(|found| trace.windows.is_empty() || found.steady.is_regular())
                .collect(),
        };
        // What takes no time repeats nothing.
        let has_length = |found: &Loop| found.period_ns.is_some_and(|period| period.p50 > 0);
        let loops: Vec<Loop> = loops.into_iter().filter(has_length).collect();
        if !loops.is_empty() {
            found.push((all, loops));
        }
    }
    found.sort_by_key(|(work, _)| std::cmp::Reverse(*work));
    found.into_iter().flat_map(|(_, loops)| loops).collect()
}

fn by_ranges(
    trace: &Trace,
    attribution: &Attribution,
    process: u32,
    launches: &[Launched],
    repeating: Repeating,
) -> Loop {
    let begins = repeating.ranges.iter().map(|range| trace.ranges.begin[*range as usize]).collect();
    let end = repeating.ranges.last().map_or(0, |range| trace.ranges.end[*range as usize]);
    let path = attribution.tree.path(trace, repeating.node);
    let source = match path.name().starts_with(PROFILER_STEP) {
        true => LoopSource::ProfilerSteps,
        false => LoopSource::Ranges,
    };
    let times = times(launches, begins, end);
    let instances: Vec<i64> =
        repeating.ranges.iter().map(|range| own_time(trace, launches, *range as usize)).collect();
    let found = row(trace, process, source, Some((repeating.node, path.to_string())), times);
    let instance_ns = median(&instances[(found.warm_up as usize).min(instances.len())..]);
    // From one to the next, in whichever thread, says nothing of how long one takes.
    let at_once = run_at_once(trace, &repeating.ranges);
    Loop { instance_ns, at_once, slow: found.slow.filter(|_| !at_once), ..found }
}

/// On the host, or on the device where what was launched in it takes longer there.
fn own_time(trace: &Trace, launches: &[Launched], range: usize) -> i64 {
    let (begin, end) = (trace.ranges.begin[range], trace.ranges.end[range]);
    let from = launches.partition_point(|launch| launch.at < begin);
    let to = launches.partition_point(|launch| launch.at <= end).max(from);
    let first = launches[from..to].iter().map(|launch| launch.begin).min();
    let last = launches[from..to].iter().map(|launch| launch.end).max();
    let on_device = first.zip(last).map_or(0, |(first, last)| last.saturating_sub(first));
    end.saturating_sub(begin).max(on_device)
}

/// When iterations begin, on the device and on the host, and when the last one ends.
struct Iterations {
    begins: Vec<i64>,
    on_host: Vec<i64>,
    end: i64,
}

/// The host may be far ahead of the device, and then its times say nothing of how long an iteration takes. So an
/// iteration begins when the device begins with what was launched in it; where nothing was, when the host does.
fn times(launches: &[Launched], begins: Vec<i64>, end: i64) -> Iterations {
    let first_in = |from: i64, to: i64| {
        let start = launches.partition_point(|launch| launch.at < from);
        let end = launches.partition_point(|launch| launch.at < to);
        &launches[start..end.max(start)]
    };
    let nexts = begins.iter().skip(1).copied().chain([end.saturating_add(1)]);
    let on_device = |(begin, next): (&i64, i64)| {
        first_in(*begin, next).iter().map(|launch| launch.begin).min().unwrap_or(*begin)
    };
    let last = begins.last().copied().unwrap_or(end);
    let last_end = first_in(last, end.saturating_add(1)).iter().map(|launch| launch.end).max();
    let mut on_device: Vec<i64> = begins.iter().zip(nexts).map(on_device).collect();
    // Streams beside each other may be in another order.
    for at in 1..on_device.len() {
        on_device[at] = on_device[at].max(on_device[at - 1]);
    }
    Iterations { begins: on_device, on_host: begins, end: last_end.unwrap_or(end).max(end) }
}

/// The first event is of the program's first range or CUDA call, long after its start. It was there when its stacks were
/// sampled first, or when nsys launched it.
fn recorded_since(trace: &Trace, process: u32) -> i64 {
    if trace.selected.is_some() {
        return trace.begin;
    }
    let origin = Origin::of_process(trace, process);
    let samples = &trace.stacks.samples;
    let is_its = |row: &usize| Origin::of_process(trace, trace.process_of(samples.thread[*row])) == origin;
    let sampled = (0..samples.len()).find(is_its).map(|row| samples.at[row]);
    let launched = trace.launched.filter(|_| trace.recordings.len() < 2);
    sampled.into_iter().chain(launched).fold(trace.begin, i64::min)
}

fn row(
    trace: &Trace,
    process: u32,
    source: LoopSource,
    region: Option<(u32, String)>,
    Iterations { begins, on_host, end }: Iterations,
) -> Loop {
    let ends = begins.iter().skip(1).copied().chain([end]);
    let durations: Vec<i64> =
        begins.iter().zip(ends).map(|(begin, end)| end.saturating_sub(*begin).max(0)).collect();
    let warm_up = only_at_first(&durations, warm_up(&durations));
    let period = Times::of(&durations[warm_up..]).map(|times| Period {
        p50: times.p50_ns,
        p95: times.p95_ns,
        min: times.min_ns,
        max: times.max_ns,
    });
    let since = |at: i64| at.saturating_sub(trace.begin);
    let (node, region) = region.unzip();
    let steady = Steady {
        process,
        node,
        on_host: on_host[warm_up..].to_vec(),
        on_device: begins[warm_up..].to_vec(),
        end,
        warm_up: begins[..warm_up].to_vec(),
    };
    Loop {
        process: trace.processes[process as usize].pid,
        origin: Origin::of_process(trace, process),
        source,
        region,
        iterations: begins.len() as u64,
        warm_up: warm_up as u64,
        begin_ns: since(begins.get(warm_up).copied().unwrap_or(0)),
        end_ns: since(end),
        start_up_ns: begins.first().map_or(0, |first| first.saturating_sub(recorded_since(trace, process))),
        instance_ns: None,
        at_once: false,
        period_ns: period,
        slow: SlowIterations::of(&durations[warm_up..]),
        growth_ns: growth(&durations[warm_up..]),
        busy_share: None,
        without_work: false,
        idle: Vec::new(),
        steady,
    }
}
