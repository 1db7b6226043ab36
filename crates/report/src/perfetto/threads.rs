//! Processes and their threads: ranges, operators and calls.

use std::collections::HashSet;
use std::io;

use trace::{Kind, Process, StringId, Thread, Trace};

use super::annotations::{Annotations, Key};
use super::arrows::Arrows;
use super::draw::{Onto, draw};
use super::lanes::{Span, Times};
use super::packets::{Look, Packets};
use super::tracks::{Place, Subject};

pub(crate) struct Threads<'a> {
    trace: &'a Trace,
    times: Times,
    arrows: &'a Arrows,
    /// What is drawn for each thread, by the numbers of rows.
    pushed: Vec<Vec<u32>>,
    operators: Vec<Vec<u32>>,
    calls: Vec<Vec<u32>>,
    /// For each process: such a range may end on another thread.
    started: Vec<Vec<u32>>,
}

impl<'a> Threads<'a> {
    pub(crate) fn new(trace: &'a Trace, times: Times, arrows: &'a Arrows) -> Self {
        let ranges = &trace.ranges;
        let mut pushed = vec![Vec::new(); trace.threads.len()];
        let mut started = vec![Vec::new(); trace.processes.len()];
        for (range, thread) in ranges.thread.iter().enumerate() {
            let owner = match ranges.kind[range] {
                Kind::PushPop => &mut pushed[*thread as usize],
                Kind::StartEnd => &mut started[trace.process_of(*thread) as usize],
            };
            owner.push(range as u32);
        }
        let by_thread = |rows: &[u32]| {
            let mut all = vec![Vec::new(); trace.threads.len()];
            for (row, thread) in rows.iter().enumerate() {
                all[*thread as usize].push(row as u32);
            }
            all
        };
        let operators = by_thread(&trace.operators.thread);
        let calls = by_thread(&trace.calls.thread);
        Self { trace, times, arrows, pushed, operators, calls, started }
    }

    pub(crate) fn draw(mut self, packets: &mut Packets<'_>) -> io::Result<()> {
        let mut pids = HashSet::new();
        for (number, process) in self.trace.processes.iter().enumerate() {
            let known = !pids.insert(process.pid);
            let track = process_track(packets, process, known)?;
            let lanes = Place { name: "start/end ranges", parent: Some(track), rank: 0 };
            let started = std::mem::take(&mut self.started[number]);
            self.draw_ranges(packets, Onto { first: None, lanes, nested: false }, started)?;
            let threads = self.trace.threads.iter().enumerate();
            for (thread, of) in threads.filter(|(_, of)| of.process as usize == number) {
                let track = thread_track(packets, process.pid, of, track, known)?;
                self.draw_thread(packets, thread, track)?;
            }
        }
        Ok(())
    }

    fn draw_thread(&mut self, packets: &mut Packets<'_>, thread: usize, track: u64) -> io::Result<()> {
        let (trace, times, arrows) = (self.trace, self.times, self.arrows);
        let below = |name, rank| Place { name, parent: Some(track), rank };
        let lanes = below("ranges that do not nest", 0);
        let pushed = std::mem::take(&mut self.pushed[thread]);
        self.draw_ranges(packets, Onto { first: Some(track), lanes, nested: true }, pushed)?;

        let operators = &trace.operators;
        let spans = times.spans(&mut self.operators[thread], &operators.begin, &operators.end);
        let onto = Onto { first: None, lanes: below("operators", 1), nested: true };
        let category = packets.category_text("operator");
        draw(packets, onto, spans, |packets, span, _| {
            let name = packets.name(&trace.strings, operators.name[span.row as usize]);
            Look { name, category, arrow: None }
        })?;

        let calls = &trace.calls;
        let spans = times.spans(&mut self.calls[thread], &calls.begin, &calls.end);
        let onto = Onto { first: None, lanes: below("CUDA calls", 2), nested: true };
        let category = packets.category_text("cuda");
        draw(packets, onto, spans, |packets, span, _| {
            let name = packets.name(&trace.strings, calls.name[span.row as usize]);
            Look { name, category, arrow: arrows.at_call(trace, span.row) }
        })
    }

    fn draw_ranges(&self, packets: &mut Packets<'_>, onto: Onto<'_>, mut rows: Vec<u32>) -> io::Result<()> {
        let (strings, ranges) = (&self.trace.strings, &self.trace.ranges);
        let default = packets.category_text("nvtx");
        let spans = self.times.spans(&mut rows, &ranges.begin, &ranges.end);
        draw(packets, onto, spans, |packets, span, annotations| {
            self.annotate(span, annotations);
            let category = match ranges.domain[span.row as usize] {
                domain if domain == StringId::default() => default,
                domain => packets.category(strings, domain),
            };
            Look { name: packets.name(strings, ranges.name[span.row as usize]), category, arrow: None }
        })
    }

    fn annotate(&self, range: &Span, annotations: &mut Annotations) {
        let payload = &self.trace.ranges.payload;
        let first = payload.partition_point(|(of, _)| *of < range.row);
        if let Some((_, value)) = payload.get(first).filter(|(of, _)| *of == range.row) {
            annotations.real(Key::Payload, *value);
        }
        if range.open {
            annotations.holds(Key::Open);
        }
    }
}

/// Two recordings may know different processes by one number. Perfetto would take the second
/// for the first, and mix up their threads: it becomes a group of tracks with plain names.
fn process_track(packets: &mut Packets<'_>, process: &Process, known: bool) -> io::Result<u64> {
    let Process { pid, name, label, .. } = process;
    if !known {
        return packets.track(Subject::Process { pid: *pid, name, label }, Place::default());
    }
    let label = if label.is_empty() { String::new() } else { format!(", {label}") };
    let name = format!("{name} {pid}{label}");
    packets.track(Subject::Group, Place { name: name.trim_start(), ..Place::default() })
}

fn thread_track(
    packets: &mut Packets<'_>,
    pid: u32,
    thread: &Thread,
    parent: u64,
    known: bool,
) -> io::Result<u64> {
    let place = Place { parent: Some(parent), ..Place::default() };
    let name = thread.name.as_deref();
    if !known {
        return packets.track(Subject::Thread { pid, tid: thread.id, name }, place);
    }
    let name = format!("{} {}", name.unwrap_or("thread"), thread.id);
    packets.track(Subject::Group, Place { name: &name, ..place })
}
