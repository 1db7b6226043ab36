//! Ranges, region paths, and the gates that nsys and ncu take. Pure.

mod expression;
mod ncu;
mod nsys;
mod region;
mod seen;

pub use expression::{NcuInclude, NsysExpression, ncu_expression, nsys_expression};
pub use ncu::{NcuGate, NcuGateError};
pub use nsys::{DomainChoice, NsysDialect, NsysGate, NsysGateError};
pub use region::{PathError, RegionPath};
pub use seen::{OpenRanges, RangeSeen};

/// How a range was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `nvtxRangePush` and `nvtxRangePop`: a stack on each thread.
    #[default]
    PushPop,
    /// `nvtxRangeStart` and `nvtxRangeEnd`: may overlap anything and end anywhere.
    StartEnd,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PushPop => "push/pop",
            Self::StartEnd => "start/end",
        }
    }
}
