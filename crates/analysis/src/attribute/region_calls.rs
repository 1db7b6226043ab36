//! What a region asks of CUDA: which calls it makes on its own thread, what they start, and whether all of it
//! is over when the region closes. It is about gates, which see no more than that.

use std::collections::{BTreeMap, HashMap, HashSet};

use nvtx::{Kind, RegionPath};
use trace::{NONE, OPEN, StringId, Trace};

use super::attribution::{Attribution, attribute_by, ranges_as_gates_do};
use super::call_kinds::synchronises;
use super::libraries::Libraries;

/// A push/pop region, including its inner regions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionCalls {
    pub path: RegionPath,
    pub instances: u64,
    /// Calls by name.
    pub calls: BTreeMap<String, u64>,
    pub launches: u64,
    /// Kernels that differ in name.
    pub kernels: u64,
    /// Of kernels.
    pub gpu_ns: i64,
    /// On the host, of closed instances.
    pub host_ns: i64,
    /// Instances whose work was still running when they closed.
    pub in_flight: u64,
    /// Instances that waited for the device after their last launch.
    pub synchronised: u64,
    /// The first CUDA call of a process is in it: there is no context when it opens.
    pub first_call: bool,
}

#[derive(Default)]
struct Sum {
    calls: HashMap<StringId, u64>,
    kernels: HashSet<StringId>,
    launches: u64,
    gpu_ns: i64,
    first_call: bool,
}

/// Regions in the order of the tree; none when there are no calls.
pub fn region_calls(trace: &Trace) -> Vec<RegionCalls> {
    if trace.calls.is_empty() {
        return Vec::new();
    }
    let calls = ranges_as_gates_do(trace);
    let attribution = attribute_by(trace, Libraries::default(), &calls);
    let tree = &attribution.tree;
    let mut sums: Vec<Sum> = Vec::new();
    sums.resize_with(tree.nodes.len(), Sum::default);
    let mut last_sync = vec![i64::MIN; trace.ranges.len()];
    let first = first_calls(trace);
    for (_, of_call) in &calls {
        for (call, range) in of_call.iter().enumerate().filter(|(_, range)| **range != NONE) {
            let name = trace.calls.name[call];
            let waits = synchronises(trace.strings.text(name));
            let is_first = first.contains(&call);
            for range in upwards(trace, *range) {
                let sum = &mut sums[tree.node_of[range] as usize];
                *sum.calls.entry(name).or_default() += 1;
                sum.first_call |= is_first;
                if waits {
                    last_sync[range] = last_sync[range].max(trace.calls.begin[call]);
                }
            }
        }
    }
    let work = work(trace, &attribution, &mut sums);
    let mut rows = Vec::new();
    let mut place = vec![None; tree.nodes.len()];
    for node in tree.order(trace) {
        if tree.nodes[node as usize].kind == Kind::PushPop {
            place[node as usize] = Some(rows.len());
            rows.push(row(trace, tree.path(trace, node), &sums[node as usize]));
        }
    }
    for (range, node) in tree.node_of.iter().enumerate() {
        let Some(row) = place[*node as usize].and_then(|at| rows.get_mut(at)) else { continue };
        let (begin, end) = (trace.ranges.begin[range], trace.ranges.end[range]);
        row.instances += 1;
        if end != OPEN {
            row.host_ns = row.host_ns.saturating_add(end.saturating_sub(begin));
        }
        row.in_flight += u64::from(work.last_end[range] > end);
        let started = work.last_launch[range] != i64::MIN;
        row.synchronised += u64::from(started && last_sync[range] >= work.last_launch[range]);
    }
    rows
}

/// Everything that does not depend on single instances.
fn row(trace: &Trace, path: RegionPath, sum: &Sum) -> RegionCalls {
    let calls = sum.calls.iter().map(|(name, count)| (trace.strings.text(*name).to_owned(), *count));
    RegionCalls {
        path,
        instances: 0,
        calls: calls.collect(),
        launches: sum.launches,
        kernels: sum.kernels.len() as u64,
        gpu_ns: sum.gpu_ns,
        host_ns: 0,
        in_flight: 0,
        synchronised: 0,
        first_call: sum.first_call,
    }
}

/// By range: when its last work was started, and when its last work ended.
struct Work {
    last_launch: Vec<i64>,
    last_end: Vec<i64>,
}

fn work(trace: &Trace, attribution: &Attribution, sums: &mut [Sum]) -> Work {
    let mut work = Work {
        last_launch: vec![i64::MIN; trace.ranges.len()],
        last_end: vec![i64::MIN; trace.ranges.len()],
    };
    let activities = &trace.activities;
    for plane in &attribution.planes {
        for (activity, range) in plane.range.iter().enumerate().filter(|(_, range)| **range != NONE) {
            let call = attribution.call[activity];
            let started = trace.calls.begin.get(call as usize).copied().unwrap_or(i64::MIN);
            for range in upwards(trace, *range) {
                work.last_launch[range] = work.last_launch[range].max(started);
                work.last_end[range] = work.last_end[range].max(activities.end[activity]);
                let sum = &mut sums[attribution.tree.node_of[range] as usize];
                if activities.kind[activity] == trace::ActivityKind::Kernel {
                    let launch = &activities.launches[activities.detail[activity] as usize];
                    sum.kernels.insert(launch.name);
                    sum.launches += 1;
                    sum.gpu_ns = sum.gpu_ns.saturating_add(activities.duration(activity));
                }
            }
        }
    }
    work
}

/// A range and all ranges around it.
fn upwards(trace: &Trace, range: u32) -> impl Iterator<Item = usize> {
    let parent = |range: &usize| trace.ranges.parent[*range].map(|parent| parent as usize);
    std::iter::successors(Some(range as usize), parent)
}

/// The earliest call of each process.
fn first_calls(trace: &Trace) -> HashSet<usize> {
    let mut first: HashMap<u32, usize> = HashMap::new();
    for call in 0..trace.calls.len() {
        let process = trace.process_of(trace.calls.thread[call]);
        let known = first.entry(process).or_insert(call);
        if trace.calls.begin[call] < trace.calls.begin[*known] {
            *known = call;
        }
    }
    first.into_values().collect()
}
