//! All that a trace says, as one document.

use serde::Serialize;
use trace::{ActivityKind, Trace};

use crate::attribute::attribute;
use crate::families::Families;
use crate::gpu_regions::{GpuRegion, gpu_regions};
use crate::idle::{IdleRow, idle};
use crate::kernels::{Grouping, KernelRow, kernels};
use crate::operators::{OperatorRow, operators};
use crate::origin::{Origin, RecordingRow, recordings};
use crate::scope::Scope;
use crate::stages::{Stage, stages};
use crate::summaries::{ApiRow, Synchronisation, TransferRow, api, synchronisation, transfers};
use crate::unattributed::Unattributed;

/// Raised when a reader of an older document would misunderstand a newer one.
const SCHEMA: u32 = 1;

#[derive(Debug, Default)]
pub struct Options {
    pub scope: Scope,
    pub grouping: Grouping,
    pub families: Families,
    /// Names of regions that are stages; without any, what the program is made of.
    pub stages: Vec<String>,
    /// Tokens of each instance of a stage, where the ranges do not say it.
    pub tokens: Vec<(String, f64)>,
}

#[derive(Debug, Serialize)]
pub struct Findings {
    pub schema: u32,
    /// What the trace was read from.
    pub source: String,
    pub clock: &'static str,
    pub scope: Scope,
    pub span_ns: i64,
    /// The files, where there are several: rows say which they are of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recordings: Vec<RecordingRow>,
    pub processes: Vec<ProcessRow>,
    pub devices: Vec<DeviceRow>,
    pub kernels: Vec<KernelRow>,
    pub regions: Vec<GpuRegion>,
    pub stages: Vec<Stage>,
    pub operators: Vec<OperatorRow>,
    pub memcpy: Vec<TransferRow>,
    pub synchronisation: Synchronisation,
    pub api: Vec<ApiRow>,
    pub idle: Vec<IdleRow>,
    pub unattributed: Unattributed,
    /// CUDA graphs that were recorded as a whole, not kernel by kernel.
    pub graphs: u64,
    pub diagnostics: Vec<DiagnosticRow>,
}

#[derive(Debug, Serialize)]
pub struct ProcessRow {
    pub process: u32,
    pub name: String,
    #[serde(flatten)]
    pub origin: Origin,
}

#[derive(Debug, Serialize)]
pub struct DeviceRow {
    pub device: u32,
    pub name: Option<String>,
    #[serde(flatten)]
    pub origin: Origin,
}

#[derive(Debug, Serialize)]
pub struct DiagnosticRow {
    /// For people: how often it was said is part of it.
    pub text: String,
    pub lost: bool,
    pub times: u64,
}

/// Everything there is to say.
pub fn analyse(trace: &Trace, options: &Options) -> Findings {
    let attribution = attribute(trace);
    // Independent of each other, and of about the same size.
    let ((kernels, api), (regions, idle)) = std::thread::scope(|scope| {
        let tables = scope.spawn(|| {
            let kernels = kernels(trace, options.scope, options.grouping, &options.families);
            (kernels, api(trace, options.scope))
        });
        let regions = gpu_regions(trace, &attribution, options.scope);
        let idle = idle(trace, &attribution, &options.families);
        let tables = tables.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (tables, (regions, idle))
    });
    let (regions, unattributed) = regions;
    Findings {
        schema: SCHEMA,
        source: trace.source.clone(),
        clock: "nanoseconds",
        scope: options.scope,
        span_ns: trace.end.saturating_sub(trace.begin),
        recordings: recordings(trace),
        processes: (0u32..)
            .zip(&trace.processes)
            .map(|(number, process)| ProcessRow {
                process: process.pid,
                name: process.name.clone(),
                origin: Origin::of_process(trace, number),
            })
            .collect(),
        devices: (0u16..)
            .zip(&trace.devices)
            .map(|(number, device)| DeviceRow {
                device: device.id,
                name: device.name.clone(),
                origin: Origin::of_device(trace, number),
            })
            .collect(),
        kernels,
        regions,
        stages: stages(trace, &attribution, options.scope, &options.stages, &options.tokens),
        operators: operators(trace, &attribution, options.scope),
        memcpy: transfers(trace, options.scope),
        synchronisation: synchronisation(trace, &api),
        api,
        idle,
        unattributed,
        graphs: trace.activities.kind.iter().filter(|kind| **kind == ActivityKind::Graph).count() as u64,
        diagnostics: trace
            .told()
            .iter()
            .map(|told| DiagnosticRow {
                text: told.to_string(),
                lost: told.diagnostic.lost,
                times: told.times,
            })
            .collect(),
    }
}
