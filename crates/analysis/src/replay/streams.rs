//! Which work of one stream waits for work of another: by events, and by what the default stream implies.

use std::collections::{HashMap, HashSet};

use trace::{NONE, Trace};

use super::recorded::Worked;

/// The stream that CUPTI calls so is the default stream: work in it and in a stream that was not created to be
/// independent of it wait for each other.
const DEFAULT_STREAM: u32 = 7;

/// Work in the default stream may wait for every other one: with more of them, a damaged file would take all memory.
const MOST_STREAMS: usize = 64;

/// One work behind another one of another stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order {
    pub(super) work: u32,
    pub(super) before: u32,
}

/// All of them, in the order of the works.
#[derive(Debug, Default)]
pub(super) struct StreamOrder(Vec<Order>);

impl StreamOrder {
    /// None when the recording does not tell it, from `since` on.
    pub(super) fn of(trace: &Trace, process: u32, works: &[Worked], since: i64) -> Option<Self> {
        let known = trace.processes[process as usize].stream_waits_since?;
        // Events are told apart within a device's context.
        let one_device = works.windows(2).all(|pair| pair[0].device == pair[1].device);
        let streams: HashSet<u32> = works.iter().map(|work| work.number).collect();
        if known > since || !one_device || streams.len() > MOST_STREAMS {
            return None;
        }
        let mut all = by_events(trace, process, works);
        all.extend(by_default_stream(works));
        all.sort_unstable();
        all.dedup();
        Some(Self(all))
    }

    /// What must have ended before a work begins.
    pub(super) fn before(&self, work: usize) -> &[Order] {
        let of = |order: &Order| order.work as usize;
        let first = self.0.partition_point(|order| of(order) < work);
        let end = first + self.0[first..].partition_point(|order| of(order) == work);
        &self.0[first..end]
    }
}

/// Works of a stream by the correlations of their calls, which count up.
type Streams = HashMap<u32, Vec<(u32, u32)>>;

fn by_events(trace: &Trace, process: u32, works: &[Worked]) -> Vec<Order> {
    let mut streams: Streams = HashMap::new();
    for (at, work) in works.iter().enumerate() {
        let correlation = trace.activities.correlation[work.activity as usize];
        if correlation != NONE {
            streams.entry(work.number).or_default().push((correlation, at as u32));
        }
    }
    streams.values_mut().for_each(|works| works.sort_unstable());
    let events = &trace.stream_events;
    let mut rows: Vec<usize> = (0..events.len())
        .filter(|row| events.process[*row] == process && events.correlation[*row] != NONE)
        .collect();
    rows.sort_by_key(|row| events.correlation[*row]);
    let mut recorded: HashMap<u32, (u32, u32)> = HashMap::new();
    let mut all = Vec::new();
    for row in rows {
        let (correlation, stream) = (events.correlation[row], events.stream[row]);
        if !events.waits[row] {
            recorded.insert(events.event[row], (correlation, stream));
            continue;
        }
        let Some((when, other)) = recorded.get(&events.event[row]).filter(|(_, other)| *other != stream)
        else {
            continue;
        };
        let (Some(behind), Some(ahead)) = (streams.get(&stream), streams.get(other)) else { continue };
        let work = behind.get(behind.partition_point(|(at, _)| *at < correlation));
        let before = ahead[..ahead.partition_point(|(at, _)| at < when)].last();
        if let (Some((_, work)), Some((_, before))) = (work, before)
            && before < work
        {
            all.push(Order { work: *work, before: *before });
        }
    }
    all
}

/// Whether a stream is independent of the default stream is seen: then they run at the same time.
fn by_default_stream(works: &[Worked]) -> Vec<Order> {
    let is_default = |work: &Worked| work.number == DEFAULT_STREAM;
    if !works.iter().any(is_default) {
        return Vec::new();
    }
    let independent = independent_of_default(works);
    let (mut last_default, mut last): (Option<u32>, HashMap<u32, u32>) = Default::default();
    let mut all = Vec::new();
    for (at, work) in (0u32..).zip(works) {
        if is_default(work) {
            all.extend(last.values().map(|before| Order { work: at, before: *before }));
            last_default = Some(at);
        } else if !independent.contains(&work.number) {
            all.extend(last_default.map(|before| Order { work: at, before }));
            last.insert(work.number, at);
        }
    }
    all
}

/// Streams with work that ran while work of the default stream did.
fn independent_of_default(works: &[Worked]) -> HashSet<u32> {
    let mut order: Vec<&Worked> = works.iter().collect();
    order.sort_by_key(|work| work.begin);
    let (mut default_until, mut until): (i64, HashMap<u32, i64>) = (i64::MIN, HashMap::new());
    let mut independent = HashSet::new();
    for work in order {
        if work.number == DEFAULT_STREAM {
            independent.extend(until.iter().filter(|(_, end)| **end > work.begin).map(|(number, _)| *number));
            default_until = default_until.max(work.end);
        } else {
            if default_until > work.begin {
                independent.insert(work.number);
            }
            let until = until.entry(work.number).or_insert(i64::MIN);
            *until = (*until).max(work.end);
        }
    }
    independent
}
