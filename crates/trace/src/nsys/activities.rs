//! Kernels, copies, fills, whole graphs, calls and waits: a part of a table each.

use super::Loss;
use super::parallel::Job;
use super::tables::{Columns, Numbering, jobs as parts};
use crate::model::{ActivityKind, Direction, Transfer, correlation, small};
use crate::sqlite::{Damage, Database, Row};

/// What one job read. Numbers of processes, threads and launches are its own.
pub(super) enum Part {
    Activities(ActivityPart),
    Calls(CallPart),
    Syncs(SyncPart),
    Nvtx(super::nvtx_events::NvtxPart),
}

#[derive(Default)]
pub(super) struct ActivityPart {
    pub(super) table: &'static str,
    pub(super) loss: Loss,
    pub(super) kind: Option<ActivityKind>,
    pub(super) begin: Vec<i64>,
    pub(super) end: Vec<i64>,
    pub(super) process: Vec<u32>,
    pub(super) device: Vec<u32>,
    pub(super) stream: Vec<u32>,
    pub(super) correlation: Vec<u32>,
    pub(super) detail: Vec<u32>,
    pub(super) in_graph: Vec<bool>,
    /// Rows that are no copies although they stand among them.
    pub(super) migrations: Vec<u32>,
    pub(super) processes: Numbering<i64>,
    pub(super) devices: Numbering<i64>,
    pub(super) launches: Numbering<RawLaunch>,
    pub(super) transfers: Vec<Transfer>,
}

/// A launch whose names are still numbers of `StringIds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RawLaunch {
    pub(super) name: i64,
    pub(super) short_name: i64,
    pub(super) mangled: i64,
    pub(super) numbers: [u32; 9],
}

#[derive(Default)]
pub(super) struct CallPart {
    pub(super) table: &'static str,
    pub(super) loss: Loss,
    pub(super) begin: Vec<i64>,
    pub(super) end: Vec<i64>,
    pub(super) thread: Vec<u32>,
    pub(super) name: Vec<u32>,
    pub(super) correlation: Vec<u32>,
    pub(super) threads: Numbering<i64>,
    pub(super) names: Numbering<i64>,
}

#[derive(Default)]
pub(super) struct SyncPart {
    pub(super) table: &'static str,
    pub(super) loss: Loss,
    pub(super) begin: Vec<i64>,
    pub(super) end: Vec<i64>,
    pub(super) process: Vec<u32>,
    pub(super) correlation: Vec<u32>,
    pub(super) processes: Numbering<i64>,
}

pub(super) fn jobs<'a>(database: &'a Database) -> impl Iterator<Item = Job<'a, Part>> {
    let kernels = parts(database, KERNEL, &KERNEL_COLUMNS, |columns, leaves, damage| {
        Part::Activities(kernels(columns, leaves, damage))
    });
    let calls = parts(database, RUNTIME, &RUNTIME_COLUMNS, |columns, leaves, damage| {
        Part::Calls(calls(columns, leaves, damage))
    });
    let copies = parts(database, MEMCPY, &MEMCPY_COLUMNS, |columns, leaves, damage| {
        Part::Activities(transfers(MEMCPY, ActivityKind::Copy, columns, leaves, damage))
    });
    let fills = parts(database, MEMSET, &MEMSET_COLUMNS, |columns, leaves, damage| {
        Part::Activities(transfers(MEMSET, ActivityKind::Fill, columns, leaves, damage))
    });
    let graphs = parts(database, GRAPH, &GRAPH_COLUMNS, |columns, leaves, damage| {
        Part::Activities(graphs(columns, leaves, damage))
    });
    let syncs = parts(database, SYNC, &SYNC_COLUMNS, |columns, leaves, damage| {
        Part::Syncs(syncs(columns, leaves, damage))
    });
    kernels.into_iter().chain(calls).chain(copies).chain(fills).chain(graphs).chain(syncs)
}

const KERNEL: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
const RUNTIME: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
const MEMCPY: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
const MEMSET: &str = "CUPTI_ACTIVITY_KIND_MEMSET";
const GRAPH: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
const SYNC: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";

/// The first seven of every table of activities.
macro_rules! activity_columns {
    ($($more:literal),*) => {
        ["start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphNodeId", $($more),*]
    };
}

const KERNEL_COLUMNS: [&str; 19] = activity_columns!(
    "demangledName",
    "shortName",
    "gridX",
    "gridY",
    "gridZ",
    "blockX",
    "blockY",
    "blockZ",
    "registersPerThread",
    "staticSharedMemory",
    "dynamicSharedMemory",
    "mangledName"
);
const MEMCPY_COLUMNS: [&str; 9] = activity_columns!("bytes", "copyKind");
const MEMSET_COLUMNS: [&str; 9] = activity_columns!("bytes", "value");
const GRAPH_COLUMNS: [&str; 8] = activity_columns!("graphId");
const RUNTIME_COLUMNS: [&str; 5] = ["start", "end", "globalTid", "correlationId", "nameId"];
const SYNC_COLUMNS: [&str; 4] = ["start", "end", "globalPid", "correlationId"];

impl ActivityPart {
    fn new(table: &'static str, kind: ActivityKind) -> Self {
        Self { table, kind: Some(kind), ..Self::default() }
    }

    /// The columns that all tables share. False when the row is of no use.
    fn push(&mut self, row: &Row<'_>) -> bool {
        let (Some(begin), Some(end)) = (row.integer(0), row.integer(1)) else {
            self.loss.unusable += 1;
            return false;
        };
        self.begin.push(begin);
        self.end.push(end);
        self.device.push(self.devices.number(row.integer(2).unwrap_or(0)));
        self.stream.push(small(row.integer(3)));
        self.correlation.push(correlation(row.integer(4)));
        self.process.push(self.processes.number(row.integer(5).unwrap_or(0) >> 24));
        self.in_graph.push(!row.is_null(6));
        true
    }
}

fn kernels(columns: &Columns<'_>, leaves: &[u32], damage: Damage) -> ActivityPart {
    let mut part = ActivityPart::new(KERNEL, ActivityKind::Kernel);
    part.loss.damage = damage;
    let lost = columns.scan(leaves, |row| {
        if part.push(row) {
            let launch = RawLaunch {
                name: row.integer(7).unwrap_or(-1),
                short_name: row.integer(8).unwrap_or(-1),
                mangled: row.integer(18).unwrap_or(-1),
                numbers: std::array::from_fn(|at| small(row.integer(9 + at))),
            };
            part.detail.push(part.launches.number(launch));
        }
    });
    part.loss.damage.add(lost);
    part
}

fn transfers(
    table: &'static str,
    kind: ActivityKind,
    columns: &Columns<'_>,
    leaves: &[u32],
    damage: Damage,
) -> ActivityPart {
    let mut part = ActivityPart::new(table, kind);
    part.loss.damage = damage;
    let lost = columns.scan(leaves, |row| {
        if part.push(row) {
            let bytes = u64::try_from(row.integer(7).unwrap_or(0)).unwrap_or(0);
            let direction =
                if kind == ActivityKind::Fill { Direction::Memset } else { direction(row.integer(8)) };
            if direction.is_migration() {
                part.migrations.push(part.detail.len() as u32);
            }
            part.detail.push(part.transfers.len() as u32);
            part.transfers.push(Transfer { direction, bytes });
        }
    });
    part.loss.damage.add(lost);
    part
}

/// `ENUM_CUDA_MEMCPY_OPER`; arrays live on the device.
fn direction(kind: Option<i64>) -> Direction {
    match kind {
        Some(1 | 3) => Direction::HostToDevice,
        Some(2 | 4) => Direction::DeviceToHost,
        Some(5..=8) => Direction::DeviceToDevice,
        Some(9) => Direction::HostToHost,
        Some(10) => Direction::PeerToPeer,
        Some(11) => Direction::MigrationToDevice,
        Some(12) => Direction::MigrationToHost,
        Some(13) => Direction::MigrationBetweenDevices,
        _ => Direction::Other,
    }
}

fn graphs(columns: &Columns<'_>, leaves: &[u32], damage: Damage) -> ActivityPart {
    let mut part = ActivityPart::new(GRAPH, ActivityKind::Graph);
    part.loss.damage = damage;
    let lost = columns.scan(leaves, |row| {
        if part.push(row) {
            part.detail.push(small(row.integer(7)));
        }
    });
    part.loss.damage.add(lost);
    part
}

fn calls(columns: &Columns<'_>, leaves: &[u32], damage: Damage) -> CallPart {
    let mut part = CallPart { table: RUNTIME, ..CallPart::default() };
    part.loss.damage = damage;
    let lost = columns.scan(leaves, |row| {
        let (Some(begin), Some(end), Some(thread)) = (row.integer(0), row.integer(1), row.integer(2)) else {
            part.loss.unusable += 1;
            return;
        };
        part.begin.push(begin);
        part.end.push(end);
        part.thread.push(part.threads.number(thread));
        part.correlation.push(correlation(row.integer(3)));
        part.name.push(part.names.number(row.integer(4).unwrap_or(-1)));
    });
    part.loss.damage.add(lost);
    part
}

fn syncs(columns: &Columns<'_>, leaves: &[u32], damage: Damage) -> SyncPart {
    let mut part = SyncPart { table: SYNC, ..SyncPart::default() };
    part.loss.damage = damage;
    let lost = columns.scan(leaves, |row| {
        let (Some(begin), Some(end)) = (row.integer(0), row.integer(1)) else {
            part.loss.unusable += 1;
            return;
        };
        part.begin.push(begin);
        part.end.push(end);
        part.process.push(part.processes.number(row.integer(2).unwrap_or(0) >> 24));
        part.correlation.push(correlation(row.integer(3)));
    });
    part.loss.damage.add(lost);
    part
}
