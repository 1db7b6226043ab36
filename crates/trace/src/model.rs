//! The trace: columns, interned strings, times as nanoseconds.

use std::collections::HashMap;

use input::Input;
use nvtx::Kind;

use crate::nest::{DEEPEST, nest};
use crate::recording::Recording;

/// The end of a range that was still open when the recording ended.
pub const OPEN: i64 = i64::MAX;

/// No call, no range, no node.
pub const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// What it was read from, for people: `nsys 2025.3.2.0, schema 3.20.3`.
    pub source: String,
    pub strings: Strings,
    pub processes: Vec<Process>,
    pub threads: Vec<Thread>,
    pub devices: Vec<Device>,
    pub ranges: Ranges,
    pub calls: Calls,
    pub activities: Activities,
    pub syncs: Syncs,
    pub operators: Operators,
    /// Annotations that the profiler has put on a device's timeline itself.
    pub gpu_annotations: u64,
    /// Marks, by how many there were: name and count.
    pub marks: HashMap<(StringId, StringId), u64>,
    pub diagnostics: Vec<Diagnostic>,
    /// Ranges are known to be missing: a diagnostic says why.
    pub ranges_missing: bool,
    /// Why there is nothing in it to analyze, and what to do; of a trace that has nothing.
    pub nothing: Option<String>,
    /// What it says of the machine it was recorded on: names and values, for people.
    pub machine: Vec<(String, String)>,
    /// The files it was read from, where it was read from files: whose processes are whose.
    pub recordings: Vec<Recording>,
    /// When the recording of the first process began and the last event was seen.
    pub begin: i64,
    pub end: i64,
    /// What the times count from, in nanoseconds since 1970, where that is known.
    pub session_start: Option<i64>,
    /// Stretches of time that were recorded, in order and apart; none when all of it was.
    pub windows: Vec<(i64, i64)>,
}

impl Trace {
    /// What every reader does last: ranges in order, each below the one around it, and
    /// when it all began and ended.
    pub fn finish(&mut self) {
        let too_deep = nest(&mut self.ranges);
        self.say_too_deep(too_deep);
        self.measure();
    }

    /// The index of a thread's process.
    pub fn process_of(&self, thread: u32) -> u32 {
        self.threads[thread as usize].process
    }

    /// No range, no work of a device, no call and no operator.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
            && self.calls.is_empty()
            && self.activities.is_empty()
            && self.operators.begin.is_empty()
    }

    /// Half of a file may be older than the other half.
    pub(crate) fn say_when_changed(&mut self, input: &Input) {
        if input.has_changed() {
            let text = format!(
                "`{}` changed while it was read: read it again once nobody writes to it",
                input.path().display()
            );
            self.diagnostics.push(Diagnostic { text, lost: true });
        }
    }

    pub(crate) fn say_too_deep(&mut self, ranges: u64) {
        if ranges > 0 {
            let text = format!(
                "{ranges} ranges are nested more than {DEEPEST} deep: is something pushed and never popped?"
            );
            self.diagnostics.push(Diagnostic { text, lost: false });
        }
    }

    /// Each diagnostic once, with how often it was said.
    pub fn told(&self) -> Vec<Told<'_>> {
        let mut told: Vec<Told<'_>> = Vec::new();
        let mut known: HashMap<&Diagnostic, usize> = HashMap::new();
        for diagnostic in &self.diagnostics {
            let at = *known.entry(diagnostic).or_insert(told.len());
            match told.get_mut(at) {
                Some(before) => before.times += 1,
                None => told.push(Told { diagnostic, times: 1 }),
            }
        }
        told
    }

    fn measure(&mut self) {
        let begins = self.ranges.begin.iter().chain(&self.calls.begin).chain(&self.activities.begin);
        let begins = begins.chain(&self.operators.begin);
        let ends = self.ranges.end.iter().filter(|end| **end != OPEN);
        let ends = ends.chain(&self.calls.end).chain(&self.activities.end).chain(&self.operators.end);
        self.begin = begins.copied().min().unwrap_or(0);
        self.end = ends.chain(&self.ranges.begin).copied().max().unwrap_or(0).max(self.begin);
    }
}

#[derive(Debug, Clone, Default)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// It came from a fork without an exec.
    pub forked: bool,
    pub name: String,
    /// `rank 3`, where it said so.
    pub label: String,
}

impl Process {
    /// The number in `rank 3`.
    pub fn rank(&self) -> Option<u32> {
        self.label.strip_prefix("rank ")?.parse().ok()
    }
}

#[derive(Debug, Clone)]
pub struct Thread {
    /// Index into [`Trace::processes`].
    pub process: u32,
    pub id: u32,
    pub name: Option<String>,
}

/// One row a range. All columns have the same length.
#[derive(Debug, Clone, Default)]
pub struct Ranges {
    /// Index into [`Trace::threads`]: where it began.
    pub thread: Vec<u32>,
    pub domain: Vec<StringId>,
    pub name: Vec<StringId>,
    pub kind: Vec<Kind>,
    pub registered: Vec<bool>,
    pub wide: Vec<bool>,
    pub begin: Vec<i64>,
    /// [`OPEN`] when it never ended.
    pub end: Vec<i64>,
    /// The range of the same domain and thread it lies in (push/pop only).
    pub parent: Vec<Option<u32>>,
    /// Numbers that came with a range: the range, in order, and its number.
    pub payload: Vec<(u32, f64)>,
}

impl Ranges {
    pub fn len(&self) -> usize {
        self.begin.len()
    }

    pub fn is_empty(&self) -> bool {
        self.begin.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Device {
    /// As the tools count it.
    pub id: u32,
    pub name: Option<String>,
}

/// Calls of the CUDA runtime and driver. One row a call.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    pub begin: Vec<i64>,
    pub end: Vec<i64>,
    /// Index into [`Trace::threads`].
    pub thread: Vec<u32>,
    pub name: Vec<StringId>,
    /// What ties it to the work it starts, within its process.
    pub correlation: Vec<u32>,
}

impl Calls {
    pub fn len(&self) -> usize {
        self.begin.len()
    }

    pub fn is_empty(&self) -> bool {
        self.begin.is_empty()
    }
}

/// What a device does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActivityKind {
    /// `detail` indexes [`Activities::launches`].
    Kernel,
    /// `detail` indexes [`Activities::transfers`].
    Copy,
    /// `detail` indexes [`Activities::transfers`].
    Fill,
    /// A whole CUDA graph, whose kernels were not recorded one by one; `detail` is its id.
    Graph,
    /// Pages of unified memory that the driver moved because somebody touched them: no call asked for
    /// it. `detail` indexes [`Activities::transfers`].
    Migration,
}

/// Work of the devices. One row each.
#[derive(Debug, Clone, Default)]
pub struct Activities {
    pub begin: Vec<i64>,
    pub end: Vec<i64>,
    pub kind: Vec<ActivityKind>,
    /// Index into [`Trace::processes`].
    pub process: Vec<u32>,
    /// Index into [`Trace::devices`].
    pub device: Vec<u16>,
    pub stream: Vec<u32>,
    /// [`NONE`] when nothing says which call it came from.
    pub correlation: Vec<u32>,
    pub detail: Vec<u32>,
    /// Whether it is a node of a CUDA graph.
    pub in_graph: Vec<bool>,
    /// Every kind of launch that happens: few, however many launches there are.
    pub launches: Vec<Launch>,
    pub transfers: Vec<Transfer>,
}

impl Activities {
    pub fn len(&self) -> usize {
        self.begin.len()
    }

    pub fn is_empty(&self) -> bool {
        self.begin.is_empty()
    }

    /// How many kernels there are.
    pub fn kernels(&self) -> usize {
        self.kind.iter().filter(|kind| **kind == ActivityKind::Kernel).count()
    }

    /// A kernel that tables count.
    pub fn is_shown_kernel(&self, activity: usize) -> bool {
        self.kind[activity] == ActivityKind::Kernel && !self.launches[self.detail[activity] as usize].hidden
    }

    pub fn duration(&self, activity: usize) -> i64 {
        self.end[activity].saturating_sub(self.begin[activity]).max(0)
    }
}

/// A kernel and the shape it is launched in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Launch {
    /// With template arguments and parameters.
    pub name: StringId,
    /// The bare function name.
    pub short_name: StringId,
    /// As the compiler wrote it, by which tools can agree; empty where that is not known.
    pub mangled: StringId,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub registers: u32,
    pub static_shared: u32,
    pub dynamic_shared: u32,
    /// Left out of the tables of kernels, at the user's wish.
    pub hidden: bool,
}

/// A copy or a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    pub direction: Direction,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    PeerToPeer,
    HostToHost,
    /// A fill.
    Memset,
    MigrationToDevice,
    MigrationToHost,
    MigrationBetweenDevices,
    Other,
}

impl Direction {
    /// Whether the driver moved it on its own, page by page.
    pub fn is_migration(self) -> bool {
        matches!(self, Self::MigrationToDevice | Self::MigrationToHost | Self::MigrationBetweenDevices)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::HostToDevice => "host to device",
            Self::DeviceToHost => "device to host",
            Self::DeviceToDevice => "device to device",
            Self::PeerToPeer => "device to other device",
            Self::HostToHost => "host to host",
            Self::Memset => "fill",
            Self::MigrationToDevice => "migration to device",
            Self::MigrationToHost => "migration to host",
            Self::MigrationBetweenDevices => "migration between devices",
            Self::Other => "other",
        }
    }
}

/// Waits of the host for a device.
#[derive(Debug, Clone, Default)]
pub struct Syncs {
    pub begin: Vec<i64>,
    pub end: Vec<i64>,
    pub process: Vec<u32>,
    pub correlation: Vec<u32>,
}

/// Operators of a framework. One row each.
#[derive(Debug, Clone, Default)]
pub struct Operators {
    pub begin: Vec<i64>,
    pub end: Vec<i64>,
    pub thread: Vec<u32>,
    pub name: Vec<StringId>,
}

/// CUPTI counts correlations in 32 bits, and never gives out the first.
pub(crate) fn correlation(value: Option<i64>) -> u32 {
    value.and_then(|value| u32::try_from(value).ok()).filter(|value| *value != 0).unwrap_or(NONE)
}

/// A count or size; what is none is zero.
pub(crate) fn small(value: Option<i64>) -> u32 {
    value.and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
}

/// A diagnostic, and how often it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told<'a> {
    pub diagnostic: &'a Diagnostic,
    pub times: u64,
}

impl std::fmt::Display for Told<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.diagnostic.text)?;
        if self.times > 1 { write!(out, " ({} times)", self.times) } else { Ok(()) }
    }
}

/// Something the reader found wrong or worth saying.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    pub text: String,
    /// Events are missing because of it.
    pub lost: bool,
}

/// The default is the empty text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StringId(u32);

impl StringId {
    /// For tables by string: from 0 on, without gaps.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Interned strings; the empty one is always there, and first.
#[derive(Debug, Clone)]
pub struct Strings {
    texts: Vec<String>,
    ids: HashMap<String, StringId>,
}

impl Default for Strings {
    fn default() -> Self {
        Self { texts: vec![String::new()], ids: HashMap::from([(String::new(), StringId(0))]) }
    }
}

impl Strings {
    pub fn intern(&mut self, text: &str) -> StringId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = StringId(self.texts.len() as u32);
        self.texts.push(text.to_owned());
        self.ids.insert(text.to_owned(), id);
        id
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// Puts other texts in place of some; numbers stay.
    pub(crate) fn rename(&mut self, renamed: &mut dyn FnMut(&str) -> Option<String>) {
        for (at, text) in self.texts.iter_mut().enumerate() {
            if let Some(other) = renamed(text) {
                self.ids.remove(text);
                self.ids.entry(other.clone()).or_insert(StringId(at as u32));
                *text = other;
            }
        }
    }

    /// What stands for a text that is missing.
    pub(crate) fn lost(&mut self) -> StringId {
        self.intern("<name lost>")
    }

    pub fn text(&self, id: StringId) -> &str {
        self.texts.get(id.0 as usize).map_or("", String::as_str)
    }
}
