//! Kernels, copies, fills and whole graphs: a part of a table each.

use super::export::Export;
use super::parallel::Job;
use super::parts::{ActivityPart, Part, RawLaunch};
use super::tables::{Read, Unusable, jobs as parts};
use super::timed::{GRAPH, KERNEL, MEMCPY, MEMSET};
use crate::model::{Activity, ActivityKind, Direction, HostMemory, Transfer, correlation, small};
use crate::sqlite::{Finder, Integer, Row};

pub(super) fn kernels<'a>(export: Export<'a>) -> Vec<Job<'a, Read<Part>>> {
    parts(export, KERNEL, KernelColumns::find, ActivityPart::kernel, Part::Activities)
}

pub(super) fn copies<'a>(export: Export<'a>) -> Vec<Job<'a, Read<Part>>> {
    parts(export, MEMCPY, CopyColumns::find, ActivityPart::copy, Part::Activities)
}

pub(super) fn fills<'a>(export: Export<'a>) -> Vec<Job<'a, Read<Part>>> {
    parts(export, MEMSET, FillColumns::find, ActivityPart::fill, Part::Activities)
}

pub(super) fn graphs<'a>(export: Export<'a>) -> Vec<Job<'a, Read<Part>>> {
    parts(export, GRAPH, GraphColumns::find, ActivityPart::graph, Part::Activities)
}

/// What every table of activities has.
struct SharedColumns {
    begin: Integer,
    end: Integer,
    device: Integer,
    stream: Integer,
    correlation: Integer,
    process: Integer,
    graph_node: Integer,
}

impl SharedColumns {
    fn find(find: &mut Finder<'_>) -> Self {
        Self {
            begin: find.integer("start"),
            end: find.integer("end"),
            device: find.integer("deviceId"),
            stream: find.integer("streamId"),
            correlation: find.integer("correlationId"),
            process: find.integer("globalPid"),
            graph_node: find.integer("graphNodeId"),
        }
    }
}

struct KernelColumns {
    shared: SharedColumns,
    name: Integer,
    short_name: Integer,
    mangled: Integer,
    grid: [Integer; 3],
    block: [Integer; 3],
    registers: Integer,
    static_shared: Integer,
    dynamic_shared: Integer,
}

impl KernelColumns {
    fn find(find: &mut Finder<'_>) -> Self {
        Self {
            shared: SharedColumns::find(find),
            name: find.integer("demangledName"),
            short_name: find.integer("shortName"),
            mangled: find.integer("mangledName"),
            grid: ["gridX", "gridY", "gridZ"].map(|name| find.integer(name)),
            block: ["blockX", "blockY", "blockZ"].map(|name| find.integer(name)),
            registers: find.integer("registersPerThread"),
            static_shared: find.integer("staticSharedMemory"),
            dynamic_shared: find.integer("dynamicSharedMemory"),
        }
    }
}

struct CopyColumns {
    shared: SharedColumns,
    bytes: Integer,
    kind: Integer,
    from: Integer,
    to: Integer,
}

impl CopyColumns {
    fn find(find: &mut Finder<'_>) -> Self {
        Self {
            shared: SharedColumns::find(find),
            bytes: find.integer("bytes"),
            kind: find.integer("copyKind"),
            from: find.integer("srcKind"),
            to: find.integer("dstKind"),
        }
    }
}

struct FillColumns {
    shared: SharedColumns,
    bytes: Integer,
}

impl FillColumns {
    fn find(find: &mut Finder<'_>) -> Self {
        Self { shared: SharedColumns::find(find), bytes: find.integer("bytes") }
    }
}

struct GraphColumns {
    shared: SharedColumns,
    id: Integer,
    /// Of the instance, whose id is part of those of its nodes; older versions have only the other.
    instance: Integer,
}

impl GraphColumns {
    fn find(find: &mut Finder<'_>) -> Self {
        Self {
            shared: SharedColumns::find(find),
            id: find.integer("graphId"),
            instance: find.integer("graphExecId"),
        }
    }
}

impl ActivityPart {
    /// The fields that rows of all tables have.
    #[inline]
    fn activity(&mut self, row: &Row<'_>, columns: &SharedColumns) -> Result<Activity, Unusable> {
        let process = row.integer(columns.process).unwrap_or(0) >> 24;
        Ok(Activity {
            begin: row.integer(columns.begin).ok_or(Unusable)?,
            end: row.integer(columns.end).ok_or(Unusable)?,
            // More devices than fit are a damaged file's: `merge` says so.
            device: self.devices.number((process, row.integer(columns.device).unwrap_or(0))) as u16,
            stream: small(row.integer(columns.stream)),
            correlation: correlation(row.integer(columns.correlation)),
            process: self.processes.number(process),
            in_graph: !row.is_null(columns.graph_node),
            node: row.integer(columns.graph_node).map_or(0, |node| node as u64),
            ..Activity::default()
        })
    }

    fn kernel(&mut self, row: &Row<'_>, columns: &KernelColumns) -> Result<(), Unusable> {
        let activity = self.activity(row, &columns.shared)?;
        let number = |column: Integer| small(row.integer(column));
        let detail = self.launches.number(RawLaunch {
            name: row.integer(columns.name).unwrap_or(-1),
            short_name: row.integer(columns.short_name).unwrap_or(-1),
            mangled: row.integer(columns.mangled).unwrap_or(-1),
            grid: columns.grid.map(number),
            block: columns.block.map(number),
            registers: number(columns.registers),
            static_shared: number(columns.static_shared),
            dynamic_shared: number(columns.dynamic_shared),
        });
        self.rows.push(Activity { kind: ActivityKind::Kernel, detail, ..activity });
        Ok(())
    }

    fn copy(&mut self, row: &Row<'_>, columns: &CopyColumns) -> Result<(), Unusable> {
        let activity = self.activity(row, &columns.shared)?;
        let direction = direction(row.integer(columns.kind));
        // The table of copies also has migrations, which are not copies.
        let kind = if direction.is_migration() { ActivityKind::Migration } else { ActivityKind::Copy };
        let memory = host_memory([row.integer(columns.from), row.integer(columns.to)]);
        self.transfer(Activity { kind, ..activity }, direction, row.integer(columns.bytes), memory);
        Ok(())
    }

    fn fill(&mut self, row: &Row<'_>, columns: &FillColumns) -> Result<(), Unusable> {
        let activity = self.activity(row, &columns.shared)?;
        let fill = Activity { kind: ActivityKind::Fill, ..activity };
        self.transfer(fill, Direction::Memset, row.integer(columns.bytes), HostMemory::Unknown);
        Ok(())
    }

    fn transfer(&mut self, activity: Activity, direction: Direction, bytes: Option<i64>, memory: HostMemory) {
        let detail = self.rows.transfers.len() as u32;
        let bytes = u64::try_from(bytes.unwrap_or(0)).unwrap_or(0);
        self.rows.transfers.push(Transfer { direction, bytes, memory });
        self.rows.push(Activity { detail, ..activity });
    }

    fn graph(&mut self, row: &Row<'_>, columns: &GraphColumns) -> Result<(), Unusable> {
        let activity = self.activity(row, &columns.shared)?;
        let detail = small(row.integer(columns.instance).or_else(|| row.integer(columns.id)));
        self.rows.push(Activity { kind: ActivityKind::Graph, detail, ..activity });
        Ok(())
    }
}

/// `ENUM_CUDA_MEM_KIND`, of both sides of a copy.
fn host_memory(sides: [Option<i64>; 2]) -> HostMemory {
    match sides {
        [Some(0), _] | [_, Some(0)] => HostMemory::Pageable,
        [Some(1), _] | [_, Some(1)] => HostMemory::Pinned,
        _ => HostMemory::Unknown,
    }
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
