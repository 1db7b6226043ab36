//! Operators of a framework: host time, and the device time of what they started.
//!
//! An operator includes the operators it calls; *self* is what is left without them.
//! What a device did is counted once as self of the innermost operator that was running
//! on the calling thread, and once as total of each name around it.

use std::collections::HashMap;

use serde::Serialize;
use trace::{NONE, StringId, Trace};

use crate::attribute::Attribution;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorRow {
    pub name: String,
    pub calls: u64,
    pub host_total_ns: i64,
    pub host_self_ns: i64,
    pub host_mean_ns: f64,
    pub device_total_ns: i64,
    pub device_self_ns: i64,
    pub kernels: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    calls: u64,
    host_total: i64,
    host_self: i64,
    device_total: i64,
    device_self: i64,
    kernels: u64,
}

/// By device time of their own, then by host time of their own.
pub fn operators(trace: &Trace, attribution: &Attribution) -> Vec<OperatorRow> {
    let operators = &trace.operators;
    if operators.begin.is_empty() {
        return Vec::new();
    }
    let parents = parents(trace);
    let innermost = innermost(trace, attribution);
    let mut sums: HashMap<StringId, Sum> = HashMap::new();
    for at in 0..operators.begin.len() {
        let duration = operators.end[at].saturating_sub(operators.begin[at]).max(0);
        let sum = sums.entry(operators.name[at]).or_default();
        sum.calls += 1;
        sum.host_self += duration;
        // A name inside itself is already in the total of the outer one.
        if !above(&parents, at as u32).any(|outer| operators.name[outer as usize] == operators.name[at]) {
            sum.host_total += duration;
        }
        if let Some(parent) = parents[at] {
            sums.entry(operators.name[parent as usize]).or_default().host_self -= duration;
        }
    }
    for (activity, operator) in innermost.into_iter().enumerate() {
        let Some(operator) = operator else { continue };
        let duration = trace.activities.duration(activity);
        let own = sums.entry(operators.name[operator as usize]).or_default();
        own.device_self += duration;
        own.kernels += 1;
        let mut counted: Vec<StringId> = Vec::new();
        for outer in std::iter::once(operator).chain(above(&parents, operator)) {
            let name = operators.name[outer as usize];
            if !counted.contains(&name) {
                counted.push(name);
                sums.entry(name).or_default().device_total += duration;
            }
        }
    }
    let mut rows: Vec<OperatorRow> = sums
        .into_iter()
        .map(|(name, sum)| OperatorRow {
            name: trace.strings.text(name).to_owned(),
            calls: sum.calls,
            host_total_ns: sum.host_total,
            host_self_ns: sum.host_self,
            host_mean_ns: sum.host_total as f64 / sum.calls.max(1) as f64,
            device_total_ns: sum.device_total,
            device_self_ns: sum.device_self,
            kernels: sum.kernels,
        })
        .collect();
    rows.sort_by(|a, b| {
        (b.device_self_ns, b.host_self_ns)
            .cmp(&(a.device_self_ns, a.host_self_ns))
            .then_with(|| a.name.cmp(&b.name))
    });
    rows
}

fn above(parents: &[Option<u32>], operator: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(parents[operator as usize], |outer| parents[*outer as usize])
}

/// Operators come in order of time: each lies in the last of its thread still running.
fn parents(trace: &Trace) -> Vec<Option<u32>> {
    let operators = &trace.operators;
    let mut stacks: HashMap<u32, Vec<u32>> = HashMap::new();
    (0..operators.begin.len())
        .map(|at| {
            let stack = stacks.entry(operators.thread[at]).or_default();
            while stack.last().is_some_and(|last| operators.end[*last as usize] <= operators.begin[at]) {
                stack.pop();
            }
            let parent = stack.last().copied();
            stack.push(at as u32);
            parent
        })
        .collect()
}

/// By activity: the operator that was running when it was started.
fn innermost(trace: &Trace, attribution: &Attribution) -> Vec<Option<u32>> {
    let operators = &trace.operators;
    let mut threads: HashMap<u32, Vec<(i64, u32)>> = HashMap::new();
    for (activity, call) in attribution.call.iter().enumerate() {
        if *call != NONE {
            let call = *call as usize;
            let started = (trace.calls.begin[call], activity as u32);
            threads.entry(trace.calls.thread[call]).or_default().push(started);
        }
    }
    let mut by_thread: HashMap<u32, Vec<u32>> = HashMap::new();
    for (operator, thread) in operators.thread.iter().enumerate() {
        by_thread.entry(*thread).or_default().push(operator as u32);
    }
    let mut found = vec![None; attribution.call.len()];
    for (thread, mut started) in threads {
        started.sort_unstable();
        let mut next = by_thread.remove(&thread).unwrap_or_default().into_iter().peekable();
        let mut open: Vec<u32> = Vec::new();
        for (time, activity) in started {
            while let Some(operator) = next.next_if(|operator| operators.begin[*operator as usize] <= time) {
                while open
                    .last()
                    .is_some_and(|last| operators.end[*last as usize] <= operators.begin[operator as usize])
                {
                    open.pop();
                }
                open.push(operator);
            }
            while open.last().is_some_and(|last| operators.end[*last as usize] <= time) {
                open.pop();
            }
            found[activity as usize] = open.last().copied();
        }
    }
    found
}
