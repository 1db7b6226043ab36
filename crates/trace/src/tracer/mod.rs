//! Reads the files our tracer leaves, one a process.

mod gpu;
mod loss;

pub use gpu::{CUPTI_NOT_LOADED, CUPTI_TAKEN};
pub use loss::unseen;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use input::{Input, InputError};
use nvtx::Kind;
use tracefile::{Event, Header, Payload, Segment, StringEntry, TraceFile};

use crate::model::{Diagnostic, Process, Range, StringId, Thread, Trace};
use crate::nest::{DEEPEST, parent};

/// A file of a process with half a billion ranges.
const LARGEST: u64 = 16 << 30;

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("`{}` is {source}", path.display())]
    File { path: PathBuf, source: tracefile::ReadError },
}

/// Reads every file into one trace. One that is damaged is read as far as it goes, and one that
/// cannot be read at all is left out: a diagnostic says so. When none can be read, that is an error.
/// `written` is told how much of each file holds anything.
pub fn read_tracer_files(paths: &[PathBuf], mut written: impl FnMut(&Path, u64)) -> Result<Trace, ReadError> {
    let mut trace = empty();
    for path in paths {
        match read_file(path, &mut trace) {
            Ok(used) => written(path, used as u64),
            Err(error) if paths.len() == 1 => return Err(error),
            Err(error) => {
                trace.diagnostics.push(Diagnostic { text: error.to_string(), lost: true });
                trace.ranges_missing = true;
            }
        }
    }
    Ok(finished(trace))
}

fn read_file(path: &Path, trace: &mut Trace) -> Result<usize, ReadError> {
    let bytes = Input::open(path)?.whole(LARGEST)?;
    read(&bytes, path, trace).map_err(|source| ReadError::File { path: path.to_owned(), source })
}

/// Reads the bytes of one file; `path` is what diagnostics call it.
pub fn read_tracer_bytes(bytes: &[u8], path: &Path) -> Result<Trace, tracefile::ReadError> {
    let mut trace = empty();
    read(bytes, path, &mut trace)?;
    Ok(finished(trace))
}

fn empty() -> Trace {
    Trace { source: "rangefinder's tracer".to_owned(), begin: i64::MAX, end: i64::MIN, ..Trace::default() }
}

fn finished(mut trace: Trace) -> Trace {
    if trace.begin > trace.end {
        (trace.begin, trace.end) = (0, 0);
    }
    if trace.is_empty() {
        trace.nothing = Some(NOTHING.to_owned());
    }
    trace
}

/// Why a trace has nothing to analyze, and what to do.
const NOTHING: &str = "the program opened no NVTX range, and nothing of the GPU was recorded\n\
    hint: open ranges in it (`torch.cuda.nvtx.range(\"name\")`, or `rangefinder run --auto`), or record it where \
    there is a GPU";

fn read(bytes: &[u8], path: &Path, trace: &mut Trace) -> Result<usize, tracefile::ReadError> {
    let file = TraceFile::parse(bytes)?;
    let process = trace.processes.len() as u32;
    trace.processes.push(Process {
        pid: file.header.pid,
        parent: file.header.parent,
        forked: file.header.forked,
        name: file.header.name.clone(),
        label: file.header.label.clone(),
    });
    let clock = Clock::of(&file);
    let mut reader = Reader {
        clock,
        process,
        names: HashMap::new(),
        domains: HashMap::new(),
        thread_names: HashMap::new(),
        threads: HashMap::new(),
        stacks: HashMap::new(),
        started: HashMap::new(),
        ended: Vec::new(),
        unbalanced: 0,
        too_deep: 0,
        trace,
    };
    let mut damage = reader.strings(&file);
    let (segments, broken) = file.segments();
    damage.broken_chunks += broken;
    for segment in &segments {
        reader.segment(segment);
    }
    reader.finish();
    damage.broken_chunks += reader.gpu(&file);
    let (unbalanced, too_deep) = (reader.unbalanced, reader.too_deep);
    trace.say_too_deep(too_deep);
    let shown = path.file_name().unwrap_or_default().to_string_lossy();
    let mut say = |text: String, lost| trace.diagnostics.push(Diagnostic { text, lost });
    let losses = loss::sentences(&file.header);
    let missing = !losses.is_empty() || damage != tracefile::Damage::default();
    for text in losses {
        say(text, true);
    }
    if damage.broken_chunks > 0 {
        say(format!("{shown}: {} chunks break off in the middle", damage.broken_chunks), true);
    }
    if damage.lost_bytes > 0 {
        say(format!("{shown}: the last {} bytes cannot be read", damage.lost_bytes), true);
    }
    if unbalanced > 0 {
        say(format!("{shown}: {unbalanced} pops had no push before them"), false);
    }
    trace.ranges_missing |= missing;
    Ok(file.written())
}

/// Ticks → nanoseconds of `CLOCK_MONOTONIC`.
struct Clock {
    base: i64,
    nanoseconds_per_tick: f64,
}

impl Clock {
    /// From the pair that lies furthest from the base, or the first estimate when
    /// the process did not live long enough to leave one.
    fn of(file: &TraceFile<'_>) -> Self {
        let header: &Header = &file.header;
        let pairs = file.chunks.iter().map(|chunk| chunk.clock).chain(header.end);
        let furthest = pairs.max_by_key(|(_, monotonic)| *monotonic);
        let measured = furthest.and_then(|(ticks, monotonic)| {
            let passed = monotonic.checked_sub(header.base_monotonic)?;
            (passed > 10_000_000 && ticks > 0).then(|| passed as f64 / ticks as f64)
        });
        let estimated = 1e9 / (header.ticks_per_second.max(1) as f64);
        let nanoseconds_per_tick = if header.nanoseconds { 1.0 } else { measured.unwrap_or(estimated) };
        Self { base: i64::try_from(header.base_monotonic).unwrap_or(0), nanoseconds_per_tick }
    }

    fn time(&self, ticks: u64) -> i64 {
        self.base.saturating_add((ticks as f64 * self.nanoseconds_per_tick) as i64)
    }
}

#[derive(Clone, Copy)]
struct Name {
    text: StringId,
    registered: bool,
    wide: bool,
}

struct Reader<'t> {
    clock: Clock,
    process: u32,
    names: HashMap<u32, Name>,
    domains: HashMap<u16, StringId>,
    thread_names: HashMap<u32, String>,
    threads: HashMap<u32, u32>,
    /// Open push/pop ranges by thread and domain.
    stacks: HashMap<(u32, u16), Vec<u32>>,
    started: HashMap<u64, u32>,
    ended: Vec<(u64, i64)>,
    unbalanced: u64,
    too_deep: u64,
    trace: &'t mut Trace,
}

impl Reader<'_> {
    fn strings(&mut self, file: &TraceFile<'_>) -> tracefile::Damage {
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

    fn thread(&mut self, id: u32) -> u32 {
        *self.threads.entry(id).or_insert_with(|| {
            let name = self.thread_names.get(&id).cloned();
            self.trace.threads.push(Thread { process: self.process, id, name });
            self.trace.threads.len() as u32 - 1
        })
    }

    fn segment(&mut self, segment: &Segment<'_>) {
        let thread = self.thread(segment.thread);
        segment.events(|event| self.event(thread, event));
    }

    fn event(&mut self, thread: u32, event: Event) {
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

    fn name(&mut self, id: u32) -> Name {
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

    fn finish(&mut self) {
        for (id, end) in std::mem::take(&mut self.ended) {
            match self.started.get(&id) {
                Some(range) => self.trace.ranges.end[*range as usize] = end,
                None => self.unbalanced += 1,
            }
        }
    }
}
