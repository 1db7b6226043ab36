//! Samples all processes below some roots, on a thread of its own, until it is told to stop.
//!
//! Each tick comes once in a period, at a moment of it that is drawn: at a fixed rate, a loop that takes about as long as the
//! period, or a multiple of it, would be seen at the same place again and again. Ticks that are missed are counted, never made up for. If the sampling takes more
//! than its share of a processor, ticks are left out until it does not.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::descendants::Descendants;
use super::names::{Names, StackId};
use super::process::{HostProcess, ThreadSample};
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

/// How often new processes are looked for.
const LOOK: Duration = Duration::from_millis(100);

/// How long a process that cannot be read is left alone.
const RETRY: Duration = Duration::from_secs(5);

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
    /// None if it cannot be read.
    process: Option<HostProcess>,
    retry: Instant,
    told: bool,
    sampled: u64,
}

struct Loop<S> {
    sink: S,
    names: Names,
    counts: Counts,
    descendants: Descendants,
    watched: HashMap<u32, Watched>,
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
            out: Vec::new(),
        }
    }

    fn run(mut self, settings: &Settings, stop: &AtomicBool) -> Finished<S> {
        let rate = if settings.rate.is_finite() { settings.rate.clamp(1.0, 10_000.0) } else { 200.0 };
        let period = Duration::from_secs_f64(1.0 / rate);
        let share = settings.share.clamp(0.001, 1.0);
        let begun = Instant::now();
        // The period that comes next, and when in it.
        let mut slot = begun;
        let mut drawn = Drawn(monotonic());
        let mut next = slot + drawn.within(period);
        let mut looked = None::<Instant>;
        while !stop.load(Ordering::Relaxed) {
            let now = Instant::now();
            if now < next {
                std::thread::sleep(next - now);
                continue;
            }
            if settings.pauses.rests(monotonic()) {
                self.rest(&settings.pauses, stop);
                slot = Instant::now();
                next = slot + drawn.within(period);
                continue;
            }
            if looked.is_none_or(|looked| now.duration_since(looked) >= LOOK) {
                looked = Some(now);
                self.look(now);
            }
            self.tick();
            self.counts.ticks += 1;
            slot += period;
            // Late, or over its share of a processor since it began.
            let rest = Duration::from_secs_f64(own_time().as_secs_f64() / share);
            let earliest = Instant::now().max(begun + rest.saturating_sub(Duration::from_secs(1)));
            while slot + period < earliest {
                slot += period;
                self.counts.skipped += 1;
            }
            next = slot + drawn.within(period);
        }
        Finished { sink: self.sink, names: self.names, counts: self.counts, cpu: own_time() }
    }

    /// Samples nothing until the pause is over.
    fn rest(&mut self, pauses: &Pauses, stop: &AtomicBool) {
        for process in self.watched.values_mut().filter_map(|watched| watched.process.as_mut()) {
            process.rest();
        }
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
                told: false,
                sampled: 0,
            });
            let result = match &mut watched.process {
                Some(process) => process.refresh(),
                None if watched.retry <= now => {
                    HostProcess::open(*pid).map(|process| watched.process = Some(process))
                }
                None => Ok(()),
            };
            let trouble = match result {
                Ok(()) => watched.process.as_ref().and_then(HostProcess::trouble),
                Err(why) => {
                    watched.process = None;
                    watched.retry = now + RETRY;
                    // It is gone from the list the next time.
                    (why != Unreadable::Gone).then_some(why)
                }
            };
            if let Some(why) = trouble
                && !watched.told
            {
                watched.told = true;
                self.sink.unreadable(*pid, &why);
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
        for (pid, watched) in &mut self.watched {
            let Some(process) = &mut watched.process else { continue };
            self.out.clear();
            let at = monotonic();
            if process.sample(None, &mut self.names, &mut self.out).is_err() {
                watched.process = None;
                watched.retry = Instant::now() + LOOK;
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
