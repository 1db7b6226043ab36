//! Operators of a framework: host time, and the device time of what they started.
//!
//! An operator includes the operators and the CUDA calls it makes; *self* is what is
//! left without them. What a device did is counted once as self of the innermost operator
//! that was running on the calling thread, and once as total of each name around it. An
//! operator that does nothing but call its like, as dispatching does, is one call, as in
//! the profiler's own table.

use std::collections::HashMap;

use serde::Serialize;
use trace::{NONE, StringId, Trace};

use crate::attribute::{Attribution, by_thread, innermost};
use crate::limit::Limit;
use crate::origin::Origin;
use crate::scope::{Places, Scope, Split};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorRow {
    pub name: String,
    /// The one that all calls come from.
    pub process: Option<u32>,
    #[serde(flatten)]
    pub origin: Origin,
    pub calls: u64,
    pub host_total_ns: i64,
    pub host_self_ns: i64,
    #[serde(serialize_with = "crate::statistics::rounded")]
    pub host_mean_ns: f64,
    pub device_total_ns: i64,
    pub device_self_ns: i64,
    /// Kernels, copies and fills that it started itself.
    pub activities: u64,
    /// The longest of those, and the regions in which it started most: name and time.
    pub kernels: Vec<(String, i64)>,
    pub regions: Vec<(String, i64)>,
}

/// Operators that the table leaves out, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct MoreOperators {
    pub operators: u64,
    pub calls: u64,
    pub host_self_ns: i64,
    pub device_self_ns: i64,
    pub activities: u64,
}

/// So many kernels and regions of each.
const MOST_LINKS: usize = 3;

const DEEPEST: usize = 256;

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    places: Places,
    calls: u64,
    host_total: i64,
    host_self: i64,
    device_total: i64,
    device_self: i64,
    activities: u64,
}

/// A name, and its process where they are split.
type Key = (StringId, Split);

/// By device time of their own, then by host time of their own.
pub(crate) fn operators(
    trace: &Trace,
    attribution: &Attribution,
    scope: Scope,
    limit: Limit,
) -> (Vec<OperatorRow>, Option<MoreOperators>) {
    let operators = &trace.operators;
    if operators.begin.is_empty() {
        return (Vec::new(), None);
    }
    let parents = parents(trace);
    let running = running_operators(trace);
    // What each one calls itself.
    let mut called = vec![0u32; operators.begin.len()];
    for inner in parents.iter().chain(&running).flatten() {
        called[*inner as usize] += 1;
    }
    let process_of = |at: usize| trace.process_of(operators.thread[at]);
    let key = |at: u32| -> Key { (operators.name[at as usize], scope.host_split(process_of(at as usize))) };
    let mut sums: HashMap<Key, Sum> = HashMap::new();
    for at in 0..operators.begin.len() {
        let duration = operators.end[at].saturating_sub(operators.begin[at]).max(0);
        let sum = sums.entry(key(at as u32)).or_default();
        sum.places.add_process(process_of(at));
        let passed_on = parents[at].is_some_and(|outer| {
            operators.name[outer as usize] == operators.name[at] && called[outer as usize] == 1
        });
        sum.calls += u64::from(!passed_on);
        sum.host_self = sum.host_self.saturating_add(duration);
        // A name inside itself is already in the total of the outer one.
        if !above(&parents, at as u32).any(|outer| operators.name[outer as usize] == operators.name[at]) {
            sum.host_total = sum.host_total.saturating_add(duration);
        }
        if let Some(parent) = parents[at] {
            let outer = sums.entry(key(parent)).or_default();
            outer.host_self = outer.host_self.saturating_sub(duration);
        }
    }
    for (call, operator) in running.iter().enumerate() {
        if let Some(operator) = operator {
            let duration = trace.calls.end[call].saturating_sub(trace.calls.begin[call]).max(0);
            let outer = sums.entry(key(*operator)).or_default();
            outer.host_self = outer.host_self.saturating_sub(duration);
        }
    }
    let mut links = Links::default();
    for (activity, call) in attribution.call.iter().enumerate() {
        let Some(operator) = running.get(*call as usize).copied().flatten() else { continue };
        let duration = trace.activities.duration(activity);
        links.add(trace, attribution, key(operator), activity);
        let own = sums.entry(key(operator)).or_default();
        own.device_self = own.device_self.saturating_add(duration);
        own.activities += 1;
        let mut counted: Vec<Key> = Vec::new();
        for outer in std::iter::once(operator).chain(above(&parents, operator)).map(key) {
            if !counted.contains(&outer) {
                counted.push(outer);
                let outer = sums.entry(outer).or_default();
                outer.device_total = outer.device_total.saturating_add(duration);
            }
        }
    }
    let mut rows: Vec<OperatorRow> = sums
        .into_iter()
        .map(|(key, sum)| OperatorRow {
            name: trace.strings.text(key.0).to_owned(),
            process: sum.places.place(trace).process,
            origin: sum.places.place(trace).origin,
            calls: sum.calls,
            host_total_ns: sum.host_total,
            host_self_ns: sum.host_self,
            host_mean_ns: sum.host_total as f64 / sum.calls.max(1) as f64,
            device_total_ns: sum.device_total,
            device_self_ns: sum.device_self,
            activities: sum.activities,
            kernels: longest(links.kernels.remove(&key), |kernel| trace.strings.text(kernel).to_owned()),
            regions: longest(links.regions.remove(&key), |node| {
                attribution.tree.path(trace, node).to_string()
            }),
        })
        .collect();
    rows.sort_by(|a, b| {
        (b.device_self_ns, b.host_self_ns)
            .cmp(&(a.device_self_ns, a.host_self_ns))
            .then_with(|| (&a.name, a.origin, a.process).cmp(&(&b.name, b.origin, b.process)))
    });
    let links = |links: &[(String, i64)]| links.iter().map(|(name, _)| name.len()).sum::<usize>();
    let more = limit.cut(&mut rows, |row| row.name.len() + links(&row.kernels) + links(&row.regions));
    (rows, MoreOperators::add_up(&more))
}

impl MoreOperators {
    /// None when there are none.
    fn add_up(rows: &[OperatorRow]) -> Option<Self> {
        let mut more = Self::default();
        for row in rows {
            more.operators += 1;
            more.calls += row.calls;
            more.host_self_ns = more.host_self_ns.saturating_add(row.host_self_ns);
            more.device_self_ns = more.device_self_ns.saturating_add(row.device_self_ns);
            more.activities += row.activities;
        }
        (more.operators > 0).then_some(more)
    }
}

/// By operator: the time of each kernel that it started, and of each region it was in.
#[derive(Default)]
struct Links {
    kernels: HashMap<Key, HashMap<StringId, i64>>,
    regions: HashMap<Key, HashMap<u32, i64>>,
}

impl Links {
    fn add(&mut self, trace: &Trace, attribution: &Attribution, operator: Key, activity: usize) {
        let duration = trace.activities.duration(activity);
        let grow = |sum: &mut i64| *sum = sum.saturating_add(duration);
        // Copies and fills have no name.
        if trace.activities.is_shown_kernel(activity) {
            let launch = &trace.activities.launches[trace.activities.detail[activity] as usize];
            grow(self.kernels.entry(operator).or_default().entry(launch.name).or_default());
        }
        for range in
            attribution.planes.iter().map(|plane| plane.range[activity]).filter(|range| *range != NONE)
        {
            let node = attribution.tree.node_of[range as usize];
            grow(self.regions.entry(operator).or_default().entry(node).or_default());
        }
    }
}

/// By time, and those of one time by name. Only what may be among them is named: there may be very many.
fn longest<Key: Copy>(times: Option<HashMap<Key, i64>>, name: impl Fn(Key) -> String) -> Vec<(String, i64)> {
    let mut top: Vec<(String, i64)> = Vec::with_capacity(MOST_LINKS + 1);
    for (key, time) in times.into_iter().flatten() {
        if top.len() == MOST_LINKS && top.last().is_some_and(|(_, least)| time < *least) {
            continue;
        }
        top.push((name(key), time));
        top.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        top.truncate(MOST_LINKS);
    }
    top
}

/// Who called it, and so on. No framework nests deeper than this.
pub(crate) fn above(parents: &[Option<u32>], operator: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(parents[operator as usize], |outer| parents[*outer as usize]).take(DEEPEST)
}

/// Operators come in order of time: each lies in the last of its thread still running.
pub(crate) fn parents(trace: &Trace) -> Vec<Option<u32>> {
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

/// By call: the operator that was running on its thread.
pub(crate) fn running_operators(trace: &Trace) -> Vec<Option<u32>> {
    let operators = &trace.operators;
    let mut threads: Vec<Vec<u32>> = vec![Vec::new(); trace.threads.len()];
    for (operator, thread) in operators.thread.iter().enumerate() {
        threads[*thread as usize].push(operator as u32);
    }
    let mut found = vec![None; trace.calls.len()];
    for (calls, running) in by_thread(trace).iter().zip(&threads) {
        innermost(calls, &trace.calls.begin, running, &operators.begin, &operators.end, |call, operator| {
            found[call as usize] = (operator != NONE).then_some(operator);
        });
    }
    found
}
