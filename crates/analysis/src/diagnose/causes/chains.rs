//! Elementwise kernels one behind the other, which could be one.

use std::collections::{HashMap, HashSet};

use trace::{Launch, StringId, counted};

use super::super::case::{Candidate, Case, Then, milliseconds};
use super::super::finding::{Cause, Sureness};
use super::classes::{Class, LONG_ENOUGH, place, share, total};
use crate::replay::{Call, CallKind};

/// So many elementwise kernels one behind the other are a chain.
const A_CHAIN: usize = 3;
/// A chain begins again where so many of its kernels come again, or as many as are left.
const AGAIN: usize = 2;

pub(super) fn unfused(case: &Case<'_>, classes: &[Option<Class>]) -> Option<Candidate> {
    let rows = rows(case, classes);
    let rows = rows.iter().flat_map(|row| rounds(row, |at| name(case, at)));
    let chains: Vec<&[usize]> = rows.filter(|row| is_chain(row, |at| name(case, at))).collect();
    let works: Vec<usize> = chains.iter().copied().flatten().copied().collect();
    let (node, kernel) = place(case, &works);
    let kernel = kernel?;
    // One kernel instead of each chain: it takes about as long as one of them, a bit more if it reads more.
    let with = |which: fn(&[i64]) -> i64| {
        case.changed(|graph| {
            for chain in &chains {
                let mut times: Vec<i64> = chain.iter().map(|at| graph.works[*at].duration).collect();
                times.sort_unstable();
                chain[1..].iter().for_each(|at| graph.leave_out(*at));
                graph.works[chain[0]].duration = which(&times);
            }
        })
    };
    let then = Then::of(case, with(|times| times[times.len() / 2].saturating_add(beyond(times)))).between(
        case.replayed(&with(|times| {
            times[times.len() - 1].max(times[times.len() / 2].saturating_add(beyond(times)))
        })),
        case.replayed(&with(|times| times[0].saturating_add(beyond(times)))),
    );
    let time_ns = total(case, &works);
    let each = case.iterations();
    let title = format!(
        "{:.0} elementwise kernels {}, one behind the other, take {}{}",
        works.len() as f64 / each,
        case.each(),
        milliseconds(time_ns as f64 / each),
        case.in_region(node)
    );
    let evidence = vec![format!(
        "{} {} of {:.1} kernels on average; together they take {} of the time, and each kernel reads and writes everything again",
        counted((chains.len() as f64 / each).round() as u64, "chain"),
        case.each(),
        works.len() as f64 / chains.len() as f64,
        share(case, time_ns)
    )];
    let advice =
        "fuse them: `torch.compile`, a Triton or hand-written kernel, or an operator that does it all";
    Some(Candidate {
        cause: Cause::UnfusedElementwise,
        node,
        kernel: Some(kernel),
        title,
        evidence,
        advice,
        confidence: Sureness::Likely,
        then: Some(then),
        time_ns,
        during: Vec::new(),
    })
}

/// What kernels take that is more than twice as long as usual: that is no reading and writing, and stays. In order.
fn beyond(times: &[i64]) -> i64 {
    let usual = times[times.len() / 2];
    times
        .iter()
        .fold(0i64, |sum, time| sum.saturating_add(time.saturating_sub(usual.saturating_mul(2)).max(0)))
}

/// Elementwise kernels of about the same size, one behind the other in a stream: in one iteration, without a wait of the
/// host between them, and none for another stream.
fn rows(case: &Case<'_>, classes: &[Option<Class>]) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    // By stream: its row, how large its kernels are, and the last of them.
    let mut last: HashMap<u16, (usize, u64, usize)> = HashMap::new();
    let starts: HashSet<usize> = case.first_calls().into_iter().collect();
    let mut awaited: HashMap<usize, usize> = HashMap::new();
    for wait in &case.graph.stream_waits {
        if let Some(other) = wait.work.checked_sub(wait.back) {
            let latest = awaited.entry(wait.work as usize).or_default();
            *latest = (*latest).max(other as usize);
        }
    }
    let mut next = 0;
    for (at, work) in case.graph.works.iter().enumerate() {
        while next <= work.call as usize {
            if starts.contains(&next)
                || next.checked_sub(1).is_some_and(|call| is_wait(&case.graph.calls[call]))
            {
                last.clear();
            }
            next += 1;
        }
        let is_one = classes[at] == Some(Class::Elementwise) && work.duration >= LONG_ENOUGH;
        let Some(threads) = case.launch(work).filter(|_| is_one).map(threads) else {
            last.remove(&work.stream);
            continue;
        };
        // Of about the same size: they go over the same elements.
        let similar = |before: u64| before.max(threads) <= 2 * before.min(threads).max(1);
        let is_free = |before: usize| awaited.get(&at).is_none_or(|other| *other <= before);
        let row = match last.get(&work.stream) {
            Some((row, size, before)) if similar(*size) && is_free(*before) => *row,
            _ => rows.len(),
        };
        match rows.get_mut(row) {
            Some(row) => row.push(at),
            None => rows.push(vec![at]),
        }
        last.insert(work.stream, (row, threads, at));
    }
    rows
}

/// Whether the host waits in it for work, and not only for a place in a queue.
pub(super) fn is_wait(call: &Call) -> bool {
    match call.kind {
        CallKind::Wait => true,
        CallKind::Memory => call.awaits.is_some(),
        CallKind::Copy => call.awaits_own(),
        _ => false,
    }
}

/// A row, cut where it begins again: iterations without a wait between them lie behind one another.
fn rounds<N: PartialEq>(row: &[usize], name: impl Fn(usize) -> N) -> Vec<&[usize]> {
    let (mut rounds, mut begin) = (Vec::new(), 0);
    for at in 1..row.len() {
        let many = A_CHAIN.min(row.len() - at);
        if many >= AGAIN && (0..many).all(|next| name(row[at + next]) == name(row[begin + next])) {
            rounds.push(&row[begin..at]);
            begin = at;
        }
    }
    rounds.push(&row[begin..]);
    rounds
}

/// One kernel launched again and again is none.
fn is_chain<N: PartialEq>(row: &[usize], name: impl Fn(usize) -> N) -> bool {
    row.len() >= A_CHAIN && row.iter().any(|at| name(*at) != name(row[0]))
}

fn name(case: &Case<'_>, work: usize) -> Option<StringId> {
    case.launch(&case.graph.works[work]).map(|launch| launch.name)
}

fn threads(launch: &Launch) -> u64 {
    let product = |of: [u32; 3]| of.iter().fold(1u64, |product, of| product.saturating_mul(u64::from(*of)));
    product(launch.grid).saturating_mul(product(launch.block))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of kernels that have letters as names, those that could be one.
    fn chains(row: &str) -> Vec<String> {
        let name = |at: usize| row.as_bytes()[at];
        let works: Vec<usize> = (0..row.len()).collect();
        let rounds = rounds(&works, name);
        let chains = rounds.into_iter().filter(|round| is_chain(round, name));
        chains.map(|chain| row[chain[0]..=chain[chain.len() - 1]].to_owned()).collect()
    }

    #[test]
    fn a_long_kernel_stays() {
        assert_eq!(beyond(&[10, 10, 10, 1_800]), 1_780);
        assert_eq!(beyond(&[6, 8, 9, 12]), 0);
    }

    #[test]
    fn a_chain_ends_where_it_begins_again() {
        assert_eq!(chains("abcdabcdabcd"), ["abcd", "abcd", "abcd"]);
        assert_eq!(chains("abcabcab"), ["abc", "abc"]);
        // Some kernels come twice in it.
        assert_eq!(chains("abcdeafb"), ["abcdeafb"]);
        assert_eq!(chains("abc"), ["abc"]);
    }

    #[test]
    fn one_kernel_again_and_again_is_none() {
        assert!(chains("aaa").is_empty());
        assert!(chains("aaaaaaaaaaaa").is_empty());
        assert!(chains("abababab").is_empty());
        assert!(chains("ab").is_empty());
    }
}
