//! Rows of the columns, each added whole.

use nvtx::Kind;

use crate::model::{Activities, ActivityKind, Calls, NONE, OPEN, Ranges, StringId};

/// A row of [`Ranges`]. By default a push/pop range of the first thread that never ends.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    pub thread: u32,
    pub domain: StringId,
    pub name: StringId,
    pub kind: Kind,
    pub registered: bool,
    pub wide: bool,
    pub begin: i64,
    pub end: i64,
}

impl Default for Range {
    fn default() -> Self {
        Self {
            thread: 0,
            domain: StringId::default(),
            name: StringId::default(),
            kind: Kind::PushPop,
            registered: false,
            wide: false,
            begin: 0,
            end: OPEN,
        }
    }
}

impl Ranges {
    /// Its parent is left to [`crate::Trace::finish`], or to who knows it.
    pub fn push(&mut self, range: Range) {
        self.thread.push(range.thread);
        self.domain.push(range.domain);
        self.name.push(range.name);
        self.kind.push(range.kind);
        self.registered.push(range.registered);
        self.wide.push(range.wide);
        self.begin.push(range.begin);
        self.end.push(range.end);
    }
}

/// A row of [`Calls`].
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub begin: i64,
    pub end: i64,
    pub thread: u32,
    pub name: StringId,
    pub correlation: u32,
}

impl Calls {
    pub fn push(&mut self, call: Call) {
        self.begin.push(call.begin);
        self.end.push(call.end);
        self.thread.push(call.thread);
        self.name.push(call.name);
        self.correlation.push(call.correlation);
    }
}

/// A row of [`Activities`]. By default a kernel of the first process on the first device.
#[derive(Debug, Clone, Copy)]
pub struct Activity {
    pub begin: i64,
    pub end: i64,
    pub kind: ActivityKind,
    pub process: u32,
    pub device: u16,
    pub stream: u32,
    pub correlation: u32,
    pub detail: u32,
    pub in_graph: bool,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            begin: 0,
            end: 0,
            kind: ActivityKind::Kernel,
            process: 0,
            device: 0,
            stream: 0,
            correlation: NONE,
            detail: 0,
            in_graph: false,
        }
    }
}

impl Activities {
    pub fn push(&mut self, activity: Activity) {
        self.begin.push(activity.begin);
        self.end.push(activity.end);
        self.kind.push(activity.kind);
        self.process.push(activity.process);
        self.device.push(activity.device);
        self.stream.push(activity.stream);
        self.correlation.push(activity.correlation);
        self.detail.push(activity.detail);
        self.in_graph.push(activity.in_graph);
    }
}
