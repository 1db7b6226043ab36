//! What devices do.

use super::absent::NONE;
use super::columns::table;
use super::role::Numbers;
use super::strings::StringId;

/// What a device does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActivityKind {
    /// `detail` indexes [`Activities::launches`].
    Kernel,
    /// `detail` indexes [`Activities::transfers`].
    Copy,
    /// `detail` indexes [`Activities::transfers`].
    Fill,
    /// A whole CUDA graph, whose kernels were not recorded one by one; `detail` is the id of its instance.
    Graph,
    /// Pages of unified memory that the driver moved because somebody touched them: no call asked for
    /// it. `detail` indexes [`Activities::transfers`].
    Migration,
}

table! {
    /// Work of the devices. One row each.
    table Activities;
    /// A row of [`Activities`]. By default a kernel of the first process on the first device.
    row Activity;
    columns {
        begin: i64 as Time,
        end: i64 as Time,
        kind: ActivityKind = ActivityKind::Kernel,
        /// Index into [`crate::Trace::processes`].
        process: u32 as Process,
        /// Index into [`crate::Trace::devices`].
        device: u16 as Device,
        stream: u32,
        /// [`NONE`] when nothing says which call it came from.
        correlation: u32 = NONE,
        /// What it refers to depends on its kind.
        detail: u32,
        /// Whether it is a node of a CUDA graph.
        in_graph: bool,
        /// Which one, of [`super::tables::GraphNodes`]; 0 when that is unknown. Of a whole graph not 0 if its nodes are
        /// in [`crate::Trace::graph_samples`].
        node: u64,
    }
    beside {
        /// Every kind of launch that happens: few, however many launches there are.
        launches: Vec<Launch>,
        transfers: Vec<Transfer>,
    }
}

impl Activities {
    /// Puts other work behind this, with the transfers it refers to. Its launches are here already, under
    /// the numbers that `numbers` has for them.
    pub(crate) fn append(&mut self, mut other: Self, numbers: &Numbers<'_>) {
        let transfers = self.transfers.len() as u32;
        self.transfers.append(&mut other.transfers);
        self.append_beside(other, numbers, transfers);
    }

    /// The same for work whose transfers are elsewhere already, behind `transfers` others.
    pub(crate) fn append_beside(&mut self, mut other: Self, numbers: &Numbers<'_>, transfers: u32) {
        for (detail, kind) in other.detail.iter_mut().zip(&other.kind) {
            *detail = match kind {
                ActivityKind::Kernel => numbers.launches[*detail as usize],
                ActivityKind::Copy | ActivityKind::Fill | ActivityKind::Migration => *detail + transfers,
                ActivityKind::Graph => *detail,
            };
        }
        self.append_rows(other, numbers);
    }

    /// How many kernels there are.
    pub fn kernels(&self) -> usize {
        self.kind.iter().filter(|kind| **kind == ActivityKind::Kernel).count()
    }

    /// A kernel that tables count.
    pub fn is_shown_kernel(&self, activity: usize) -> bool {
        self.kind[activity] == ActivityKind::Kernel && !self.launches[self.detail[activity] as usize].hidden
    }

    pub fn duration(&self, activity: usize) -> i64 {
        self.end[activity].saturating_sub(self.begin[activity]).max(0)
    }
}

/// A kernel and the shape it is launched in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Launch {
    /// With template arguments and parameters.
    pub name: StringId,
    /// The bare function name.
    pub short_name: StringId,
    /// As the compiler wrote it, by which tools can agree; empty if unknown.
    pub mangled: StringId,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub registers: u32,
    pub static_shared: u32,
    pub dynamic_shared: u32,
    /// Left out of the tables of kernels, at the user's wish.
    pub hidden: bool,
}

/// A copy or a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    pub direction: Direction,
    pub bytes: u64,
    /// Where it lies on the host, or is to lie.
    pub memory: HostMemory,
}

/// What kind of memory a copy has on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostMemory {
    #[default]
    Unknown,
    /// The driver copies it to memory that is pinned first, while the call waits.
    Pageable,
    Pinned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    PeerToPeer,
    HostToHost,
    /// A fill.
    Memset,
    MigrationToDevice,
    MigrationToHost,
    MigrationBetweenDevices,
    Other,
}

impl Direction {
    /// Whether the driver moved it on its own, page by page.
    pub fn is_migration(self) -> bool {
        matches!(self, Self::MigrationToDevice | Self::MigrationToHost | Self::MigrationBetweenDevices)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::HostToDevice => "host to device",
            Self::DeviceToHost => "device to host",
            Self::DeviceToDevice => "device to device",
            Self::PeerToPeer => "device to other device",
            Self::HostToHost => "host to host",
            Self::Memset => "fill",
            Self::MigrationToDevice => "migration to device",
            Self::MigrationToHost => "migration to host",
            Self::MigrationBetweenDevices => "migration between devices",
            Self::Other => "other",
        }
    }
}

/// A count or size; anything invalid is zero.
pub(crate) fn small(value: Option<i64>) -> u32 {
    value.and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
}
