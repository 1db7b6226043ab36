//! Processes and their threads: ranges, operators and calls.

use std::io;

use trace::{Kind, StringId, Trace};

use super::annotations::{Annotations, Key};
use super::arrows::Arrows;
use super::draw::{Onto, draw};
use super::lanes::{Span, Times};
use super::packets::{Look, Packets, Place, Subject};

/// What is drawn for each owner, by the numbers of rows.
struct Rows {
    /// By thread.
    pushed: Vec<Vec<u32>>,
    operators: Vec<Vec<u32>>,
    calls: Vec<Vec<u32>>,
    /// By process: such a range may end on another thread.
    started: Vec<Vec<u32>>,
}

impl Rows {
    fn of(trace: &Trace, times: Times) -> Self {
        let ranges = &trace.ranges;
        let mut pushed = vec![Vec::new(); trace.threads.len()];
        let mut started = vec![Vec::new(); trace.processes.len()];
        for (range, thread) in ranges.thread.iter().enumerate() {
            let owner = match ranges.kind[range] {
                Kind::PushPop => &mut pushed[*thread as usize],
                Kind::StartEnd => &mut started[trace.threads[*thread as usize].process as usize],
            };
            owner.push(range as u32);
        }
        for rows in pushed.iter_mut().chain(&mut started) {
            times.sort(rows, &ranges.begin, &ranges.end);
        }
        let by_thread = |threads: &[u32], begins: &[i64], ends: &[i64]| {
            let mut all = vec![Vec::new(); trace.threads.len()];
            for (row, thread) in threads.iter().enumerate() {
                all[*thread as usize].push(row as u32);
            }
            for rows in &mut all {
                times.sort(rows, begins, ends);
            }
            all
        };
        let (operators, calls) = (&trace.operators, &trace.calls);
        Self {
            operators: by_thread(&operators.thread, &operators.begin, &operators.end),
            calls: by_thread(&calls.thread, &calls.begin, &calls.end),
            pushed,
            started,
        }
    }
}

pub(crate) fn processes(
    packets: &mut Packets<'_>,
    trace: &Trace,
    times: Times,
    arrows: &Arrows,
) -> io::Result<()> {
    let rows = Rows::of(trace, times);
    for (number, process) in trace.processes.iter().enumerate() {
        let subject = Subject::Process { pid: process.pid, name: &process.name, label: &process.label };
        let track = packets.track(subject, Place::default())?;
        let lanes = Place { name: "start/end ranges", parent: Some(track), rank: 0 };
        draw_ranges(packets, trace, times, &rows.started[number], Onto { first: None, lanes, nested: false })?;
        for (thread, of) in trace.threads.iter().enumerate().filter(|(_, of)| of.process as usize == number) {
            let subject = Subject::Thread { pid: process.pid, tid: of.id, name: of.name.as_deref() };
            let place = Place { parent: Some(track), ..Place::default() };
            let track = packets.track(subject, place)?;
            draw_thread(packets, trace, times, &rows, thread, track, arrows)?;
        }
    }
    Ok(())
}

fn draw_thread(
    packets: &mut Packets<'_>,
    trace: &Trace,
    times: Times,
    rows: &Rows,
    thread: usize,
    track: u64,
    arrows: &Arrows,
) -> io::Result<()> {
    let below = |name, rank| Place { name, parent: Some(track), rank };
    let lanes = below("ranges that do not nest", 0);
    draw_ranges(packets, trace, times, &rows.pushed[thread], Onto { first: Some(track), lanes, nested: true })?;

    let operators = &trace.operators;
    let spans = rows.operators[thread]
        .iter()
        .map(|row| times.span(*row, operators.begin[*row as usize], operators.end[*row as usize]));
    let onto = Onto { first: None, lanes: below("operators", 1), nested: true };
    let category = packets.category_text("operator");
    draw(packets, onto, spans, |packets, span, _| {
        let name = packets.name(&trace.strings, operators.name[span.row as usize]);
        Look { name, category, arrow: None }
    })?;

    let calls = &trace.calls;
    let spans = rows.calls[thread]
        .iter()
        .map(|row| times.span(*row, calls.begin[*row as usize], calls.end[*row as usize]));
    let onto = Onto { first: None, lanes: below("CUDA calls", 2), nested: true };
    let category = packets.category_text("cuda");
    draw(packets, onto, spans, |packets, span, _| {
        let name = packets.name(&trace.strings, calls.name[span.row as usize]);
        Look { name, category, arrow: arrows.from_call(trace, span.row) }
    })
}

fn draw_ranges(
    packets: &mut Packets<'_>,
    trace: &Trace,
    times: Times,
    rows: &[u32],
    onto: Onto<'_>,
) -> io::Result<()> {
    let ranges = &trace.ranges;
    let default = packets.category_text("nvtx");
    let spans = rows.iter().map(|row| times.span(*row, ranges.begin[*row as usize], ranges.end[*row as usize]));
    draw(packets, onto, spans, |packets, span, annotations| {
        annotate(trace, span, annotations);
        let domain = ranges.domain[span.row as usize];
        let name = packets.name(&trace.strings, ranges.name[span.row as usize]);
        let category =
            if domain == StringId::default() { default } else { packets.category(&trace.strings, domain) };
        Look { name, category, arrow: None }
    })
}

fn annotate(trace: &Trace, range: &Span, annotations: &mut Annotations) {
    let payload = &trace.ranges.payload;
    let first = payload.partition_point(|(of, _)| *of < range.row);
    if let Some((_, value)) = payload.get(first).filter(|(of, _)| *of == range.row) {
        annotations.real(Key::Payload, *value);
    }
    if range.open {
        annotations.holds(Key::Open);
    }
}
