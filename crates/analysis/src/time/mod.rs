//! Where does the time go: on devices and on the host, by kernel, call, region, stage and operator, and what
//! idle devices wait for.

mod busy;
mod causes;
mod gpu_regions;
mod graph_table;
mod host_idle;
mod host_places;
mod idle;
mod idle_walk;
pub(crate) mod kernel_table;
mod operators;
mod overhead;
mod overlap;
mod range_time;
mod region_sums;
mod stages;
mod summaries;
mod top_kernels;
mod waits;
mod work;

pub(crate) use busy::{Busy, busy};
pub use causes::{Causes, IdleCause};
pub(crate) use gpu_regions::RegionTable;
pub use gpu_regions::{GpuRegion, MoreRegions, gpu_regions};
pub(crate) use graph_table::cuda_graphs;
pub use graph_table::{CapturedRow, CudaGraphs, GraphRow};
pub(crate) use host_idle::waiting;
pub use host_idle::{BLOCKED, HostIdle, HostNode, HostPlace, NOT_READ, WAITS_FOR_INTERPRETER, host_idle};
pub use host_places::{HostLine, HostLines, listed};
pub(crate) use host_places::{WORTH_A_WORD, common_place, host_lines, host_places};
pub(crate) use idle::IdleTable;
pub use idle::{IdleRow, idle};
pub(crate) use idle_walk::{LAUNCH_LATENCY_NS, gap_causes};
pub use kernel_table::{Grouping, KernelRow, Shape, kernels};
pub(crate) use kernel_table::{kernels_where, limited_kernels};
pub use operators::{MoreOperators, OperatorRow};
pub(crate) use operators::{operators, running_operators};
pub use overhead::{Overhead, overhead, unsteady};
pub use overlap::Overlap;
pub(crate) use stages::stages;
pub use stages::{ModelStage, Stage};
pub(crate) use summaries::synchronisation;
pub use summaries::{ApiRow, Synchronisation, TransferRow, api, transfers};
pub use top_kernels::TopKernel;
pub(crate) use waits::Waits;
