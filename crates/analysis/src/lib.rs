//! What a trace says: small, pure functions, one topic a file.

mod attribute;
mod families;
mod filter;
mod findings;
mod gpu_regions;
mod idle;
mod kernels;
mod operators;
mod region_calls;
mod regions;
mod scope;
mod stages;
mod statistics;
mod summaries;
mod sweep;
mod tree;
mod within;

pub use attribute::{Attribution, Plane, attribute};
pub use families::Families;
pub use filter::keep_kernels;
pub use findings::{Findings, Options, analyse};
pub use gpu_regions::{GpuRegion, TopKernel, Unattributed, gpu_regions};
pub use idle::{Causes, IdleRow, Overlap, idle};
pub use kernels::{Grouping, KernelRow, Shape, kernels};
pub use operators::{OperatorRow, operators};
pub use region_calls::{RegionCalls, region_calls};
pub use regions::{Region, Registered, Times, regions};
pub use scope::{Place, Scope};
pub use stages::{STAGES, Stage, stages};
pub use statistics::Statistics;
pub use summaries::{ApiRow, Synchronisation, TransferRow, api, transfers};
pub use within::keep_within;
