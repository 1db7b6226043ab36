//! Results as rows of JSON: `counters[]` of `rangefinder analyze --json`.

use serde::{Serialize, Serializer};

use crate::model::{Measured, Report, Rule, Section, Subject, Value};
use crate::names::MetricId;
use crate::nvtx_state::{NvtxRange, Payload};

/// One result with every metric it has, in base units.
#[derive(Debug, Serialize)]
pub struct Row<'a> {
    pub kind: &'static str,
    /// Anything unknown or not applicable is null.
    pub kernel: Option<&'a str>,
    pub short_name: Option<&'a str>,
    pub mangled: Option<&'a str>,
    pub process: Option<u32>,
    pub process_name: Option<&'a str>,
    pub device: Option<u32>,
    pub compute_capability: Option<String>,
    pub context: Option<u32>,
    pub stream: Option<u32>,
    pub thread: Option<u32>,
    pub grid: Option<[u64; 3]>,
    pub block: Option<[u64; 3]>,
    /// The innermost region of the launching thread.
    pub region_path: Option<String>,
    /// One for each domain.
    pub region_paths: Vec<String>,
    pub nvtx: Nvtx<'a>,
    pub sections: &'a [Section],
    pub metrics: Metrics<'a>,
    pub rules: &'a [Rule],
}

#[derive(Debug, Serialize)]
pub struct Nvtx<'a> {
    pub threads: Vec<Thread<'a>>,
    pub started: Vec<Started<'a>>,
}

#[derive(Debug, Serialize)]
pub struct Thread<'a> {
    pub id: u32,
    pub stacks: Vec<Stack<'a>>,
}

#[derive(Debug, Serialize)]
pub struct Stack<'a> {
    pub domain: &'a str,
    /// Outermost first.
    pub ranges: &'a [NvtxRange],
}

#[derive(Debug, Serialize)]
pub struct Started<'a> {
    pub domain: &'a str,
    pub range: &'a NvtxRange,
}

/// `{name: {value, unit}}`.
#[derive(Debug)]
pub struct Metrics<'a> {
    report: &'a Report,
    result: &'a Measured,
}

#[derive(Debug, Serialize)]
struct Cell<'a> {
    value: Option<&'a Value>,
    unit: Option<&'a str>,
}

pub fn rows(report: &Report) -> Vec<Row<'_>> {
    report.results.iter().map(|result| row(report, result)).collect()
}

/// The same as a document, one row at a time.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a>(pub &'a Report);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.results.iter().map(|result| row(self.0, result)))
    }
}

fn row<'a>(report: &'a Report, result: &'a Measured) -> Row<'a> {
    let kernel = match &result.subject {
        Subject::Kernel(kernel) => Some(kernel),
        _ => None,
    };
    let known = |size: [u64; 3]| Some(size).filter(|size| *size != [0; 3]);
    let said = |text: &'a str| Some(text).filter(|text| !text.is_empty());
    let paths: Vec<String> = result.region_paths().iter().map(ToString::to_string).collect();
    Row {
        kind: result.subject.kind(),
        kernel: result.subject.name(),
        short_name: kernel.and_then(|kernel| said(&kernel.short_name)),
        mangled: kernel.and_then(|kernel| said(&kernel.mangled)),
        process: Some(result.process.id).filter(|id| *id != 0),
        process_name: said(&result.process.name),
        device: result.device,
        compute_capability: result.compute_capability.map(|(major, minor)| format!("{major}.{minor}")),
        context: result.context,
        stream: result.subject.stream(),
        thread: result.thread,
        grid: kernel.and_then(|kernel| known(kernel.grid)),
        block: kernel.and_then(|kernel| known(kernel.block)),
        region_path: paths.first().cloned(),
        region_paths: paths,
        nvtx: nvtx(result),
        sections: &result.sections,
        metrics: Metrics { report, result },
        rules: &result.rules,
    }
}

fn nvtx(result: &Measured) -> Nvtx<'_> {
    let threads = result.nvtx.threads.iter().map(|thread| Thread {
        id: thread.id,
        stacks: thread.stacks.iter().map(|(domain, ranges)| Stack { domain, ranges }).collect(),
    });
    let started = result.nvtx.started.iter().map(|(domain, range)| Started { domain, range });
    Nvtx { threads: threads.collect(), started: started.collect() }
}

impl Serialize for Metrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = &self.report.metric_names;
        let unit = |id: MetricId| Some(names.unit(id)).filter(|unit| !unit.is_empty());
        serializer.collect_map(self.result.metrics.iter().map(|metric| {
            let cell = Cell { value: metric.value.as_ref(), unit: unit(metric.name) };
            (names.name(metric.name), cell)
        }))
    }
}

/// A number if it is finite; JSON has no others.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Integer(value) => serializer.serialize_u64(*value),
            Self::Float(value) => float(*value, serializer),
        }
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            Self::Signed(value) => serializer.serialize_i64(*value),
            Self::Float(value) => float(*value, serializer),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// None if it is not a finite number.
fn float<S: Serializer>(value: f64, serializer: S) -> Result<S::Ok, S::Error> {
    Some(value).filter(|value| value.is_finite()).serialize(serializer)
}
