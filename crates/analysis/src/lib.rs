//! What a trace says: small, pure functions, one topic a file.

mod attribute;
mod families;
mod gpu_regions;
mod kernels;
mod regions;
mod scope;
mod statistics;
mod tree;

pub use attribute::{Attribution, Plane, attribute};
pub use families::Families;
pub use gpu_regions::{GpuRegion, TopKernel, Unattributed, gpu_regions};
pub use kernels::{Grouping, KernelRow, Shape, kernels};
pub use regions::{Region, Registered, Times, regions};
pub use scope::{Place, Scope};
pub use statistics::Statistics;
