//! Recordings of ranks whose truth is known, as Kineto writes them: for the tests, and for `cargo xtask generate ranks`.
//!
//! All ranks work on an iteration, then reduce together: nobody leaves before the last has come. One rank may be late, for
//! one reason. Each rank has a clock of its own, and nobody leaves at quite the same time.

use std::io::{self, Write};

/// Why one rank is late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planted {
    Nothing,
    /// One kernel takes twice as long.
    SlowKernel,
    /// The host loads data for longer before it launches anything.
    HostGap,
    /// More launches of one kernel.
    MoreWork,
    /// Another kind of GPU.
    SlowerDevice,
    /// All kernels take longer on the same kind of GPU.
    LowerClock,
}

impl Planted {
    pub(crate) const ALL: [Self; 6] = [
        Self::Nothing,
        Self::SlowKernel,
        Self::HostGap,
        Self::MoreWork,
        Self::SlowerDevice,
        Self::LowerClock,
    ];
}

/// What is made up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) ranks: u32,
    pub(crate) iterations: u32,
    /// Collectives of an iteration. All but the last run beside kernels.
    pub(crate) buckets: u32,
    pub(crate) planted: Planted,
    /// The rank that is late.
    pub(crate) late: u32,
    /// Clocks are up to this far apart, in nanoseconds, and drift by up to this much.
    pub(crate) offset_ns: f64,
    pub(crate) drift: f64,
    /// How much the ends of a collective differ, as a standard deviation in nanoseconds.
    pub(crate) jitter_ns: f64,
}

/// When an iteration begins, and when the last rank comes to each of its collectives.
#[derive(Debug, Clone)]
pub(crate) struct Iteration {
    pub(crate) begin: f64,
    pub(crate) last: Vec<f64>,
}

/// Kernels of an iteration: name, nanoseconds, launches.
const KERNELS: [(&str, f64, u32); 3] = [
    ("gemm_forward", 1_000_000.0, 3),
    ("attention_forward", 800_000.0, 2),
    ("elementwise_add", 50_000.0, 10),
];
/// What clocks say at the true time zero, a few days after machines were started.
pub(crate) const STARTED_NS: i64 = 400_000_000_000_000;
const ALL_REDUCE: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
const DATA_NS: f64 = 300_000.0;
const TRANSFER_NS: f64 = 400_000.0;
/// How much later the late rank is, about.
const EXTRA_NS: f64 = 1_600_000.0;

impl Plan {
    /// By how much the clock of a rank is ahead of the true time, at that time.
    pub(crate) fn ahead(&self, rank: u32, time: f64) -> f64 {
        let mut random = Random::of(u64::from(rank) + 7);
        let (offset, drift) = (random.even() * self.offset_ns, random.even() * self.drift);
        if rank == 0 { 0.0 } else { offset + drift * time }
    }

    fn is_late(&self, rank: u32) -> bool {
        rank == self.late && self.planted != Planted::Nothing
    }

    fn kernels(&self, rank: u32) -> impl Iterator<Item = (&'static str, f64)> + use<> {
        let planted = if self.is_late(rank) { self.planted } else { Planted::Nothing };
        let all: f64 = KERNELS.iter().map(|(_, ns, launches)| ns * f64::from(*launches)).sum();
        KERNELS.into_iter().flat_map(move |(name, ns, launches)| {
            let (ns, launches) = match (planted, name) {
                (Planted::SlowKernel, "attention_forward") => (ns + EXTRA_NS / f64::from(launches), launches),
                (Planted::MoreWork, "attention_forward") => (ns, launches + (EXTRA_NS / ns) as u32),
                (Planted::SlowerDevice | Planted::LowerClock, _) => (ns * (1.0 + EXTRA_NS / all), launches),
                _ => (ns, launches),
            };
            (0..launches).map(move |_| (name, ns))
        })
    }

    /// How long a rank takes from the beginning of an iteration until a bucket is ready. The same for everybody who asks.
    pub(crate) fn ready(&self, rank: u32, iteration: u32, bucket: u32) -> f64 {
        let mut random = Random::of((u64::from(rank) << 32) | u64::from(iteration) | (1 << 63));
        let work: f64 = self.kernels(rank).take(self.until(rank, bucket)).map(|(_, ns)| ns).sum();
        (self.data(rank) + work) * (1.0 + 0.002 * random.even())
    }

    /// How many kernels come before a bucket is ready.
    fn until(&self, rank: u32, bucket: u32) -> usize {
        self.kernels(rank).count() * (bucket as usize + 1) / self.buckets as usize
    }

    fn data(&self, rank: u32) -> f64 {
        DATA_NS + if self.is_late(rank) && self.planted == Planted::HostGap { EXTRA_NS } else { 0.0 }
    }

    /// In true time.
    pub(crate) fn timetable(&self) -> Vec<Iteration> {
        let mut begin = 1e6;
        (0..self.iterations)
            .map(|iteration| {
                let mut end = f64::NEG_INFINITY;
                let last: Vec<f64> = (0..self.buckets)
                    .map(|bucket| {
                        let ready = (0..self.ranks).map(|rank| begin + self.ready(rank, iteration, bucket));
                        let last = ready.fold(end, f64::max);
                        end = last + TRANSFER_NS;
                        last
                    })
                    .collect();
                let row = Iteration { begin, last };
                begin = end;
                row
            })
            .collect()
    }

    /// The recording of one rank.
    pub(crate) fn write(&self, rank: u32, timetable: &[Iteration], out: &mut impl Write) -> io::Result<()> {
        let device = if self.is_late(rank) && self.planted == Planted::SlowerDevice {
            "NVIDIA A100"
        } else {
            "NVIDIA H100"
        };
        write!(
            out,
            r#"{{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "{device}"}}], "distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": {}}}, "traceEvents": ["#,
            self.ranks
        )?;
        let mut events = Events { plan: self, rank, out, correlation: 0, separator: "" };
        let mut ended = 0.0;
        for (iteration, times) in (0u32..).zip(timetable) {
            ended = events.iteration(iteration, times.begin.max(ended), times)?;
        }
        write!(out, "]}}")
    }
}

struct Events<'p, W> {
    plan: &'p Plan,
    rank: u32,
    out: &'p mut W,
    correlation: u32,
    separator: &'static str,
}

impl<W: Write> Events<'_, W> {
    /// When it ended on this rank.
    fn iteration(&mut self, iteration: u32, begin: f64, times: &Iteration) -> io::Result<f64> {
        let plan = *self.plan;
        let mut random = Random::of((u64::from(self.rank) << 40) | u64::from(iteration));
        let work: f64 = plan.kernels(self.rank).map(|(_, ns)| ns).sum();
        let stretch = plan.ready(self.rank, iteration, plan.buckets - 1) / (work + plan.data(self.rank));
        let launched = begin + plan.data(self.rank) * stretch;
        self.range("data", begin, launched)?;
        let (mut at, mut host, mut end) = (launched, launched - 40_000.0, f64::NEG_INFINITY);
        let kernels: Vec<(&str, f64)> = plan.kernels(self.rank).collect();
        let mut next = 0;
        for (bucket, last) in (0..plan.buckets).zip(&times.last) {
            let until = plan.until(self.rank, bucket);
            for (name, ns) in &kernels[next..until] {
                self.launch(name, host, (at, at + ns * stretch), "")?;
                (at, host) = (at + ns * stretch, host + 2_000.0);
            }
            next = until;
            let came = at.max(end).min(last.max(end));
            end = last + TRANSFER_NS + random.normal() * plan.jitter_ns;
            let what = r#", "Collective name": "allreduce", "In msg nelems": 25000000, "Out msg nelems": 25000000, "Group size": GROUP, "dtype": "Float", "Process Group Name": "0""#;
            let what = what.replace("GROUP", &plan.ranks.to_string());
            self.launch(ALL_REDUCE, host, (came, end), &what)?;
        }
        self.range("step", begin, end)?;
        Ok(end)
    }

    fn range(&mut self, name: &str, begin: f64, end: f64) -> io::Result<()> {
        self.event("user_annotation", name, begin, end, 100, 100, "")
    }

    fn launch(&mut self, name: &str, host: f64, (begin, end): (f64, f64), more: &str) -> io::Result<()> {
        self.correlation += 1;
        let correlation = self.correlation;
        self.event(
            "cuda_runtime",
            "cudaLaunchKernel",
            host,
            host + 1_500.0,
            100,
            100,
            &format!(r#""correlation": {correlation}"#),
        )?;
        let stream = if more.is_empty() { 7 } else { 20 };
        let arguments = format!(
            r#""device": 0, "stream": {stream}, "correlation": {correlation}, "grid": [1, 1, 1], "block": [256, 1, 1]{more}"#
        );
        self.event("kernel", name, begin, end, 0, stream, &arguments)
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of an event")]
    fn event(
        &mut self,
        category: &str,
        name: &str,
        begin: f64,
        end: f64,
        pid: u32,
        tid: u32,
        arguments: &str,
    ) -> io::Result<()> {
        let local = |time: f64| time + self.plan.ahead(self.rank, time);
        let stamp = STARTED_NS as f64 / 1000.0 + local(begin) / 1000.0;
        let duration = (local(end) - local(begin)) / 1000.0;
        write!(
            self.out,
            "{}\n{{\"ph\": \"X\", \"cat\": \"{category}\", \"name\": \"{name}\", \"pid\": {pid}, \"tid\": {tid}, \"ts\": {stamp:.3}, \"dur\": {duration:.3}, \"args\": {{{arguments}}}}}",
            self.separator
        )?;
        self.separator = ",";
        Ok(())
    }
}

/// Always the same numbers.
struct Random(u64);

impl Random {
    fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03)
    }

    /// Between -1 and 1.
    fn even(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Nearly: a sum of twelve.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.even() / 2.0).sum()
    }
}
