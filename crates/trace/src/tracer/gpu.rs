//! The tracer's CUPTI records: calls and device activities.

use std::collections::HashMap;

use tracefile::layout::stopped;
use tracefile::{GpuEvent, TraceFile};

use super::reader::Reader;
use crate::count::counted;
use crate::model::{
    Activity, ActivityKind, Call, CuptiTrouble, Device, Diagnostic, Direction, HostMemory, HostWait, Launch,
    StreamEvent, StringId, Transfer, correlation as correlation_of,
};

/// CUPTI's nanoseconds → ours. CUPTI follows the clock of the day, which may be set; between
/// two pairs of both clocks it is taken to go evenly.
struct GpuClock {
    /// In the order of CUPTI's time.
    pairs: Vec<(u64, i64)>,
    /// How far the pairs lie off the line through the first and the last.
    drift_ns: i64,
}

/// What the file's numbers are in the trace.
#[derive(Default)]
struct Known {
    launches: HashMap<u64, u32>,
    devices: HashMap<u16, u16>,
    /// Names of calls: there are few, and many calls.
    calls: HashMap<u32, StringId>,
}

/// Remarks beside the events.
#[derive(Default)]
struct Remarks {
    dropped: u64,
    /// Activities that CUPTI could give no times.
    untimed: u64,
    stopped: Option<u64>,
    overhead_ns: u64,
    /// It ended with everything written.
    ended: bool,
}

impl Reader<'_> {
    /// Returns how many chunks broke off.
    pub(super) fn gpu(&mut self, file: &TraceFile<'_>) -> u64 {
        let mut pairs = Vec::new();
        let mut known = Known::default();
        let mut remarks = Remarks { ended: file.header.end.is_some(), ..Remarks::default() };
        let mut any = false;
        // Definitions first: they may come after their use.
        let broken = file.gpu_events(|event| {
            any = true;
            match event {
                GpuEvent::Clock { cupti, ticks, .. } => pairs.push((cupti, self.clock.time(ticks))),
                GpuEvent::Launch { .. } => self.launch(event, &mut known.launches),
                GpuEvent::Device { id, name } => {
                    let name = self.name(name).text;
                    self.device(id, Some(name), &mut known.devices);
                }
                _ => {}
            }
        });
        if !any {
            return broken;
        }
        let clock = GpuClock::through(pairs);
        file.gpu_events(|event| self.gpu_event(event, &clock, &mut known, &mut remarks));
        self.remark(&remarks, &clock);
        broken
    }

    fn launch(&mut self, event: GpuEvent, launches: &mut HashMap<u64, u32>) {
        let GpuEvent::Launch { id, name, grid, block, registers, static_shared, dynamic_shared } = event
        else {
            return;
        };
        let mangled = self.name(name).text;
        let (name, short_name) = self.kernel_name(mangled);
        let launch = Launch {
            name,
            short_name,
            mangled,
            grid,
            block,
            registers,
            static_shared,
            dynamic_shared,
            hidden: false,
        };
        launches.insert(id, self.trace.activities.launches.len() as u32);
        self.trace.activities.launches.push(launch);
    }

    /// As people write it, and the bare function's.
    fn kernel_name(&mut self, mangled: StringId) -> (StringId, StringId) {
        let text = self.trace.strings.text(mangled).to_owned();
        let name = crate::names::demangled(&text);
        let short = crate::names::short(&name).to_owned();
        (self.trace.strings.intern(&name), self.trace.strings.intern(&short))
    }

    fn device(&mut self, id: u16, name: Option<StringId>, devices: &mut HashMap<u16, u16>) -> u16 {
        if let Some(device) = devices.get(&id) {
            return *device;
        }
        let name = name.map(|name| self.trace.strings.text(name).to_owned());
        let device = Device { id: u32::from(id), name, ..Device::default() };
        // Processes use the same devices, unless they are ranks that each see others as their first.
        let ranked = !self.trace.processes[self.process as usize].label.is_empty();
        let known = self.trace.devices.iter().position(|other| !ranked && *other == device);
        let number = known.unwrap_or_else(|| {
            self.trace.devices.push(device);
            self.trace.devices.len() - 1
        });
        let number = number.min(usize::from(u16::MAX)) as u16;
        devices.insert(id, number);
        number
    }

    fn gpu_event(&mut self, event: GpuEvent, clock: &GpuClock, known: &mut Known, remarks: &mut Remarks) {
        // As if the recording had ended there: CUPTI tells of nothing before it is done.
        if end_of(&event).is_some_and(|end| !self.extent.has(clock.time(end))) {
            return;
        }
        match event {
            // A context that failed loses the times of its work.
            GpuEvent::Kernel { begin: 0, .. }
            | GpuEvent::Kernel { end: 0, .. }
            | GpuEvent::Transfer { begin: 0, .. }
            | GpuEvent::Transfer { end: 0, .. }
            | GpuEvent::Graph { begin: 0, .. }
            | GpuEvent::Graph { end: 0, .. }
            | GpuEvent::Call { begin: 0, .. }
            | GpuEvent::Call { end: 0, .. }
            | GpuEvent::Sync { begin: 0, .. }
            | GpuEvent::Sync { end: 0, .. } => remarks.untimed += 1,
            GpuEvent::Kernel { correlation, begin, end, launch, device, stream, in_graph, node } => {
                // A launch that is not described is a damaged file's.
                let Some(detail) = known.launches.get(&u64::from(launch)).copied() else { return };
                let device = self.device(device, None, &mut known.devices);
                let row = work(ActivityKind::Kernel, detail, correlation, device, stream);
                let node = node.unwrap_or(0);
                self.activity(Activity { in_graph, node, ..row }, clock, (begin, end));
            }
            GpuEvent::Transfer {
                fill,
                correlation,
                begin,
                end,
                bytes,
                direction,
                device,
                stream,
                in_graph,
                node,
                memory,
            } => {
                let device = self.device(device, None, &mut known.devices);
                let direction = if fill { Direction::Memset } else { copy_direction(direction) };
                let detail = self.trace.activities.transfers.len() as u32;
                self.trace.activities.transfers.push(Transfer {
                    direction,
                    bytes,
                    memory: host_memory(memory),
                });
                let kind = if fill { ActivityKind::Fill } else { ActivityKind::Copy };
                let row = work(kind, detail, correlation, device, stream);
                let node = node.unwrap_or(0);
                self.activity(Activity { in_graph, node, ..row }, clock, (begin, end));
            }
            GpuEvent::Graph { correlation, begin, end, graph, device, stream } => {
                let device = self.device(device, None, &mut known.devices);
                let row = work(ActivityKind::Graph, graph, correlation, device, stream);
                self.activity(Activity { in_graph: true, ..row }, clock, (begin, end));
            }
            GpuEvent::Call { correlation, begin, end, name, thread, .. } => {
                let thread = self.thread(thread);
                let name = *known.calls.entry(name).or_insert_with(|| self.call_name(name));
                let (begin, end) = (clock.time(begin), clock.time(end));
                let correlation = correlation_of(Some(correlation.into()));
                self.trace.calls.push(Call { begin, end, thread, name, correlation, ..Call::default() });
                self.span(begin, end);
            }
            GpuEvent::Sync { correlation, begin, end } => {
                let (begin, end) = (clock.time(begin), clock.time(end));
                let correlation = correlation_of(Some(correlation.into()));
                let process = self.process;
                self.trace.syncs.push(HostWait { begin, end, process, correlation, ..HostWait::default() });
            }
            GpuEvent::StreamEvent { correlation, stream, event, waits } => {
                let (process, correlation) = (self.process, correlation_of(Some(correlation.into())));
                self.trace.stream_events.push(StreamEvent { process, correlation, stream, event, waits });
            }
            GpuEvent::StreamWaitsSince { time } => {
                let time = clock.time(time);
                self.trace.processes[self.process as usize].stream_waits_since.get_or_insert(time);
            }
            GpuEvent::Dropped { records } => remarks.dropped = remarks.dropped.saturating_add(records),
            GpuEvent::Stopped { why } => remarks.stopped = Some(why),
            GpuEvent::Overhead { nanoseconds, .. } => {
                remarks.overhead_ns = remarks.overhead_ns.saturating_add(nanoseconds);
            }
            GpuEvent::Clock { .. } | GpuEvent::Launch { .. } | GpuEvent::Device { .. } => {}
        }
    }

    /// A row with CUPTI's times and correlation, in ours.
    fn activity(&mut self, row: Activity, clock: &GpuClock, (begin, end): (u64, u64)) {
        let (begin, end) = (clock.time(begin), clock.time(end));
        let (process, end) = (self.process, end.max(begin));
        let correlation = correlation_of(Some(row.correlation.into()));
        self.trace.activities.push(Activity { begin, end, process, correlation, ..row });
        self.span(begin, end);
    }

    fn span(&mut self, begin: i64, end: i64) {
        self.trace.begin = self.trace.begin.min(begin);
        self.trace.end = self.trace.end.max(end);
    }

    /// `cudaLaunchKernel_v7000` is `cudaLaunchKernel` to people.
    fn call_name(&mut self, name: u32) -> StringId {
        let name = self.name(name).text;
        let text = self.trace.strings.text(name).to_owned();
        let plain = crate::names::call(&text);
        self.trace.strings.intern(plain)
    }

    fn remark(&mut self, remarks: &Remarks, clock: &GpuClock) {
        self.trace.cupti_trouble = match remarks.stopped {
            Some(stopped::TAKEN) => Some(CuptiTrouble::Taken),
            Some(stopped::NO_LIBRARY) => Some(CuptiTrouble::NotLoaded),
            _ => self.trace.cupti_trouble,
        };
        let process = &self.trace.processes[self.process as usize];
        let process = format!("`{}` (pid {})", process.name, process.pid);
        let mut say = |text: String, lost| self.trace.diagnostics.push(Diagnostic { text, lost });
        if remarks.dropped > 0 {
            let text = match remarks.dropped {
                1 => "CUPTI had no room for 1 record".to_owned(),
                dropped => format!("CUPTI had no room for {dropped} records"),
            };
            say(text, true);
        }
        if remarks.untimed > 0 {
            let text = format!(
                "{} without times: the work never ended, or its CUDA context failed",
                counted(remarks.untimed, "record")
            );
            say(text, true);
        }
        match remarks.stopped {
            Some(stopped::TAKEN) => {
                let text =
                    "another profiler in the workload took CUPTI over: GPU activity after that is missing";
                say(text.to_owned(), true);
            }
            Some(stopped::NO_LIBRARY) => {
                let text = "libcupti could not be loaded in the workload: no GPU activity was recorded";
                say(text.to_owned(), true);
            }
            Some(stopped::NO_WAY_OUT) => {
                let text =
                    "the tracer cannot make room for another profiler here, so it recorded no GPU activity";
                say(text.to_owned(), true);
            }
            Some(_) => say("CUPTI refused to record: no GPU activity was recorded".to_owned(), true),
            None => {}
        }
        if !remarks.ended && remarks.stopped.is_none() {
            say(
                format!(
                    "{process} ended by a signal or `_exit`: up to half a second of its last GPU work is not recorded"
                ),
                false,
            );
        }
        if clock.drift_ns > MOST_DRIFT_NS {
            let text = format!(
                "CUPTI's clock drifts from the host's by up to {} us; the drift was corrected at every flush",
                clock.drift_ns / 1000
            );
            say(text, clock.drift_ns > LOST_DRIFT_NS);
        }
        let own = remarks.overhead_ns;
        if own > 0 {
            say(format!("CUPTI and driver overhead: {:.1} ms", own as f64 / 1e6), false);
        }
    }
}

/// Smaller drift is not reported.
const MOST_DRIFT_NS: i64 = 20_000;
/// After this a launch may be counted under the wrong region.
const LOST_DRIFT_NS: i64 = 1_000_000;

impl GpuClock {
    fn through(mut pairs: Vec<(u64, i64)>) -> Self {
        pairs.sort_unstable();
        let line = match (pairs.first(), pairs.last()) {
            (Some(first), Some(last)) => vec![*first, *last],
            _ => Vec::new(),
        };
        let even = Self { pairs: line, drift_ns: 0 };
        let off = |(cupti, ours): &(u64, i64)| ours.saturating_sub(even.time(*cupti)).saturating_abs();
        let drift_ns = pairs.iter().map(off).max().unwrap_or(0);
        Self { pairs, drift_ns }
    }

    fn time(&self, cupti: u64) -> i64 {
        let (Some(first), Some(last)) = (self.pairs.first(), self.pairs.last()) else {
            // Without a pair they are taken as they are.
            return i64::try_from(cupti).unwrap_or(i64::MAX);
        };
        let next = self.pairs.partition_point(|(time, _)| *time <= cupti);
        let (from, to) = match (next.checked_sub(1).map(|at| self.pairs[at]), self.pairs.get(next)) {
            (Some(before), Some(after)) => (before, *after),
            // Outside of all pairs the clock goes as it does on the whole.
            (Some(before), None) => (before, (before.0.saturating_add(1), before.1.saturating_add(1))),
            (None, _) => (*first, *last),
        };
        let passed = to.0.saturating_sub(from.0);
        let measured = to.1.saturating_sub(from.1) as f64 / passed.max(1) as f64;
        // Over a moment, or from a damaged file, the rate says nothing.
        let sound = passed > 1_000_000 && (0.9..1.1).contains(&measured);
        let since = i64::try_from(i128::from(cupti) - i128::from(from.0)).unwrap_or(0);
        from.1.saturating_add((since as f64 * if sound { measured } else { 1.0 }) as i64)
    }
}

/// When it was done, in CUPTI's time; None of what has no end.
fn end_of(event: &GpuEvent) -> Option<u64> {
    match *event {
        GpuEvent::Kernel { end, .. }
        | GpuEvent::Transfer { end, .. }
        | GpuEvent::Graph { end, .. }
        | GpuEvent::Call { end, .. }
        | GpuEvent::Sync { end, .. } => Some(end),
        _ => None,
    }
}

/// Work of a device, without its times.
fn work(kind: ActivityKind, detail: u32, correlation: u32, device: u16, stream: u32) -> Activity {
    Activity { kind, detail, correlation, device, stream, ..Activity::default() }
}

/// `CUpti_ActivityMemoryKind`, of both sides of a copy.
fn host_memory(sides: [u8; 2]) -> HostMemory {
    match sides {
        [1, _] | [_, 1] => HostMemory::Pageable,
        [2, _] | [_, 2] => HostMemory::Pinned,
        _ => HostMemory::Unknown,
    }
}

/// `CUpti_ActivityMemcpyKind`
fn copy_direction(kind: u16) -> Direction {
    match kind {
        1 | 3 => Direction::HostToDevice,
        2 | 4 => Direction::DeviceToHost,
        5..=8 => Direction::DeviceToDevice,
        9 => Direction::HostToHost,
        10 => Direction::PeerToPeer,
        _ => Direction::Other,
    }
}
