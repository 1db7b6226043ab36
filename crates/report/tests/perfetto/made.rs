//! Small traces, made by hand.

use trace::{
    Activity, ActivityKind, Call, Device, Direction, Frame, Kind, Launch, NONE, Process, Range, Series,
    StackNode, StackSample, StringId, Thread, ThreadState, Trace, Transfer,
};

/// Stretches of time.
type Time = (i64, i64);

#[derive(Default)]
pub struct Made {
    trace: Trace,
}

impl Made {
    pub fn process(&mut self, pid: u32, label: &str) -> u32 {
        let process = Process {
            pid,
            parent: 1,
            name: "python".to_owned(),
            label: label.to_owned(),
            ..Process::default()
        };
        self.trace.processes.push(process);
        self.trace.processes.len() as u32 - 1
    }

    pub fn thread(&mut self, process: u32, id: u32, name: Option<&str>) -> u32 {
        self.trace.threads.push(Thread { process, id, name: name.map(str::to_owned) });
        self.trace.threads.len() as u32 - 1
    }

    pub fn device(&mut self, id: u32, name: Option<&str>) -> u16 {
        self.trace.devices.push(Device { id, name: name.map(str::to_owned), ..Device::default() });
        self.trace.devices.len() as u16 - 1
    }

    fn text(&mut self, text: &str) -> StringId {
        self.trace.strings.intern(text)
    }

    /// `domain:name`, where that is not the default domain.
    pub fn range(&mut self, thread: u32, kind: Kind, name: &str, time: Time) -> u32 {
        let (domain, name) = name.split_once(':').unwrap_or(("", name));
        let (domain, name) = (self.text(domain), self.text(name));
        let (begin, end) = time;
        self.trace.ranges.push(Range { thread, domain, name, kind, begin, end, ..Range::default() });
        self.trace.ranges.len() as u32 - 1
    }

    pub fn push(&mut self, thread: u32, name: &str, time: Time) -> u32 {
        self.range(thread, Kind::PushPop, name, time)
    }

    pub fn payload(&mut self, range: u32, value: f64) {
        self.trace.ranges.payload.push((range, value));
    }

    pub fn operator(&mut self, thread: u32, name: &str, time: Time) {
        let name = self.text(name);
        let operators = &mut self.trace.operators;
        operators.begin.push(time.0);
        operators.end.push(time.1);
        operators.thread.push(thread);
        operators.name.push(name);
    }

    pub fn call(&mut self, thread: u32, name: &str, time: Time, correlation: u32) {
        let name = self.text(name);
        self.trace.calls.push(Call { begin: time.0, end: time.1, thread, name, correlation });
    }

    /// `place` is process, device and stream.
    fn activity(&mut self, kind: ActivityKind, place: (u32, u16, u32), time: Time, of: (u32, u32)) {
        let ((begin, end), (process, device, stream), (correlation, detail)) = (time, place, of);
        let row = Activity {
            begin,
            end,
            kind,
            process,
            device,
            stream,
            correlation,
            detail,
            in_graph: false,
            node: 0,
        };
        self.trace.activities.push(row);
    }

    pub fn kernel(&mut self, place: (u32, u16, u32), name: &str, time: Time, correlation: u32) {
        let launch = Launch {
            name: self.text(&format!("void {name}<float>(float *)")),
            short_name: self.text(name),
            mangled: StringId::default(),
            grid: [64, 2, 1],
            block: [256, 1, 1],
            registers: 32,
            static_shared: 1024,
            dynamic_shared: 0,
            hidden: false,
        };
        self.trace.activities.launches.push(launch);
        let detail = self.trace.activities.launches.len() as u32 - 1;
        self.activity(ActivityKind::Kernel, place, time, (correlation, detail));
    }

    pub fn transfer(
        &mut self,
        place: (u32, u16, u32),
        direction: Direction,
        bytes: u64,
        time: Time,
        correlation: u32,
    ) {
        self.trace.activities.transfers.push(Transfer {
            direction,
            bytes,
            memory: trace::HostMemory::Unknown,
        });
        let detail = self.trace.activities.transfers.len() as u32 - 1;
        let kind = if direction == Direction::Memset { ActivityKind::Fill } else { ActivityKind::Copy };
        self.activity(kind, place, time, (correlation, detail));
    }

    pub fn graph(&mut self, place: (u32, u16, u32), id: u32, time: Time, correlation: u32) {
        self.activity(ActivityKind::Graph, place, time, (correlation, id));
    }

    pub fn series(&mut self, series: Series) {
        self.trace.series.push(series);
    }

    /// A stack, the outermost frame first, as `function@file:line`.
    pub fn sample(&mut self, thread: u32, at: i64, frames: &[&str], state: ThreadState) {
        let mut stack = NONE;
        for frame in frames {
            let (function, place) = frame.split_once('@').unwrap_or((frame, ":0"));
            let (file, line) = place.rsplit_once(':').unwrap_or((place, "0"));
            let (function, file) = (self.text(function), self.text(file));
            let stacks = &mut self.trace.stacks;
            stacks.frames.push(Frame { function, file, line: line.parse().unwrap() });
            stacks.nodes.push(StackNode { caller: stack, frame: stacks.frames.len() as u32 - 1 });
            stack = stacks.nodes.len() as u32 - 1;
        }
        self.trace.stacks.samples.push(StackSample { at, thread, stack, state });
    }

    pub fn trace(mut self) -> Trace {
        self.trace.source = "made by hand".to_owned();
        self.trace.finish();
        self.trace
    }
}
