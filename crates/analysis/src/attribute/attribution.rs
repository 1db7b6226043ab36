//! Which range started what a device did.
//!
//! Activity → the call that started it (same correlation *and* same process: every
//! process counts correlations for itself) → the push/pop ranges that were open on the
//! calling thread when the call began, in each domain for itself. A kernel of a CUDA
//! graph comes from the call that launched the graph. An activity without a call is
//! without a range, and is counted as such.
//!
//! A call of a thread that has no range open is made in those of the only other thread of its process that has
//! ([`super::only_thread`]), and ranges of libraries are no regions ([`super::libraries`]), except for what gates see
//! ([`attribute_as_gates_do`]).

use std::collections::{HashMap, HashSet};

use nvtx::Kind;
use trace::{Activities, NONE, StringId, Trace};

use super::libraries::Libraries;
use super::only_thread::OnlyThread;
use super::sweep::{by_thread, innermost};
use super::tree::Tree;

/// Numbers that all planes together may have: one for each call and activity, in each domain. A program has a few
/// domains; a file may claim thousands.
const MOST_NUMBERS: usize = 1 << 28;
/// However long the trace is.
const FEWEST_DOMAINS: usize = 8;

/// Where each activity belongs.
#[derive(Debug)]
pub struct Attribution {
    /// By activity: the call that started it, or [`NONE`].
    pub call: Vec<u32>,
    /// One for each domain that has push/pop ranges and regions.
    pub planes: Vec<Plane>,
    /// Domains with ranges that have no plane, because there are too many.
    pub left_out: usize,
    /// The regions of the trace, and the ranges that are none.
    pub tree: Tree,
    /// By activity: whether its thread had no range open, so that it is in those of the only other thread that had.
    pub by_other_thread: Vec<bool>,
    pub(crate) only_thread: OnlyThread,
    pub(crate) libraries: Libraries,
}

impl Attribution {
    /// Whether ranges of a domain are regions: those of libraries beside the program's own are not.
    pub fn is_region(&self, domain: StringId) -> bool {
        !self.libraries.leaves_out(domain)
    }
}

/// One domain's view.
#[derive(Debug)]
pub struct Plane {
    pub domain: StringId,
    /// By activity: the innermost push/pop range of this domain, or [`NONE`].
    pub range: Vec<u32>,
}

pub fn attribute(trace: &Trace) -> Attribution {
    let libraries = Libraries::of(trace);
    let only_thread = OnlyThread::of(trace, &libraries);
    let (threads, for_others) = only_thread.calls(trace);
    let domains = looked_at(trace, &libraries, MOST_NUMBERS);
    // A library works for the thread that calls it.
    let own_threads = if libraries.are_regions() { by_thread(trace) } else { Vec::new() };
    let calls = |domain: StringId| if libraries.has(domain) { &own_threads } else { &threads };
    let ranges = ranges_of_calls(trace, &domains, calls);
    let attribution = attribute_by(trace, libraries, &ranges);
    let is_for_other = |call: &u32| for_others.get(*call as usize).copied().unwrap_or(false);
    let by_other_thread = attribution.call.iter().map(is_for_other).collect();
    Attribution { by_other_thread, only_thread, ..attribution }
}

/// The same as nsys and ncu see it: by the ranges of the launching thread alone.
pub fn attribute_as_gates_do(trace: &Trace) -> Attribution {
    attribute_by(trace, Libraries::default(), &ranges_as_gates_do(trace))
}

/// For each domain, libraries' too, the ranges of calls by their own threads.
pub(crate) fn ranges_as_gates_do(trace: &Trace) -> Vec<(StringId, Vec<u32>)> {
    let threads = by_thread(trace);
    ranges_of_calls(trace, &looked_at(trace, &Libraries::default(), MOST_NUMBERS), |_| &threads)
}

/// The same, when it is known already which range each call was made in.
pub(crate) fn attribute_by(
    trace: &Trace,
    libraries: Libraries,
    calls: &[(StringId, Vec<u32>)],
) -> Attribution {
    let call = calls_of(trace, &trace.activities);
    let plane = |(domain, of_call): &(StringId, Vec<u32>)| {
        let range = call.iter().map(|call| of_call.get(*call as usize).copied().unwrap_or(NONE)).collect();
        Plane { domain: *domain, range }
    };
    let planes: Vec<Plane> = calls.iter().map(plane).collect();
    let left_out = domains(trace, &libraries).len() - planes.len();
    let by_other_thread = vec![false; call.len()];
    let only_thread = OnlyThread::default();
    Attribution { call, planes, left_out, tree: Tree::of(trace), by_other_thread, only_thread, libraries }
}

/// Domains that have push/pop ranges and regions, and how many, in the order of first appearance.
fn domains(trace: &Trace, libraries: &Libraries) -> Vec<(StringId, usize)> {
    let (mut domains, mut places): (Vec<(StringId, usize)>, HashMap<StringId, usize>) = Default::default();
    let is_region =
        |(domain, kind): &(&StringId, &Kind)| **kind == Kind::PushPop && !libraries.leaves_out(**domain);
    let push_pop = trace.ranges.domain.iter().zip(&trace.ranges.kind).filter(is_region);
    let mut last = None;
    for (domain, _) in push_pop {
        let place = match last {
            Some((same, place)) if same == *domain => place,
            _ => *places.entry(*domain).or_insert_with(|| {
                domains.push((*domain, 0));
                domains.len() - 1
            }),
        };
        last = Some((*domain, place));
        domains[place].1 += 1;
    }
    domains
}

/// The domains analyzed: all, or if there are too many, those with the most ranges.
fn looked_at(trace: &Trace, libraries: &Libraries, most_numbers: usize) -> Vec<StringId> {
    let domains = domains(trace, libraries);
    let most = most_numbers / (trace.calls.len() + trace.activities.len()).max(1);
    let mut order: Vec<usize> = (0..domains.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(domains[*at].1));
    order.truncate(most.max(FEWEST_DOMAINS));
    order.sort_unstable();
    order.into_iter().map(|at| domains[at].0).collect()
}

/// For each of these domains, by call: the innermost push/pop range it was made in. `calls` has the calls that belong to
/// each thread, in the order in which they began.
fn ranges_of_calls<'c>(
    trace: &Trace,
    domains: &[StringId],
    calls: impl Fn(StringId) -> &'c Vec<Vec<u32>>,
) -> Vec<(StringId, Vec<u32>)> {
    let is_looked_at: HashSet<StringId> = domains.iter().copied().collect();
    let mut ranges: HashMap<(u32, StringId), Vec<u32>> = HashMap::new();
    for range in (0..trace.ranges.len()).filter(|range| trace.ranges.kind[*range] == Kind::PushPop) {
        let domain = trace.ranges.domain[range];
        if is_looked_at.contains(&domain) {
            ranges.entry((trace.ranges.thread[range], domain)).or_default().push(range as u32);
        }
    }
    let of_domain = |domain: &StringId| {
        let domain = *domain;
        let mut of_call = vec![NONE; trace.calls.len()];
        for (thread, calls) in calls(domain).iter().enumerate() {
            if let Some(ranges) = ranges.get(&(thread as u32, domain)) {
                let (begins, ends) = (&trace.ranges.begin, &trace.ranges.end);
                innermost(calls, &trace.calls.begin, ranges, begins, ends, |call, range| {
                    of_call[call as usize] = range;
                });
            }
        }
        (domain, of_call)
    };
    domains.iter().map(of_domain).collect()
}

/// By activity, the call of the same correlation in its process, or [`NONE`].
pub(super) fn calls_of(trace: &Trace, activities: &Activities) -> Vec<u32> {
    let mut tables: Vec<Correlations> = Vec::new();
    tables.resize_with(trace.processes.len(), Correlations::default);
    let process_of = |thread: u32| trace.process_of(thread) as usize;
    let mut largest = vec![0u32; trace.processes.len()];
    let mut counts = vec![0usize; trace.processes.len()];
    for call in 0..trace.calls.len() {
        let (process, correlation) = (process_of(trace.calls.thread[call]), trace.calls.correlation[call]);
        if correlation != NONE {
            largest[process] = largest[process].max(correlation);
            counts[process] += 1;
        }
    }
    for (process, table) in tables.iter_mut().enumerate() {
        // Usually almost without gaps; a damaged file may jump.
        let most = counts[process].saturating_mul(8).saturating_add(1 << 16);
        if (largest[process] as usize) < most {
            table.dense = vec![NONE; largest[process] as usize + 1];
        }
    }
    for call in 0..trace.calls.len() {
        let correlation = trace.calls.correlation[call];
        if correlation != NONE {
            tables[process_of(trace.calls.thread[call])].insert(correlation, call as u32, &trace.calls.begin);
        }
    }
    (0..activities.len())
        .map(|activity| match activities.correlation[activity] {
            NONE => NONE,
            correlation => tables[activities.process[activity] as usize].get(correlation),
        })
        .collect()
}

#[derive(Default)]
struct Correlations {
    dense: Vec<u32>,
    sparse: HashMap<u32, u32>,
}

impl Correlations {
    /// The earlier of two calls with one number: the outer one of a runtime call and
    /// the driver's call inside it.
    fn insert(&mut self, correlation: u32, call: u32, begins: &[i64]) {
        let place = match self.dense.get_mut(correlation as usize) {
            Some(place) => place,
            None => self.sparse.entry(correlation).or_insert(NONE),
        };
        if *place == NONE || begins[call as usize] < begins[*place as usize] {
            *place = call;
        }
    }

    fn get(&self, correlation: u32) -> u32 {
        let dense = self.dense.get(correlation as usize).copied();
        dense.or_else(|| self.sparse.get(&correlation).copied()).unwrap_or(NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Call, Range};

    #[test]
    fn domains_without_end() {
        let mut trace = Trace::default();
        let domains: Vec<StringId> =
            (0..20).map(|number| trace.strings.intern(&format!("D{number}"))).collect();
        for domain in domains.iter().chain(&domains[12..]) {
            trace.ranges.push(Range { domain: *domain, ..Range::default() });
        }
        let found = |trace: &Trace, most| looked_at(trace, &Libraries::default(), most);
        assert_eq!(found(&trace, 40), domains);
        (0..4).for_each(|_| {
            trace.calls.push(Call { end: 1, name: domains[0], correlation: 1, ..Call::default() });
        });
        assert_eq!(
            found(&trace, 40),
            [&domains[..2], &domains[12..]].concat(),
            "ten of them, those with most first"
        );
        assert_eq!(found(&trace, 0), &domains[12..]);
    }
}
