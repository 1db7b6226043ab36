//! Ranks of a distributed program: who waits for whom, and why.
//!
//! Each rank is reduced to a [`part::Part`]; everything else compares parts. Collectives are [`matched`], their ends give one
//! [`clock`] for all, their beginnings on that clock say who is [`late`], and what a rank does between them says [`why`].

mod balance;
mod clock;
mod function;
mod late;
mod matched;
mod over_time;
mod part;
mod replay;
mod why;

use std::collections::BTreeMap;

use serde::Serialize;
use trace::Trace;

pub use balance::BalanceRow;
pub use clock::CommonClock;
pub use function::Function;
pub use over_time::{Lateness, OverTime};
pub use why::Why;

use crate::limit::Limit;
use crate::statistics::middle_of;
use clock::Clock;
use late::{Meeting, Waits};
use matched::Matched;
use part::Part;

/// Ranks that were recorded together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranks {
    pub ranks: Vec<RankRow>,
    /// How many of them were compared: all that share collectives with the first of them.
    pub compared: u64,
    /// One that was recorded more than once, if any: then nothing is compared.
    pub repeated: Option<u32>,
    /// Ranks of the job that were not recorded, or not whole: then it is not known who is late.
    #[serde(skip_serializing_if = "is_none")]
    pub absent: u64,
    /// Collectives that were found on several ranks, those of them that say who came last, and kernels of others.
    pub matched: u64,
    pub met: u64,
    pub unmatched: u64,
    /// By what is done and how much of it, the longest first.
    pub collectives: Vec<CollectiveRow>,
    /// Kernels that take more of one rank's time than of the others', the largest difference first.
    pub balance: Vec<BalanceRow>,
    /// From the first collective to the end of the last.
    pub span_ns: i64,
    /// How well the times of two ranks can be compared: 95 of 100 ends of collectives lie within this. None if they cannot.
    pub clock_bound_ns: Option<i64>,
    /// The rank that the others wait for.
    pub late: Option<Late>,
    pub over_time: Option<OverTime>,
    /// Of those that were compared.
    #[serde(skip)]
    pub clocks: Vec<CommonClock>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankRow {
    pub rank: u32,
    pub process: u32,
    pub device: Option<String>,
    pub kernels: u64,
    /// From its first work to its last, and how long its device was busy with anything.
    pub span_ns: i64,
    pub busy_ns: i64,
    /// From the end of its first collective to the beginning of its last: its device's work, and neither work nor a collective.
    pub working_ns: i64,
    pub idle_ns: i64,
    /// By how much its clock is ahead of the first rank's, and by how much more each second.
    pub clock_offset_ns: Option<i64>,
    pub clock_drift_ppm: Option<f64>,
    pub collectives: u64,
    /// How often it came last, how long it waited for others, and how long everybody waited for it alone.
    pub last: u64,
    pub waited_ns: i64,
    pub delays_ns: i64,
}

/// Collectives of one kind and size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectiveRow {
    pub function: Function,
    /// None if unknown.
    pub bytes: Option<u64>,
    pub ranks: u64,
    pub count: u64,
    /// Of all of them, on the middle one of the ranks.
    pub total_ns: i64,
    /// Of that, until the last rank had come, and after; None if that is not known.
    pub wait_ns: Option<i64>,
    pub transfer_ns: Option<i64>,
    /// Of `total_ns`, when the device did nothing else.
    pub exposed: f64,
    /// Bytes in a second of the transfer: of the algorithm, and as the hardware has to move them.
    pub algorithm_bytes_per_second: Option<f64>,
    pub bus_bytes_per_second: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Late {
    pub rank: u32,
    /// How often it came last, of how many collectives.
    pub last: u64,
    pub collectives: u64,
    /// How long the others waited for it alone, whatever else they did meanwhile.
    pub delays_ns: i64,
    /// How much sooner all would be done if it took no longer between collectives than the middle one of the others, and how many
    /// times as fast that is; worked out by a replay. None if that does not give the recorded times.
    pub costs_ns: Option<i64>,
    pub gain: Option<f64>,
    pub why: Option<Why>,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// None if fewer than two ranks with GPU work are known.
pub(crate) fn ranks(trace: &Trace, absent: u64, limit: Limit) -> Option<Ranks> {
    let (parts, repeated) = part::parts(trace);
    // Without GPU work there is nothing to compare.
    if parts.iter().filter(|part| part.kernels > 0).count() < 2 {
        return None;
    }
    let matched = if repeated.is_none() { matched::matched(&parts) } else { Vec::new() };
    let mut clocks = clock::clocks(&parts, &matched);
    let meetings = is_one_clock(&parts, &matched, &clocks).then(|| late::meetings(&parts, &matched, &clocks));
    let meetings = meetings.flatten().unwrap_or_else(|| {
        clocks.fill(None);
        Vec::new()
    });
    let waits = late::waits(parts.len(), &meetings);
    let span_ns = span(&parts, &meetings, &clocks);
    let late = late::late(&waits, span_ns)
        .filter(|_| absent == 0)
        .and_then(|place| late_rank(&parts, &meetings, &clocks, &waits, span_ns, place));
    let bounds = clocks.iter().flatten().map(|clock| clock.bound_ns);
    let bound =
        bounds.fold(None, |most: Option<f64>, bound| Some(most.map_or(bound, |most| most.max(bound))));
    let taken: usize = matched.iter().map(|one| one.of.len()).sum();
    let all: usize = parts.iter().map(|part| part.collectives.len()).sum();
    let mut collectives = collectives(&parts, &matched, &meetings, bound.unwrap_or(0.0));
    limit.cut(&mut collectives, |_| 0);
    let mut balance = if repeated.is_none() { balance::balance(&parts) } else { Vec::new() };
    limit.cut(&mut balance, |_| 0);
    Some(Ranks {
        ranks: (0..parts.len()).map(|at| row(&parts[at], clocks[at], waits[at])).collect(),
        compared: waits.iter().filter(|waits| waits.collectives > 0).count() as u64,
        repeated,
        absent,
        met: meetings.len() as u64,
        matched: matched.len() as u64,
        unmatched: (all - taken) as u64,
        collectives,
        balance,
        span_ns: span_ns as i64,
        clock_bound_ns: bound.filter(|_| !meetings.is_empty()).map(|bound| bound.ceil() as i64),
        late,
        over_time: over_time::over_time(&parts, &meetings),
        clocks: parts
            .iter()
            .zip(&clocks)
            .filter_map(|(part, clock)| Some(CommonClock::of(part, (*clock)?)))
            .collect(),
    })
}

fn late_rank(
    parts: &[Part],
    meetings: &[Meeting<'_>],
    clocks: &[Option<Clock>],
    waits: &[Waits],
    span_ns: f64,
    place: usize,
) -> Option<Late> {
    let Waits { last, collectives, delays_ns, .. } = waits[place];
    let costs_ns = replay::saved(parts, meetings, clocks, place);
    // Somebody may wait for it beside other work.
    if costs_ns.is_some_and(|costs| costs < late::MATTERS * span_ns) {
        return None;
    }
    Some(Late {
        rank: parts[place].rank,
        last,
        collectives,
        delays_ns: delays_ns as i64,
        costs_ns: costs_ns.map(|costs| costs as i64),
        gain: costs_ns.map(|costs| span_ns / (span_ns - costs).max(1.0)),
        why: why::why(parts, place),
    })
}

/// If the ends of a collective lie further apart than it takes, what was taken for one is not.
fn is_one_clock(parts: &[Part], matched: &[Matched], clocks: &[Option<Clock>]) -> bool {
    let joint = matched.iter().any(|one| one.function.is_joint());
    let usable = matched.iter().filter(|one| one.function.is_joint() || !joint);
    let took =
        usable.flat_map(|one| &one.of).map(|(part, place)| parts[*part].collectives[*place].took_ns() as f64);
    let took = middle_of(took.collect()).unwrap_or(0.0);
    clocks.iter().flatten().all(|clock| clock.bound_ns <= took)
}

/// From the first that came to the first collective to the end of the last one.
fn span(parts: &[Part], meetings: &[Meeting<'_>], clocks: &[Option<Clock>]) -> f64 {
    let times = meetings.iter().flat_map(|meeting| &meeting.matched.of).filter_map(|(part, place)| {
        let done = parts[*part].collectives[*place];
        clocks[*part].map(|clock| (clock.common(done.begin), clock.common(done.end)))
    });
    let (first, last) = times.fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), (begin, end)| {
        (first.min(begin), last.max(end))
    });
    if last > first { last - first } else { 0.0 }
}

fn row(part: &Part, clock: Option<Clock>, waits: Waits) -> RankRow {
    RankRow {
        rank: part.rank,
        process: part.process,
        device: part.device.clone(),
        kernels: part.kernels,
        span_ns: part.span_ns,
        busy_ns: part.busy_ns,
        working_ns: part.working_ns,
        idle_ns: part.idle_ns,
        clock_offset_ns: clock.map(|clock| clock.offset_ns()),
        clock_drift_ppm: clock.map(|clock| (clock.drift * 1e8).round() / 100.0),
        collectives: part.collectives.len() as u64,
        last: waits.last,
        waited_ns: waits.waited_ns as i64,
        delays_ns: waits.delays_ns as i64,
    }
}

fn collectives(
    parts: &[Part],
    matched: &[Matched],
    meetings: &[Meeting<'_>],
    bound_ns: f64,
) -> Vec<CollectiveRow> {
    let mut transfers = vec![None; matched.len()];
    meetings.iter().for_each(|meeting| transfers[meeting.number] = Some(meeting.transfer_ns()));
    let mut kinds: BTreeMap<(Function, u64, usize), Vec<usize>> = BTreeMap::new();
    for (number, one) in matched.iter().enumerate() {
        let done = || one.of.iter().map(|(part, place)| parts[*part].collectives[*place]);
        let bytes = done().map(|done| done.bytes).max().unwrap_or(0);
        let size = done().map(|done| done.group_size as usize).max().filter(|size| *size > 0);
        kinds.entry((one.function, bytes, size.unwrap_or(one.of.len()))).or_default().push(number);
    }
    let row = |((function, bytes, ranks), of): ((Function, u64, usize), Vec<usize>)| {
        let (mut total, mut exposed) = (0.0, 0.0);
        let mut transfer = Some(0.0);
        for number in &of {
            let done = || matched[*number].of.iter().map(|(part, place)| parts[*part].collectives[*place]);
            let took = middle_of(done().map(|done| done.took_ns() as f64).collect()).unwrap_or(0.0);
            let after = transfers[*number].map(|transfer: f64| transfer.min(took));
            transfer = transfer.zip(after).map(|(sum, after)| sum + after);
            total += took;
            exposed += middle_of(done().map(|done| done.exposed_ns as f64).collect()).unwrap_or(0.0);
        }
        let count = of.len() as f64;
        // What is shorter than the clocks are uncertain has no bandwidth.
        let known = transfer.filter(|transfer| bytes > 0 && *transfer > bound_ns * count);
        let moved = known.map(|transfer| bytes as f64 * count * 1e9 / transfer);
        CollectiveRow {
            function,
            bytes: (bytes > 0).then_some(bytes),
            ranks: ranks as u64,
            count: of.len() as u64,
            total_ns: total as i64,
            wait_ns: transfer.map(|transfer| (total - transfer) as i64),
            transfer_ns: transfer.map(|transfer| transfer as i64),
            exposed: if total > 0.0 { exposed / total } else { 0.0 },
            algorithm_bytes_per_second: moved,
            bus_bytes_per_second: moved
                .zip(function.bus_factor(ranks as u64))
                .map(|(moved, factor)| moved * factor),
        }
    };
    let mut rows: Vec<CollectiveRow> = kinds.into_iter().map(row).collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.total_ns), row.function));
    rows
}
