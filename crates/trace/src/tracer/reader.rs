//! The events of one process → ranges and marks.

use std::collections::HashMap;

use nvtx::Kind;
use tracefile::{Event, Payload, Segment, StringEntry, TraceFile};

use super::clock::Clock;
use super::graph_nodes::{self, MadeNode};
use crate::extent::Extent;
use crate::model::{GraphNode, Range, StringId, Thread, Trace};
use crate::nest::{DEEPEST, parent};

#[derive(Clone, Copy)]
pub(super) struct Name {
    pub(super) text: StringId,
    registered: bool,
    wide: bool,
}

/// State of one process while its file is read.
pub(super) struct Reader<'t> {
    pub(super) clock: Clock,
    pub(super) extent: Extent,
    pub(super) process: u32,
    names: HashMap<u32, Name>,
    domains: HashMap<u16, StringId>,
    thread_names: HashMap<u32, String>,
    threads: HashMap<u32, u32>,
    /// Open push/pop ranges by thread and domain.
    stacks: HashMap<(u32, u16), Vec<u32>>,
    started: HashMap<u64, u32>,
    ended: Vec<(u64, i64)>,
    nodes: Vec<MadeNode>,
    /// By thread, when the instantiation that is under way began.
    instantiating: HashMap<u32, i64>,
    pub(super) unbalanced: u64,
    pub(super) too_deep: u64,
    pub(super) trace: &'t mut Trace,
}

impl<'t> Reader<'t> {
    pub(super) fn new(clock: Clock, extent: Extent, process: u32, trace: &'t mut Trace) -> Self {
        Self {
            clock,
            extent,
            process,
            names: HashMap::new(),
            domains: HashMap::new(),
            thread_names: HashMap::new(),
            threads: HashMap::new(),
            stacks: HashMap::new(),
            started: HashMap::new(),
            ended: Vec::new(),
            nodes: Vec::new(),
            instantiating: HashMap::new(),
            unbalanced: 0,
            too_deep: 0,
            trace,
        }
    }

    pub(super) fn strings(&mut self, file: &TraceFile<'_>) -> tracefile::Damage {
        let nothing = self.trace.strings.intern("");
        self.names.insert(tracefile::layout::NO_NAME, Name { text: nothing, registered: false, wide: false });
        self.domains.insert(tracefile::layout::DEFAULT_DOMAIN, nothing);
        file.strings(|entry| match entry {
            StringEntry::Name { id, registered, wide, text, .. } => {
                let text = self.trace.strings.intern(&String::from_utf8_lossy(text));
                self.names.insert(id, Name { text, registered, wide });
            }
            StringEntry::Domain { id, text } => {
                let text = self.trace.strings.intern(&String::from_utf8_lossy(text));
                self.domains.insert(id, text);
            }
            StringEntry::Thread { thread, text } => {
                self.thread_names.insert(thread, String::from_utf8_lossy(text).into_owned());
            }
            StringEntry::Category { .. } => {}
        })
    }

    pub(super) fn thread(&mut self, id: u32) -> u32 {
        *self.threads.entry(id).or_insert_with(|| {
            let name = self.thread_names.get(&id).cloned();
            self.trace.threads.push(Thread { process: self.process, id, name });
            self.trace.threads.len() as u32 - 1
        })
    }

    pub(super) fn segment(&mut self, segment: &Segment<'_>) {
        let thread = self.thread(segment.thread);
        segment.events(|event| self.event(thread, event));
    }

    fn event(&mut self, thread: u32, event: Event) {
        if !self.extent.has(self.clock.time(event.ticks())) {
            return;
        }
        match event {
            Event::Push { ticks, name, domain, payload, .. } => {
                let begin = self.seen(ticks);
                self.payload(payload);
                let stack = self.stacks.entry((thread, domain)).or_default();
                let parent = parent(stack);
                self.too_deep += u64::from(stack.len() >= DEEPEST);
                stack.push(self.trace.ranges.len() as u32);
                self.open(thread, domain, name, Kind::PushPop, begin, parent);
            }
            Event::Pop { ticks, domain } => {
                let end = self.seen(ticks);
                match self.stacks.get_mut(&(thread, domain)).and_then(Vec::pop) {
                    Some(range) => self.trace.ranges.end[range as usize] = end,
                    None => self.unbalanced += 1,
                }
            }
            Event::Start { ticks, id, name, domain, payload, .. } => {
                let begin = self.seen(ticks);
                self.payload(payload);
                self.started.insert(id, self.trace.ranges.len() as u32);
                self.open(thread, domain, name, Kind::StartEnd, begin, None);
            }
            Event::End { ticks, id } => {
                let end = self.seen(ticks);
                // It may have begun on a thread whose events are still to come.
                self.ended.push((id, end));
            }
            Event::Mark { ticks, name, domain, .. } => {
                self.seen(ticks);
                let key = (self.domain(domain), self.name(name).text);
                *self.trace.marks.entry(key).or_default() += 1;
            }
            Event::Node { ticks, id, original } => {
                let time = self.seen(ticks);
                let original = original.unwrap_or(0);
                self.trace.graph_nodes.push(GraphNode {
                    time,
                    thread,
                    node: id,
                    original,
                    ..GraphNode::default()
                });
            }
            Event::NodeAt { ticks, address } => {
                let time = self.seen(ticks);
                self.nodes.push(MadeNode { time, thread, address, copy: None });
            }
            Event::CopyAt { ticks, id, address, original } => {
                let time = self.seen(ticks);
                self.nodes.push(MadeNode { time, thread, address, copy: Some((id, original)) });
            }
            Event::Instantiation { ticks, begins: true } => {
                let begin = self.seen(ticks);
                self.instantiating.insert(thread, begin);
            }
            Event::Instantiation { ticks, begins: false } => {
                let end = self.seen(ticks);
                if let Some(begin) = self.instantiating.remove(&thread) {
                    self.trace.instantiations.push((thread, begin, end));
                }
            }
            Event::Thread { .. } => {}
        }
    }

    /// The number that came with the range about to be opened.
    fn payload(&mut self, payload: Option<Payload>) {
        if let Some(payload) = payload {
            let value = match payload {
                Payload::Unsigned(value) => value as f64,
                Payload::Signed(value) => value as f64,
                Payload::Real(value) => value,
            };
            self.trace.ranges.payload.push((self.trace.ranges.len() as u32, value));
        }
    }

    fn seen(&mut self, ticks: u64) -> i64 {
        let time = self.clock.time(ticks);
        self.trace.begin = self.trace.begin.min(time);
        self.trace.end = self.trace.end.max(time);
        time
    }

    fn open(&mut self, thread: u32, domain: u16, name: u32, kind: Kind, begin: i64, parent: Option<u32>) {
        let domain = self.domain(domain);
        let Name { text: name, registered, wide } = self.name(name);
        let ranges = &mut self.trace.ranges;
        ranges.push(Range { thread, domain, name, kind, registered, wide, begin, ..Range::default() });
        ranges.parent.push(parent);
    }

    pub(super) fn name(&mut self, id: u32) -> Name {
        if let Some(name) = self.names.get(&id) {
            return *name;
        }
        let name = Name { text: self.trace.strings.lost(), registered: false, wide: false };
        *self.names.entry(id).or_insert(name)
    }

    fn domain(&mut self, id: u16) -> StringId {
        if let Some(domain) = self.domains.get(&id) {
            return *domain;
        }
        let domain = self.trace.strings.intern("<domain lost>");
        *self.domains.entry(id).or_insert(domain)
    }

    pub(super) fn finish(&mut self) {
        for (id, end) in std::mem::take(&mut self.ended) {
            match self.started.get(&id) {
                Some(range) => self.trace.ranges.end[*range as usize] = end,
                None => self.unbalanced += 1,
            }
        }
        let nodes = std::mem::take(&mut self.nodes);
        graph_nodes::append(&mut self.trace.graph_nodes, nodes);
    }
}
