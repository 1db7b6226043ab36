//! One model of what happened, whatever it was read from.
#![allow(
    clippy::needless_update,
    reason = "a row names the columns its reader has; one that is added has its default"
)]

mod apart;
mod append;
mod count;
mod extent;
mod footprint;
mod gap;
mod kineto;
mod metric_rows;
mod model;
pub mod names;
mod nest;
mod nsys;
mod open;
mod quick;
mod recording;
mod rename;
mod sampled;
mod sqlite;
mod tracer;
mod window;

pub use apart::apart;
pub use count::counted;
pub use extent::{Budget, Extent, Unread};
pub use kineto::{KinetoError, read_kineto, read_kineto_from};
pub use model::{
    Activities, Activity, ActivityKind, Call, Calls, Collective, Collectives, CuptiTrouble, Device,
    Diagnostic, Direction, DistinctDiagnostic, Frame, GraphNode, GraphNodes, HostMemory, HostWait, Launch,
    Measure, NONE, OPEN, Operator, Operators, Process, Quantity, Range, Ranges, Recorder, Recording,
    Sampling, SamplingTrouble, Selection, Series, SeriesSource, StackNode, StackSample, StackSamples, Stacks,
    StreamEvent, StreamEvents, StringId, Strings, Syncs, Thread, ThreadState, Trace, Transfer, Trouble,
    UnreadableProcess,
};
pub use nsys::{
    NsysError, environment_values, read_nsys, read_nsys_bytes, read_nsys_session, texts_to_change,
};
pub use nvtx::Kind;
pub use open::{
    OpenError, Opened, capture_files, extent_of_run, is_trace, is_unexported, open, open_each, timeline_files,
};
pub use quick::Multiply;
pub use sampled::{
    SampleWriter, SampledDevice, SampledError, SampledSet, SetClock, read_sampled_bytes, read_sampled_files,
};
pub use sqlite::SqliteError;
pub use tracer::{
    ReadError, read_tracer_bytes, read_tracer_files, tracer_texts_to_change, unseen, why_unseen,
};
pub use window::in_windows;
