//! Everything a trace shows, as one document.

use std::collections::BTreeSet;

use serde::Serialize;
use trace::{ActivityKind, Process, Recorder, Selection, Trace, counted};

use crate::attribute::{Attribution, Unattributed, attribute};
use crate::diagnose::{
    Diagnosis, Finding, HostLines, NoFinding, WhatIf, diagnose, host_lines, measured_limit, name_lines,
    own_code, slow_iterations, tell_of_waiting, throttled, what_if, without_contradiction,
};
use crate::kernels::Families;
use crate::limit::{Limit, MoreRows};
use crate::loop_::{Loop, loops};
use crate::options::Options;
use crate::origin::{Origin, RecordingRow, recordings};
use crate::ranks::{Ranks, ranks};
use crate::requests::{Requests, requests};
use crate::sampled::{Sampled, energy_per_token, sampled};
use crate::scope::Scope;
use crate::steady_state::{SteadyState, steady_state};
use crate::time::{
    ApiRow, CudaGraphs, GpuRegion, IdleRow, IdleTable, KernelRow, MoreOperators, MoreRegions, OperatorRow,
    RegionTable, SharedDevice, Stage, Synchronisation, TransferRow, api, cuda_graphs, kernels,
    limited_kernels, operators, shared_devices, stages, synchronisation, transfers,
};
use crate::unread::{UnreadRow, unread};

/// Raised when a reader of an older document would misunderstand a newer one.
const SCHEMA: u32 = 2;

#[derive(Debug, Serialize)]
pub struct Analysis {
    pub schema: u32,
    /// What was not read, for want of memory: all that follows is about the rest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadRow>,
    /// What the trace was read from.
    pub source: String,
    #[serde(skip)]
    pub recorders: BTreeSet<Recorder>,
    pub clock: &'static str,
    pub scope: Scope,
    pub span_ns: i64,
    /// It is about what was selected, not about all that was recorded.
    #[serde(skip)]
    pub selected: Option<Selection>,
    /// The files, if there are several; each row says which file it is from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recordings: Vec<RecordingRow>,
    pub processes: Vec<ProcessRow>,
    pub devices: Vec<DeviceRow>,
    /// Devices that several processes of the program worked on at once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedDevice>,
    /// What repeats, the main loop first.
    pub loops: Vec<Loop>,
    /// The steady iterations of the first of them.
    pub steady: Option<SteadyState>,
    /// What the hardware did, from values over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// Where the host was while the GPU waited for it, or, without GPU work, where it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostLines>,
    /// What limits the program, as far as the timeline tells; [`crate::insight`] adds the counters'.
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// Why there are none of those.
    #[serde(skip)]
    pub no_finding: Option<NoFinding>,
    /// The main loop with each change of the options, then with all of them; only if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub what_if: Vec<WhatIf>,
    pub kernels: Vec<KernelRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_kernels: Option<MoreRows>,
    pub regions: Vec<GpuRegion>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_regions: Vec<MoreRegions>,
    pub stages: Vec<Stage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_stages: Option<MoreRows>,
    pub operators: Vec<OperatorRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_operators: Option<MoreOperators>,
    /// What runs inside CUDA graphs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda_graphs: Option<CudaGraphs>,
    /// Who waits for whom, of several ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Ranks>,
    /// Requests of a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
    pub memcpy: Vec<TransferRow>,
    pub synchronisation: Synchronisation,
    pub api: Vec<ApiRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_api: Option<MoreRows>,
    pub idle: Vec<IdleRow>,
    /// Rows of regions that are left out.
    #[serde(skip_serializing_if = "is_none")]
    pub more_idle: u64,
    pub unattributed: Unattributed,
    /// CUDA graphs that were recorded as a whole, not kernel by kernel.
    pub graphs: u64,
    pub diagnostics: Vec<DiagnosticRow>,
}

#[derive(Debug, Serialize)]
pub struct ProcessRow {
    pub process: u32,
    pub name: String,
    /// Ranges that it opened, kernels and graphs that it launched, and their time.
    pub ranges: u64,
    pub kernels: u64,
    pub gpu_ns: i64,
    #[serde(flatten)]
    pub origin: Origin,
}

#[derive(Debug, Serialize)]
pub struct DeviceRow {
    pub device: u32,
    pub name: Option<String>,
    /// Its UUID, or its machine and PCI address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    #[serde(flatten)]
    pub origin: Origin,
}

#[derive(Debug, Serialize)]
pub struct DiagnosticRow {
    /// For people; includes how often it occurred.
    pub text: String,
    pub lost: bool,
    pub times: u64,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Analysis {
    /// Kernels that ran, whether their names are shown or not.
    pub fn kernel_calls(&self) -> u64 {
        let shown = self.kernels.iter().map(|row| row.statistics.calls);
        shown.chain(self.more_kernels.map(|more| more.calls)).sum()
    }

    /// The time of all of them.
    pub fn kernel_ns(&self) -> i64 {
        let shown = self.kernels.iter().map(|row| row.statistics.total_ns);
        shown.chain(self.more_kernels.map(|more| more.total_ns)).fold(0, i64::saturating_add)
    }

    /// Operators, including those left out.
    pub fn operator_count(&self) -> u64 {
        self.operators.len() as u64 + self.more_operators.map_or(0, |more| more.operators)
    }

    /// Distinct kernels, by name or by however rows are grouped, including those left out.
    pub fn kernel_count(&self) -> u64 {
        self.kernels.len() as u64 + self.more_kernels.map_or(0, |more| more.rows)
    }

    /// Rows of regions, including those left out.
    pub fn region_count(&self) -> u64 {
        self.regions.len() as u64 + self.more_regions.iter().map(|more| more.regions).sum::<u64>()
    }
}

/// The whole analysis.
pub fn analyze(trace: &Trace, options: &Options) -> Analysis {
    analyze_attributed(trace, &attribute(trace), options)
}

/// The same of a trace whose attribution is known.
pub fn analyze_attributed(trace: &Trace, attribution: &Attribution, options: &Options) -> Analysis {
    // Independent of each other, and of about the same size.
    let ((kernels, api, concluded), (regions, idle, shown, operators)) = beside(
        || {
            let concluded = conclude(trace, attribution, options);
            let kernels = kernels(trace, options.scope, options.grouping, &options.families);
            (kernels, api(trace, options.scope), concluded)
        },
        || {
            let mut regions = RegionTable::new(trace, attribution, options.scope);
            let idle = IdleTable::new(trace, attribution, &options.families);
            regions.limit(options.limit, &idle.times());
            let shown = regions.kept_nodes();
            let operators = operators(trace, attribution, options.scope, options.limit);
            (regions, idle, shown, operators)
        },
    );
    let (operators, more_operators) = operators;
    let (kernels, more_kernels) = limited_kernels(kernels, options.limit);
    let synchronisation = synchronisation(trace, &api);
    let (api, more_api) = limited_api(api, options.limit);
    let Concluded { loops, mut diagnosis, what_if, steady, mut sampled, host } = concluded;
    let (stages, more_stages) = stages(trace, attribution, options, &loops, &shown);
    let ranks = ranks(trace, options.absent_ranks, options.limit);
    if let Some(ranks) = &ranks {
        tell_of_waiting(&mut diagnosis.findings, ranks);
    }
    if let Some(sampled) = &mut sampled {
        energy_per_token(sampled, &loops, &stages);
    }
    Analysis {
        schema: SCHEMA,
        source: trace.source.clone(),
        recorders: trace.recorders.clone(),
        clock: "nanoseconds",
        unread: unread(trace),
        scope: options.scope,
        span_ns: trace.end.saturating_sub(trace.begin),
        selected: trace.selected,
        recordings: recordings(trace),
        processes: processes(trace),
        devices: (0u16..)
            .zip(&trace.devices)
            .map(|(number, device)| DeviceRow {
                device: device.id,
                name: device.name.clone(),
                identity: device.identity.clone(),
                origin: Origin::of_device(trace, number),
            })
            .collect(),
        shared: shared_devices(trace),
        findings: diagnosis.findings,
        no_finding: diagnosis.none,
        steady,
        sampled,
        host,
        what_if,
        loops,
        kernels,
        more_kernels,
        regions: regions.rows(attribution),
        more_regions: regions.more(),
        stages,
        more_stages,
        operators,
        more_operators,
        cuda_graphs: cuda_graphs(trace, attribution, options.limit),
        ranks,
        requests: requests(trace, attribution, options.limit),
        memcpy: transfers(trace, options.scope),
        synchronisation,
        api,
        more_api,
        idle: idle.rows(&shown).collect(),
        more_idle: idle.more(&shown),
        unattributed: regions.unattributed(attribution),
        graphs: whole_graphs(trace),
        diagnostics: diagnostics(trace, attribution),
    }
}

/// What each process did.
pub fn processes(trace: &Trace) -> Vec<ProcessRow> {
    let row = |(number, process): (u32, &Process)| ProcessRow {
        process: process.pid,
        name: process.name.clone(),
        ranges: 0,
        kernels: 0,
        gpu_ns: 0,
        origin: Origin::of_process(trace, number),
    };
    let mut rows: Vec<ProcessRow> = (0u32..).zip(&trace.processes).map(row).collect();
    for thread in &trace.ranges.thread {
        rows[trace.process_of(*thread) as usize].ranges += 1;
    }
    let activities = &trace.activities;
    for at in 0..activities.len() {
        if matches!(activities.kind[at], ActivityKind::Kernel | ActivityKind::Graph) {
            let row = &mut rows[activities.process[at] as usize];
            row.kernels += 1;
            row.gpu_ns = row.gpu_ns.saturating_add(activities.duration(at));
        }
    }
    rows
}

/// Launches of graphs of which nothing but the whole was recorded.
fn whole_graphs(trace: &Trace) -> u64 {
    let kinds = trace.activities.kind.iter().zip(&trace.activities.node);
    kinds.filter(|(kind, node)| **kind == ActivityKind::Graph && **node == 0).count() as u64
}

/// What follows from the loops.
pub(crate) struct Concluded {
    pub(crate) loops: Vec<Loop>,
    pub(crate) diagnosis: Diagnosis,
    what_if: Vec<WhatIf>,
    steady: Option<SteadyState>,
    pub(crate) sampled: Option<Sampled>,
    pub(crate) host: Option<HostLines>,
}

pub(crate) fn conclude(trace: &Trace, attribution: &Attribution, options: &Options) -> Concluded {
    let mut loops = loops(trace, attribution);
    let mut diagnosis = diagnose(trace, attribution, &options.families, &mut loops);
    name_lines(trace, attribution, &loops, &mut diagnosis.findings);
    let what_if = what_if(trace, attribution, &options.families, loops.first(), &options.what_if);
    let steady = steady_state(trace, options, &loops);
    let sampled = sampled(trace, attribution, &loops, options.limit);
    if let Some(sampled) = &sampled {
        measured_limit(&mut diagnosis.findings, &loops, sampled);
        diagnosis.findings.extend(throttled(sampled));
    }
    let host = host_lines(trace, attribution, &loops);
    // Before what happens once.
    if let Some(finding) = host.as_ref().and_then(|host| own_code(host, &loops)) {
        diagnosis.findings.insert(0, finding);
    }
    // All others are about the rest of the loop.
    if let Some(finding) = slow_iterations(trace, attribution, &loops) {
        diagnosis.findings.insert(0, finding);
    }
    without_contradiction(&mut diagnosis.findings);
    if !diagnosis.findings.is_empty() {
        diagnosis.none = None;
    }
    Concluded { loops, diagnosis, what_if, steady, sampled, host }
}

/// Both at once, the first on a thread of its own.
pub fn beside<A: Send, B>(first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    std::thread::scope(|scope| {
        let started = std::thread::Builder::new().spawn_scoped(scope, &first);
        let second = second();
        let first = match started {
            Ok(started) => started.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // No thread could be started: do it here.
            Err(_) => first(),
        };
        (first, second)
    })
}

/// What the reader reported, and what we cannot tell.
fn diagnostics(trace: &Trace, attribution: &Attribution) -> Vec<DiagnosticRow> {
    let mut rows: Vec<DiagnosticRow> = trace
        .distinct_diagnostics()
        .iter()
        .map(|distinct| DiagnosticRow {
            text: distinct.to_string(),
            lost: distinct.diagnostic.lost,
            times: distinct.times,
        })
        .collect();
    let (libraries, ranges) = attribution.libraries.left_out(trace);
    if !libraries.is_empty() {
        let text = format!(
            "{} of libraries ({}) are no regions; `regions.library=true` shows them",
            counted(ranges, "range"),
            libraries.join(", ")
        );
        rows.push(DiagnosticRow { text, lost: false, times: 1 });
    }
    if attribution.left_out > 0 {
        let text = format!(
            "there are too many NVTX domains to attribute GPU work to all of them; left out: {} with few ranges",
            counted(attribution.left_out as u64, "domain")
        );
        rows.push(DiagnosticRow { text, lost: false, times: 1 });
    }
    rows
}

/// Every region, including those that a table leaves out, one after another.
pub fn every_region(
    trace: &Trace,
    scope: Scope,
    see: impl FnMut(GpuRegion) -> std::io::Result<()>,
) -> std::io::Result<()> {
    each_region(trace, &attribute(trace), scope, see)
}

/// The same of a trace whose attribution is known.
pub fn each_region(
    trace: &Trace,
    attribution: &Attribution,
    scope: Scope,
    see: impl FnMut(GpuRegion) -> std::io::Result<()>,
) -> std::io::Result<()> {
    RegionTable::new(trace, attribution, scope).for_each_row(see)
}

/// The same for [`idle`](crate::idle()).
pub fn every_idle_row(
    trace: &Trace,
    families: &Families,
    see: impl FnMut(IdleRow) -> std::io::Result<()>,
) -> std::io::Result<()> {
    each_idle_row(trace, &attribute(trace), families, see)
}

/// The same of a trace whose attribution is known.
pub fn each_idle_row(
    trace: &Trace,
    attribution: &Attribution,
    families: &Families,
    see: impl FnMut(IdleRow) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let shown = vec![true; attribution.tree.nodes.len()];
    IdleTable::new(trace, attribution, families).rows(&shown).try_for_each(see)
}

fn limited_api(mut rows: Vec<ApiRow>, limit: Limit) -> (Vec<ApiRow>, Option<MoreRows>) {
    let more = limit.cut(&mut rows, |row| row.name.len());
    (rows, MoreRows::add_up(more.iter().map(|row| (row.statistics.calls, row.statistics.total_ns))))
}
