//! What a gated capture will produce: reports, instances in each, exit code.
//!
//! Measured on nsys 2022.4.2 and 2023.4.4 (and 2025.3.1 for the default policy):
//! a range that matches opens the gate; further matching ranges that overlap it,
//! on any thread or in any process that nsys follows, belong to the same capture,
//! which ends when the last of them closes. While it lasts, ranges of the same name
//! are recorded even if they could not have opened it. A gate that never opens leaves
//! no report, only the exit code of the program, 0 for a healthy one.

use nvtx::{NsysDialect, NsysGate, RangeSeen};
use trace::{OPEN, Trace};

use super::range_end::RangeEnd;

/// SIGTERM, as a shell counts it.
const TERMINATED: i32 = 143;

/// How nsys will be started.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub dialect: NsysDialect,
    pub range_end: RangeEnd,
    /// `NSYS_NVTX_PROFILER_REGISTER_ONLY=0`
    pub register_only_off: bool,
    /// `--trace-fork-before-exec=true`
    pub follow_forks: bool,
}

/// What the rehearsal knows.
#[derive(Debug, Clone, Copy)]
pub struct Rehearsed<'a> {
    pub trace: &'a Trace,
    /// How the program ended, as a shell counts it.
    pub exit_code: i32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// The endings of the report files: `.nsys-rep`, or `.1.nsys-rep` and so on.
    pub files: Vec<String>,
    /// How many instances of the gate's range each file holds.
    pub instances: Vec<u64>,
    pub exit_code: i32,
    /// nsys refuses the gate and does not run the program.
    pub refused: bool,
}

/// A stretch of time in which ranges that open the gate overlap.
struct Capture {
    begin: i64,
    /// None if a range in it never closes.
    end: Option<i64>,
}

/// What `-c nvtx -p GATE` will do.
pub fn predict(gate: &str, setup: Setup, rehearsed: Rehearsed<'_>) -> Prediction {
    let Ok(gate) = NsysGate::parse(gate, setup.dialect) else {
        return Prediction { files: Vec::new(), instances: Vec::new(), exit_code: 1, refused: true };
    };
    let Matching { captures, begins } = matching(&gate, setup, rehearsed.trace);
    let from = |begin: i64| begins.len() - begins.partition_point(|other| *other < begin);
    // A damaged trace may end before it begins.
    let within = |begin, end: i64| from(begin).saturating_sub(from(end.saturating_add(1)));
    let counts: Vec<u64> = captures
        .iter()
        .map(|capture| {
            capture.end.map_or_else(|| from(capture.begin), |end| within(capture.begin, end)) as u64
        })
        .collect();
    let all_closed = |number: usize| captures.iter().take(number).all(|capture| capture.end.is_some());
    let (instances, cut_short) = match setup.range_end {
        _ if captures.is_empty() => (Vec::new(), false),
        RangeEnd::None => (vec![from(captures[0].begin) as u64], false),
        RangeEnd::Stop => (counts[..1].to_vec(), false),
        RangeEnd::StopShutdown => (counts[..1].to_vec(), all_closed(1)),
        RangeEnd::Repeat(most) => {
            let most = most.map_or(counts.len(), |most| counts.len().min(most as usize));
            (counts[..most].to_vec(), false)
        }
        RangeEnd::RepeatShutdown(most) => {
            let most = most as usize;
            (counts[..counts.len().min(most)].to_vec(), counts.len() >= most && all_closed(most))
        }
    };
    // nsys does not wait for a program that ignores SIGTERM, and ends with 0: no rehearsal shows that.
    let exit_code = if cut_short { TERMINATED } else { rehearsed.exit_code };
    Prediction { files: files(instances.len()), instances, exit_code, refused: false }
}

/// One report has no number.
fn files(reports: usize) -> Vec<String> {
    match reports {
        1 => vec![".nsys-rep".to_owned()],
        reports => (1..=reports).map(|number| format!(".{number}.nsys-rep")).collect(),
    }
}

struct Matching {
    /// In chronological order, without overlaps.
    captures: Vec<Capture>,
    /// When each range that the gate names began, whether or not it can open the gate.
    begins: Vec<i64>,
}

fn matching(gate: &NsysGate, setup: Setup, trace: &Trace) -> Matching {
    let ranges = &trace.ranges;
    let (mut opening, mut begins) = (Vec::new(), Vec::new());
    for range in 0..ranges.len() {
        let thread = &trace.threads[ranges.thread[range] as usize];
        if !setup.follow_forks && trace.processes[thread.process as usize].forked {
            continue;
        }
        let seen = RangeSeen {
            domain: trace.strings.text(ranges.domain[range]).to_owned(),
            name: trace.strings.text(ranges.name[range]).to_owned(),
            kind: ranges.kind[range],
            registered: ranges.registered[range],
            wide: ranges.wide[range],
        };
        if gate.names(&seen) {
            begins.push(ranges.begin[range]);
        }
        if gate.opens_for(&seen, setup.register_only_off) {
            opening.push((ranges.begin[range], ranges.end[range]));
        }
    }
    opening.sort_unstable();
    begins.sort_unstable();
    let mut captures: Vec<Capture> = Vec::new();
    for (begin, end) in opening {
        let end = (end != OPEN).then_some(end);
        match captures.last_mut() {
            Some(last) if last.end.is_none_or(|last_end| begin <= last_end) => {
                last.end = last.end.zip(end).map(|(a, b)| a.max(b));
            }
            _ => captures.push(Capture { begin, end }),
        }
    }
    Matching { captures, begins }
}
