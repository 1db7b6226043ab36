//! How much of a recording is read: no more than fits into memory, and of all of its files up to the same moment.

use std::fmt;

/// The memory that recordings may take, with all that is found out from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    bytes: u64,
    /// What the process may use in all.
    memory: u64,
}

impl Budget {
    /// Half of what the process may use, less what it holds already.
    pub fn of_process() -> Self {
        match input::memory_limit() {
            Some(memory) => Self::within(memory, input::memory_held()),
            None => Self { bytes: u64::MAX, memory: u64::MAX },
        }
    }

    /// A budget of so many bytes.
    pub fn of(bytes: u64) -> Self {
        Self { bytes, memory: bytes.saturating_mul(2) }
    }

    fn within(memory: u64, held: u64) -> Self {
        // What is held may also be what nobody needs any more.
        Self { bytes: (memory / 2).saturating_sub(held).max(memory / 8), memory }
    }

    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

    /// A part of it.
    pub(crate) fn share(self, part: u64, of: u64) -> Self {
        let bytes = u128::from(self.bytes) * u128::from(part) / u128::from(of.max(1));
        Self { bytes: u64::try_from(bytes).unwrap_or(u64::MAX).min(self.bytes), ..self }
    }

    pub(crate) fn less(self, bytes: u64) -> Self {
        Self { bytes: self.bytes.saturating_sub(bytes), ..self }
    }
}

/// How much of a recording is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// What happened from then on is left out.
    until: Option<i64>,
    unread: Option<Unread>,
}

impl Extent {
    pub fn whole() -> Self {
        Self::default()
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.until.is_none()
    }

    pub(crate) fn has(&self, time: i64) -> bool {
        self.until.is_none_or(|until| time < until)
    }

    /// How many of the rows of a table that has no times, but is in the order of time.
    pub(crate) fn part_of(&self, rows: usize) -> usize {
        let Some(unread) = self.unread else { return rows };
        let share = unread.kept_ns as f64 / unread.whole_ns.max(1) as f64;
        ((rows as f64 * share).ceil() as usize).min(rows)
    }

    pub(crate) fn unread(&self) -> Option<Unread> {
        self.unread
    }
}

/// What was not read of a recording, because there is not enough memory for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread {
    /// From its beginning, how much of its time was read.
    pub kept_ns: i64,
    /// How long it is; more if its end is not known.
    pub whole_ns: i64,
    /// Memory that all of it would take, about.
    pub needed: u64,
    /// What the process may use, half of it for recordings.
    pub memory: u64,
    /// Its place in [`crate::Trace::recordings`].
    pub recording: u32,
}

impl fmt::Display for Unread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "only the first {} of {} are analyzed: all of it takes about {} of memory, and Rangefinder uses at most half of \
             the {} that it may use",
            Seconds(self.kept_ns),
            Seconds(self.whole_ns),
            Size(self.needed),
            Size(self.memory)
        )
    }
}

struct Seconds(i64);

impl fmt::Display for Seconds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ..1_000_000_000 => write!(out, "{:.1} ms", self.0 as f64 / 1e6),
            _ => write!(out, "{:.1} s", self.0 as f64 / 1e9),
        }
    }
}

struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ..1_000_000_000 => write!(out, "{} MB", self.0.div_ceil(1_000_000)),
            _ => write!(out, "{:.1} GB", self.0 as f64 / 1e9),
        }
    }
}

/// What of a recording is when, and what it takes in memory.
#[derive(Debug)]
pub(crate) struct Weights {
    parts: Vec<(i64, u64)>,
    total: u64,
    evenly: u64,
    begin: i64,
    end: i64,
}

/// Before anything that has a time.
pub(crate) const TIMELESS: i64 = 0;

/// More parts than these are put together.
const MOST_PARTS: usize = 1 << 16;

impl Default for Weights {
    fn default() -> Self {
        Self { parts: Vec::new(), total: 0, evenly: 0, begin: i64::MAX, end: i64::MIN }
    }
}

impl Weights {
    /// A part that begins at a moment.
    pub(crate) fn add(&mut self, from: i64, bytes: u64) {
        self.saw(from);
        self.add_from(from, bytes);
    }

    /// A part that holds nothing from before a moment.
    pub(crate) fn add_from(&mut self, from: i64, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
        self.parts.push((from, bytes));
        if self.parts.len() > MOST_PARTS {
            self.put_together();
        }
    }

    /// What is spread over all of the time.
    pub(crate) fn add_evenly(&mut self, bytes: u64) {
        self.evenly = self.evenly.saturating_add(bytes);
    }

    /// A part of which nobody knows when it was.
    pub(crate) fn add_timeless(&mut self, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
        self.parts.push((TIMELESS, bytes));
    }

    /// The recording went on at that moment.
    pub(crate) fn saw(&mut self, time: i64) {
        (self.begin, self.end) = (self.begin.min(time), self.end.max(time));
    }

    /// Small neighbours as one. The later ones are then left out with the earliest.
    fn put_together(&mut self) {
        let enough = self.total / (MOST_PARTS as u64 / 4);
        self.parts.sort_unstable();
        let mut together: Vec<(i64, u64)> = Vec::with_capacity(MOST_PARTS);
        for (from, bytes) in self.parts.drain(..) {
            match together.last_mut().filter(|(_, sum)| sum.saturating_add(bytes) <= enough) {
                Some((_, sum)) => *sum += bytes,
                None => together.push((from, bytes)),
            }
        }
        self.parts = together;
    }

    /// Up to the first part that finds no room.
    pub(crate) fn extent(mut self, budget: Budget) -> Extent {
        const STEPS: u64 = 1 << 10;
        let (evenly, span) = (std::mem::take(&mut self.evenly), self.end.saturating_sub(self.begin).max(0));
        for step in (0..STEPS).filter(|_| evenly > 0) {
            let passed = (span as f64 * (step as f64 / STEPS as f64)) as i64;
            let from = if span > 0 { self.begin.saturating_add(passed) } else { TIMELESS };
            self.parts.push((from, evenly.div_ceil(STEPS)));
        }
        self.total = self.total.saturating_add(evenly);
        if self.total <= budget.bytes {
            return Extent::whole();
        }
        self.parts.sort_unstable();
        let mut sum = 0u64;
        let too_much = self.parts.iter().find(|(_, bytes)| {
            sum = sum.saturating_add(*bytes);
            sum > budget.bytes
        });
        let until = too_much.map_or(self.end, |(from, _)| *from);
        let unread = Unread {
            kept_ns: until.saturating_sub(self.begin).max(0),
            whole_ns: self.end.saturating_sub(self.begin).max(0),
            needed: self.total,
            memory: budget.memory,
            recording: 0,
        };
        Extent { until: Some(until), unread: Some(unread) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_whole_and_what_does_not_ends_at_one_moment() {
        let weights = || {
            let mut weights = Weights::default();
            // Two threads, one behind the other in the file.
            for thread in 0..2 {
                (0..10).for_each(|part| weights.add(part * 10 + thread, 100));
            }
            weights
        };
        assert_eq!(weights().extent(Budget::of(2_000)), Extent::whole());
        let extent = weights().extent(Budget::of(550));
        assert!(extent.has(20) && !extent.has(21), "{extent:?}");
        let unread = extent.unread().unwrap();
        assert_eq!((unread.kept_ns, unread.whole_ns, unread.needed), (21, 91, 2_000));
        assert!(!weights().extent(Budget::of(0)).has(0));
    }

    #[test]
    fn many_small_parts_take_little() {
        let mut weights = Weights::default();
        (0..1_000_000).rev().for_each(|at| weights.add(at, 1));
        assert!(weights.parts.len() <= MOST_PARTS);
        let extent = weights.extent(Budget::of(500_000));
        let kept = extent.unread().unwrap().kept_ns;
        assert!((499_000..=500_000).contains(&kept), "{kept}");
    }

    #[test]
    fn half_of_the_memory_less_what_is_held() {
        assert_eq!(Budget::within(1_000, 100).bytes, 400);
        assert_eq!(Budget::within(1_000, 900).bytes, 125);
        assert_eq!(Budget::of(900).share(1, 3).less(100).bytes, 200);
    }

    #[test]
    fn it_is_told_in_words() {
        let unread = Unread {
            kept_ns: 400_000_000,
            whole_ns: 41_250_000_000,
            needed: 9_130_000_000,
            memory: 4_000_000_000,
            recording: 0,
        };
        assert_eq!(
            unread.to_string(),
            "only the first 400.0 ms of 41.2 s are analyzed: all of it takes about 9.1 GB of memory, and Rangefinder uses at \
             most half of the 4.0 GB that it may use"
        );
    }
}
