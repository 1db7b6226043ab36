//! The loop of a program that opens no ranges, from the sequence of its launches.
//!
//! Something that is launched once in every iteration tells where iterations begin. Which launches those
//! are is told by their counts: in thirty iterations many kernels are launched thirty times, each at the
//! same place in the sequence. Counts also tell the levels of a loop: six generations, forty-eight steps,
//! three hundred and eighty-four layers. The iteration is the outermost level that comes at least four
//! times, whose iterations are alike, and which has work of its own.
//!
//! A sequence that repeats has no first element. What comes only now and then, such as an evaluation every
//! tenth step, comes between two iterations, so one begins behind it. Otherwise an iteration begins with the
//! one of its launches that the host takes longest to come to.

use std::collections::HashMap;

use super::launched::{Launched, total_of};
use super::steady::median;

/// Fewer are what autotuning or logging does in the middle of an iteration.
const FEW: i64 = 4;
/// Fewer are no loop.
pub(super) const FEWEST: usize = 4;
/// Launches between two of a kind, relative to their mean: how much they may differ.
const REGULAR: f64 = 1.0;
/// How different two iterations may be, as a share of their launches, by the median.
const ALIKE: f64 = 0.1;
/// A level has work of its own with so much of the time, or so many different launches. A result that is
/// printed every tenth step has neither.
const OWN_SHARE: f64 = 0.01;
const OWN_KINDS: usize = 3;
/// So much of a process's GPU time is in its loop.
const COVERS: f64 = 0.5;
/// Kinds of launches are counted in so many classes to compare iterations.
const CLASSES: usize = 32;
/// A first iteration has at most so many times as many launches as usual.
const MOST_OF_FIRST: usize = 4;
/// So many levels are looked at, the outermost first.
const MOST_LEVELS: usize = 48;

/// Where iterations begin: indexes into the launches, and the index behind the last iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeats {
    pub(super) starts: Vec<usize>,
    pub(super) end: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Kind {
    count: usize,
    first: usize,
    last: usize,
    /// Of the launches between two, without the first gap, which may be of a first iteration that differs.
    gaps: f64,
    squares: f64,
    gpu_ns: i64,
}

impl Kind {
    fn see(&mut self, at: usize, launch: &Launched) {
        if self.count > 1 {
            let gap = (at - self.last) as f64;
            self.gaps += gap;
            self.squares += gap * gap;
        }
        if self.count == 0 {
            self.first = at;
        }
        self.count += 1;
        self.last = at;
        self.gpu_ns = self.gpu_ns.saturating_add(launch.gpu_ns());
    }

    /// The spread of its gaps, relative to their mean.
    fn spread(&self) -> f64 {
        let count = self.count.saturating_sub(2) as f64;
        if count < 1.0 || self.gaps <= 0.0 {
            return f64::INFINITY;
        }
        let mean = self.gaps / count;
        (self.squares / count / (mean * mean) - 1.0).max(0.0).sqrt()
    }
}

/// The loop of one process: the outermost level.
pub(super) fn repeats(launches: &[Launched]) -> Option<Repeats> {
    let plain: Vec<u32> = launches.iter().map(|launch| launch.symbol).collect();
    let by_kind = outermost(launches, &plain, Own::Work);
    let by_pause = behind_pauses(launches).and_then(|marked| outermost(launches, &marked, Own::Pauses));
    let found = match (by_kind, by_pause) {
        // A level around the other one has several of it in each iteration; the first or the last may lack one.
        (Some(kind), Some(pause)) if pause.starts.len() * 2 <= kind.starts.len() + 2 => Some(pause),
        (kind, pause) => kind.or(pause),
    };
    // Where nothing comes once in an iteration, a few launches in a row may.
    found.or_else(|| {
        [2, 4, 8].into_iter().find_map(|length| outermost(launches, &in_rows(&plain, length), Own::Work))
    })
}

/// What makes a level one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    Work,
    /// The host pauses before each; launches without a pause are [`UNMARKED`].
    Pauses,
}

/// Of a launch without a pause before it.
const UNMARKED: u32 = 0;
/// A pause is so many times as long as the usual time between launches, and at least so long.
const PAUSE: i64 = 10;
const SHORTEST_PAUSE_NS: i64 = 30_000;
/// So much of a loop's time is in its pauses, where they tell it.
const PAUSED: f64 = 0.05;

/// Launches behind a pause by their kind, others all alike. None when there is no pause.
fn behind_pauses(launches: &[Launched]) -> Option<Vec<u32>> {
    let pause = |at: usize| pause_before(launches, at);
    let mut pauses: Vec<i64> = (1..launches.len()).map(pause).collect();
    let middle = pauses.len() / 2;
    if pauses.is_empty() {
        return None;
    }
    let (_, usual, _) = pauses.select_nth_unstable(middle);
    let long = usual.saturating_mul(PAUSE).max(SHORTEST_PAUSE_NS);
    let marked: Vec<u32> = (0..launches.len())
        .map(|at| if at > 0 && pause(at) > long { launches[at].symbol + 1 } else { UNMARKED })
        .collect();
    marked.iter().any(|symbol| *symbol != UNMARKED).then_some(marked)
}

/// So many in a row as one kind.
fn in_rows(symbols: &[u32], length: usize) -> Vec<u32> {
    let mut known: HashMap<&[u32], u32> = HashMap::new();
    let mut rows: Vec<u32> = Vec::with_capacity(symbols.len());
    for row in symbols.windows(length) {
        let next = known.len() as u32;
        rows.push(*known.entry(row).or_insert(next));
    }
    // The last ones begin no row.
    let none = known.len() as u32;
    rows.resize(symbols.len(), none);
    rows
}

fn outermost(launches: &[Launched], symbols: &[u32], own: Own) -> Option<Repeats> {
    let most = symbols.iter().max()? + 1;
    let mut kinds = vec![Kind::default(); most as usize];
    for (at, (launch, symbol)) in launches.iter().zip(symbols).enumerate() {
        kinds[*symbol as usize].see(at, launch);
    }
    if own == Own::Pauses {
        kinds[UNMARKED as usize] = Kind::default();
    }
    let total = total_of(launches.iter().map(|launch| launch.kernel_ns));
    let busy = total_of(launches.iter().map(Launched::gpu_ns));
    levels(&kinds).into_iter().take(MOST_LEVELS).find_map(|level| {
        let of_level = total_of(level.iter().map(|symbol| kinds[*symbol].gpu_ns));
        let has_own =
            own == Own::Pauses || of_level as f64 >= OWN_SHARE * busy as f64 || level.len() >= OWN_KINDS;
        let repeats = has_own.then(|| iterations(launches, symbols, &kinds, &level)).flatten()?;
        let inside = &launches[repeats.starts[0]..repeats.end];
        let covered = total_of(inside.iter().map(|launch| launch.kernel_ns));
        let covers =
            covered as f64 >= COVERS * total as f64 || inside.len() as f64 >= COVERS * launches.len() as f64;
        (covers && (own == Own::Work || pauses_enough(launches, &repeats))).then_some(repeats)
    })
}

fn pauses_enough(launches: &[Launched], repeats: &Repeats) -> bool {
    // Behind the first, every start has a launch before it.
    let paused = total_of(repeats.starts.iter().skip(1).map(|start| pause_before(launches, *start)));
    let span = launches[repeats.end - 1].at.saturating_sub(launches[repeats.starts[0]].at);
    paused as f64 >= PAUSED * span as f64
}

/// The time between a launch and the one before it.
fn pause_before(launches: &[Launched], at: usize) -> i64 {
    launches[at].at.saturating_sub(launches[at - 1].at)
}

/// Kinds of launches that come equally often, at regular distances; the fewest times first. A first
/// iteration that lacks one, or has one more, makes a difference of one.
fn levels(kinds: &[Kind]) -> Vec<Vec<usize>> {
    let mut regular: Vec<usize> = (0..kinds.len())
        .filter(|symbol| kinds[*symbol].count >= FEWEST && kinds[*symbol].spread() <= REGULAR)
        .collect();
    regular.sort_by_key(|symbol| (kinds[*symbol].count, *symbol));
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for symbol in regular {
        match levels.last_mut() {
            Some(level) if kinds[symbol].count <= kinds[level[0]].count + 1 => level.push(symbol),
            _ => levels.push(vec![symbol]),
        }
    }
    levels
}

fn iterations(launches: &[Launched], symbols: &[u32], kinds: &[Kind], level: &[usize]) -> Option<Repeats> {
    let begins = beginning(launches, symbols, kinds, level)?;
    let starts: Vec<usize> = positions(symbols, begins as u32);
    let mut lengths: Vec<usize> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    lengths.sort_unstable();
    let usual = *lengths.get(lengths.len() / 2)?;
    let last = *starts.last()?;
    let end = (last + usual).min(launches.len());
    // The launch that tells iterations may be one of their last: then the first has none before it, and the last of them
    // begins no iteration, but ends one.
    let is_cut = ((end - last) as f64) < (1.0 - ALIKE) * usual as f64;
    let first = is_cut.then(|| unmarked_first(launches, &starts, usual)).flatten();
    let (starts, end) = match is_cut && (first.is_some() || starts.len() > FEWEST) {
        true => (first.into_iter().chain(starts[..starts.len() - 1].iter().copied()).collect(), last + 1),
        false => (joined_before(launches, starts, usual), end),
    };
    (difference(launches, &starts, end) <= ALIKE).then_some(Repeats { starts, end })
}

/// With an iteration that nothing sets apart from what comes before the first, and without one that is none.
fn joined_before(launches: &[Launched], mut starts: Vec<usize>, usual: usize) -> Vec<usize> {
    let Some(first) = starts.first().copied() else { return starts };
    if let Some(before) = first.checked_sub(usual)
        && starts.get(1) == Some(&(first + usual))
        && difference(launches, &[before, first], first + usual) <= ALIKE
    {
        starts.insert(0, before);
    }
    // One of its launches before the loop is no iteration.
    if starts.len() > FEWEST && (starts[1] - starts[0]) * 2 < usual {
        starts.remove(0);
    }
    starts
}

/// Where the first iteration begins, if the launch that tells the others is missing at its beginning: with the same launch
/// as they behind that one, and it has all that they have. It may have more: what is done only once.
fn unmarked_first(launches: &[Launched], starts: &[usize], usual: usize) -> Option<usize> {
    let (first, second) = (*starts.first()?, *starts.get(1)?);
    let others = launches.get(first + 1..second)?;
    let begins = others.first()?.symbol;
    let wanted = counts(others);
    let mut found = [0u32; CLASSES];
    let from = first.saturating_sub(usual.saturating_mul(MOST_OF_FIRST));
    (from..first).rev().find(|at| {
        let symbol = launches[*at].symbol;
        found[symbol as usize % CLASSES] += 1;
        symbol == begins && wanted.iter().zip(&found).all(|(wanted, found)| wanted <= found)
    })
}

fn counts(launches: &[Launched]) -> [u32; CLASSES] {
    let mut counts = [0u32; CLASSES];
    launches.iter().for_each(|launch| counts[launch.symbol as usize % CLASSES] += 1);
    counts
}

fn positions(symbols: &[u32], symbol: u32) -> Vec<usize> {
    symbols.iter().enumerate().filter(|(_, other)| **other == symbol).map(|(at, _)| at).collect()
}

/// The kind before which something else comes now and then, or before which the host takes the longest time.
fn beginning(launches: &[Launched], symbols: &[u32], kinds: &[Kind], level: &[usize]) -> Option<usize> {
    let mut pauses: Vec<Vec<i64>> = vec![Vec::new(); level.len()];
    let mut others: Vec<Vec<i64>> = vec![Vec::new(); level.len()];
    let mut place = vec![usize::MAX; kinds.len()];
    level.iter().enumerate().for_each(|(at, symbol)| place[*symbol] = at);
    let mut before: Option<usize> = None;
    for at in 0..launches.len() {
        let place = place[symbols[at] as usize];
        if place == usize::MAX {
            continue;
        }
        if at > 0 {
            pauses[place].push(pause_before(launches, at));
        }
        if let Some(before) = before.replace(at) {
            others[place].push((at - before) as i64);
        }
    }
    let pauses: Vec<i64> = pauses.iter().map(|pauses| median(pauses).unwrap_or(0)).collect();
    let others: Vec<i64> = others.iter().map(|others| now_and_then(others)).collect();
    // One that is missing somewhere, or comes once more, would begin one iteration too few or too many. The counts of a
    // level differ by one at most.
    let fewest = kinds[*level.first()?].count;
    let fewer = level.iter().filter(|symbol| kinds[**symbol].count == fewest).count();
    let usual = if fewer * 2 > level.len() { fewest } else { fewest + 1 };
    let count = |at: usize| kinds[level[at]].count;
    // Of several the earliest in the sequence.
    let best = (0..level.len())
        .filter(|at| count(*at) == usual)
        .max_by_key(|at| (others[*at], pauses[*at], std::cmp::Reverse(kinds[level[*at]].first)))?;
    Some(level[best])
}

/// How many launches come before a kind beyond the usual number, if that happens to few of its launches, and not only to
/// the first ones.
fn now_and_then(others: &[i64]) -> i64 {
    let others = others.get(2..).unwrap_or(&[]);
    let Some(usual) = median(others) else { return 0 };
    let more: Vec<i64> = others.iter().map(|other| other - usual).filter(|more| *more >= FEW).collect();
    if more.len() < 2 || more.len() * 4 > others.len() { 0 } else { more.iter().sum() }
}

/// How different neighbouring iterations are, as a share of their launches: the median.
fn difference(launches: &[Launched], starts: &[usize], end: usize) -> f64 {
    let ends = starts.iter().skip(1).copied().chain([end]);
    let counts: Vec<[u32; CLASSES]> =
        starts.iter().zip(ends).map(|(start, end)| counts(&launches[*start..end])).collect();
    let mut differences: Vec<f64> = counts
        .windows(2)
        .map(|pair| {
            let differ: u32 = pair[0].iter().zip(&pair[1]).map(|(one, other)| one.abs_diff(*other)).sum();
            let all: u32 = pair[0].iter().chain(&pair[1]).sum();
            f64::from(differ) / f64::from(all.max(1))
        })
        .collect();
    differences.sort_by(f64::total_cmp);
    differences.get(differences.len() / 2).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A launch for each letter, ten nanoseconds apart, of almost no work for a small letter; a space is a pause of a
    /// hundred, `~` of a hundred thousand.
    fn launched(text: &str) -> Vec<Launched> {
        let mut at = 0;
        let mut all = Vec::new();
        for c in text.chars() {
            at += match c {
                ' ' => 100,
                '~' => 100_000,
                _ => 10,
            };
            if c.is_alphabetic() {
                let kernel_ns = if c.is_ascii_uppercase() { 1000 } else { 1 };
                all.push(Launched {
                    symbol: c as u32 - 'A' as u32,
                    at,
                    begin: at,
                    end: at + kernel_ns,
                    kernel_ns,
                });
            }
        }
        all
    }

    fn count(text: &str) -> usize {
        repeats(&launched(text)).map_or(0, |found| found.starts.len())
    }

    #[test]
    fn the_outermost_level() {
        // An embedding, three layers and a head, twelve times.
        assert_eq!(count(&"E LMLMLM H".repeat(12)), 12);
        // Five generations of a prefill and four steps.
        assert_eq!(count(&"P STSTSTST".repeat(5)), 5);
        assert_eq!(count(&"P STSTSTST".repeat(3)), 12);
    }

    #[test]
    fn iterations_that_differ() {
        // Much is tried out in the first.
        let tried = format!("E LTTTTUUUUULL H{}", "E LLL H".repeat(20));
        assert_eq!(count(&tried), 21);
        // A result is copied every fifth time.
        let logged = format!("{}w", "E LLL H".repeat(5)).repeat(8);
        assert_eq!(count(&logged), 40);
    }

    #[test]
    fn nothing_comes_once() {
        assert_eq!(count(&"AABB".repeat(10)), 10);
        // Only a long pause tells.
        assert_eq!(count(&"AAAAAA~".repeat(10)), 10);
    }

    #[test]
    fn an_iteration_begins_behind_the_longest_pause() {
        let found = repeats(&launched(&"ABC DEF".repeat(6))).unwrap();
        // Behind the last of them is only half of one.
        assert_eq!((found.starts, found.end), (vec![3, 9, 15, 21, 27], 34));
    }

    #[test]
    fn the_end_of_an_iteration_is_none() {
        // The host pauses before the last launch of each, a result that is read; the first iteration does more.
        let text = format!("{}{}", "WWABCABCVVVABC H", "ABCABCABC H".repeat(29));
        let found = repeats(&launched(&text)).unwrap();
        let begins = (0..29).map(|at| 14 + at * 10);
        assert_eq!(found.starts, std::iter::once(2).chain(begins).collect::<Vec<_>>());
        assert_eq!(found.end, 14 + 29 * 10 + 1);
    }

    #[test]
    fn an_iteration_begins_behind_what_comes_now_and_then() {
        let text = format!("{}XYXYXY", "ABC DEF".repeat(5)).repeat(4);
        let found = repeats(&launched(&text)).unwrap();
        let begins = |round: usize| (0..5).map(move |step| round * 36 + step * 6);
        assert_eq!(found.starts, (0..4).flat_map(begins).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_no_loop() {
        assert_eq!(count(""), 0);
        assert_eq!(count("ABCDEFGHIJ"), 0);
        assert_eq!(count("ABABAB"), 0);
    }
}
