//! One loop, with everything that causes are looked for in.

use std::collections::BTreeMap;

use trace::{ActivityKind, Direction, Trace};

use super::finding::{Cause, Finding, FoundAt, Gain, GainOf, Sureness};
use super::open_ranges::OpenRanges;
use crate::attribute::Attribution;
use crate::kernels::{Chip, Families};
use crate::loop_::Steady;
use crate::replay::{Call, Graph, Index, Work, build};
use crate::time::DeviceTime;

/// A replay that is further off says nothing.
const EXACT_ENOUGH: f64 = 0.05;

pub(super) struct Case<'t> {
    pub(super) trace: &'t Trace,
    pub(super) attribution: &'t Attribution,
    pub(super) families: &'t Families,
    pub(super) steady: &'t Steady,
    /// It is the whole recording, because nothing in it repeats.
    pub(super) is_whole: bool,
    pub(super) open: &'t OpenRanges<'t>,
    pub(super) graph: Graph,
    /// What an iteration of the unchanged graph takes.
    pub(super) now: f64,
    /// How far that is off, as a part of what was measured.
    pub(super) error: f64,
    /// The region of each call, and whether its thread had no range open and it is that of another.
    pub(super) node_of_call: Vec<Option<u32>>,
    for_other: Vec<bool>,
    /// The part of the steady iterations, or of all, in which a device works.
    pub(super) busy: f64,
}

/// Something that could be changed, and how long an iteration takes then.
pub(super) struct Candidate {
    pub(super) cause: Cause,
    pub(super) node: Option<u32>,
    pub(super) kernel: Option<String>,
    pub(super) title: String,
    pub(super) evidence: Vec<String>,
    pub(super) advice: &'static str,
    pub(super) confidence: Sureness,
    /// None if nobody can say.
    pub(super) then: Option<Then>,
    /// The time it explains, of all iterations.
    pub(super) time_ns: i64,
    /// As in [`FoundAt::during`].
    pub(super) during: Vec<(u32, i64, i64)>,
}

/// How long an iteration takes with a cause removed.
pub(super) struct Then {
    pub(super) likely: f64,
    pub(super) worst: f64,
    pub(super) best: f64,
    /// The loop without it, as is likely; None if it was not replayed.
    pub(super) changed: Option<Graph>,
}

impl Then {
    /// As long as the changed loop takes.
    pub(super) fn of(case: &Case<'_>, changed: Graph) -> Self {
        let likely = case.replayed(&changed);
        Self { likely, worst: likely, best: likely, changed: Some(changed) }
    }

    /// What is known of its time alone.
    pub(super) fn without_replay(likely: f64) -> Self {
        Self { likely, worst: likely, best: likely, changed: None }
    }

    pub(super) fn between(self, worst: f64, best: f64) -> Self {
        Self { worst, best, ..self }
    }
}

impl<'t> Case<'t> {
    pub(super) fn of(
        trace: &'t Trace,
        attribution: &'t Attribution,
        families: &'t Families,
        (index, open): (&Index, &'t OpenRanges<'t>),
        steady: &'t Steady,
        time: DeviceTime,
        is_whole: bool,
    ) -> Option<Self> {
        let graph = build(trace, attribution, index, steady)?;
        let made = |call: &Call| {
            let at = call.call as usize;
            (trace.calls.thread[at], trace.calls.begin[at])
        };
        let made = || graph.calls.iter().map(made);
        let node_of_call = made().map(|(thread, begin)| open.node_at(thread, begin)).collect();
        let for_other = made().map(|(thread, begin)| open.is_for_other(thread, begin)).collect();
        let now = graph.play();
        let error = if graph.measured > 0.0 { now / graph.measured - 1.0 } else { f64::INFINITY };
        Some(Self {
            trace,
            attribution,
            families,
            steady,
            is_whole,
            open,
            graph,
            now,
            error,
            node_of_call,
            for_other,
            busy: time.busy_share(),
        })
    }

    pub(super) fn iterations(&self) -> f64 {
        self.graph.iterations.max(1) as f64
    }

    /// `3 ms of each iteration`
    pub(super) fn of_each(&self) -> &'static str {
        if self.is_whole { "in all" } else { "of each iteration" }
    }

    /// `3 launches an iteration`
    pub(super) fn each(&self) -> &'static str {
        if self.is_whole { "in all" } else { "an iteration" }
    }

    /// ` in the 29 of 58 steady iterations that were replayed`
    pub(super) fn in_iterations(&self) -> String {
        let (some, all) = (self.graph.iterations, self.steady.on_host.len());
        let were = if some == 1 { "was" } else { "were" };
        match self.is_whole {
            true => String::new(),
            false => format!(" in the {some} of {all} steady iterations that {were} replayed"),
        }
    }

    /// `16 times an iteration`
    pub(super) fn times(&self, all: usize) -> String {
        let many = all as f64 / self.iterations();
        match many {
            _ if self.is_whole && all == 1 => "once".to_owned(),
            _ if self.is_whole => format!("{all} times"),
            few if few < 0.95 && all == 1 => format!("once in {} iterations", self.graph.iterations),
            few if few < 0.95 => format!("{all} times in {} iterations", self.graph.iterations),
            once if once < 1.05 => "once an iteration".to_owned(),
            some if some < 10.0 && (some - some.round()).abs() > 0.05 => {
                format!("{some:.1} times an iteration")
            }
            many => format!("{many:.0} times an iteration"),
        }
    }

    /// The first call of each iteration.
    pub(super) fn first_calls(&self) -> Vec<usize> {
        let begin = |call: &Call| self.trace.calls.begin[call.call as usize];
        let iterations = &self.steady.on_host[self.graph.first..self.graph.first + self.graph.iterations];
        iterations.iter().map(|at| self.graph.calls.partition_point(|call| begin(call) < *at)).collect()
    }

    /// Why no gain is given.
    pub(super) fn no_gain(&self) -> Option<String> {
        if self.is_whole {
            return Some(
                "no loop was found in the recording: this is about all of it, start-up included".to_owned(),
            );
        }
        self.doubt().map(|why| format!("no gain is given: {why}"))
    }

    /// Why a replay with a change says nothing.
    pub(super) fn doubt(&self) -> Option<String> {
        if let Some(why) = self.graph.unknown {
            return Some(why.to_owned());
        }
        (self.error.abs() > EXACT_ENOUGH).then(|| {
            format!(
                "a replay of the loop as it is takes {} {} instead of {}",
                milliseconds(self.now),
                self.each(),
                milliseconds(self.graph.measured)
            )
        })
    }

    /// How many times as fast an iteration is that takes so long.
    pub(super) fn factor(&self, then: f64) -> f64 {
        self.now / then.max(self.now / 1e4)
    }

    /// The loop with a change, whether its replay is exact enough or not.
    pub(super) fn changed(&self, change: impl FnOnce(&mut Graph)) -> Graph {
        let mut changed = self.graph.clone();
        change(&mut changed);
        changed
    }

    /// How long an iteration of the changed loop takes: no less than the device works in it. What ran beside nothing is
    /// not taken to run beside something, unless the change puts it on a stream of its own.
    pub(super) fn replayed(&self, changed: &Graph) -> f64 {
        let (mut beside, mut others) = (Vec::new(), Vec::with_capacity(changed.works.len()));
        for (work, before) in changed.works.iter().zip(&self.graph.works) {
            if work.stream == before.stream { others.push(span(work)) } else { beside.push(span(work)) }
        }
        let least = any_of(beside).max(any_of(others)) as f64 / self.iterations();
        let part = if self.graph.measured > 0.0 { (least / self.graph.measured).min(1.0) } else { 0.0 };
        changed.play().max(part * self.now)
    }

    pub(super) fn path(&self, node: u32) -> String {
        self.attribution.tree.path(self.trace, node).to_string()
    }

    /// ` in ":step/log"`, or nothing.
    pub(super) fn in_region(&self, node: Option<u32>) -> String {
        node.map(|node| format!(" in `{}`", self.path(node))).unwrap_or_default()
    }

    pub(super) fn kind(&self, work: &Work) -> ActivityKind {
        self.trace.activities.kind[work.activity as usize]
    }

    /// Direction and size of a copy.
    pub(super) fn transfer(&self, work: &Work) -> Option<(Direction, u64)> {
        let at = work.activity as usize;
        matches!(self.kind(work), ActivityKind::Copy | ActivityKind::Fill).then(|| {
            let transfer = self.trace.activities.transfers[self.trace.activities.detail[at] as usize];
            (transfer.direction, transfer.bytes)
        })
    }

    pub(super) fn launch(&self, work: &Work) -> Option<&'t trace::Launch> {
        let at = work.activity as usize;
        (self.kind(work) == ActivityKind::Kernel)
            .then(|| &self.trace.activities.launches[self.trace.activities.detail[at] as usize])
    }

    pub(super) fn call_name(&self, call: &Call) -> &'t str {
        self.trace.strings.text(self.trace.calls.name[call.call as usize])
    }

    /// How long a call really took.
    pub(super) fn taken(&self, call: &Call) -> i64 {
        let call = call.call as usize;
        self.trace.calls.end[call].saturating_sub(self.trace.calls.begin[call])
    }

    pub(super) fn works(&self, call: &Call) -> &[Work] {
        &self.graph.works[call.works.start as usize..call.works.end as usize]
    }

    /// `NVIDIA H200`
    pub(super) fn device(&self) -> Option<(u32, Option<&'t str>)> {
        let work = self.graph.works.first()?;
        let device = &self.trace.devices[usize::from(self.trace.activities.device[work.activity as usize])];
        Some((device.id, device.name.as_deref()))
    }

    pub(super) fn chip(&self) -> Option<Chip> {
        Chip::named(self.device()?.1?)
    }

    /// How much of a region's work was started by threads that had no range open.
    fn work_of_others(&self, node: u32) -> Option<String> {
        let (mut all, mut of_others) = (0i64, 0i64);
        for work in &self.graph.works {
            let call = work.call as usize;
            if self.node_of_call[call] == Some(node) {
                all = all.saturating_add(work.duration);
                of_others = of_others.saturating_add(if self.for_other[call] { work.duration } else { 0 });
            }
        }
        (of_others > 0).then(|| {
            format!(
                "{} of the GPU time of `{}` is counted here by inference: launched by threads that have no range of \
                 their own (autograd's, for example), while only the thread of this range had any open",
                percent(of_others as f64 / all as f64),
                self.path(node)
            )
        })
    }

    pub(super) fn finding(&self, mut candidate: Candidate) -> Finding {
        candidate.evidence.extend(candidate.node.and_then(|node| self.work_of_others(node)));
        let measured = self.graph.measured;
        let gain = candidate.then.filter(|_| self.no_gain().is_none()).map(|then| Gain {
            factor: self.factor(then.likely),
            low: self.factor(then.worst.max(then.likely)),
            high: self.factor(then.best.min(then.likely)),
            of: GainOf::Iteration,
            now_ns: measured as i64,
            then_ns: (measured / self.factor(then.likely)) as i64,
            replay_error: Some(self.error),
            by_samples: None,
        });
        let region = candidate.node.map(|node| self.path(node));
        Finding {
            cause: candidate.cause,
            place: FoundAt {
                capture_path: region.clone(),
                region,
                kernel: candidate.kernel,
                during: candidate.during,
                ..FoundAt::default()
            },
            device: self.device().map(|(id, _)| id),
            title: candidate.title,
            evidence: candidate.evidence,
            advice: candidate.advice.to_owned(),
            confidence: candidate.confidence,
            gain,
            time_ns: candidate.time_ns,
            also_in: 0,
        }
    }
}

/// Places of one kind that are looked into: a program may give every range a new name.
const MOST_PLACES: usize = 16;

/// Those with the most time, the largest first.
pub(super) fn largest<K: Ord, T>(groups: BTreeMap<K, T>, time: impl Fn(&T) -> i64) -> Vec<(K, T)> {
    let mut groups: Vec<(K, T)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(time(group)));
    groups.truncate(MOST_PLACES);
    groups
}

/// How long the device has any of some works, of all iterations.
pub(super) fn works_for(graph: &Graph, some: &[usize]) -> i64 {
    any_of(some.iter().map(|at| span(&graph.works[*at])).collect())
}

fn span(work: &Work) -> (i64, i64) {
    (work.began, work.began.saturating_add(work.duration))
}

/// The time in which there is any of these stretches.
fn any_of(mut times: Vec<(i64, i64)>) -> i64 {
    if !times.is_sorted() {
        times.sort_unstable();
    }
    let (mut sum, mut until) = (0i64, i64::MIN);
    for (begin, end) in times {
        sum = sum.saturating_add(end.saturating_sub(begin.max(until)).max(0));
        until = until.max(end);
    }
    sum
}

/// `1.38 ms`, `95 us`
pub(super) fn milliseconds(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{:.2} s", ns / 1e9),
        ns if ns >= 1e7 => format!("{:.1} ms", ns / 1e6),
        ns if ns >= 1e6 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.0} us", ns / 1e3),
    }
}

pub(super) fn percent(share: f64) -> String {
    if share < 0.1 { format!("{:.1} %", share * 100.0) } else { format!("{:.0} %", share * 100.0) }
}
