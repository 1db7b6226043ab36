//! Adds up what iterations are made of.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use super::Often;

/// Of all iterations, one in so many is taken, those of about the median length: their mean is close to it.
const MIDDLE_PART: usize = 5;
const FEWEST_IN_MIDDLE: usize = 3;

/// The steady iterations: when each begins, and when the last one ends.
pub(super) struct Iterations<'t> {
    begins: &'t [i64],
    end: i64,
    /// Whether it is of about the median length. None where all of them count alike.
    middle: Option<Vec<bool>>,
}

impl<'t> Iterations<'t> {
    /// `usual` is their median. Where there is none, all of them count alike.
    pub(super) fn new(begins: &'t [i64], end: i64, usual: Option<i64>) -> Self {
        let Some(usual) = usual else { return Self { begins, end, middle: None } };
        let ends = begins.iter().skip(1).copied().chain([end]);
        let lengths: Vec<i64> =
            begins.iter().zip(ends).map(|(begin, end)| end.saturating_sub(*begin)).collect();
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|at| lengths[*at].abs_diff(usual));
        let mut middle = vec![false; lengths.len()];
        order
            .iter()
            .take((order.len() / MIDDLE_PART).max(FEWEST_IN_MIDDLE))
            .for_each(|at| middle[*at] = true);
        Self { begins, end, middle: Some(middle) }
    }

    pub(super) fn span(&self) -> Option<(i64, i64)> {
        Some((*self.begins.first()?, self.end))
    }

    /// The iteration at a moment.
    fn at(&self, moment: i64) -> Option<usize> {
        (moment < self.end)
            .then(|| self.begins.partition_point(|begin| *begin <= moment).checked_sub(1))
            .flatten()
    }

    /// The time between two moments that lies in iterations that count.
    fn within(&self, from: i64, to: i64) -> i64 {
        let Some(middle) = &self.middle else {
            let begin = self.begins.first().map_or(to, |begin| from.max(*begin));
            return to.min(self.end).saturating_sub(begin).max(0);
        };
        let first = self.begins.partition_point(|begin| *begin <= from).saturating_sub(1);
        let mut time = 0;
        for (at, begin) in self.begins.iter().copied().enumerate().skip(first) {
            if begin >= to {
                break;
            }
            if middle[at] {
                let end = self.begins.get(at + 1).copied().unwrap_or(self.end);
                time = i64::saturating_add(time, end.min(to).saturating_sub(begin.max(from)).max(0));
            }
        }
        time
    }
}

/// How often something was seen in iterations, one after another.
#[derive(Debug, Clone, Default)]
struct Seen {
    iteration: usize,
    count: u64,
    /// How many iterations had how many.
    histogram: BTreeMap<u64, u64>,
}

impl Seen {
    fn add(&mut self, iteration: usize) {
        if iteration != self.iteration {
            self.close();
            self.iteration = iteration;
        }
        self.count += 1;
    }

    fn close(&mut self) {
        if self.count > 0 {
            *self.histogram.entry(self.count).or_default() += 1;
            self.count = 0;
        }
    }

    fn often(mut self, iterations: u64) -> Often {
        self.close();
        let with: u64 = self.histogram.values().sum();
        if iterations > with {
            self.histogram.insert(0, iterations - with);
        }
        let total: u64 =
            self.histogram.iter().map(|(count, iterations)| count.saturating_mul(*iterations)).sum();
        let usual =
            self.histogram.iter().max_by_key(|(_, iterations)| **iterations).map_or(0, |(count, _)| *count);
        Often { usual, varies: self.histogram.len() > 1, mean: total as f64 / iterations.max(1) as f64 }
    }
}

/// By key: time, and how often.
pub(super) struct Tally<'t, K> {
    iterations: Iterations<'t>,
    places: HashMap<K, usize>,
    rows: Vec<Row<K>>,
    /// The place of the key that was asked for last: it is counted, and then its time.
    last: Option<(K, usize)>,
}

struct Row<K> {
    key: K,
    time: f64,
    seen: Option<Seen>,
}

impl<'t, K: Eq + Hash + Copy> Tally<'t, K> {
    pub(super) fn new(iterations: Iterations<'t>) -> Self {
        Self { iterations, places: HashMap::new(), rows: Vec::new(), last: None }
    }

    pub(super) fn span(&self) -> Option<(i64, i64)> {
        self.iterations.span()
    }

    /// The time between two moments that counts.
    pub(super) fn within(&self, from: i64, to: i64) -> i64 {
        self.iterations.within(from, to)
    }

    fn row(&mut self, key: K) -> &mut Row<K> {
        let place = match self.last {
            Some((last, place)) if last == key => place,
            _ => *self.places.entry(key).or_insert_with(|| {
                self.rows.push(Row { key, time: 0.0, seen: None });
                self.rows.len() - 1
            }),
        };
        self.last = Some((key, place));
        &mut self.rows[place]
    }

    /// All of the time between two moments is spent on this.
    pub(super) fn spend(&mut self, key: K, from: i64, to: i64) {
        let time = self.within(from, to);
        self.add(key, time as f64);
    }

    /// Time that counts.
    pub(super) fn add(&mut self, key: K, time: f64) {
        if time > 0.0 {
            self.row(key).time += time;
        }
    }

    /// Moments must come in order.
    pub(super) fn count(&mut self, key: K, moment: i64) {
        if let Some(iteration) = self.iterations.at(moment) {
            self.row(key).seen.get_or_insert_default().add(iteration);
        }
    }

    /// Each key with its time in an iteration, and how often it was counted.
    pub(super) fn rows(self) -> Vec<(K, f64, Option<Often>)> {
        let all = self.iterations.begins.len() as u64;
        let counting = |middle: &Vec<bool>| middle.iter().filter(|middle| **middle).count() as u64;
        let middle = self.iterations.middle.as_ref().map_or(all, counting).max(1) as f64;
        let rows = self.rows.into_iter();
        rows.map(|row| (row.key, row.time / middle, row.seen.map(|seen| seen.often(all)))).collect()
    }
}
