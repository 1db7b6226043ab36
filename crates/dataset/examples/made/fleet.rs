//! A fleet that never ran, and what is true of it: runs of several ranks, over many days, on many machines.
//!
//! What is planted: from a day on, `decode.py` has an attention that takes longer; one machine is slower than the others, so
//! that all wait for it; another one is too hot. Everything else is even. Tables are written by the code that `rangefinder
//! export` writes them with.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use analysis::{Options, Scope, analyze_attributed, attribute, insight};
use dataset::{MARKER, Run, Source, Table, each_empty_table, each_table, file_of, marker};
use trace::{
    Activity, ActivityKind, Call, Collective, Device, Kind, Launch, Process, Quantity, Range, Series,
    SeriesSource, Thread, Trace,
};

/// Of one rank in one iteration, the collective included.
pub(crate) const KERNELS_OF_ITERATION: u32 = 200;
pub(crate) const PROGRAMS: [&str; 2] = ["train.py", "decode.py"];
pub(crate) const MACHINES: u32 = 16;
pub(crate) const SLOW_MACHINE: u32 = 7;
pub(crate) const HOT_MACHINE: u32 = 11;
/// Of a hundred samples of the hot machine.
pub(crate) const HOT_SAMPLES: u32 = 30;
const SAMPLES: u32 = 100;
const RUNS_OF_DAY: u32 = 10;
/// How much longer the attention of `decode.py` takes, from this part of all days on.
pub(crate) const SLOWER: f64 = 1.2;
const SLOWER_FROM: f64 = 0.6;
/// How much longer everything takes on the slow machine.
const SLOW: f64 = 1.05;
/// 2026-01-01, in days since 1970.
const FIRST_DAY: i64 = 20_454;
const DAY_NS: i64 = 86_400_000_000_000;
const KERNELS: [(&str, &str, i64); 5] = [
    ("void attention_kernel<float16, 128>(Params)", "attention_kernel", 40_000),
    ("sm90_gemm_bf16_128x256x64", "sm90_gemm_bf16_128x256x64", 30_000),
    ("void layer_norm_kernel<float>(float const*, float*, int)", "layer_norm_kernel", 6_000),
    ("void elementwise_kernel<4, Add>(int, Add)", "elementwise_kernel", 4_000),
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 50_000),
];
const COLLECTIVE: usize = 4;

/// How large it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) runs: u32,
    pub(crate) ranks: u32,
    /// Of each rank.
    pub(crate) kernels: u32,
}

/// What is true of it, counted while it was made.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Truth {
    /// By name, how often and how long.
    pub(crate) kernels: BTreeMap<&'static str, (u64, i64)>,
    /// By machine: collectives that its ranks took part in, those of them in which it came last, and the time that all
    /// others waited then.
    pub(crate) collectives: BTreeMap<u32, (u64, u64, i64)>,
    /// Of each run, by program, in the order of time: the mean time of an attention.
    pub(crate) attention_ns: BTreeMap<&'static str, Vec<f64>>,
    /// The first run of `decode.py` that is slower, by its number among those.
    pub(crate) slower_from: usize,
}

impl Truth {
    /// For tests in another language.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "kernels": self.kernels,
            "collectives": self.collectives,
            "attention_ns": self.attention_ns,
            "slower_from": self.slower_from,
            "programs": PROGRAMS,
            "slow_machine": SLOW_MACHINE,
            "hot_machine": HOT_MACHINE,
            "hot_samples": HOT_SAMPLES,
            "slower": SLOWER,
        })
    }
}

impl Plan {
    fn days(&self) -> u32 {
        self.runs.div_ceil(RUNS_OF_DAY)
    }

    fn day(&self, run: u32) -> u32 {
        run / RUNS_OF_DAY
    }

    pub(crate) fn program(&self, run: u32) -> &'static str {
        PROGRAMS[run as usize % PROGRAMS.len()]
    }

    fn machine(&self, run: u32, rank: u32) -> u32 {
        (run + rank) % MACHINES
    }

    fn is_slower(&self, run: u32) -> bool {
        self.program(run) == PROGRAMS[1] && f64::from(self.day(run)) >= SLOWER_FROM * f64::from(self.days())
    }

    /// `2026-03-01`
    fn date(&self, run: u32) -> String {
        let (year, month, day) = civil(FIRST_DAY + i64::from(self.day(run)));
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// Writes all of it, and counts.
    pub(crate) fn write(&self, folder: &Path, mut say: impl FnMut(u32) + Send) -> io::Result<Truth> {
        each_empty_table(&|table| {
            write_table(&file_of(folder, table.name(), "1970-01-01", "empty", None), table)
        })?;
        let truth = Mutex::new(BTreeMap::new());
        let next = AtomicU32::new(0);
        let say = Mutex::new(&mut say);
        let work = || -> io::Result<()> {
            loop {
                let run = next.fetch_add(1, Ordering::Relaxed);
                if run >= self.runs {
                    return Ok(());
                }
                let of_run = self.write_run(folder, run)?;
                let mut truth = truth.lock().map_err(|_| io::Error::other("another thread has ended"))?;
                truth.insert(run, of_run);
                if let Ok(mut say) = say.lock() {
                    say(truth.len() as u32);
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            all.into_iter()
                .try_for_each(|one| one.join().map_err(|_| io::Error::other("a thread has ended"))?)
        })?;
        let mut file = File::create(folder.join(MARKER))?;
        file.write_all(marker().as_bytes())?;
        let runs = truth.into_inner().map_err(|_| io::Error::other("a thread has ended"))?;
        let mut all = Truth::default();
        for (run, of_run) in runs {
            for (name, (calls, total)) in of_run.kernels {
                let sum = all.kernels.entry(name).or_default();
                (sum.0, sum.1) = (sum.0 + calls, sum.1 + total);
            }
            for (machine, (of, last, waited)) in of_run.collectives {
                let sum = all.collectives.entry(machine).or_default();
                (sum.0, sum.1, sum.2) = (sum.0 + of, sum.1 + last, sum.2 + waited);
            }
            let means = all.attention_ns.entry(self.program(run)).or_default();
            if self.program(run) == PROGRAMS[1] && !self.is_slower(run) {
                all.slower_from = means.len() + 1;
            }
            means.extend(of_run.attention_ns.into_values().flatten());
        }
        Ok(all)
    }

    fn write_run(&self, folder: &Path, run: u32) -> io::Result<Truth> {
        let mut truth = Truth::default();
        let iterations = self.kernels.div_ceil(KERNELS_OF_ITERATION);
        let (lengths, works) = self.work(run, iterations);
        let mut attention = (0i64, 0i64);
        for rank in 0..self.ranks {
            let trace = self.trace(run, rank, &lengths, &works);
            let (activities, strings) = (&trace.activities, &trace.strings);
            for at in 0..activities.len() {
                let name = strings.text(activities.launches[activities.detail[at] as usize].short_name);
                let kernel = KERNELS.iter().find(|kernel| kernel.1 == name).map_or("", |kernel| kernel.1);
                let sum = truth.kernels.entry(kernel).or_default();
                (sum.0, sum.1) = (sum.0 + 1, sum.1 + activities.duration(at));
                if kernel == KERNELS[0].1 {
                    attention = (attention.0 + 1, attention.1 + activities.duration(at));
                }
            }
            self.write_rank(folder, run, rank, &trace)?;
        }
        truth.attention_ns.insert(self.program(run), vec![attention.1 as f64 / attention.0.max(1) as f64]);
        for of_iteration in lengths.chunks(self.ranks as usize) {
            let longest = of_iteration.iter().copied().max().unwrap_or(0);
            // The lowest rank, if several come at the same moment.
            let last = of_iteration.iter().position(|length| *length == longest).unwrap_or(0);
            for rank in 0..self.ranks {
                let sum = truth.collectives.entry(self.machine(run, rank)).or_default();
                sum.0 += 1;
                if rank as usize == last {
                    sum.1 += 1;
                    sum.2 += of_iteration.iter().map(|length| longest - length).sum::<i64>();
                }
            }
        }
        Ok(truth)
    }

    /// Of each iteration and rank, how long it takes until its collective, and of each kernel before it its length.
    fn work(&self, run: u32, iterations: u32) -> (Vec<i64>, Vec<Vec<i64>>) {
        let mut lengths = Vec::new();
        let mut works: Vec<Vec<i64>> = vec![Vec::new(); self.ranks as usize];
        let mut random = Random(u64::from(run) * 7_919 + 1);
        for _ in 0..iterations {
            for rank in 0..self.ranks {
                let slow = if self.machine(run, rank) == SLOW_MACHINE { SLOW } else { 1.0 };
                let mut all = 0;
                for kernel in 0..KERNELS_OF_ITERATION - 1 {
                    let which = kernel as usize % COLLECTIVE;
                    let slower = if which == 0 && self.is_slower(run) { SLOWER } else { 1.0 };
                    let usual = KERNELS[which].2 as f64 * slow * slower;
                    let length = (usual * (0.98 + random.part() * 0.04)) as i64;
                    works[rank as usize].push(length);
                    all += length + GAP;
                }
                lengths.push(all);
            }
        }
        (lengths, works)
    }

    fn trace(&self, run: u32, rank: u32, lengths: &[i64], works: &[Vec<i64>]) -> Trace {
        let mut trace = Trace { source: "made up".to_owned(), ..Trace::default() };
        let pid = 1_000 + rank;
        trace.processes.push(Process { pid, label: format!("rank {rank}"), ..Process::default() });
        trace.threads.push(Thread { process: 0, id: pid, name: None });
        trace.devices.push(Device { id: rank % 8, name: Some("Made-up GPU".to_owned()), identity: None });
        for (name, short, _) in KERNELS {
            let (name, short_name) = (trace.strings.intern(name), trace.strings.intern(short));
            let shape =
                Launch { name, short_name, grid: [132, 1, 1], block: [256, 1, 1], ..Launch::default() };
            trace.activities.launches.push(shape);
        }
        let (domain, step) = (trace.strings.intern(""), trace.strings.intern("step"));
        let launch = trace.strings.intern("cudaLaunchKernel");
        let (function, group) = (trace.strings.intern("allreduce"), trace.strings.intern("0"));
        // Clocks of machines have nothing in common.
        let mut now = 1_000_000_000 + i64::from(rank) * 3_000_000_007;
        let began = now;
        let mut correlation = 0u32;
        let mut works = works[rank as usize].iter();
        for of_iteration in lengths.chunks(self.ranks as usize) {
            let longest = of_iteration.iter().copied().max().unwrap_or(0);
            let begin = now;
            let mut one = |trace: &mut Trace, detail: usize, at: i64, length: i64| {
                correlation += 1;
                let call = at - LEAD + i64::from(correlation % 7) * 13;
                trace.calls.push(Call {
                    begin: call,
                    end: call + 2_500,
                    thread: 0,
                    name: launch,
                    correlation,
                });
                trace.activities.push(Activity {
                    begin: at,
                    end: at + length,
                    stream: 7,
                    kind: ActivityKind::Kernel,
                    correlation,
                    detail: detail as u32,
                    ..Activity::default()
                });
                correlation
            };
            let mut at = begin;
            for kernel in 0..KERNELS_OF_ITERATION as usize - 1 {
                let length = works.next().copied().unwrap_or(1_000);
                one(&mut trace, kernel % COLLECTIVE, at, length);
                at += length + GAP;
            }
            // All end together.
            let end = begin + longest + KERNELS[COLLECTIVE].2;
            let correlation = one(&mut trace, COLLECTIVE, at, end - at);
            let group_size = self.ranks;
            trace.collectives.push(Collective {
                process: 0,
                correlation,
                function,
                group,
                group_size,
                bytes_in: 1 << 20,
                bytes_out: 1 << 20,
            });
            let (from, to) = (begin - LEAD - 1_000, end - LEAD - 2_000);
            trace.ranges.push(Range {
                begin: from,
                end: to,
                domain,
                name: step,
                kind: Kind::PushPop,
                ..Range::default()
            });
            now = end + GAP;
        }
        trace.series.push(self.series(run, rank, began, now));
        trace.finish();
        trace
    }

    fn series(&self, run: u32, rank: u32, began: i64, ended: i64) -> Series {
        let is_hot = self.machine(run, rank) == HOT_MACHINE;
        let interval = ((ended - began) / i64::from(SAMPLES)).max(1);
        let quantities = [Quantity::ThrottleReasons, Quantity::SmClockReported];
        let mut series = Series {
            device: 0,
            source: SeriesSource::Nvml,
            interval_ns: interval,
            begin: Vec::new(),
            end: Vec::new(),
            columns: quantities.map(|quantity| (quantity, Vec::new())).into(),
            lost: Vec::new(),
        };
        for sample in 0..SAMPLES {
            let at = began + i64::from(sample) * interval;
            let hot = is_hot && sample < HOT_SAMPLES;
            series.push(at, at, [if hot { 64.0 } else { 0.0 }, if hot { 1_200.0 } else { 1_980.0 }]);
        }
        series
    }

    fn write_rank(&self, folder: &Path, run: u32, rank: u32, trace: &Trace) -> io::Result<()> {
        let options = Options { scope: Scope::of_recordings(trace.recordings.len()), ..Options::default() };
        let attribution = attribute(trace);
        let analysis = analyze_attributed(trace, &attribution, &options);
        let insight = insight(Some((trace, &analysis)), None);
        let of_day = i64::from(run % RUNS_OF_DAY) * (DAY_NS / i64::from(RUNS_OF_DAY));
        let named = Run {
            id: format!("made-{run:06}"),
            name: self.program(run).to_owned(),
            begun: Some((FIRST_DAY + i64::from(self.day(run))) * DAY_NS + of_day),
            node: Some(format!("node-{:02}", self.machine(run, rank))),
            rank: Some(rank),
            command: None,
        };
        let source = Source {
            run: &named,
            trace,
            attribution: &attribution,
            analysis: &analysis,
            families: &options.families,
            scope: options.scope,
            findings: &insight.findings,
            counters: None,
            verdicts: &[],
        };
        let date = self.date(run);
        each_table(source, &|table| match table.rows() {
            0 => Ok(()),
            _ => write_table(&file_of(folder, table.name(), &date, &named.id, named.rank), table),
        })
    }
}

/// From one kernel to the next, and from its launch to its begin.
const GAP: i64 = 1_500;
const LEAD: i64 = 20_000;

fn write_table(file: &Path, table: &dyn Table) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut out = BufWriter::new(File::create(file)?);
    table.write(&mut out)?;
    out.flush()
}

/// Year, month and day of a day since 1970, by counting.
fn civil(mut day: i64) -> (i64, usize, i64) {
    let is_leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let mut year = 1970;
    while day >= if is_leap(year) { 366 } else { 365 } {
        day -= if is_leap(year) { 366 } else { 365 };
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    (year, month + 1, day + 1)
}

/// Always the same numbers.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn part(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(FIRST_DAY), (2026, 1, 1));
        assert_eq!(civil(FIRST_DAY + 59), (2026, 3, 1));
    }
}
