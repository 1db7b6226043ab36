//! Samples all processes below some roots, on a thread of its own, until it is told to stop.
//!
//! Each tick comes once in a period, at a moment of it that is drawn: at a fixed rate, a loop that takes about as long as the
//! period, or a multiple of it, would be seen at the same place again and again. Ticks that are missed are counted, never made up for.
//! If the sampling would take more than its share of a processor, periods become longer. How long is worked out from many
//! ticks, not from the last one: otherwise, what takes long to read would be seen less often than what does not.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::descendants::Descendants;
use super::names::{Names, StackId};
use super::process::{HostProcess, ThreadSample};
use super::shared::Shared;
use super::sink::{Counts, Sample, Sink};
use super::unreadable::Unreadable;
use crate::clock::{monotonic, thread_time};
use crate::pauses::Pauses;

#[derive(Debug, Clone)]
pub struct Settings {
    /// These processes and all their descendants are sampled; never this process itself.
    pub roots: Vec<u32>,
    /// Children of the roots that are not sampled, nor what descends from them.
    pub is_left_out: fn(u32) -> bool,
    /// Samples a second.
    pub rate: f64,
    /// The share of one processor that sampling may take.
    pub share: f64,
    pub pauses: Pauses,
}

impl Settings {
    pub fn below(root: u32) -> Self {
        Self {
            roots: vec![root],
            is_left_out: |_| false,
            rate: 200.0,
            share: 0.05,
            pauses: Pauses::default(),
        }
    }
}

/// How often new processes are looked for,
const LOOK: Duration = Duration::from_millis(100);
/// and how often for so long after there was a new one: a program that starts is seen from its beginning.
const LOOK_SOON: Duration = Duration::from_millis(20);
const SOON: Duration = Duration::from_secs(1);

/// How long a process that cannot be read is left alone.
const RETRY: Duration = Duration::from_secs(5);

/// For so long the period stays the same, unless the share of a processor is used up before.
const STEADY: Duration = Duration::from_millis(500);
/// However long a tick takes.
const SLOWEST: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct HostSampler<S> {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Finished<S>>,
}

#[derive(Debug)]
pub struct Finished<S> {
    pub sink: S,
    pub names: Names,
    pub counts: Counts,
    /// What the sampling took of a processor.
    pub cpu: Duration,
}

impl<S: Sink + 'static> HostSampler<S> {
    pub fn start(settings: Settings, sink: S) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("stacks".to_owned())
            .spawn(move || Loop::new(&settings, sink).run(&settings, &told))?;
        Ok(Self { stop, thread })
    }

    /// Ends the sampling within a tick. None if the sampler itself failed.
    pub fn stop(self) -> Option<Finished<S>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().ok()
    }
}

#[derive(Debug)]
struct Watched {
    /// None if it has ended, or has not been looked at.
    process: Option<HostProcess>,
    retry: Instant,
    told: Option<Unreadable>,
    sampled: u64,
}

impl Watched {
    fn look(&mut self, pid: u32, shared: &Shared, now: Instant) {
        let is_due = self.retry <= now;
        let known = self.process.as_mut().filter(|process| !(is_due && process.may_become_readable()));
        let result = match known {
            Some(process) => process.refresh(),
            None if is_due => {
                HostProcess::with(pid, shared.clone()).map(|process| self.process = Some(process))
            }
            None => Ok(()),
        };
        if let Err(why) = result {
            self.failed(pid, why, shared, now);
        }
    }

    /// It is sampled without stacks, if it has not ended.
    fn failed(&mut self, pid: u32, why: Unreadable, shared: &Shared, now: Instant) {
        self.process = match why {
            // It is gone from the list the next time.
            Unreadable::Gone => None,
            why => HostProcess::unread(pid, why, shared.clone()).ok(),
        };
        self.retry = now + if self.process.is_some() { RETRY } else { LOOK };
    }

    /// Why it cannot be read, the first time.
    fn trouble(&mut self) -> Option<Unreadable> {
        let why = self.process.as_ref().and_then(HostProcess::trouble)?;
        if self.told.as_ref() == Some(&why) {
            return None;
        }
        self.told = Some(why.clone());
        Some(why)
    }
}

/// How far apart ticks are, so that they cost no more than they may.
struct Pace {
    nominal: Duration,
    share: f64,
    period: Duration,
    /// Since the period was worked out: when that was, and what each tick has cost.
    since: Instant,
    costs: Vec<Duration>,
}

impl Pace {
    fn new(nominal: Duration, share: f64) -> Self {
        Self { nominal, share, period: nominal, since: Instant::now(), costs: Vec::new() }
    }

    /// How many ticks of the usual pace one of this pace is.
    fn times(&self) -> u64 {
        (self.period.as_secs_f64() / self.nominal.as_secs_f64()).round() as u64
    }

    /// After a tick that has taken so much of a processor.
    fn follow(&mut self, cost: Duration, now: Instant) {
        self.costs.push(cost);
        let used: Duration = self.costs.iter().sum();
        let is_used_up = used.as_secs_f64() > self.share * STEADY.as_secs_f64();
        if self.costs.len() < 2 || now.duration_since(self.since) < STEADY && !is_used_up {
            return;
        }
        // A library whose names are read takes long once.
        let most = self.costs.iter().max().copied().unwrap_or_default();
        let each = (used - most).div_f64((self.costs.len() - 1) as f64);
        self.period = each.div_f64(self.share).clamp(self.nominal, SLOWEST.max(self.nominal));
        self.since = now;
        self.costs.clear();
    }
}

struct Loop<S> {
    sink: S,
    names: Names,
    counts: Counts,
    descendants: Descendants,
    watched: HashMap<u32, Watched>,
    shared: Shared,
    out: Vec<ThreadSample>,
}

/// Numbers without a pattern (SplitMix64).
struct Drawn(u64);

impl Drawn {
    fn within(&mut self, period: Duration) -> Duration {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        period.mul_f64(((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

impl<S: Sink> Loop<S> {
    fn new(settings: &Settings, sink: S) -> Self {
        Self {
            sink,
            names: Names::default(),
            counts: Counts::default(),
            descendants: Descendants::of(&settings.roots, settings.is_left_out),
            watched: HashMap::new(),
            shared: Shared::new(),
            out: Vec::new(),
        }
    }

    fn run(mut self, settings: &Settings, stop: &AtomicBool) -> Finished<S> {
        let rate = if settings.rate.is_finite() { settings.rate.clamp(1.0, 10_000.0) } else { 200.0 };
        let period = Duration::from_secs_f64(1.0 / rate);
        let mut pace = Pace::new(period, settings.share.clamp(0.001, 1.0));
        // The period that comes next, and when in it.
        let mut slot = Instant::now();
        let mut drawn = Drawn(monotonic());
        let mut next = slot + drawn.within(period);
        let mut looked = None::<Instant>;
        let (mut found, mut took) = (slot, Duration::ZERO);
        while !stop.load(Ordering::Relaxed) {
            let now = Instant::now();
            if now < next {
                // No longer than it may take to be told to stop.
                std::thread::sleep((next - now).min(LOOK));
                continue;
            }
            if settings.pauses.rests(monotonic()) {
                self.rest(&settings.pauses, stop);
                slot = Instant::now();
                next = slot + drawn.within(pace.period);
                continue;
            }
            let is_soon = now.duration_since(found) < SOON;
            // Many processes take long to look at.
            let wait = if is_soon { took.div_f64(pace.share).clamp(LOOK_SOON, LOOK) } else { LOOK };
            if looked.is_none_or(|looked| now.duration_since(looked) >= wait) {
                looked = Some(now);
                let (before, clock) = (self.counts.processes, own_time());
                self.look(now);
                took = own_time().saturating_sub(clock);
                if self.counts.processes > before {
                    found = now;
                }
            }
            let before = own_time();
            self.tick();
            self.counts.ticks += 1;
            slot += pace.period;
            self.counts.skipped += pace.times() - 1;
            pace.follow(own_time().saturating_sub(before), Instant::now());
            let now = Instant::now();
            while slot + pace.period < now {
                slot += pace.period;
                self.counts.skipped += pace.times();
            }
            next = slot + drawn.within(pace.period);
        }
        Finished { sink: self.sink, names: self.names, counts: self.counts, cpu: own_time() }
    }

    /// Samples nothing until the pause is over.
    fn rest(&mut self, pauses: &Pauses, stop: &AtomicBool) {
        self.shared.rings.rest();
        let since = monotonic();
        let mut now = since;
        while pauses.rests(now) && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(pauses.next(now).min(LOOK / 10));
            now = monotonic();
        }
        self.sink.paused(since, now);
    }

    /// Finds new processes, and what became of the known ones.
    fn look(&mut self, now: Instant) {
        let mut found = self.descendants.look();
        let (sink, watched) = (&mut self.sink, &self.watched);
        found.retain(|pid| watched.contains_key(pid) || sink.wants(*pid));
        for pid in &found {
            let fresh = !self.watched.contains_key(pid);
            self.counts.processes += u64::from(fresh);
            let watched = self.watched.entry(*pid).or_insert(Watched {
                process: None,
                retry: now,
                told: None,
                sampled: 0,
            });
            watched.look(*pid, &self.shared, now);
            if let Some(why) = watched.trouble() {
                self.sink.unreadable(monotonic(), *pid, &why);
            }
        }
        let sink = &mut self.sink;
        self.watched.retain(|pid, _| {
            let here = found.contains(pid);
            if !here {
                sink.ended(*pid);
            }
            here
        });
    }

    fn tick(&mut self) {
        self.sink.tick(monotonic());
        self.shared.rings.tick();
        for (pid, watched) in &mut self.watched {
            let Some(process) = &mut watched.process else { continue };
            self.out.clear();
            let at = monotonic();
            let mut result = process.sample(None, &mut self.names, &mut self.out);
            if let Err(why) = result {
                watched.failed(*pid, why, &self.shared, Instant::now());
                if let Some(why) = watched.trouble() {
                    self.sink.unreadable(at, *pid, &why);
                }
                // What it does is still known.
                self.out.clear();
                let Some(process) = &mut watched.process else { continue };
                result = process.sample(None, &mut self.names, &mut self.out);
            }
            if result.is_err() {
                continue;
            }
            let before = std::mem::replace(&mut watched.sampled, at);
            let span = if before == 0 { 0 } else { at.saturating_sub(before) };
            for thread in &self.out {
                // Threads that only had to do with Python once are not of interest.
                if thread.tid != *pid && thread.stack == StackId::EMPTY && !thread.torn {
                    continue;
                }
                self.counts.samples += 1;
                self.counts.torn += u64::from(thread.torn);
                self.sink.sample(&Sample { at, span, pid: *pid, thread: *thread }, &self.names);
            }
        }
    }
}

/// How long this thread has had a processor.
fn own_time() -> Duration {
    Duration::from_nanos(thread_time())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Ticks that cost more come less often, whichever of two places they see.
    #[test]
    fn the_pace_is_that_of_many_ticks() {
        let mut pace = Pace::new(5 * MS, 0.05);
        let begun = pace.since;
        let mut now = begun;
        for tick in 0..100 {
            now += 5 * MS;
            pace.follow(if tick % 2 == 0 { MS / 2 } else { Duration::ZERO }, now);
            assert!(pace.period == 5 * MS || now.duration_since(begun) >= STEADY, "{tick}");
        }
        assert!(pace.period < 6 * MS, "{:?}", pace.period);
        // Expensive ones do not wait for the end of that time; one alone says nothing.
        pace.follow(200 * MS, now);
        assert!(pace.period < 6 * MS);
        pace.follow(4 * MS, now);
        assert_eq!(pace.period, 80 * MS);
        pace.follow(200 * MS, now);
        pace.follow(200 * MS, now);
        assert_eq!(pace.period, SLOWEST);
        assert_eq!(pace.times(), 200);
    }
}
