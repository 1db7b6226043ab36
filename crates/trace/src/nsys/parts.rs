//! What jobs read: parts of tables, whose numbers of processes, threads, names and launches are their own.

use super::activities::{self, ActivityPart};
use super::calls::{self, CallPart, WaitPart};
use super::nvtx_events::{self, NvtxPart};
use super::parallel::Job;
use super::tables::Read;
use crate::sqlite::Database;

pub(super) enum Part {
    Activities(ActivityPart),
    Calls(CallPart),
    Waits(WaitPart),
    Nvtx(NvtxPart),
}

/// Jobs for every table that is read in parts, the largest first. Processes and devices are numbered in
/// this order.
pub(super) fn jobs<'a>(database: &'a Database) -> impl Iterator<Item = Job<'a, Read<Part>>> {
    [
        activities::kernels(database),
        calls::calls(database),
        activities::copies(database),
        activities::fills(database),
        activities::graphs(database),
        calls::waits(database),
        nvtx_events::events(database),
    ]
    .into_iter()
    .flatten()
}

/// A launch whose names are still numbers of `StringIds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RawLaunch {
    pub(super) name: i64,
    pub(super) short_name: i64,
    pub(super) mangled: i64,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) registers: u32,
    pub(super) static_shared: u32,
    pub(super) dynamic_shared: u32,
}
