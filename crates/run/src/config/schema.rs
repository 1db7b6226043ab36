//! The keys and their types. Their built-in values and what each is for stand in
//! `presets/default.yaml`; a test holds the two together.

use std::collections::BTreeMap;

pub use nsight::ncu::ReplayMode;
pub use report::Format;
use serde::{Deserialize, Serialize};

use super::values::{Enable, Span, Text, argv, one_or_many, some_of};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub workload: WorkloadConfig,
    pub rehearsal: RehearsalConfig,
    pub stage1: Stage1Config,
    pub timeline: TimelineConfig,
    pub nsys: NsysConfig,
    pub ncu: NcuConfig,
    pub model: ModelConfig,
    pub capture: CaptureConfig,
    pub run: RunConfig,
    pub report: ReportConfig,
    pub secrets: SecretsConfig,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadConfig {
    #[serde(deserialize_with = "argv")]
    pub command: Vec<String>,
    pub module: Option<Text>,
    #[serde(deserialize_with = "one_or_many")]
    pub overrides: Vec<String>,
    pub hydra: bool,
    pub cwd: Option<Text>,
    pub env: BTreeMap<String, Option<Text>>,
    pub device: Option<Text>,
    pub timeout: Option<Span>,
    pub warmup: Option<u32>,
    pub auto: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RehearsalConfig {
    pub enable: Enable,
    pub gpu: Enable,
    pub all_calls: bool,
    pub graph_nodes: bool,
}

/// The operators, by PyTorch's own profiler.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage1Config {
    pub enable: Enable,
    pub workload: BTreeMap<String, Text>,
    #[serde(deserialize_with = "some_of")]
    pub activities: Vec<Activity>,
    pub record_shapes: bool,
    pub with_stack: bool,
    pub profile_memory: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    Cpu,
    Cuda,
    Xpu,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimelineConfig {
    pub source: TimelineSource,
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
    pub enable: Enable,
    pub path: Option<Text>,
    pub strict: bool,
    pub gating_nvtx: bool,
    #[serde(deserialize_with = "one_or_many")]
    pub trace: Vec<String>,
    pub sample: Sample,
    pub capture_range: CaptureRange,
    pub capture_range_end: Option<RangeEnd>,
    pub nvtx_capture: Option<Text>,
    #[serde(deserialize_with = "one_or_many")]
    pub nvtx_domain_include: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub nvtx_domain_exclude: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub extra_args: Vec<String>,
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
pub struct RangeEnd(pub String);

impl TryFrom<Text> for RangeEnd {
    type Error = &'static str;

    fn try_from(Text(text): Text) -> Result<Self, Self::Error> {
        let known = nsight::nsys::RangeEnd::parse(&text).is_some();
        known.then_some(Self(text)).ok_or(
            "`none`, `stop`, `stop-shutdown`, `repeat`, `repeat:N` or `repeat-shutdown:N`, \
             or `null` to leave the flag out",
        )
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NcuConfig {
    pub enable: Enable,
    pub workload: BTreeMap<String, Text>,
    pub path: Option<Text>,
    pub gating_nvtx: bool,
    pub capture_range: CaptureRange,
    pub replay_mode: ReplayMode,
    #[serde(deserialize_with = "one_or_many")]
    pub nvtx_include: Vec<String>,
    pub set: Option<Text>,
    #[serde(deserialize_with = "one_or_many")]
    pub sections: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub metrics: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub kernel_include: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub kernel_exclude: Vec<String>,
    pub plan: Option<Text>,
    pub coverage: Share,
    pub top_kernels: Option<u32>,
    pub launches_per_kernel: u32,
    pub budget: Option<Span>,
    pub clock_control: ClockControl,
    pub target_processes: TargetProcesses,
    #[serde(deserialize_with = "one_or_many")]
    pub extra_args: Vec<String>,
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
    pub config: Option<Text>,
    pub batch: u32,
    pub prompt_tokens: Option<u32>,
    pub context_tokens: Option<u32>,
    pub head_tokens: u32,
}

impl NsysConfig {
    /// The gate as the user wrote it, unless it is switched off.
    pub fn wish(&self) -> Option<&str> {
        let on = self.gating_nvtx && self.capture_range != CaptureRange::CudaProfilerApi;
        self.nvtx_capture.as_ref().filter(|_| on).map(|gate| gate.0.as_str())
    }
}

impl NcuConfig {
    /// The gates as the user wrote them, unless they are switched off.
    pub fn wishes(&self) -> &[String] {
        let on = self.gating_nvtx && self.capture_range != CaptureRange::CudaProfilerApi;
        if on { &self.nvtx_include } else { &[] }
    }
}

/// A part of a whole, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "Text")]
pub struct Share(pub f64);

impl TryFrom<Text> for Share {
    type Error = &'static str;

    fn try_from(Text(text): Text) -> Result<Self, Self::Error> {
        let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share) && *share > 0.0);
        share.map(Self).ok_or("a part of the whole, above 0 and at most 1, e.g. `0.9`")
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureConfig {
    pub delay: Option<Span>,
    pub duration: Option<Span>,
    pub stop: StopWith,
    #[serde(deserialize_with = "argv")]
    pub stop_command: Vec<String>,
    pub grace: Span,
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
    pub name: Option<Text>,
    pub keep: Option<u32>,
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
    pub names: Vec<String>,
}
