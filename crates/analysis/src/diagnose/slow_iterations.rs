//! What happens in iterations that take far longer than the others.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use trace::{Trace, counted};

use super::case::{milliseconds, percent};
use super::finding::{Cause, Finding, FoundAt, Sureness};
use super::open_ranges::OpenRanges;
use crate::attribute::Attribution;
use crate::loop_::{Loop, is_slow, median};
use crate::time::{OwnPlace, common_place, own_places};

/// A smaller part of the loop's time is not worth a finding.
const WORTH_A_WORD: f64 = 0.1;
/// So much of what slow iterations take longer is in the place that is named.
const MOST: f64 = 0.5;
/// Fewer samples name no place.
const FEWEST: usize = 20;
/// Iterations of the usual length that are looked into.
const ENOUGH: usize = 1_000;

/// The slow iterations of the main loop, if they take a good part of its time. Where devices have work, the line of the loop tells
/// of them, and causes are ranked by what they cost.
pub(crate) fn slow_iterations(trace: &Trace, attribution: &Attribution, loops: &[Loop]) -> Option<Finding> {
    let has_devices =
        !trace.activities.is_empty() || !trace.calls.is_empty() || trace.cupti_trouble.is_some();
    let main = loops.first().filter(|_| !has_devices)?;
    let slow = main.slow.filter(|slow| slow.share > WORTH_A_WORD)?;
    let usual = main.period_ns?.p50;
    let apart = Apart::of(main);
    let threads = threads(trace, attribution, main);
    let region = apart.region(trace, attribution, main, &threads);
    let line = apart.line(trace, &threads);
    let all = main.steady.on_host.len() as u64;
    let whose = main.called(loops).map(|whose| format!(" of {whose}")).unwrap_or_default();
    let most = match (&line, region.as_ref().filter(|region| Some(*region) != main.region.as_ref())) {
        (Some(line), Some(region)) => format!(", most of it at `{line}`, in `{region}`"),
        (Some(line), None) => format!(", most of it at `{line}`"),
        (None, Some(region)) => format!(", most of it in `{region}`"),
        (None, None) => String::new(),
    };
    let take = if slow.iterations == 1 { "takes" } else { "take" };
    let medians = if slow.iterations == 1 { "" } else { " (medians)" };
    let [slow_ns, usual_ns] = [slow.p50_ns, usual].map(|ns| milliseconds(ns as f64));
    let rest = all.saturating_sub(slow.iterations);
    let more = slow.time_ns.saturating_sub(usual.saturating_mul(slow.iterations as i64)).max(0);
    let whole = slow.time_ns as f64 / slow.share.max(f64::MIN_POSITIVE);
    let others = if rest == 1 { "the other one" } else { &format!("the {rest} others") };
    let region = region.or_else(|| main.region.clone());
    Some(Finding {
        cause: Cause::SlowIterations,
        place: FoundAt { capture_path: region.clone(), region, line, ..FoundAt::default() },
        device: None,
        title: format!(
            "{} of {} {take} {} of the loop's time{whose}: {slow_ns} instead of {usual_ns}{medians}{most}",
            slow.iterations,
            counted(all, "iteration"),
            percent(slow.share),
        ),
        evidence: vec![
            format!("what is said of an iteration is about {others}"),
            format!(
                "if none took longer than is usual, the loop would be {:.2}x as fast",
                whole / (whole - more as f64).max(1.0)
            ),
        ],
        advice: match slow.iterations {
            1 => "see whether it has to be done at all, or beside the loop: by another thread or process",
            _ => "make it shorter, do it less often, or do it beside the loop: by another thread or process",
        }
        .to_owned(),
        confidence: Sureness::Shown,
        gain: None,
        time_ns: more,
        also_in: 0,
    })
}

/// The threads that run the loop: those that open its ranges.
fn threads(trace: &Trace, attribution: &Attribution, main: &Loop) -> BTreeSet<u32> {
    let steady = &main.steady;
    let is_its = |thread: &u32| trace.process_of(*thread) == steady.process;
    let of_loop =
        (0..trace.ranges.len()).filter(|range| steady.node == Some(attribution.tree.node_of[*range]));
    of_loop.map(|range| trace.ranges.thread[range]).filter(is_its).collect()
}

/// When the host is in iterations, slow ones apart from those of the usual length.
struct Apart {
    slow: Vec<Range<i64>>,
    usual: Vec<Range<i64>>,
}

impl Apart {
    fn of(main: &Loop) -> Self {
        let steady = &main.steady;
        let each = |begins: &[i64]| -> Vec<Range<i64>> {
            let ends = begins.iter().skip(1).copied().chain([steady.end]);
            begins.iter().zip(ends).map(|(begin, end)| *begin..end).collect()
        };
        let length = |one: &Range<i64>| one.end.saturating_sub(one.start).max(0);
        let lengths: Vec<i64> = each(&steady.on_device).iter().map(length).collect();
        let most = median(&lengths).unwrap_or(i64::MAX);
        let (slow, usual): (Vec<_>, Vec<_>) =
            each(&steady.on_host).into_iter().zip(lengths).partition(|(_, length)| is_slow(*length, most));
        let times = |some: Vec<(Range<i64>, i64)>| some.into_iter().map(|(time, _)| time).collect();
        Self { slow: times(slow), usual: times(usual) }
    }

    /// The region that slow iterations are longer in, by the ranges of one thread.
    fn region(
        &self,
        trace: &Trace,
        attribution: &Attribution,
        main: &Loop,
        threads: &BTreeSet<u32>,
    ) -> Option<String> {
        let thread = threads.first().copied().filter(|_| threads.len() == 1)?;
        let open = OpenRanges::of(trace, attribution, main.steady.process);
        let times = |some: &[Range<i64>]| {
            let mut times: BTreeMap<Option<u32>, f64> = BTreeMap::new();
            let looked = &some[..some.len().min(ENOUGH)];
            for one in looked {
                for (node, time) in open.between(thread, one.start, one.end) {
                    *times.entry(node).or_default() += time as f64 / looked.len() as f64;
                }
            }
            times
        };
        let (slow, usual) = (times(&self.slow), times(&self.usual));
        let more = |(node, time): (&Option<u32>, &f64)| (*node, time - usual.get(node).unwrap_or(&0.0));
        let all: f64 = slow.iter().map(more).map(|(_, more)| more).sum();
        let (node, more) = slow.iter().map(more).max_by(|a, b| a.1.total_cmp(&b.1))?;
        (more >= MOST * all).then_some(node?).map(|node| attribution.tree.path(trace, node).to_string())
    }

    /// The line of the program that slow iterations are longer in, or that most of their samples share.
    fn line(&self, trace: &Trace, threads: &BTreeSet<u32>) -> Option<String> {
        let rows = |some: &[Range<i64>]| -> Vec<usize> {
            let samples = &trace.stacks.samples;
            let between = |one: &Range<i64>| {
                let first = samples.at.partition_point(|at| *at < one.start);
                first..samples.at.partition_point(|at| *at < one.end).max(first)
            };
            let all = some.iter().flat_map(between);
            all.filter(|row| threads.contains(&samples.thread[*row])).collect()
        };
        let (slow, usual) = (rows(&self.slow), rows(&self.usual));
        if slow.len() < FEWEST {
            return None;
        }
        let all: Vec<usize> = slow.iter().chain(&usual).copied().collect();
        let is_slow: BTreeSet<usize> = slow.iter().copied().collect();
        // As many iterations of the usual length have so many samples of the same.
        let scale = self.slow.len() as f64 / self.usual.len().max(1) as f64;
        let more = |place: &OwnPlace| {
            let inside = place.rows.iter().filter(|row| is_slow.contains(row)).count();
            inside as f64 - (place.rows.len() - inside) as f64 * scale
        };
        let places = own_places(trace, &all, &all);
        let sum: f64 = places.iter().map(more).sum();
        let longest = places.iter().max_by(|a, b| more(a).total_cmp(&more(b)))?;
        if more(longest) >= MOST * sum {
            return Some(longest.line.place.clone());
        }
        Some(format!("{}, in what it calls", common_place(trace, &slow, MOST)?.place))
    }
}
