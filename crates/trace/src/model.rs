//! The trace: columns, interned strings, times as nanoseconds.

use std::collections::HashMap;

use nvtx::Kind;

/// The end of a range that was still open when the recording ended.
pub const OPEN: i64 = i64::MAX;

#[derive(Debug, Default)]
pub struct Trace {
    pub strings: Strings,
    pub processes: Vec<Process>,
    pub threads: Vec<Thread>,
    pub ranges: Ranges,
    /// Marks, by how many there were: name and count.
    pub marks: HashMap<(StringId, StringId), u64>,
    pub diagnostics: Vec<Diagnostic>,
    /// When the recording of the first process began and the last event was seen.
    pub begin: i64,
    pub end: i64,
}

#[derive(Debug, Clone)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// It came from a fork without an exec.
    pub forked: bool,
    pub name: String,
    /// `rank 3`, where it said so.
    pub label: String,
}

#[derive(Debug, Clone)]
pub struct Thread {
    /// Index into [`Trace::processes`].
    pub process: u32,
    pub id: u32,
    pub name: Option<String>,
}

/// One row a range. All columns have the same length.
#[derive(Debug, Default)]
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
}

impl Ranges {
    pub fn len(&self) -> usize {
        self.begin.len()
    }

    pub fn is_empty(&self) -> bool {
        self.begin.is_empty()
    }
}

/// Something the reader found wrong or worth saying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub text: String,
    /// Events are missing because of it.
    pub lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StringId(u32);

/// Interned strings; the empty one is always there, and first.
#[derive(Debug)]
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

    pub fn text(&self, id: StringId) -> &str {
        self.texts.get(id.0 as usize).map_or("", String::as_str)
    }
}
