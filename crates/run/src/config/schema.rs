//! The keys and their types. Their built-in values and descriptions are in `presets/default.yaml`; a test
//! keeps the two in sync. Fields that only this crate reads are not public, so that the compiler finds keys
//! that are never read.

use std::collections::BTreeMap;
use std::time::Duration;

use nsight::ncu::Preferences;
pub use nsight::ncu::ReplayMode;
pub use report::Format;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use trace::Trace;

use super::values::{Enable, SPAN, Span, Text, argv, one_or_many, part, some_of, words};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub workload: WorkloadConfig,
    pub rehearsal: RehearsalConfig,
    pub counters: CountersConfig,
    pub stacks: StacksConfig,
    pub stage1: Stage1Config,
    pub timeline: TimelineConfig,
    pub nsys: NsysConfig,
    pub ncu: NcuConfig,
    pub model: ModelConfig,
    pub capture: CaptureConfig,
    pub ranks: RanksConfig,
    pub compare: CompareConfig,
    pub check: CheckConfig,
    pub run: RunConfig,
    pub regions: RegionsConfig,
    pub report: ReportConfig,
    pub secrets: SecretsConfig,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadConfig {
    #[serde(deserialize_with = "argv")]
    pub(crate) command: Vec<String>,
    pub(crate) module: Option<Text>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) overrides: Vec<String>,
    pub(crate) hydra: bool,
    pub(crate) cwd: Option<Text>,
    pub(crate) env: BTreeMap<String, Option<Text>>,
    pub(crate) device: Option<Text>,
    pub(crate) timeout: Option<Span>,
    pub(crate) warmup: Option<u32>,
    pub(crate) auto: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RehearsalConfig {
    pub(crate) enable: Enable,
    pub(crate) gpu: Enable,
    pub(crate) all_calls: bool,
    pub(crate) graph_nodes: GraphNodes,
}

/// Which kernels of CUDA graphs are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GraphNodes {
    /// Those of some launches of each graph.
    Some,
    True,
    False,
}

/// The GPU's counters over time, taken beside the rehearsal.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountersConfig {
    pub(crate) enable: Enable,
    pub(crate) interval: CounterInterval,
    pub(crate) pauses: PausedPart,
}

/// A part of the time.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "Text")]
pub(crate) struct PausedPart(pub(crate) f64);

impl TryFrom<Text> for PausedPart {
    type Error = &'static str;

    fn try_from(Text(text): Text) -> Result<Self, Self::Error> {
        let part = text.parse().ok().filter(|part| (0.0..=0.5).contains(part));
        part.map(Self).ok_or("a part of the time from `0` to `0.5`")
    }
}

/// What the program's threads execute, sampled in the rehearsal.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StacksConfig {
    pub(crate) enable: Enable,
    pub(crate) rate: SampleRate,
}

/// Samples a second.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "Text")]
pub(crate) struct SampleRate(pub(crate) f64);

impl TryFrom<Text> for SampleRate {
    type Error = &'static str;

    fn try_from(Text(text): Text) -> Result<Self, Self::Error> {
        let rate = text.parse().ok().filter(|rate| (1.0..=2_000.0).contains(rate));
        rate.map(Self).ok_or("a number of samples a second from `1` to `2000`")
    }
}

/// `auto`, or a time between samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Text")]
pub(crate) enum CounterInterval {
    Auto,
    Every(Span),
}

impl TryFrom<Text> for CounterInterval {
    type Error = &'static str;

    fn try_from(Text(text): Text) -> Result<Self, Self::Error> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let possible = Duration::from_micros(5)..=Duration::from_secs(1);
        let span = Span::parse(&text).filter(|span| possible.contains(&span.0));
        span.map(Self::Every).ok_or("`auto`, or a duration from `5us` to `1s`")
    }
}

/// Operators, from the PyTorch profiler.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage1Config {
    pub(crate) enable: Enable,
    pub(crate) workload: BTreeMap<String, Text>,
    #[serde(deserialize_with = "some_of")]
    pub(crate) activities: Vec<Activity>,
    pub(crate) duration: Option<ProfiledTime>,
    pub(crate) record_shapes: bool,
    pub(crate) with_stack: bool,
    pub(crate) profile_memory: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    Cpu,
    Cuda,
    Xpu,
}

/// `auto`, or how long the profiler records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Text")]
pub(crate) enum ProfiledTime {
    Auto,
    For(Span),
}

impl TryFrom<Text> for ProfiledTime {
    type Error = String;

    fn try_from(Text(text): Text) -> Result<Self, Self::Error> {
        match text.as_str() {
            "auto" => Ok(Self::Auto),
            text => Span::parse(text).map(Self::For).ok_or_else(|| format!("`auto`, or {SPAN}")),
        }
    }
}

/// Of `rangefinder rank`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RanksConfig {
    #[serde(deserialize_with = "ranks")]
    pub(crate) select: Vec<RankChoice>,
}

/// Ranks of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RankChoice {
    All,
    /// The first of each node.
    Node,
    Rank(u32),
}

fn ranks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RankChoice>, D::Error> {
    let choice = |word: String| match word.as_str() {
        "all" => Ok(RankChoice::All),
        "node" => Ok(RankChoice::Node),
        rank => rank
            .parse()
            .map(RankChoice::Rank)
            .map_err(|_| D::Error::custom("`all`, `node`, or ranks such as `0` or `[0, 8]`")),
    };
    words(deserializer)?.into_iter().map(choice).collect()
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimelineConfig {
    pub(crate) source: TimelineSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimelineSource {
    Auto,
    Nsys,
    Tracer,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NsysConfig {
    pub(crate) enable: Enable,
    pub(crate) path: Option<Text>,
    pub(crate) strict: bool,
    pub(crate) gating_nvtx: bool,
    #[serde(deserialize_with = "words")]
    pub(crate) trace: Vec<String>,
    pub(crate) sample: Sample,
    pub(crate) capture_range: CaptureRange,
    pub(crate) capture_range_end: Option<RangeEnd>,
    pub(crate) nvtx_capture: Option<Text>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) nvtx_domain_include: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) nvtx_domain_exclude: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) extra_args: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sample {
    None,
    Cpu,
    ProcessTree,
    SystemWide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CaptureRange {
    Nvtx,
    CudaProfilerApi,
    None,
}

/// `--capture-range-end`: checked here so that a typo costs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Text")]
pub(crate) struct RangeEnd(pub(crate) String);

impl TryFrom<Text> for RangeEnd {
    type Error = &'static str;

    fn try_from(Text(text): Text) -> Result<Self, Self::Error> {
        let known = nsight::nsys::RangeEnd::parse(&text).is_some();
        known.then_some(Self(text)).ok_or(
            "`none`, `stop`, `stop-shutdown`, `repeat`, `repeat:N` or `repeat-shutdown:N`, \
             or `null` to omit the flag",
        )
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NcuConfig {
    pub(crate) enable: Enable,
    pub(crate) workload: BTreeMap<String, Text>,
    pub(crate) path: Option<Text>,
    pub(crate) gating_nvtx: bool,
    pub(crate) capture_range: CaptureRange,
    pub(crate) replay_mode: ReplayMode,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) nvtx_include: Vec<String>,
    pub(crate) set: Option<Text>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) sections: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) metrics: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) kernel_include: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) kernel_exclude: Vec<String>,
    pub(crate) plan: Option<Text>,
    pub(crate) coverage: Share,
    pub(crate) top_kernels: Option<u32>,
    pub(crate) launches_per_kernel: u32,
    pub(crate) budget: Option<Span>,
    pub(crate) clock_control: ClockControl,
    pub(crate) target_processes: TargetProcesses,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) extra_args: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockControl {
    None,
    Base,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetProcesses {
    All,
    ApplicationOnly,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    pub(crate) config: Option<Text>,
    pub(crate) batch: u32,
    pub(crate) prompt_tokens: Option<u32>,
    pub(crate) context_tokens: Option<u32>,
    pub(crate) head_tokens: u32,
}

impl Config {
    /// nsys is not run, whatever else is set.
    pub(crate) fn nsys_is_off(&self) -> bool {
        self.nsys.enable == Enable::False || self.timeline.source == TimelineSource::Tracer
    }
}

impl NsysConfig {
    /// The gate as the user wrote it, unless gating is off.
    pub fn wish(&self) -> Option<&str> {
        let on = self.gating_nvtx && self.capture_range != CaptureRange::CudaProfilerApi;
        self.nvtx_capture.as_ref().filter(|_| on).map(|gate| gate.0.as_str())
    }
}

impl NcuConfig {
    /// The gates as the user wrote them, unless gating is off.
    pub fn wishes(&self) -> &[String] {
        let on = self.gating_nvtx && self.capture_range != CaptureRange::CudaProfilerApi;
        if on { &self.nvtx_include } else { &[] }
    }

    /// Which launches are to be measured.
    pub fn preferences(&self) -> Preferences {
        Preferences {
            include: self.kernel_include.clone(),
            exclude: self.kernel_exclude.clone(),
            coverage: self.coverage.0,
            most: self.top_kernels,
            launches_per_kernel: self.launches_per_kernel,
            budget: self.budget.map(|budget| budget.0),
        }
    }
}

/// A fraction, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "Text")]
pub struct Share(pub f64);

impl TryFrom<Text> for Share {
    type Error = &'static str;

    fn try_from(Text(text): Text) -> Result<Self, Self::Error> {
        let share = part(&text).filter(|share| (0.0..=1.0).contains(share) && *share > 0.0);
        share.map(Self).ok_or("a fraction above 0 and at most 1, e.g. `0.9` or `90%`")
    }
}

/// Several runs of a program, and what they decide.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareConfig {
    pub precision: Share,
    pub margin: Share,
    pub most: u32,
    pub budget: Span,
    pub warmup: u32,
}

/// What `check` compares with, and what it allows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckConfig {
    pub baseline: Option<Text>,
    pub limits: BTreeMap<String, Text>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureConfig {
    #[serde(deserialize_with = "argv")]
    pub(crate) load: Vec<String>,
    pub(crate) ready: Option<Text>,
    pub(crate) ready_within: Span,
    pub(crate) warm_up: Option<u32>,
    pub(crate) delay: Option<Span>,
    pub(crate) duration: Option<Span>,
    pub(crate) stop: StopWith,
    #[serde(deserialize_with = "argv")]
    pub(crate) stop_command: Vec<String>,
    pub(crate) grace: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopWith {
    Term,
    Int,
    Command,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    pub dir: Text,
    pub(crate) name: Option<Text>,
    pub(crate) keep: Option<u32>,
    pub(crate) parquet: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegionsConfig {
    pub fold: bool,
    pub library: bool,
}

impl RegionsConfig {
    /// What is a region of a trace, as it is wished.
    pub fn apply(&self, trace: &mut Trace) {
        if self.fold {
            trace.fold_names();
        }
        trace.library_regions |= self.library;
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportConfig {
    #[serde(deserialize_with = "some_of")]
    pub formats: Vec<Format>,
    pub top: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretsConfig {
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) names: Vec<String>,
}
