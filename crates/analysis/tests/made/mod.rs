//! Programs that are made up: what the host does, and a device that works through its streams.

use trace::{Activity, ActivityKind, Call, Direction, HostMemory, Launch, Range, Trace, Transfer};

/// A call takes so long by itself, and its work begins so late.
const CALL: i64 = 4_000;
const LAG: i64 = 6_000;
/// From one work of a stream to the next.
const GAP: i64 = 1_000;
/// From the end of what a call waits for to its own.
const TAIL: i64 = 12_000;
pub(crate) const COPY: &str = "copy";

/// Why a call takes longer than it must.
#[allow(dead_code, reason = "no test uses all of it")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Held {
    No,
    /// Until the last copy before it has ended.
    ByCopy,
    /// Until what it starts itself has ended.
    ByItsOwn,
    /// For so long, whatever the device does.
    For(i64),
}

/// A launch or a copy, or, without a duration, a wait for the device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Op {
    pub(crate) name: &'static str,
    /// What the host does before it.
    pub(crate) before: i64,
    pub(crate) duration: Option<i64>,
    pub(crate) stream: u32,
    pub(crate) held: Held,
}

impl Op {
    pub(crate) fn launch(name: &'static str, before: i64, duration: i64) -> Self {
        Self { name, before, duration: Some(duration), stream: 0, held: Held::No }
    }

    #[allow(dead_code, reason = "no test uses all of it")]
    pub(crate) fn wait(before: i64) -> Self {
        Self { name: "", before, duration: None, stream: 0, held: Held::No }
    }
}

struct Done {
    op: Op,
    begin: i64,
    end: i64,
    /// Of its work.
    work: Option<(i64, i64)>,
}

/// Steps, and how many works fit into the device's queue.
pub(crate) struct Program<'o> {
    pub(crate) steps: usize,
    pub(crate) step: &'o [Op],
    pub(crate) queue: usize,
}

impl Program<'_> {
    fn run(&self) -> Vec<Done> {
        let (mut host, mut free) = (0i64, [0i64; 4]);
        let (mut ends, mut copied): (Vec<i64>, i64) = (Vec::new(), 0);
        let mut all = Vec::new();
        for op in (0..self.steps).flat_map(|_| self.step) {
            let begin = host + op.before;
            let mut end = begin + CALL;
            let work = op.duration.map(|duration| {
                let stream = &mut free[op.stream as usize];
                // Behind a full queue the work before it is far from done.
                let start = (begin + LAG).max(*stream + GAP);
                *stream = start + duration;
                (start, start + duration)
            });
            if let Some(place) = ends.len().checked_sub(self.queue).filter(|_| work.is_some()) {
                end = end.max(ends[place] + TAIL);
            }
            match (op.held, work) {
                (Held::No, Some(_)) => {}
                (Held::No, None) => end = end.max(ends.iter().copied().max().unwrap_or(0) + TAIL),
                (Held::ByCopy, _) => end = end.max(copied + TAIL),
                (Held::ByItsOwn, work) => end = end.max(work.map_or(0, |(_, end)| end) + TAIL),
                (Held::For(time), _) => end += time,
            }
            ends.extend(work.map(|(_, end)| end));
            if op.name == COPY {
                copied = work.map_or(copied, |(_, end)| end);
            }
            host = end;
            all.push(Done { op: *op, begin, end, work });
        }
        all
    }

    /// What a step takes in its second half.
    #[allow(dead_code, reason = "no test uses all of it")]
    pub(crate) fn takes(&self) -> f64 {
        let all = self.run();
        let begin = |step: usize| {
            let own = &all[step * self.step.len()..];
            own.iter().find_map(|done| done.work).unwrap().0
        };
        let (from, to) = (self.steps / 2, self.steps - 1);
        (begin(to) - begin(from)) as f64 / (to - from) as f64
    }

    pub(crate) fn trace(&self) -> Trace {
        self.recorded_since(0)
    }

    /// What the program does from a step on, until the device is done; of the work before, what it had not done then.
    pub(crate) fn recorded_since(&self, step: usize) -> Trace {
        let all = self.run();
        let first = step * self.step.len();
        let since = all[first].begin;
        let mut trace = Trace::default();
        trace.processes.push(trace::Process {
            pid: 1,
            stream_waits_since: Some(i64::MIN),
            ..trace::Process::default()
        });
        trace.threads.push(trace::Thread { process: 0, id: 1, name: None });
        trace.devices.push(trace::Device { id: 0, name: None, identity: None });
        for done in &all[first..] {
            let name = match (done.op.duration, done.op.name) {
                (None, _) => "cudaDeviceSynchronize",
                (_, COPY) => "cudaMemcpyAsync",
                _ => "cudaLaunchKernel",
            };
            let name = trace.strings.intern(name);
            let correlation = correlation(&all, done);
            let (begin, end) = (done.begin, done.end);
            trace.calls.push(Call { begin, end, name, correlation, ..Call::default() });
        }
        for done in &all {
            let Some((begin, end)) = done.work.filter(|(_, end)| *end > since) else { continue };
            let correlation = correlation(&all, done);
            let (kind, detail) = if done.op.name == COPY {
                trace.activities.transfers.push(Transfer {
                    direction: Direction::HostToDevice,
                    bytes: 25 * (end - begin) as u64,
                    memory: HostMemory::Pinned,
                });
                (ActivityKind::Copy, trace.activities.transfers.len() - 1)
            } else {
                (ActivityKind::Kernel, launch(&mut trace, done.op.name))
            };
            let (stream, detail) = (done.op.stream, detail as u32);
            trace.activities.push(Activity {
                begin,
                end,
                kind,
                stream,
                correlation,
                detail,
                ..Activity::default()
            });
        }
        let (name, domain) = (trace.strings.intern("step"), trace.strings.intern(""));
        for of_step in all[first..].chunks(self.step.len()) {
            let (begin, end) = (of_step[0].begin - of_step[0].op.before, of_step[of_step.len() - 1].end);
            trace.ranges.push(Range { name, domain, begin, end, ..Range::default() });
        }
        trace.finish();
        trace
    }
}

fn correlation(all: &[Done], done: &Done) -> u32 {
    all.partition_point(|other| other.begin < done.begin) as u32 + 1
}

fn launch(trace: &mut Trace, name: &str) -> usize {
    let name = trace.strings.intern(name);
    let launches = &mut trace.activities.launches;
    launches.iter().position(|launch| launch.name == name).unwrap_or_else(|| {
        let (grid, block) = ([1_000, 1, 1], [256, 1, 1]);
        launches.push(Launch { name, short_name: name, grid, block, ..Launch::default() });
        launches.len() - 1
    })
}
