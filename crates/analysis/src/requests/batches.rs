//! Steps of a server: which requests are in them, and how long they keep the devices busy.

use std::collections::HashMap;

use serde::Serialize;
use trace::{ActivityKind, Kind, NONE, OPEN, StringId, Trace};

use crate::attribute::Attribution;

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BatchRow {
    pub process: u32,
    /// When it began, since the recording did, and how long it took on the host.
    pub begin_ns: i64,
    pub host_ns: i64,
    #[serde(flatten)]
    pub composition: Option<Composition>,
    /// Kernels and graphs that it launched, copies not counted.
    pub gpu_ns: i64,
}

/// What is in a step, if its name says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Composition {
    /// Requests whose prompt goes in, and tokens of it.
    pub contexts: u64,
    pub context_tokens: u64,
    /// Requests that get their next token, and tokens that go in for it.
    pub generations: u64,
    pub generation_tokens: u64,
}

/// All steps of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Phase {
    /// `prefill`, `decode`, `mixed`, or `any` if their names do not say.
    pub phase: &'static str,
    pub batches: u64,
    pub context_tokens: Option<u64>,
    pub generation_tokens: Option<u64>,
    pub host_ns: i64,
    pub gpu_ns: i64,
    /// Of the GPU time of all of them.
    pub share: f64,
}

/// `execute_context_1(64)_generation_7(7)`: requests and tokens of both kinds.
fn composition(name: &str) -> Option<Composition> {
    let (context, generation) = name.strip_prefix("execute_context_")?.split_once("_generation_")?;
    let pair = |text: &str| {
        let (count, tokens) = text.split_once('(')?;
        Some([count.parse().ok()?, tokens.strip_suffix(')')?.parse().ok()?])
    };
    let ([contexts, context_tokens], [generations, generation_tokens]) = (pair(context)?, pair(generation)?);
    Some(Composition { contexts, context_tokens, generations, generation_tokens })
}

/// SGLang's steps, which do not say what is in them.
const ANY_BATCH: &str = "scheduler.run_batch";

/// Ranges that are steps, by their names, with what is in them.
fn found(
    trace: &Trace,
    is_step: impl Fn(&str) -> Option<Option<Composition>>,
) -> Vec<(usize, Option<Composition>)> {
    let ranges = &trace.ranges;
    let mut of_name: HashMap<StringId, Option<Option<Composition>>> = HashMap::new();
    let mut step = |range: usize| {
        let name = ranges.name[range];
        let found = *of_name.entry(name).or_insert_with(|| is_step(trace.strings.text(name)));
        Some((range, found?))
    };
    let pushed = (0..ranges.len()).filter(|range| ranges.kind[*range] == Kind::PushPop);
    pushed.filter_map(&mut step).collect()
}

/// In the order in which they began.
pub(super) fn batches(trace: &Trace, attribution: &Attribution) -> Vec<BatchRow> {
    let found = found(trace, |name| composition(name).map(Some));
    let found =
        if found.is_empty() { self::found(trace, |name| (name == ANY_BATCH).then_some(None)) } else { found };
    let ranges = &trace.ranges;
    let mut rows: Vec<BatchRow> = Vec::new();
    let mut row_of: HashMap<u32, usize> = HashMap::new();
    for (range, composition) in found {
        let end = if ranges.end[range] == OPEN { trace.end } else { ranges.end[range] };
        row_of.insert(range as u32, rows.len());
        rows.push(BatchRow {
            process: trace.processes[trace.process_of(ranges.thread[range]) as usize].pid,
            begin_ns: ranges.begin[range].saturating_sub(trace.begin),
            host_ns: end.saturating_sub(ranges.begin[range]).max(0),
            composition,
            gpu_ns: 0,
        });
    }
    if !rows.is_empty() {
        let activities = &trace.activities;
        for plane in &attribution.planes {
            for at in 0..activities.len() {
                let is_kernel = matches!(activities.kind[at], ActivityKind::Kernel | ActivityKind::Graph);
                let inside = Some(plane.range[at]).filter(|range| *range != NONE && is_kernel);
                let around = std::iter::successors(inside, |range| ranges.parent[*range as usize]);
                if let Some(row) = around.filter_map(|range| row_of.get(&range)).next() {
                    rows[*row].gpu_ns = rows[*row].gpu_ns.saturating_add(activities.duration(at));
                }
            }
        }
    }
    rows.sort_by_key(|row| (row.begin_ns, row.process));
    rows
}

/// What is in them: prompts, next tokens, or both.
pub(super) fn phases(batches: &[BatchRow]) -> Vec<Phase> {
    let all = batches.iter().fold(0i64, |sum, row| sum.saturating_add(row.gpu_ns));
    let of = |phase: &'static str, is_one: fn(Option<Composition>) -> bool| {
        let rows = || batches.iter().filter(|row| is_one(row.composition));
        let tokens = |of: fn(Composition) -> u64| {
            rows()
                .map(|row| row.composition.map(of))
                .try_fold(0, |sum: u64, more| Some(sum.saturating_add(more?)))
        };
        let ns = |of: fn(&BatchRow) -> i64| rows().fold(0i64, |sum, row| sum.saturating_add(of(row)));
        let gpu_ns = ns(|row| row.gpu_ns);
        Phase {
            phase,
            batches: rows().count() as u64,
            context_tokens: tokens(|in_it| in_it.context_tokens),
            generation_tokens: tokens(|in_it| in_it.generation_tokens),
            host_ns: ns(|row| row.host_ns),
            gpu_ns,
            share: gpu_ns as f64 / all.max(1) as f64,
        }
    };
    let phases = [
        of("prefill", |in_it| in_it.is_some_and(|in_it| in_it.contexts > 0 && in_it.generations == 0)),
        of("mixed", |in_it| in_it.is_some_and(|in_it| in_it.contexts > 0 && in_it.generations > 0)),
        of("decode", |in_it| in_it.is_some_and(|in_it| in_it.contexts == 0)),
        of("any", |in_it| in_it.is_none()),
    ];
    phases.into_iter().filter(|phase| phase.batches > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_steps() {
        let known = Composition { contexts: 3, context_tokens: 512, generations: 8, generation_tokens: 8 };
        assert_eq!(composition("execute_context_3(512)_generation_8(8)"), Some(known));
        for other in
            ["execute_context_3_generation_8(8)", "execute_context_(1)_generation_1(1)", "execute", ""]
        {
            assert_eq!(composition(other), None, "{other}");
        }
    }
}
