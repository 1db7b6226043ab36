//! The sampler beside a rehearsal: started before the workload, judged by what it left.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use record::{Cause, Outcome, Tool, Verdict, counted};
use sampler::host::{HostSampler, Settings};
use sampler::{Beside, DeviceOrder, Interval, NotStarted, Order, Pauses, StackFile, Stopped};
use trace::{SamplingTrouble, Series, SeriesSource, Trace, Trouble};

use crate::config::{CounterInterval, Enable, StacksConfig};
use crate::provenance::Gpus;

const TOOL: Tool = Tool::Sampler;
/// The samplers' files, beside the tracer's.
const FILE: &str = "gpu.rfs";
const STACKS: &str = "stacks.rfs";
/// A smaller part that is lost changes no mean.
const FEW: f64 = 0.05;
/// How long the workload waits for the sampler at most.
const PATIENCE: Duration = Duration::from_secs(5);
/// The sampler is a guest of the driver: it needs what tells it where that is, and which GPUs the workload sees.
const VARIABLES: [&str; 4] = ["LD_LIBRARY_PATH", "HOME", "TMPDIR", "PATH"];
const PREFIXES: [&str; 2] = ["CUDA_", "NVIDIA_"];
const INJECTED: &str = "CUDA_INJECTION64_PATH";

/// What is wanted of the sampler.
pub(crate) struct Wanted<'w> {
    pub(crate) enable: Enable,
    pub(crate) interval: CounterInterval,
    pub(crate) pauses: Pauses,
    pub(crate) gpus: &'w Gpus,
    pub(crate) cupti: Option<PathBuf>,
    /// The workload needs longer than the sampler to come to its GPU work: neither waits for the other.
    pub(crate) starts_slowly: bool,
    /// Where the tracer's files go.
    pub(crate) folder: &'w Path,
    /// The workload's, without what we inject.
    pub(crate) environment: Vec<(OsString, OsString)>,
}

/// A sampler that runs, or why there is none.
pub(crate) enum Sampling {
    Running(Beside),
    /// Not wanted, or there is nothing to sample.
    Off,
    NotStarted(NotStarted),
}

impl Sampling {
    /// Starts it, and waits until it samples, so that short programs are sampled from their beginning.
    pub(crate) fn begin(wanted: Wanted<'_>) -> Self {
        if wanted.enable == Enable::False || wanted.gpus.visible.is_empty() {
            return Self::Off;
        }
        let devices = wanted.gpus.visible.iter().map(|gpu| DeviceOrder {
            id: u32::try_from(gpu.ordinal).unwrap_or(u32::MAX),
            uuid: gpu.uuid.clone().unwrap_or_default(),
            name: gpu.name.clone().unwrap_or_default(),
            mig: wanted.gpus.devices.iter().any(|device| device.mig == Some(true)),
        });
        let order = Order {
            file: wanted.folder.join(FILE),
            cupti: wanted.cupti,
            devices: devices.collect(),
            interval: match wanted.interval {
                CounterInterval::Auto => Interval::Auto,
                CounterInterval::Every(span) => Interval::Nanoseconds(span.0.as_nanos() as u64),
            },
            pauses: wanted.pauses,
        };
        let needed = |name: &str| {
            name != INJECTED
                && (VARIABLES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        };
        let environment =
            wanted.environment.into_iter().filter(|(name, _)| name.to_str().is_some_and(needed));
        match Beside::start(&order, environment) {
            Ok(mut beside) => {
                if !wanted.starts_slowly {
                    beside.ready_within(PATIENCE);
                }
                Self::Running(beside)
            }
            Err(error) => Self::NotStarted(error),
        }
    }

    /// Ends it. Its files are then complete.
    pub(crate) fn end(self) -> Ended {
        match self {
            Self::Running(beside) => Ended::Sampled(beside.stop()),
            Self::Off => Ended::Off,
            Self::NotStarted(error) => Ended::NotStarted(error.to_string()),
        }
    }
}

/// Samples the stacks of all our descendants, on a thread of ours: only an ancestor may read them.
pub(crate) struct StackSampling {
    sampler: HostSampler<StackFile>,
    since: Instant,
}

impl StackSampling {
    /// None if it is switched off, or cannot be started, which is told.
    pub(crate) fn begin(
        config: &StacksConfig,
        pauses: Pauses,
        folder: &Path,
        mask: impl Fn(&str) -> String + Send + 'static,
    ) -> Result<Option<Self>, String> {
        if config.enable == Enable::False {
            return Ok(None);
        }
        let rate = config.rate.0;
        // Beside many processes, more are needed than usual.
        process::raise_open_files();
        let started = StackFile::create(&folder.join(STACKS), rate, mask).and_then(|file| {
            let below = Settings::below(std::process::id());
            let settings = Settings { rate, pauses, is_left_out: process::is_beside, ..below };
            HostSampler::start(settings, file)
        });
        match started {
            Ok(sampler) => Ok(Some(Self { sampler, since: Instant::now() })),
            Err(error) => Err(format!("the sampler could not be started: {error}")),
        }
    }

    /// Ends it; its file is then complete. Says what went wrong.
    pub(crate) fn end(self) -> Result<(), String> {
        let wall = self.since.elapsed().as_nanos() as u64;
        let finished = self.sampler.stop().ok_or("the sampler failed")?;
        let processor = finished.cpu.as_nanos() as u64;
        finished
            .sink
            .finish(finished.counts, processor, wall)
            .map_err(|error| format!("the samples could not be written: {error}"))
    }
}

/// How sampling ended.
pub(crate) enum Ended {
    Sampled(Stopped),
    Off,
    NotStarted(String),
}

/// The samplers' files in the folder of a rehearsal.
pub(crate) fn sample_files(folder: &Path) -> Vec<PathBuf> {
    // One that is empty was left on a full disk.
    let has_any =
        |path: &PathBuf| path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
    [FILE, STACKS].map(|file| folder.join(file)).into_iter().filter(has_any).collect()
}

/// What was really sampled. None if nothing was wanted, or the program did not use a GPU.
pub(crate) fn judge(ended: &Ended, trace: Option<&Trace>, enable: Enable, gpus: &Gpus) -> Option<Verdict> {
    let asked = if enable == Enable::True { " (`counters.enable=true`)" } else { "" };
    let none = |why: &str| format!("no hardware counters over time{asked}: {why}");
    let stopped = match ended {
        Ended::Off => {
            let why = gpus.why_none_is_visible().filter(|_| enable == Enable::True)?;
            return Some(Verdict::failed(TOOL, Cause::NoGpu, none(why)));
        }
        Ended::NotStarted(why) => return Some(Verdict::failed(TOOL, Cause::NotStarted, none(why))),
        Ended::Sampled(stopped) => *stopped,
    };
    let nothing = Trace::default();
    let trace = trace.unwrap_or(&nothing);
    let uses_gpu = !trace.activities.is_empty() || !trace.calls.is_empty();
    if !uses_gpu && enable != Enable::True {
        return None;
    }
    let counters: Vec<_> =
        trace.series.iter().filter(|series| series.source == SeriesSource::Counters).collect();
    let samples: usize = counters.iter().map(|series| series.len()).sum();
    let of_counters = |trouble: &&SamplingTrouble| is_why_nothing(trouble.trouble);
    let said = trace.sampling.troubles.iter().filter(of_counters).map(|trouble| trouble.said.clone());
    if samples == 0 {
        let worst = trace.sampling.troubles.iter().find(|trouble| is_why_nothing(trouble.trouble));
        let cause = worst.map_or(Cause::NothingRecorded, |trouble| cause(trouble.trouble));
        let cause = if worst.is_none() && stopped == Stopped::Lost { Cause::ToolBroken } else { cause };
        return Some(Verdict::failed(TOOL, cause, none(cause.meaning())).with_evidence(said));
    }
    let interval = counters.iter().map(|series| series.interval_ns).max().unwrap_or(0);
    let quantities = counters.iter().map(|series| series.columns.len()).max().unwrap_or(0);
    let text = format!(
        "{} of {} every {}",
        counted(samples as u64, "sample"),
        counted(quantities as u64, "counter"),
        report::duration(interval as f64),
    );
    let lost: i64 = counters.iter().flat_map(|series| &series.lost).map(|(begin, end)| end - begin).sum();
    let overrun = trace.sampling.troubles.iter().any(|trouble| trouble.trouble == Trouble::Overrun);
    let sampled: i64 = counters.iter().map(|series| series_ns(series)).sum();
    let text = match lost {
        0 => text,
        lost => format!("{text}; samples of {} were lost", report::duration(lost as f64)),
    };
    if overrun || lost as f64 > FEW * (lost + sampled) as f64 {
        let verdict = Verdict::new(TOOL, Outcome::Partial, Some(Cause::RecordsLost), text);
        return Some(verdict.with_evidence(said));
    }
    if trace.sampling.broken_off || stopped == Stopped::Lost {
        let text = format!("{text}, until the sampler ended early");
        let verdict = Verdict::new(TOOL, Outcome::Partial, Some(Cause::ToolBroken), text);
        return Some(verdict.with_evidence(said));
    }
    Some(Verdict::new(TOOL, Outcome::Captured, None, text))
}

/// How long was sampled.
fn series_ns(series: &Series) -> i64 {
    series.begin.iter().zip(&series.end).map(|(begin, end)| end - begin).sum()
}

/// Whether it can be the reason that there is nothing.
fn is_why_nothing(trouble: Trouble) -> bool {
    !matches!(trouble, Trouble::Reduced | Trouble::NoNvml | Trouble::NoStacks | Trouble::FewerStacks)
}

fn cause(trouble: Trouble) -> Cause {
    match trouble {
        Trouble::NoCupti => Cause::NotInstalled,
        Trouble::OldCupti => Cause::NotSupported,
        Trouble::AdminOnly | Trouble::NoStacks => Cause::NotPermitted,
        Trouble::Busy => Cause::DeviceBusy,
        Trouble::NotOnThisGpu | Trouble::UnknownChip => Cause::UnsupportedChip,
        Trouble::Overrun => Cause::RecordsLost,
        Trouble::NoSamples => Cause::NothingRecorded,
        Trouble::Reduced | Trouble::NoNvml | Trouble::FewerStacks | Trouble::Other => Cause::ToolError,
    }
}
