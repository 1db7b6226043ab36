//! What of the recordings was not read, for want of memory.

use serde::Serialize;
use trace::Trace;

/// A recording of which only the beginning was read.
#[derive(Debug, Serialize)]
pub struct UnreadRow {
    /// Which one, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<u32>,
    /// How much of its time was read, and how long it is.
    pub read_ns: i64,
    pub recorded_ns: i64,
    /// Memory that all of it would take, about, and what Rangefinder may use.
    pub needed_bytes: u64,
    pub memory_bytes: u64,
    /// For people.
    pub text: String,
}

pub(crate) fn unread(trace: &Trace) -> Vec<UnreadRow> {
    let several = trace.recordings.len() > 1;
    let row = |one: &trace::Unread| UnreadRow {
        recording: Some(one.recording).filter(|_| several),
        read_ns: one.kept_ns,
        recorded_ns: one.whole_ns,
        needed_bytes: one.needed,
        memory_bytes: one.memory,
        text: one.to_string(),
    };
    trace.unread.iter().map(row).collect()
}
