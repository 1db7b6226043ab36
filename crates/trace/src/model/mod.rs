//! The trace: columns, interned strings, times as nanoseconds.

mod activities;
pub(crate) mod columns;
mod diagnostic;
mod strings;
mod tables;
mod trace;

pub(crate) use activities::small;
pub use activities::{Activities, Activity, ActivityKind, Direction, Launch, Transfer};
pub(crate) use columns::Numbers;
pub use diagnostic::{Diagnostic, DistinctDiagnostic};
pub use strings::{StringId, Strings};
pub(crate) use tables::correlation;
pub use tables::{Call, Calls, HostWait, Operator, Operators, Range, Ranges, Syncs};
pub use trace::{Device, NONE, OPEN, Process, Thread, Trace};
