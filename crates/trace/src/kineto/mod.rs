//! The Chrome trace that PyTorch's profiler (Kineto) writes, plain or compressed.
//!
//! Read as a stream, one event at a time: a file of any size needs memory for what
//! is in it, not for its text.

mod beside;
mod counters;
mod event;
mod foreign;
mod json;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};

use beside::{Beside, Platform};
use counters::Counters;
use event::{Event, Scalar};
use foreign::Foreign;
use input::{Input, InputError, Text};
use json::{Events, JsonError};

use crate::count::counted;
use crate::extent::{Budget, Extent, Weights};
use crate::footprint;
use crate::model::{
    Activity, ActivityKind, Call, Collective, Device, Diagnostic, Direction, HostMemory, Launch, Operator,
    Process, Range, Recorder, StringId, Thread, Trace, Transfer, correlation, small,
};

/// What a PyTorch that is built without Kineto has in place of a process, for its operators.
const WITHOUT_KINETO: &[u8] = b"CPU functions";

#[derive(Debug, thiserror::Error)]
pub enum KinetoError {
    #[error("`{}` cannot be read", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("`{}` is {}", path.display(), other_json(start))]
    NotATrace { path: PathBuf, start: Vec<u8> },
    #[error("`{}` is truncated: it ends before its list of events begins\nhint: copy the file again", path.display())]
    Truncated { path: PathBuf },
}

pub fn read_kineto(path: &Path) -> Result<Trace, KinetoError> {
    let input = Input::open(path)?;
    read_kineto_text(Text::of(&input)?, &input, Budget::of_process())
}

/// The same, of a file that has been looked at already. One that takes more memory than there is for it is read once more:
/// to see when its events were, since they are in no order, and then those of its first part.
pub(crate) fn read_kineto_text(text: Text<'_>, input: &Input, budget: Budget) -> Result<Trace, KinetoError> {
    let path = input.path();
    let mut trace = match read(text, path, Bounds { extent: Extent::whole(), most: budget.bytes() })? {
        Some(trace) => trace,
        None => {
            let extent = weigh(Text::of(input)?).extent(budget);
            // What is read then was weighed.
            let bounds = Bounds { extent, most: u64::MAX };
            read(Text::of(input)?, path, bounds)?.unwrap_or_default()
        }
    };
    trace.say_when_changed(input);
    Ok(trace)
}

/// When the events of a file were, and what they take in memory.
fn weigh(text: Text<'_>) -> Weights {
    let mut weights = Weights::default();
    // Names that many events share are kept once; of too many, none is known to be shared.
    let mut names: HashSet<u64> = HashSet::new();
    let mut events = Events::new(text);
    let mut weigh = |text: &[u8]| {
        let Some(event) = Event::parse(text).filter(|event| event.phase == b"X" || event.phase == b"C")
        else {
            return;
        };
        let mut hasher = DefaultHasher::new();
        event.name.hash(&mut hasher);
        let is_new = names.len() == MOST_NAMES || names.insert(hasher.finish());
        let name = if is_new { footprint::OF_TEXT + 2 * event.name.len() as u64 } else { 0 };
        weights.add(event.begin, name + of_category(event.category));
    };
    // Where it breaks off, reading tells.
    while matches!(events.next(&mut weigh), Ok(true)) {}
    weights
}

const MOST_NAMES: usize = 1 << 20;
/// Of processes and threads.
const MOST_LABELS: usize = 1 << 16;
const LONGEST_LABEL: usize = 1 << 12;

fn of_category(category: &[u8]) -> u64 {
    match category {
        b"user_annotation" => footprint::OF_RANGE,
        b"cuda_runtime" | b"cuda_driver" | b"Runtime" => footprint::OF_CALL,
        b"kernel" | b"Kernel" | b"gpu_memcpy" | b"Memcpy" | b"gpu_memset" | b"Memset" => {
            footprint::OF_ACTIVITY
        }
        b"cpu_op" | b"Operator" | b"" => footprint::OF_OPERATOR,
        _ => footprint::OF_EVENT,
    }
}

/// What a JSON file is that is not a Chrome trace.
fn other_json(start: &[u8]) -> &'static str {
    let has = |key: &str| memchr::memmem::find(start, key.as_bytes()).is_some();
    match () {
        () if has("\"rocprofiler-sdk-tool\"") => {
            "JSON of AMD's rocprofv3, which Rangefinder does not read\n\
             hint: record the program with torch.profiler, and pass the trace it exports"
        }
        () if has("\"schema\"") && has("\"nodes\"") => {
            "a PyTorch execution trace: it holds operators and shapes, but no times\n\
             hint: pass a trace from torch.profiler (export_chrome_trace)"
        }
        () => {
            "JSON, but not a Chrome trace: it has no `traceEvents`\n\
             hint: pass a trace from torch.profiler (export_chrome_trace)"
        }
    }
}

const CUT: &str = "the gzip file is truncated";

/// Only gzip fails like this: zstd has a message of its own, and other files just end.
fn is_cut(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::UnexpectedEof
}

/// The same error in plain words.
pub(crate) fn plainly(error: std::io::Error) -> std::io::Error {
    if is_cut(&error) { std::io::Error::new(error.kind(), CUT) } else { error }
}

/// Reads all of anything; `path` is what errors call it.
pub fn read_kineto_from(source: impl Read, path: &Path) -> Result<Trace, KinetoError> {
    let bounds = Bounds { extent: Extent::whole(), most: u64::MAX };
    read(source, path, bounds).map(Option::unwrap_or_default)
}

/// What is read.
struct Bounds {
    extent: Extent,
    /// Bytes of memory.
    most: u64,
}

/// None if it takes more memory.
fn read(source: impl Read, path: &Path, bounds: Bounds) -> Result<Option<Trace>, KinetoError> {
    /// So many events are of no account.
    const LOOK: u64 = 4096;
    let mut reader = Reader { extent: bounds.extent, ..Reader::default() };
    let mut events = Events::new(source);
    loop {
        match events.next(|text| reader.read_event(text)) {
            Ok(true) if reader.events.is_multiple_of(LOOK) && reader.trace.footprint() > bounds.most => {
                return Ok(None);
            }
            Ok(true) => {}
            Ok(false) => break,
            // A list of something else.
            Err(JsonError::NoEvent) if reader.events == 0 => {
                return Err(KinetoError::NotATrace { path: path.to_owned(), start: events.seen().to_vec() });
            }
            Err(JsonError::NoEvents) => {
                return Err(KinetoError::NotATrace { path: path.to_owned(), start: events.seen().to_vec() });
            }
            Err(JsonError::Cut) => return Err(KinetoError::Truncated { path: path.to_owned() }),
            Err(JsonError::Io(source)) if reader.events == 0 => {
                return Err(KinetoError::Io { path: path.to_owned(), source: plainly(source) });
            }
            // Keep what came before.
            Err(error) => {
                let why = match error {
                    JsonError::Io(error) if is_cut(&error) => CUT.to_owned(),
                    JsonError::Io(error) => format!("the file ends early ({error})"),
                    JsonError::BrokenOff => "the file ends in the middle of an event".to_owned(),
                    JsonError::Unclosed => "the file ends before its list of events does".to_owned(),
                    JsonError::NoEvent | JsonError::NoEvents | JsonError::Cut => {
                        "the file is damaged: what follows is not an event".to_owned()
                    }
                };
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                let events = counted(reader.events, "event");
                reader.say(format!("{file}: {why}; all after {events} is lost: copy the file again"), true);
                break;
            }
        }
    }
    if reader.trace.footprint() > bounds.most {
        return Ok(None);
    }
    reader.beside.read(events.head());
    reader.beside.read(&events.tail());
    Ok(Some(reader.finish()))
}

#[derive(Default)]
struct Reader {
    trace: Trace,
    extent: Extent,
    events: u64,
    broken: u64,
    processes: HashMap<i64, u32>,
    threads: HashMap<(i64, i64), u32>,
    devices: HashMap<i64, u16>,
    beside: Beside,
    foreign: Foreign,
    counters: Counters,
    /// Calls of HIP, AMD's runtime.
    hip_calls: bool,
    launches: HashMap<Launch, u32>,
    process_names: HashMap<i64, String>,
    thread_names: HashMap<(i64, i64), String>,
    /// It is of a PyTorch that has no Kineto.
    without_kineto: bool,
    /// The process whose calls are recorded: Kineto writes one file per process.
    process: Option<u32>,
}

impl Reader {
    fn say(&mut self, text: String, lost: bool) {
        self.trace.diagnostics.push(Diagnostic { text, lost });
    }

    fn read_event(&mut self, text: &[u8]) {
        self.events += 1;
        let Some(mut event) = Event::parse(text) else {
            self.broken += 1;
            return;
        };
        if matches!(event.phase, b"X" | b"C") && !self.extent.has(event.begin) {
            return;
        }
        match (event.phase, event.category) {
            (b"X", b"cpu_op" | b"Operator") => self.operator(&event),
            (b"X", b"") if event.pid_text == WITHOUT_KINETO => {
                self.without_kineto = true;
                event.pid = Scalar::Number(0);
                self.operator(&event);
            }
            (b"X", b"user_annotation") => self.annotation(&event),
            (b"X", b"cuda_runtime" | b"cuda_driver" | b"Runtime") => self.call(&event),
            (b"X", b"kernel" | b"Kernel") => self.kernel(&event),
            (b"X", b"gpu_memcpy" | b"Memcpy") => self.transfer(&event, ActivityKind::Copy),
            (b"X", b"gpu_memset" | b"Memset") => self.transfer(&event, ActivityKind::Fill),
            (b"X", b"gpu_user_annotation") => self.trace.gpu_annotations += 1,
            (b"M", _) => self.metadata(&event),
            (b"C", counters::CATEGORY) => self.counters.add(&event),
            (b"X" | b"B", category) => self.foreign.add(category),
            _ => {}
        }
    }

    fn thread(&mut self, event: &Event<'_>) -> Option<u32> {
        let (Scalar::Number(pid), Scalar::Number(tid)) = (event.pid, event.tid) else { return None };
        let process = self.process_of(pid);
        let trace = &mut self.trace;
        Some(*self.threads.entry((pid, tid)).or_insert_with(|| {
            trace.threads.push(Thread { process, id: tid as u32, name: None });
            trace.threads.len() as u32 - 1
        }))
    }

    fn process_of(&mut self, pid: i64) -> u32 {
        let trace = &mut self.trace;
        let process = *self.processes.entry(pid).or_insert_with(|| {
            trace.processes.push(Process { pid: pid as u32, ..Process::default() });
            trace.processes.len() as u32 - 1
        });
        self.process.get_or_insert(process);
        process
    }

    fn text(&mut self, raw: &[u8]) -> StringId {
        match json::unescaped(raw) {
            Some(text) => self.trace.strings.intern(&text),
            None => self.trace.strings.intern(&String::from_utf8_lossy(raw)),
        }
    }

    fn operator(&mut self, event: &Event<'_>) {
        let Some(thread) = self.thread(event) else { return self.broken += 1 };
        let name = self.text(event.name);
        let (begin, end) = (event.begin, event.end());
        self.trace.operators.push(Operator { begin, end, thread, name, ..Operator::default() });
    }

    /// `record_function`: a range of the default domain.
    fn annotation(&mut self, event: &Event<'_>) {
        let Some(thread) = self.thread(event) else { return self.broken += 1 };
        let (name, domain) = (self.text(event.name), self.trace.strings.intern(""));
        let (begin, end) = (event.begin, event.end());
        self.trace.ranges.push(Range { thread, domain, name, begin, end, ..Range::default() });
    }

    fn call(&mut self, event: &Event<'_>) {
        let Some(thread) = self.thread(event) else { return self.broken += 1 };
        let name = self.text(event.name);
        self.hip_calls |= event.name.starts_with(b"hip");
        let (begin, end, correlation) = (event.begin, event.end(), correlation(event.correlation));
        self.trace.calls.push(Call { begin, end, thread, name, correlation, ..Call::default() });
    }

    fn kernel(&mut self, event: &Event<'_>) {
        let name = self.text(event.name);
        let short = json::unescaped(event.name);
        let short =
            short.as_deref().map_or_else(|| String::from_utf8_lossy(event.name).into_owned(), str::to_owned);
        let short_name = self.trace.strings.intern(crate::names::short(&short));
        let launch = Launch {
            name,
            short_name,
            mangled: StringId::default(),
            grid: event.grid,
            block: event.block,
            registers: event.registers,
            static_shared: 0,
            dynamic_shared: event.shared_memory,
            hidden: false,
        };
        let next = self.launches.len() as u32;
        let launches = &mut self.trace.activities.launches;
        let detail = *self.launches.entry(launch).or_insert_with(|| {
            launches.push(launch);
            next
        });
        self.activity(event, ActivityKind::Kernel, detail);
        if let Some(collective) = event.collective.filter(|collective| !collective.function.is_empty()) {
            let element = collective.element_bytes().unwrap_or(0);
            let function = self.text(collective.function);
            let group = self.text(collective.group);
            self.trace.collectives.push(Collective {
                correlation: correlation(event.correlation),
                function,
                group,
                group_size: collective.group_size,
                bytes_in: collective.elements_in.saturating_mul(element),
                bytes_out: collective.elements_out.saturating_mul(element),
                // As with activities.
                ..Collective::default()
            });
        }
    }

    fn transfer(&mut self, event: &Event<'_>, kind: ActivityKind) {
        let (direction, memory) = match kind {
            ActivityKind::Fill => (Direction::Memset, HostMemory::Unknown),
            _ => (direction(event.name), host_memory(event.name)),
        };
        let transfers = &mut self.trace.activities.transfers;
        let detail = transfers.len() as u32;
        transfers.push(Transfer { direction, bytes: event.bytes, memory });
        self.activity(event, kind, detail);
    }

    fn activity(&mut self, event: &Event<'_>, kind: ActivityKind, detail: u32) {
        let id = event.device.unwrap_or(match event.pid {
            Scalar::Number(pid) => pid,
            Scalar::Other => 0,
        });
        let device = self.device(id);
        self.trace.activities.push(Activity {
            begin: event.begin,
            end: event.end(),
            kind,
            device,
            stream: small(event.stream),
            correlation: correlation(event.correlation),
            detail,
            in_graph: event.graph_node.is_some_and(|node| node != 0),
            node: event.graph_node.map_or(0, |node| node as u64),
            // The process is put right in `finish`: the calls may come later in the file.
            ..Activity::default()
        });
    }

    fn device(&mut self, id: i64) -> u16 {
        let devices = &mut self.trace.devices;
        *self.devices.entry(id).or_insert_with(|| {
            devices.push(Device { id: u32::try_from(id).unwrap_or(0), ..Device::default() });
            (devices.len() - 1).min(usize::from(u16::MAX)) as u16
        })
    }

    fn metadata(&mut self, event: &Event<'_>) {
        let (Scalar::Number(pid), Some(label)) = (event.pid, event.label) else { return };
        let label = json::unescaped(label).unwrap_or_else(|| String::from_utf8_lossy(label).into_owned());
        // There are not more processes and threads; a damaged file may say so.
        if label.len() > LONGEST_LABEL || self.process_names.len() + self.thread_names.len() > MOST_LABELS {
            return;
        }
        match (event.name, event.tid) {
            (b"process_name", _) => drop(self.process_names.insert(pid, label)),
            (b"thread_name", Scalar::Number(tid)) => drop(self.thread_names.insert((pid, tid), label)),
            _ => {}
        }
    }

    fn finish(mut self) -> Trace {
        self.say_what_it_is();
        if self.broken > 0 {
            let text = format!("{} of {} cannot be read", self.broken, counted(self.events, "event"));
            self.say(text, true);
        }
        let process = match self.process {
            Some(process) => process,
            None if self.trace.activities.is_empty() => 0,
            None => self.process_of(0),
        };
        let trace = &mut self.trace;
        trace.activities.process.fill(process);
        trace.collectives.process.fill(process);
        for (pid, process) in &self.processes {
            trace.processes[*process as usize].name =
                self.process_names.get(pid).cloned().unwrap_or_default();
        }
        // One file a process: the others in it are devices.
        if let (Some(rank), Some(process)) = (self.beside.rank, trace.processes.get_mut(process as usize)) {
            process.label = format!("rank {rank}");
        }
        for (key, thread) in &self.threads {
            trace.threads[*thread as usize].name = self.thread_names.get(key).cloned();
        }
        for (id, device) in &self.devices {
            if let Some(place) = trace.devices.get_mut(usize::from(*device)) {
                place.name = self.beside.device_name(*id);
            }
        }
        if let Some(unread) = self.extent.unread() {
            trace.ranges_missing = true;
            trace.unread = vec![unread];
        }
        order_operators(trace);
        self.trace.machine = self.beside.machine();
        self.add_counters();
        self.trace.finish();
        self.trace
    }

    /// Of the devices that the program used, or of all if it used none.
    fn add_counters(&mut self) {
        let counters = std::mem::take(&mut self.counters);
        if let Some(note) = counters.note() {
            self.say(note, false);
        }
        let used = !self.trace.activities.is_empty();
        for (id, mut series) in counters.into_series() {
            if used && !self.devices.contains_key(&id) {
                continue;
            }
            series.device = self.device(id);
            series.finish();
            self.trace.series.push(series);
        }
    }

    /// Whose trace it is, and what is left out.
    fn say_what_it_is(&mut self) {
        let trace = &self.trace;
        let empty = trace.is_empty();
        let kineto = !empty || self.beside.kineto;
        if self.hip_calls && self.beside.platform.is_none() {
            self.beside.platform = Some(Platform::Rocm { hip: None });
        }
        self.trace.recorders.insert(Recorder::Kineto);
        self.trace.source = match (&self.beside.platform, kineto) {
            (_, false) => "Chrome trace".to_owned(),
            (None, true) if self.without_kineto => "PyTorch profiler (without Kineto)".to_owned(),
            (None, true) => "PyTorch profiler (Kineto)".to_owned(),
            (Some(Platform::Rocm { hip: None }), true) => "PyTorch profiler (Kineto), AMD ROCm".to_owned(),
            (Some(Platform::Rocm { hip: Some(hip) }), true) => {
                format!("PyTorch profiler (Kineto), AMD ROCm (HIP {hip})")
            }
        };
        if self.beside.platform.is_some() && !empty {
            let text = "recorded on an AMD GPU: kernels, copies, calls, and operators are analyzed as on any GPU; \
                        nsys, ncu, and the peak rates Rangefinder knows are for NVIDIA GPUs only";
            self.say(text.to_owned(), false);
        }
        match self.foreign.note() {
            Some(note) if !empty => self.say(note, false),
            _ if empty => self.trace.nothing = Some(self.nothing(kineto)),
            _ => {}
        }
    }

    /// Why there is nothing to analyze, and what to do.
    fn nothing(&self, kineto: bool) -> String {
        let named = self.foreign.named();
        match (kineto, self.foreign.device()) {
            (_, Some(device)) => format!(
                "all of its events are work of {device} ({named}); Rangefinder analyzes NVIDIA and AMD GPUs\n\
                 hint: record the CPU as well: `activities=[ProfilerActivity.CPU, ...]`"
            ),
            (true, None) => "PyTorch's profiler recorded no operators, annotations, calls, or kernels\n\
                 hint: let the program reach the active steps of the profiler's schedule (prof.step()), and export \
                 the trace after them"
                .to_owned(),
            (false, None) if named.is_empty() => "it is a Chrome trace without any event that has a duration".to_owned(),
            (false, None) => format!(
                "it is a Chrome trace from another program: it has no event from PyTorch's profiler, but {named}\n\
                 hint: pass the recording it was made from (an nsys report or SQLite export, an ncu report), or a \
                 trace exported by torch.profiler"
            ),
        }
    }
}

/// By their begin, longer ones first.
fn order_operators(trace: &mut Trace) {
    let operators = &mut trace.operators;
    let mut order: Vec<u32> = (0..operators.len() as u32).collect();
    order.sort_by_key(|at| {
        let at = *at as usize;
        (operators.begin[at], std::cmp::Reverse(operators.end[at]))
    });
    operators.reorder_rows(&order);
}

/// `Memcpy HtoD (Pageable -> Device)`
fn host_memory(name: &[u8]) -> HostMemory {
    match () {
        () if has(name, "Pageable") => HostMemory::Pageable,
        () if has(name, "Pinned") => HostMemory::Pinned,
        () => HostMemory::Unknown,
    }
}

fn has(name: &[u8], text: &str) -> bool {
    name.windows(text.len()).any(|part| part == text.as_bytes())
}

/// `Memcpy HtoD (Pageable -> Device)`
fn direction(name: &[u8]) -> Direction {
    let has = |text: &str| has(name, text);
    match () {
        () if has("HtoD") => Direction::HostToDevice,
        () if has("DtoH") => Direction::DeviceToHost,
        () if has("DtoD") => Direction::DeviceToDevice,
        () if has("PtoP") => Direction::PeerToPeer,
        () if has("HtoH") => Direction::HostToHost,
        () => Direction::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PyTorch without Kineto writes a bare list, without categories.
    #[test]
    fn without_kineto() {
        let text = r#"[{"name": "aten::linear", "ph": "X", "ts": 8, "dur": 62, "tid": 1, "pid": "CPU functions", "args": {}},
            {"name": "aten::addmm", "ph": "X", "ts": 10, "dur": 50, "tid": 1, "pid": "CPU functions", "args": {}},
            {"name": "void gemm()", "ph": "X", "ts": 20, "dur": 9, "tid": 0, "pid": "CUDA functions", "args": {}}]"#;
        let trace = read_kineto_from(text.as_bytes(), Path::new("kineto.json")).unwrap();
        assert_eq!(trace.source, "PyTorch profiler (without Kineto)");
        let names: Vec<&str> = trace.operators.name.iter().map(|name| trace.strings.text(*name)).collect();
        assert_eq!(names, ["aten::linear", "aten::addmm"]);
        assert_eq!(trace.operators.end[0] - trace.operators.begin[0], 62_000);
        assert!(trace.machine.is_empty());
        assert!(
            trace.diagnostics.iter().any(|one| one.text.contains("1 without a category")),
            "{:?}",
            trace.diagnostics
        );
    }

    #[test]
    fn the_machine() {
        let text = r#"{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}, {"id": 1, "name": ""}],
            "cuda_driver_version": 13000, "cuda_runtime_version": 12040, "traceEvents": []}"#;
        let trace = read_kineto_from(text.as_bytes(), Path::new("kineto.json")).unwrap();
        let facts = [("CUDA driver", "13.0"), ("CUDA runtime", "12.4"), ("GPU 0", "NVIDIA H200")];
        assert_eq!(trace.machine, facts.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
