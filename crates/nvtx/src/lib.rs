//! Ranges, region paths, and the gates that nsys and ncu take. Pure.

mod expression;
mod kind;
mod library;
mod ncu;
mod nsys;
mod pattern;
mod region;
mod region_pattern;
mod seen;

pub use expression::{Begins, NcuInclude, NsysExpression, ncu_expression, ncu_pattern, nsys_expression};
pub use kind::Kind;
pub use library::is_library;
pub use ncu::{NcuGate, NcuGateError};
pub use nsys::{DomainChoice, NsysDialect, NsysGate, NsysGateError};
pub use pattern::{FOLDED, folded};
pub use region::{PathError, RegionPath};
pub use region_pattern::{NamePattern, RegionPattern};
pub use seen::{OpenRanges, RangeSeen};
