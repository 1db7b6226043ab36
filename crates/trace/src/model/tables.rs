//! Ranges, calls, waits and operators: what happens on the host.

use nvtx::Kind;

use super::absent::{NONE, OPEN};
use super::columns::table;
use super::strings::StringId;

table! {
    /// One row a range.
    table Ranges;
    /// A row of [`Ranges`]. By default a push/pop range of the first thread that never ends.
    row Range;
    columns {
        /// Index into [`crate::Trace::threads`]: where it began.
        thread: u32 as Thread,
        domain: StringId as Domain,
        name: StringId as Text,
        kind: Kind,
        registered: bool,
        wide: bool,
        begin: i64 as Time,
        /// [`OPEN`] when it never ended.
        end: i64 as Time = OPEN,
    }
    sparse {
        /// Numbers that came with a range: the range, in order, and its number.
        payload: f64,
    }
    derived {
        /// The range of the same domain and thread it lies in (push/pop only).
        parent: Option<u32>,
    }
}

table! {
    /// Calls of the CUDA runtime and driver. One row a call.
    table Calls;
    /// A row of [`Calls`].
    row Call;
    columns {
        begin: i64 as Time,
        end: i64 as Time,
        /// Index into [`crate::Trace::threads`].
        thread: u32 as Thread,
        name: StringId as Text,
        /// What ties it to the work it starts, within its process.
        correlation: u32 = NONE,
    }
}

table! {
    /// Waits of the host for a device.
    table Syncs;
    /// A row of [`Syncs`].
    row HostWait;
    columns {
        begin: i64 as Time,
        end: i64 as Time,
        /// Index into [`crate::Trace::processes`].
        process: u32 as Process,
        correlation: u32 = NONE,
    }
}

table! {
    /// Events that are recorded in a stream, and streams that wait for them.
    table StreamEvents;
    /// A row of [`StreamEvents`].
    row StreamEvent;
    columns {
        /// Index into [`crate::Trace::processes`].
        process: u32 as Process,
        /// Of the call; within a process, calls are in this order.
        correlation: u32 = NONE,
        stream: u32,
        event: u32,
        /// The stream waits for the event, as it was recorded last; else it is recorded.
        waits: bool,
    }
}

table! {
    /// Nodes of CUDA graphs, when they were made. A copy has two rows: one of its making, and one that says of which
    /// node it is a copy.
    table GraphNodes;
    /// A row of [`GraphNodes`].
    row GraphNode;
    columns {
        time: i64 as Time,
        /// Index into [`crate::Trace::threads`]: where it was made.
        thread: u32 as Thread,
        /// Its id, within its process; the graph's in the upper half.
        node: u64,
        /// The node that it is a copy of; 0 when the row does not say.
        original: u64,
    }
}

table! {
    /// What a profiler says about operations that several ranks do together. One row a kernel.
    table Collectives;
    /// A row of [`Collectives`].
    row Collective;
    columns {
        /// Index into [`crate::Trace::processes`].
        process: u32 as Process,
        /// Of its kernel.
        correlation: u32 = NONE,
        /// As the framework calls it: `allreduce`.
        function: StringId as Text,
        /// The ranks that take part, by the name of their group; empty if unknown.
        group: StringId as Text,
        /// How many those are; 0 if unknown.
        group_size: u32,
        /// That go in and come out on this rank.
        bytes_in: u64,
        bytes_out: u64,
    }
}

table! {
    /// Operators of a framework. One row each.
    table Operators;
    /// A row of [`Operators`].
    row Operator;
    columns {
        begin: i64 as Time,
        end: i64 as Time,
        /// Index into [`crate::Trace::threads`].
        thread: u32 as Thread,
        name: StringId as Text,
    }
}

/// CUPTI counts correlations in 32 bits, and never gives out the first.
pub(crate) fn correlation(value: Option<i64>) -> u32 {
    value.and_then(|value| u32::try_from(value).ok()).filter(|value| *value != 0).unwrap_or(NONE)
}
