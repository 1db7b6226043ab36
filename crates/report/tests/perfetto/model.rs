//! What stands in a file, against the model it was written from, and against what
//! Perfetto's trace processor makes of it.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value as Json, json};
use trace::{ActivityKind, Kind, NONE, OPEN, Trace};

use super::processor::Table;
use super::reader::{Arg, File, Sample, Slice};

/// Begin, end, name, category.
type Row = (u64, u64, String, String);

fn sorted<T: Ord>(mut rows: Vec<T>) -> Vec<T> {
    rows.sort();
    rows
}

/// All of the model is there, once, and nothing else.
pub fn check(trace: &Trace, file: &File) {
    let drawn = file.slices.iter().filter(|slice| slice.category != "recording");
    let drawn = drawn.map(|slice| (slice.begin, slice.end, slice.name.clone(), slice.category.clone()));
    assert_eq!(sorted(drawn.collect()), sorted(rows(trace)));
    check_arrows(trace, file);
    check_depths(trace, file);
}

fn rows(trace: &Trace) -> Vec<Row> {
    let at = |time: i64| (time - trace.begin) as u64;
    let text = |id| trace.strings.text(id).to_owned();
    let mut rows: Vec<Row> = Vec::new();
    let ranges = &trace.ranges;
    for row in 0..ranges.len() {
        let end = if ranges.end[row] == OPEN { trace.end } else { ranges.end[row] };
        let domain = Some(text(ranges.domain[row])).filter(|domain| !domain.is_empty());
        let domain = domain.unwrap_or("nvtx".to_owned());
        rows.push((at(ranges.begin[row]), at(end), text(ranges.name[row]), domain));
    }
    for row in 0..trace.calls.len() {
        let (begin, end) = (at(trace.calls.begin[row]), at(trace.calls.end[row]));
        rows.push((begin, end, text(trace.calls.name[row]), "cuda".to_owned()));
    }
    for (row, begin) in trace.operators.begin.iter().enumerate() {
        let name = text(trace.operators.name[row]);
        rows.push((at(*begin), at(trace.operators.end[row]), name, "operator".to_owned()));
    }
    for row in 0..trace.activities.len() {
        let (name, category) = activity(trace, row);
        let (begin, end) = (at(trace.activities.begin[row]), at(trace.activities.end[row]));
        rows.push((begin, end, name, category.to_owned()));
    }
    rows
}

fn activity(trace: &Trace, row: usize) -> (String, &'static str) {
    let detail = trace.activities.detail[row] as usize;
    match trace.activities.kind[row] {
        ActivityKind::Kernel => {
            (trace.strings.text(trace.activities.launches[detail].short_name).to_owned(), "kernel")
        }
        ActivityKind::Copy => {
            (format!("copy, {}", trace.activities.transfers[detail].direction.as_str()), "copy")
        }
        ActivityKind::Migration => {
            (format!("unified memory, {}", trace.activities.transfers[detail].direction.as_str()), "copy")
        }
        ActivityKind::Fill => ("fill".to_owned(), "fill"),
        ActivityKind::Graph => (format!("graph {detail}"), "graph"),
    }
}

/// Joined once more, in the plainest way: each activity to the first call of its process that
/// has its correlation, unless that began later.
fn check_arrows(trace: &Trace, file: &File) {
    let mut calls: HashMap<(u32, u32), usize> = HashMap::new();
    for call in (0..trace.calls.len()).filter(|call| trace.calls.correlation[*call] != NONE) {
        let process = trace.threads[trace.calls.thread[call] as usize].process;
        let first = calls.entry((process, trace.calls.correlation[call])).or_insert(call);
        if trace.calls.begin[call] < trace.calls.begin[*first] {
            *first = call;
        }
    }
    let at = |time: i64| (time - trace.begin) as u64;
    let activities = &trace.activities;
    let mut expected: BTreeMap<usize, Vec<(u64, String)>> = BTreeMap::new();
    for row in 0..activities.len() {
        let call = calls.get(&(activities.process[row], activities.correlation[row]));
        if let Some(call) = call.filter(|call| trace.calls.begin[**call] <= activities.begin[row]) {
            let name = activity(trace, row).0;
            expected.entry(*call).or_default().push((at(activities.begin[row]), name));
        }
    }
    let with_call = |(call, work): (usize, Vec<(u64, String)>)| {
        let name = trace.strings.text(trace.calls.name[call]).to_owned();
        ((at(trace.calls.begin[call]), name), sorted(work))
    };
    let expected: Vec<_> = expected.into_iter().map(with_call).collect();
    let end = |slice: &usize| (file.slices[*slice].begin, file.slices[*slice].name.clone());
    let drawn = file.arrows.values();
    let drawn = drawn.map(|slices| (end(&slices[0]), sorted(slices[1..].iter().map(end).collect())));
    assert_eq!(sorted(drawn.collect()), sorted(expected));
}

/// On a thread with one domain whose ranges all nest, a slice is as deep as its range.
fn check_depths(trace: &Trace, file: &File) {
    let ranges = &trace.ranges;
    for (number, thread) in trace.threads.iter().enumerate() {
        let pid = u64::from(trace.processes[thread.process as usize].pid);
        let of_thread = |(_, track): &(&u64, &super::reader::Track)| {
            (track.pid, track.tid) == (Some(pid), Some(u64::from(thread.id)))
        };
        let Some((track, _)) = file.tracks.iter().find(of_thread) else { panic!("thread {}", thread.id) };
        let mine = |row: &usize| ranges.thread[*row] as usize == number && ranges.kind[*row] == Kind::PushPop;
        let rows: Vec<usize> = (0..ranges.len()).filter(mine).collect();
        let slices: Vec<&Slice> = file.slices.iter().filter(|slice| slice.track == *track).collect();
        let alone = rows.iter().all(|row| ranges.domain[*row] == ranges.domain[rows[0]]);
        if !alone || slices.len() != rows.len() {
            continue;
        }
        let depth =
            |row: usize| std::iter::successors(Some(row), |row| ranges.parent[*row].map(|row| row as usize));
        let expected =
            rows.iter().map(|row| ((ranges.begin[*row] - trace.begin) as u64, depth(*row).count() - 1));
        let drawn = slices.iter().map(|slice| (slice.begin, slice.depth));
        assert_eq!(sorted(drawn.collect()), sorted(expected.collect()));
    }
}

pub const QUERIES: [&str; 9] = [
    "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0",
    "select s.ts, s.dur, s.depth, s.category, s.name, t.name, th.tid, p.pid
     from slice s join track t on t.id = s.track_id
     left join thread_track tt on tt.id = t.id left join thread th on th.utid = tt.utid
     left join process_track pt on pt.id = t.id
     left join process p on p.upid = coalesce(pt.upid, th.upid)",
    "select a.ts, a.name, b.ts, b.name
     from flow join slice a on a.id = slice_out join slice b on b.id = slice_in",
    // With every sample of a stack it counts a clock of its own, which is always zero here.
    "select t.name, t.unit, c.ts, c.value from counter c join counter_track t on t.id = c.track_id
     where t.name != 'cpu-clock' or c.value != 0",
    "select s.ts, s.name, a.key, coalesce(a.string_value, a.int_value, a.real_value)
     from slice s join args a using (arg_set_id)",
    "select p.pid, p.name, a.string_value
     from process p left join args a on a.arg_set_id = p.arg_set_id and a.key glob '*process_label*'
     where p.pid > 0",
    "select th.tid, th.name, p.pid from thread th join process p using (upid) where th.tid > 0",
    "select s.ts, s.name, t.name, parent.name
     from slice s join track t on t.id = s.track_id join track parent on parent.id = t.parent_id",
    "with recursive place(id, name) as (
       select f.id, f.name || '@' || ltrim(m.name, '/') || ':' || f.rel_pc
       from stack_profile_frame f join stack_profile_mapping m on m.id = f.mapping),
     stack(id, frames) as (
       select c.id, place.name
       from stack_profile_callsite c join place on place.id = c.frame_id where c.parent_id is null
       union all
       select c.id, frames || ' > ' || place.name from stack
       join stack_profile_callsite c on c.parent_id = stack.id join place on place.id = c.frame_id)
     select s.ts, p.pid, th.tid, stack.frames
     from perf_sample s join thread th using (utid) join process p using (upid)
     left join stack on stack.id = s.callsite_id",
];

/// The trace processor finds the same as our reader.
pub fn same(file: &File, answers: &[Table]) {
    let expected = [
        Vec::new(),
        file.slices.iter().map(|slice| shown(file, slice)).collect(),
        file.arrows.values().flat_map(|slices| slices.windows(2).map(|two| joined(file, two))).collect(),
        counts(file),
        file.slices.iter().flat_map(args).collect(),
        processes(file),
        threads(file),
        file.slices.iter().filter_map(|slice| grouped(file, slice)).collect(),
        file.samples.iter().map(sampled).collect(),
    ];
    for ((query, expected), answer) in QUERIES.iter().zip(expected).zip(answers) {
        // Numbers come through JavaScript and JSON, which may cost the last digits of a double.
        let rounded = |number: f64| json!(format!("{number:.14e}"));
        let cell = |cell: &Json| cell.as_f64().map_or_else(|| cell.clone(), rounded);
        let text = |row: &Vec<Json>| json!(row.iter().map(cell).collect::<Vec<Json>>()).to_string();
        let text = |rows: &Table| sorted(rows.iter().map(text).collect());
        let (theirs, ours) = (text(answer), text(&expected));
        let differs = theirs.iter().zip(&ours).find(|(theirs, ours)| theirs != ours);
        assert_eq!((theirs.len(), differs), (ours.len(), None), "{query}");
    }
}

fn shown(file: &File, slice: &Slice) -> Vec<Json> {
    let track = &file.tracks[&slice.track];
    let parent = track.parent.map(|parent| &file.tracks[&parent]);
    let tid = track.tid.or(parent.and_then(|parent| parent.tid));
    let pid = track.pid.or(parent.and_then(|parent| parent.pid));
    let (dur, depth) = (slice.end - slice.begin, slice.depth);
    row(json!([slice.begin, dur, depth, slice.category, slice.name, track.name, tid, pid]))
}

fn joined(file: &File, two: &[usize]) -> Vec<Json> {
    let (a, b) = (&file.slices[two[0]], &file.slices[two[1]]);
    row(json!([a.begin, a.name, b.begin, b.name]))
}

fn counts(file: &File) -> Table {
    let one = |(track, time, value): &(u64, u64, f64)| {
        let track = &file.tracks[track];
        row(json!([track.name, track.unit.as_deref().unwrap_or("count"), time, value]))
    };
    file.counts.iter().map(one).collect()
}

fn sampled(sample: &Sample) -> Vec<Json> {
    let Sample { time, pid, tid, frames } = sample;
    row(json!([time, pid, tid, frames.join(" > ")]))
}

fn args(slice: &Slice) -> Table {
    let one = |key: &str, value: Json| row(json!([slice.begin, slice.name, format!("debug.{key}"), value]));
    let of = |(key, arg): (&String, &Arg)| match arg {
        Arg::Number(number) => vec![one(key, json!(number))],
        Arg::Real(number) => vec![one(key, json!(number))],
        Arg::Text(text) => vec![one(key, json!(text))],
        Arg::List(texts) => {
            let texts = texts.iter().enumerate();
            texts.map(|(at, text)| one(&format!("{key}[{at}]"), json!(text))).collect()
        }
    };
    slice.args.iter().flat_map(of).collect()
}

fn processes(file: &File) -> Table {
    let processes = file.tracks.values().filter(|track| track.pid.is_some() && track.tid.is_none());
    processes.map(|track| row(json!([track.pid, track.process_name, track.label]))).collect()
}

fn threads(file: &File) -> Table {
    let threads = file.tracks.values().filter(|track| track.tid.is_some());
    threads.map(|track| row(json!([track.tid, track.thread_name, track.pid]))).collect()
}

fn grouped(file: &File, slice: &Slice) -> Option<Vec<Json>> {
    let track = &file.tracks[&slice.track];
    let parent = file.tracks[&track.parent?].name.as_ref()?;
    Some(row(json!([slice.begin, slice.name, track.name, parent])))
}

fn row(cells: Json) -> Vec<Json> {
    match cells {
        Json::Array(cells) => cells,
        _ => Vec::new(),
    }
}
