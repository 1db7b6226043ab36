//! A report: what was measured, on which launch or range, with what results.

use std::fmt;
use std::sync::Arc;

use nvtx::RegionPath;
use serde::Serialize;

use crate::names::{MetricId, Names};
use crate::nvtx_state::NvtxState;

#[derive(Debug, Clone, Default)]
pub struct Report {
    /// In the order they were measured.
    pub results: Vec<Measured>,
    pub metric_names: Names,
    pub session: Session,
    /// What else is missing or doubtful, for people; `damage` is not repeated here.
    pub notes: Vec<String>,
    /// The first place that could not be read; the results are then not all there were.
    pub damage: Option<Damage>,
    /// Only the beginning was read, for want of memory.
    pub partly: Option<Partly>,
}

/// How much of a report was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Partly {
    pub read_bytes: u64,
    pub bytes: u64,
    /// What the process may use, half of it for the report.
    pub memory_bytes: u64,
}

impl fmt::Display for Partly {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mb = |bytes: u64| bytes.div_ceil(1_000_000);
        write!(
            out,
            "only the first {} of {} MB of the ncu report were read, and results behind these are missing: Rangefinder uses at \
             most half of the {} MB of memory it may use",
            mb(self.read_bytes),
            mb(self.bytes),
            mb(self.memory_bytes)
        )
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Bytes from the beginning of the file.
    pub at: u64,
    /// A whole sentence.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Report {
    /// None if the metric was not measured or has no value.
    pub fn value<'a>(&self, result: &'a Measured, name: &str) -> Option<&'a Value> {
        let id = self.metric_names.id(name)?;
        let at = result.metrics.binary_search_by_key(&id, |metric| metric.name).ok()?;
        result.metrics[at].value.as_ref()
    }

    /// Why there is nothing in it to analyze, and what to do; None if there is something.
    pub fn nothing_measured(&self) -> Option<String> {
        if !self.results.is_empty() {
            return None;
        }
        if let Some(damage) = &self.damage {
            return Some(format!(
                "the file is damaged, and no complete result is left in it: {damage}\n\
                 hint: copy the file again, or measure again"
            ));
        }
        let ncu = self.session.ncu_version.as_deref().map_or(String::new(), |version| format!(" {version}"));
        Some(format!(
            "ncu{ncu} measured no kernels or ranges\n\
             hint: the program launched nothing that ncu was told to measure (--kernel-name, --nvtx-include, \
             --launch-skip), or ncu was not allowed to measure (ERR_NVGPUCTRPERM): run `rangefinder doctor`"
        ))
    }

    /// What the values of a metric count; empty if it counts nothing or that is unknown.
    pub fn unit(&self, name: &str) -> &str {
        self.metric_names.id(name).map_or("", |id| self.metric_names.unit(id))
    }
}

/// What a report says about the run it was made in.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Session {
    pub ncu_version: Option<String>,
    pub cuda_version: Option<String>,
    /// How ncu was called.
    pub command: Option<String>,
    /// Seconds since 1970.
    pub created: Option<u64>,
    /// `kernel`, `application`, `range`, `app-range`.
    pub replay_mode: Option<String>,
    pub devices: Vec<Device>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Device {
    pub id: u32,
    pub name: String,
    pub attributes: Vec<(String, Value)>,
}

/// One result: everything that was measured on one launch, graph or range.
#[derive(Debug, Clone, Serialize)]
pub struct Measured {
    pub subject: Subject,
    pub process: Arc<Process>,
    pub thread: Option<u32>,
    pub device: Option<u32>,
    pub context: Option<u32>,
    pub compute_capability: Option<(u32, u32)>,
    pub nvtx: NvtxState,
    /// By [`MetricId`], each once.
    pub metrics: Vec<Metric>,
    pub sections: Vec<Section>,
    pub rules: Vec<Rule>,
}

impl Measured {
    pub fn new(subject: Subject, process: Arc<Process>) -> Self {
        Self {
            subject,
            process,
            thread: None,
            device: None,
            context: None,
            compute_capability: None,
            nvtx: NvtxState::default(),
            metrics: Vec::new(),
            sections: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// The regions the launch lies in: the stacks of the launching thread, one path a
    /// domain, the default domain first.
    pub fn region_paths(&self) -> Vec<RegionPath> {
        self.thread.map_or_else(Vec::new, |thread| self.nvtx.stacks_of(thread))
    }

    /// The start/end regions that were open at the launch, whoever started them.
    pub fn started_paths(&self) -> Vec<RegionPath> {
        self.nvtx.started.iter().map(|(domain, range)| RegionPath::new(domain, [&range.name])).collect()
    }
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Kernel(Kernel),
    Range,
    Graph { stream: Option<u32> },
    CommandList { name: String, stream: Option<u32> },
}

impl Subject {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Kernel(_) => "kernel",
            Self::Range => "range",
            Self::Graph { .. } => "graph",
            Self::CommandList { .. } => "command_list",
        }
    }

    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Kernel(Kernel { name, .. }) | Self::CommandList { name, .. } => Some(name),
            Self::Range | Self::Graph { .. } => None,
        }
    }

    pub fn stream(&self) -> Option<u32> {
        match self {
            Self::Kernel(Kernel { stream, .. }) => *stream,
            Self::Graph { stream } | Self::CommandList { stream, .. } => *stream,
            Self::Range => None,
        }
    }
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Kernel {
    /// As people read it: with its arguments.
    pub name: String,
    pub short_name: String,
    pub mangled: String,
    pub grid: [u64; 3],
    pub block: [u64; 3],
    pub stream: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Process {
    /// 0 if unknown.
    pub id: u32,
    /// Without its folder.
    pub name: String,
    pub host: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Metric {
    pub name: MetricId,
    /// None for `n/a`, and for a metric that has instances only.
    pub value: Option<Value>,
    pub instances: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(Box<str>),
    Float(f64),
    Integer(u64),
}

impl Value {
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            Self::Integer(value) => Some(*value as f64),
            Self::Text(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    pub identifier: String,
    pub name: String,
}

/// The result of one of ncu's rules.
#[derive(Debug, Clone, Serialize)]
pub struct Rule {
    pub identifier: String,
    pub name: String,
    pub section: Option<String>,
    pub messages: Vec<RuleMessage>,
    pub speedup: Option<Speedup>,
    pub focus: Vec<FocusMetric>,
}

#[derive(Debug, Clone, Serialize)]
pub struct RuleMessage {
    pub kind: MessageKind,
    pub title: Option<String>,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    None,
    Ok,
    Optimization,
    Warning,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Speedup {
    pub kind: SpeedupKind,
    pub percent: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpeedupKind {
    Unknown,
    /// How much better the hardware would be used, looked at alone.
    Local,
    /// How much shorter the whole kernel would run.
    Global,
}

#[derive(Debug, Clone, Serialize)]
pub struct FocusMetric {
    pub name: String,
    pub value: f64,
    pub severity: Severity,
    pub info: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Default,
    Low,
    High,
}
