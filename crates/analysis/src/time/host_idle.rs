//! What the host was executing while no device had work: samples of stacks, as a tree.

use std::collections::HashMap;

use trace::{Frame, NONE, ThreadState, Trace};

use super::busy::busy;

/// A frame of its own for a thread that has to wait for the interpreter's lock.
pub const WAITS_FOR_INTERPRETER: &str = "(waits for the Python interpreter lock)";
/// A frame of its own for a thread in a system call.
pub const BLOCKED: &str = "(blocked)";
/// For a stack that could not be read.
pub const NOT_READ: &str = "(stack not read)";

/// Stacks of the host while it kept the devices waiting.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostIdle {
    pub samples: u64,
    /// Threads that the samples are of.
    pub threads: u64,
    /// Only the threads that call CUDA are in it: others do not launch what the devices wait for.
    pub of_callers: bool,
    /// Time between the first and the last work of the devices in which none had any; None when no work of a
    /// device was recorded: then all samples count.
    pub idle_ns: Option<i64>,
    /// A frame comes behind its caller.
    pub nodes: Vec<HostNode>,
}

/// A place in the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct HostNode {
    /// Index into [`HostIdle::nodes`]; [`NONE`] for the outermost.
    pub caller: u32,
    pub place: HostPlace,
    /// Samples with this frame, and those of them in which it was the innermost.
    pub samples: u64,
    pub own: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostPlace {
    At(Frame),
    /// [`WAITS_FOR_INTERPRETER`], [`BLOCKED`] or [`NOT_READ`].
    State(&'static str),
}

/// The tree of the samples whose moment lies between two works of devices, of the threads that call CUDA if any of
/// these was sampled.
pub fn host_idle(trace: &Trace) -> HostIdle {
    let samples = &trace.stacks.samples;
    let busy = busy(trace);
    let span = busy.span().map(|span| (span.start, span.end));
    let is_idle = |at: i64| span.is_none_or(|(begin, end)| at >= begin && at < end && !busy.contains(at));
    let mut calls = vec![false; trace.threads.len()];
    trace.calls.thread.iter().for_each(|thread| calls[*thread as usize] = true);
    let of_callers = samples.thread.iter().any(|thread| calls[*thread as usize]);
    let mut tree = HostTree { trace, idle: HostIdle::default(), known: HashMap::new() };
    let mut seen = vec![false; trace.threads.len()];
    for row in 0..samples.len() {
        let thread = samples.thread[row] as usize;
        if (of_callers && !calls[thread]) || !is_idle(samples.at[row]) {
            continue;
        }
        seen[thread] = true;
        tree.add(samples.stack[row], samples.state[row]);
    }
    let threads = seen.iter().filter(|seen| **seen).count() as u64;
    let busy_ns: i64 = busy.0.iter().map(|(begin, end)| end.saturating_sub(*begin)).sum();
    let idle_ns = span.map(|(begin, end)| end.saturating_sub(begin).saturating_sub(busy_ns));
    HostIdle { threads, of_callers, idle_ns, ..tree.idle }
}

/// What a thread does that executes nothing we could read.
pub(crate) fn waiting(state: ThreadState, unread: bool) -> Option<&'static str> {
    match state {
        ThreadState::WaitsForInterpreter => Some(WAITS_FOR_INTERPRETER),
        ThreadState::Blocked => Some(BLOCKED),
        ThreadState::Running if unread => Some(NOT_READ),
        ThreadState::Running => None,
    }
}

struct HostTree<'t> {
    trace: &'t Trace,
    idle: HostIdle,
    known: HashMap<(u32, HostPlace), u32>,
}

impl HostTree<'_> {
    fn add(&mut self, stack: u32, state: ThreadState) {
        let frames: Vec<&Frame> = self.trace.stacks.frames_of(stack).collect();
        let mut at = NONE;
        for frame in frames.iter().rev() {
            at = self.enter(at, HostPlace::At(**frame));
        }
        if let Some(waits) = waiting(state, frames.is_empty()) {
            at = self.enter(at, HostPlace::State(waits));
        }
        self.idle.nodes[at as usize].own += 1;
        self.idle.samples += 1;
    }

    fn enter(&mut self, caller: u32, place: HostPlace) -> u32 {
        let nodes = &mut self.idle.nodes;
        let node = *self.known.entry((caller, place)).or_insert_with(|| {
            nodes.push(HostNode { caller, place, samples: 0, own: 0 });
            nodes.len() as u32 - 1
        });
        nodes[node as usize].samples += 1;
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Activity, ActivityKind, Call, Process, StackNode, StackSample, Thread};

    /// One process with two threads; the devices work from 100 to 200, 150 to 300 and 400 to 500.
    fn made(with_work: bool) -> Trace {
        let mut trace = Trace::default();
        trace.processes.push(Process::default());
        for id in [1, 2] {
            trace.threads.push(Thread { process: 0, id, name: None });
        }
        trace.devices.resize_with(2, Default::default);
        if with_work {
            for (begin, end, device) in [(400, 500, 0), (100, 200, 0), (150, 300, 1)] {
                let kind = ActivityKind::Graph;
                trace.activities.push(Activity { begin, end, device, kind, ..Activity::default() });
            }
        }
        let file = trace.strings.intern("train.py");
        for name in ["main", "step", "load"] {
            let function = trace.strings.intern(name);
            trace.stacks.frames.push(Frame { function, file, line: 7 });
        }
        // main, main > step, main > load.
        for (caller, frame) in [(NONE, 0), (0, 1), (0, 2)] {
            trace.stacks.nodes.push(StackNode { caller, frame });
        }
        trace.finish();
        trace
    }

    fn sample(trace: &mut Trace, at: i64, thread: u32, stack: u32, state: ThreadState) {
        trace.stacks.samples.push(StackSample { at, thread, stack, state });
    }

    /// `main > step`, its samples and its own.
    fn shown(trace: &Trace, idle: &HostIdle) -> Vec<(String, u64, u64)> {
        let name = |place: HostPlace| match place {
            HostPlace::At(frame) => trace.strings.text(frame.function).to_owned(),
            HostPlace::State(state) => state.to_owned(),
        };
        let path = |node: &HostNode| {
            let callers = std::iter::successors(Some(node), |node| idle.nodes.get(node.caller as usize));
            let mut names: Vec<String> = callers.map(|node| name(node.place)).collect();
            names.reverse();
            names.join(" > ")
        };
        idle.nodes.iter().map(|node| (path(node), node.samples, node.own)).collect()
    }

    #[test]
    fn only_the_time_between_works_counts() {
        let mut trace = made(true);
        for at in [50, 100, 199, 250, 299, 300, 350, 399, 400, 499, 500, 600] {
            sample(&mut trace, at, 0, 1, ThreadState::Running);
        }
        let idle = host_idle(&trace);
        assert_eq!((idle.samples, idle.threads, idle.idle_ns), (3, 1, Some(100)));
        assert_eq!(shown(&trace, &idle), [("main".to_owned(), 3, 0), ("main > step".to_owned(), 3, 3)]);
        // Work that was cut off kept the device busy, too.
        trace.left_out = vec![vec![(340, 360)], Vec::new()];
        assert_eq!((host_idle(&trace).samples, host_idle(&trace).idle_ns), (2, Some(80)));
    }

    #[test]
    fn waiting_is_a_frame_of_its_own() {
        let mut trace = made(true);
        for (stack, state) in [
            (1, ThreadState::Running),
            (1, ThreadState::Blocked),
            (2, ThreadState::WaitsForInterpreter),
            (NONE, ThreadState::Running),
            (NONE, ThreadState::Blocked),
        ] {
            sample(&mut trace, 350, 0, stack, state);
        }
        let expected = [
            ("main", 3, 0),
            ("main > step", 2, 1),
            ("main > step > (blocked)", 1, 1),
            ("main > load", 1, 0),
            ("main > load > (waits for the Python interpreter lock)", 1, 1),
            ("(stack not read)", 1, 1),
            ("(blocked)", 1, 1),
        ];
        let expected: Vec<_> = expected.map(|(path, all, own)| (path.to_owned(), all, own)).into();
        assert_eq!(shown(&trace, &host_idle(&trace)), expected);
    }

    #[test]
    fn threads_that_call_cuda_go_first() {
        let mut trace = made(true);
        sample(&mut trace, 350, 0, 1, ThreadState::Running);
        sample(&mut trace, 350, 1, 2, ThreadState::Running);
        let all = host_idle(&trace);
        assert_eq!((all.samples, all.threads, all.of_callers), (2, 2, false));
        trace.calls.push(Call { begin: 90, end: 95, thread: 1, ..Call::default() });
        let callers = host_idle(&trace);
        assert_eq!((callers.samples, callers.threads, callers.of_callers), (1, 1, true));
        assert_eq!(shown(&trace, &callers)[1].0, "main > load");
    }

    #[test]
    fn without_work_every_sample_counts() {
        let mut trace = made(false);
        assert_eq!(host_idle(&trace), HostIdle::default());
        sample(&mut trace, 5, 0, 0, ThreadState::Running);
        let idle = host_idle(&trace);
        assert_eq!((idle.samples, idle.idle_ns), (1, None));
    }

    /// Whatever the stacks and the works are: counted once more, in the plainest way.
    #[test]
    fn a_plain_recount_agrees() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut below = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        for _ in 0..200 {
            let mut trace = made(false);
            for _ in 0..below(12) {
                let begin = below(1_000) as i64;
                let (end, device) = (begin + below(150) as i64, below(2) as u16);
                let kind = ActivityKind::Graph;
                trace.activities.push(Activity { begin, end, device, kind, ..Activity::default() });
            }
            for node in 3..40_u32 {
                let caller = below(u64::from(node)) as u32;
                trace.stacks.nodes.push(StackNode { caller, frame: below(3) as u32 });
            }
            for _ in 0..300 {
                let (at, stack) = (below(1_200) as i64, below(40) as u32);
                sample(&mut trace, at, below(2) as u32, stack, ThreadState::Running);
            }
            let idle = host_idle(&trace);
            let work = &trace.activities;
            let first = work.begin.iter().min().copied();
            let last = work.end.iter().max().copied();
            let counts = |at: i64| {
                let busy = (0..work.len()).any(|row| work.begin[row] <= at && at < work.end[row]);
                first.is_none_or(|first| at >= first) && last.is_none_or(|last| at < last) && !busy
            };
            let mut expected: HashMap<String, (u64, u64)> = HashMap::new();
            let samples = &trace.stacks.samples;
            for row in (0..samples.len()).filter(|row| counts(samples.at[*row])) {
                let names = trace.stacks.frames_of(samples.stack[row]);
                let mut names: Vec<&str> = names.map(|frame| trace.strings.text(frame.function)).collect();
                names.reverse();
                for depth in 1..=names.len() {
                    expected.entry(names[..depth].join(" > ")).or_default().0 += 1;
                }
                expected.entry(names.join(" > ")).or_default().1 += 1;
            }
            let found: HashMap<String, (u64, u64)> =
                shown(&trace, &idle).into_iter().map(|(path, all, own)| (path, (all, own))).collect();
            assert_eq!(found, expected);
            if let Some((first, last)) = first.zip(last) {
                let idle_ns = (first..last).filter(|at| counts(*at)).count() as i64;
                assert_eq!(idle.idle_ns, Some(idle_ns));
            }
        }
    }
}
