//! The trace: columns, interned strings, times as nanoseconds.

mod absent;
mod activities;
pub(crate) mod columns;
mod diagnostic;
mod recording;
pub(crate) mod role;
mod series;
mod stacks;
pub(crate) mod strings;
pub(crate) mod tables;
mod trace;
mod trouble;

pub use absent::{NONE, OPEN};
pub(crate) use activities::small;
pub use activities::{Activities, Activity, ActivityKind, Direction, HostMemory, Launch, Transfer};
pub use diagnostic::{Diagnostic, DistinctDiagnostic};
pub use recording::{Recorder, Recording};
pub(crate) use role::Numbers;
pub use series::{Measure, Quantity, Series, SeriesSource};
pub use stacks::{Frame, StackNode, StackSample, StackSamples, Stacks, ThreadState};
pub(crate) use strings::NAME_LOST;
pub use strings::{StringId, Strings};
pub(crate) use tables::correlation;
pub use tables::{
    Call, Calls, Collective, Collectives, GraphNode, GraphNodes, HostWait, Operator, Operators, Range,
    Ranges, StreamEvent, StreamEvents, Syncs,
};
pub use trace::{
    CuptiTrouble, Device, Process, Sampling, SamplingTrouble, Selection, Thread, Trace, UnreadableProcess,
};
pub use trouble::Trouble;
