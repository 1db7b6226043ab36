//! Two versions of a program that differ in one thing: the first reason must name it, and the parts must add up.

use analysis::compare::{Comparison, Difference, Named, Profile, What, compare};
use analysis::{IdleCause, Options};
use trace::{
    Activity, ActivityKind, Call, Device, Direction, Frame, HostMemory, Launch, NONE, Operator, Process,
    Range, StackNode, StackSample, Thread, ThreadState, Trace, Transfer,
};

const LAUNCH_NS: i64 = 4_000;

/// A host that launches, and a device that works in order.
struct Machine {
    trace: Trace,
    host: i64,
    device: i64,
    correlation: u32,
    /// Of kernels' times.
    factor: f64,
    process: u32,
    open: Vec<(String, i64)>,
}

impl Machine {
    fn new(factor: f64) -> Self {
        let mut trace = Trace::default();
        trace.processes.push(Process { pid: 1, ..Process::default() });
        trace.threads.push(Thread { process: 0, id: 1, name: None });
        trace.devices.push(Device { name: Some("H200".to_owned()), ..Device::default() });
        Self { trace, host: 1_000, device: 0, correlation: 0, factor, process: 0, open: Vec::new() }
    }

    fn push(&mut self, name: &str) {
        self.open.push((name.to_owned(), self.host));
        self.host += 100;
    }

    fn pop(&mut self) {
        let (name, begin) = self.open.pop().unwrap();
        self.host += 100;
        let (domain, name) = (self.trace.strings.intern(""), self.trace.strings.intern(&name));
        let range = Range { thread: self.process, domain, name, begin, end: self.host, ..Range::default() };
        self.trace.ranges.push(range);
    }

    fn call(&mut self, name: &str, ns: i64) -> u32 {
        self.correlation += 1;
        let name = self.trace.strings.intern(name);
        let (begin, end) = (self.host, self.host + ns);
        let (thread, correlation) = (self.process, self.correlation);
        self.trace.calls.push(Call { begin, end, name, correlation, thread });
        self.host = end;
        correlation
    }

    fn work(&mut self, kind: ActivityKind, correlation: u32, detail: u32, ns: i64) {
        let begin = self.device.max(self.host + 1_000);
        let end = begin + ns;
        let process = self.process;
        let row = Activity { begin, end, kind, correlation, detail, process, ..Activity::default() };
        self.trace.activities.push(row);
        self.device = end;
    }

    fn kernel(&mut self, name: &str, grid: u32, ns: i64) {
        let correlation = self.call("cudaLaunchKernel", LAUNCH_NS);
        let id = self.trace.strings.intern(name);
        let launch = Launch {
            name: id,
            short_name: id,
            mangled: id,
            grid: [grid, 1, 1],
            block: [128, 1, 1],
            ..Launch::default()
        };
        let launches = &mut self.trace.activities.launches;
        let detail = launches.iter().position(|known| *known == launch).unwrap_or_else(|| {
            launches.push(launch);
            launches.len() - 1
        });
        self.work(ActivityKind::Kernel, correlation, detail as u32, (ns as f64 * self.factor) as i64);
    }

    fn copy(&mut self, bytes: u64, ns: i64) {
        let correlation = self.call("cudaMemcpyAsync", LAUNCH_NS);
        let (direction, memory) = (Direction::DeviceToHost, HostMemory::Pinned);
        self.trace.activities.transfers.push(Transfer { direction, bytes, memory });
        let detail = self.trace.activities.transfers.len() as u32 - 1;
        self.work(ActivityKind::Copy, correlation, detail, ns);
    }

    fn synchronize(&mut self) {
        let waits = (self.device - self.host).max(1_000);
        self.call("cudaStreamSynchronize", waits);
    }
}

/// What can be different.
#[derive(Debug, Clone, Copy)]
struct Version {
    layers: u32,
    more_kernels: bool,
    slow_norm: f64,
    sync: bool,
    copy: bool,
    grid: u32,
    gemm: &'static str,
    two_processes: bool,
    clock: f64,
    host_ns: i64,
}

const USUAL: Version = Version {
    layers: 8,
    more_kernels: false,
    slow_norm: 1.0,
    sync: false,
    copy: false,
    grid: 64,
    gemm: "sm90_xmma_gemm_f16f16_v1",
    two_processes: false,
    clock: 1.0,
    host_ns: 0,
};

fn recorded(version: Version) -> Trace {
    let mut machine = Machine::new(version.clock);
    if version.two_processes {
        machine.trace.processes.push(Process { pid: 2, ..Process::default() });
        machine.trace.threads.push(Thread { process: 1, id: 2, name: None });
        machine.process = 1;
        machine.kernel("other", 1, 5_000);
        machine.process = 0;
    }
    for _ in 0..20 {
        machine.push("step");
        for layer in 0..version.layers {
            machine.push(&format!("layer {layer}"));
            machine.kernel(version.gemm, version.grid, 40_000 * i64::from(version.grid) / 64);
            machine.kernel("rms_norm", 16, (10_000.0 * version.slow_norm) as i64);
            machine.pop();
        }
        machine.push("head");
        machine.host += version.host_ns;
        machine.kernel("softmax", 8, 20_000);
        if version.sync {
            machine.synchronize();
            // What the host does next waits for it.
            machine.host += 30_000;
        }
        machine.kernel("sample", 1, 5_000);
        if version.more_kernels {
            machine.kernel("penalty", 1, 12_000);
        }
        if version.copy {
            machine.copy(1 << 20, 60_000);
        }
        machine.pop();
        machine.synchronize();
        machine.pop();
    }
    machine.trace.finish();
    machine.trace.fold_names();
    machine.trace
}

fn profile(version: Version) -> Profile {
    analysis::profile(&recorded(version), &Options::default())
}

/// Compared with the usual one.
fn compared(version: Version) -> Comparison {
    let found = compare(&[profile(USUAL)], &[profile(version)], 0.01);
    let parts: f64 = found.changes.iter().map(|part| part.change.more_ns()).sum();
    let whole = found.iteration_ns[1] - found.iteration_ns[0];
    assert!((parts + found.unexplained_ns - whole).abs() < 1.0);
    assert!((parts - whole).abs() <= 0.01 * whole.abs() + 10.0, "{version:?}: {parts} of {whole}");
    found
}

#[test]
fn an_iteration_is_the_sum_of_its_parts() {
    let main = profile(USUAL).main.unwrap();
    let parts: f64 = main.parts.iter().map(|part| part.ns).sum();
    assert!((parts / main.median_ns - 1.0).abs() < 0.001, "{parts} of {}", main.median_ns);
    assert_eq!((main.region.as_deref(), main.iterations), (Some(":step"), 20));
    let layers = main.regions.iter().find(|region| region.name == ":step/layer *").unwrap();
    assert_eq!((layers.often.usual, layers.often.varies), (8, false));
    let kernels: u64 = main.parts.iter().filter_map(|part| Some(part.often?.usual)).sum();
    assert_eq!(kernels, 18);
}

/// A plain recount of what the machine does: 18 launches, a wait, and 100 ns around each range.
#[test]
fn the_host_is_in_regions_and_calls() {
    let main = profile(Version { host_ns: 7_000, ..USUAL }).main.unwrap();
    let time = |place: &str, call: Option<&str>| -> (f64, Option<u64>) {
        let what = call.map_or(What::Host, |name| What::Call { name: name.to_owned() });
        let part = main.host.iter().find(|part| part.place.as_deref() == Some(place) && part.what == what);
        let part = part.unwrap_or_else(|| panic!("{place} {call:?} in {:?}", main.host));
        (part.ns, part.often.map(|often| often.usual))
    };
    let launch = Some("cudaLaunchKernel");
    assert_eq!(time(":step/layer *", launch), (16.0 * LAUNCH_NS as f64, Some(16)));
    assert_eq!(time(":step/layer *", None), (8.0 * 200.0, Some(8)));
    assert_eq!(time(":step/head", launch), (2.0 * LAUNCH_NS as f64, Some(2)));
    assert_eq!(time(":step/head", None), (7_200.0, Some(1)));
    assert_eq!(time(":step", None), (200.0, Some(1)));
    assert_eq!(time(":step", Some("cudaStreamSynchronize")).1, Some(1));
    let parts: f64 = main.host.iter().map(|part| part.ns).sum();
    assert!((parts / main.median_ns - 1.0).abs() < 0.001, "{parts} of {}", main.median_ns);
    // What became longer is found there, too.
    let found = compared(Version { host_ns: 600_000, ..USUAL });
    let longest = found.host.iter().max_by(|a, b| a.more_ns().total_cmp(&b.more_ns())).unwrap();
    assert_eq!((longest.place.as_deref(), longest.more_ns()), (Some(":step/head"), 600_000.0));
}

/// An operator around the work of each head: it starts two kernels, and then three.
#[test]
fn operators_of_both_sides() {
    let with_operators = |version: Version| {
        let mut trace = recorded(version);
        let (name, head) = (trace.strings.intern("aten::sample"), trace.strings.intern("head"));
        for range in (0..trace.ranges.len()).filter(|range| trace.ranges.name[*range] == head) {
            let (begin, end) = (trace.ranges.begin[range], trace.ranges.end[range]);
            trace.operators.push(Operator { thread: 0, name, begin, end });
        }
        trace.finish();
        analysis::profile(&trace, &Options::default())
    };
    let (before, after) = (with_operators(USUAL), with_operators(Version { more_kernels: true, ..USUAL }));
    let found = compare(std::slice::from_ref(&before), &[after], 0.01);
    let [operator] = &found.operators[..] else { panic!("{:?}", found.operators) };
    assert_eq!(operator.what[1], Some(What::Operator { name: "aten::sample".to_owned() }));
    assert_eq!((operator.ns, operator.more()), ([25_000.0, 37_000.0], Some(1)));
    // One side alone says nothing.
    assert!(compare(&[before], &[profile(USUAL)], 0.01).operators.is_empty());
}

/// Without ranges, the thread is the one that calls CUDA.
#[test]
fn the_host_without_ranges() {
    let mut trace = recorded(USUAL);
    trace.ranges = Default::default();
    trace.finish();
    let main = analysis::profile(&trace, &Options::default()).main.unwrap();
    let launches =
        main.host.iter().find(|part| matches!(&part.what, What::Call { name } if name == "cudaLaunchKernel"));
    assert_eq!(launches.unwrap().often.unwrap().usual, 18);
    assert!(main.host.iter().all(|part| part.place.is_none()));
    let parts: f64 = main.host.iter().map(|part| part.ns).sum();
    assert!((parts / main.median_ns - 1.0).abs() < 0.01, "{parts} of {}", main.median_ns);
}

/// A sample every 10 us: twice as many in a function that takes twice as long.
#[test]
fn stacks_of_both_sides() {
    let sampled = |host_ns: i64| {
        let mut trace = recorded(Version { host_ns, ..USUAL });
        let file = trace.strings.intern("/home/infer.py");
        for (name, caller) in [("main", NONE), ("load", 0), ("step", 0)] {
            let function = trace.strings.intern(name);
            let frame = trace.stacks.frames.len() as u32;
            trace.stacks.frames.push(Frame { function, file, line: frame + host_ns as u32 });
            trace.stacks.nodes.push(StackNode { caller, frame });
        }
        let (head, ranges) = (trace.strings.intern("head"), &trace.ranges);
        let heads: Vec<(i64, i64)> = (0..ranges.len())
            .filter(|range| ranges.name[*range] == head)
            .map(|range| (ranges.begin[range], ranges.end[range]))
            .collect();
        for at in (trace.begin..trace.end).step_by(10_000) {
            let stack = if heads.iter().any(|(begin, end)| (*begin..*end).contains(&at)) { 1 } else { 2 };
            let sample = StackSample { at, thread: 0, stack, state: ThreadState::Running };
            trace.stacks.samples.push(sample);
        }
        // Another thread is not the loop's.
        trace.threads.push(Thread { process: 0, id: 9, name: None });
        trace.stacks.samples.push(StackSample { at: trace.end / 2, thread: 1, ..StackSample::default() });
        analysis::profile(&trace, &Options::default())
    };
    let (before, after) = (sampled(200_000), sampled(400_000));
    let total = |profile: &Profile| {
        let main = profile.main.as_ref().unwrap();
        main.stacks.iter().map(|stack| stack.ns).sum::<f64>() / main.median_ns
    };
    assert!((total(&before) - 1.0).abs() < 0.01 && (total(&after) - 1.0).abs() < 0.01);
    let found = compare(&[before], &[after], 0.01);
    let load = found.stacks.iter().find(|stack| stack.frames == ["main infer.py", "load infer.py"]).unwrap();
    assert!((load.ns[1] - load.ns[0] - 200_000.0).abs() < 20_000.0, "{load:?}");
    assert_eq!(found.stacks.len(), 2, "lines do not matter: {:?}", found.stacks);
}

#[test]
fn nothing() {
    let found = compared(USUAL);
    assert!(found.reasons.is_empty() && found.counts.is_empty(), "{:?}", found.reasons);
    assert_eq!(found.unexplained_ns, 0.0);
}

#[test]
fn one_more_kernel() {
    let found = compared(Version { more_kernels: true, ..USUAL });
    let first = &found.reasons[0];
    assert_eq!(
        first.is,
        Difference::Kernels {
            more: Named { count: 1, names: vec!["penalty".to_owned()] },
            fewer: Named::default()
        }
    );
    assert_eq!(first.place.as_deref(), Some(":step/head"));
    assert!((first.more_ns - 12_000.0).abs() < 2_000.0, "{first:?}");
}

/// Some more and some others fewer: both are counted, and named apart.
#[test]
fn more_kernels_and_fewer() {
    let before = compared(Version { more_kernels: true, ..USUAL });
    assert_eq!(before.reasons.len(), 1);
    let mut trace = recorded(Version { more_kernels: true, ..USUAL });
    // In place of one kernel, a fill.
    let is_meant = |name: &str| name == "softmax";
    let launch =
        trace.activities.launches.iter().position(|launch| is_meant(trace.strings.text(launch.name)));
    let launch = launch.unwrap() as u32;
    let rows: Vec<usize> = (0..trace.activities.len())
        .filter(|at| {
            trace.activities.kind[*at] == ActivityKind::Kernel && trace.activities.detail[*at] == launch
        })
        .collect();
    trace.activities.transfers.push(Transfer {
        direction: Direction::Memset,
        bytes: 64,
        memory: HostMemory::Pinned,
    });
    for at in rows {
        trace.activities.kind[at] = ActivityKind::Fill;
        trace.activities.detail[at] = trace.activities.transfers.len() as u32 - 1;
    }
    let after = analysis::profile(&trace, &Options::default());
    let found = compare(&[profile(USUAL)], &[after], 0.01);
    let kernels = found.reasons.iter().find_map(|reason| match &reason.is {
        Difference::Kernels { more, fewer } => Some((more.clone(), fewer.clone())),
        _ => None,
    });
    let one = |name: &str| Named { count: 1, names: vec![name.to_owned()] };
    assert_eq!(kernels, Some((one("penalty"), one("softmax"))));
}

#[test]
fn a_slower_kernel() {
    let found = compared(Version { slow_norm: 2.0, ..USUAL });
    let Difference::Kernel { name, ratio } = &found.reasons[0].is else { panic!("{:?}", found.reasons) };
    assert_eq!(name, "rms_norm");
    assert!((ratio - 2.0).abs() < 0.01 && found.reasons[0].place.as_deref() == Some(":step/layer *"));
}

#[test]
fn a_wait_more() {
    let found = compared(Version { sync: true, ..USUAL });
    let first = &found.reasons[0];
    assert_eq!(first.is, Difference::Calls { name: "cudaStreamSynchronize".to_owned(), more: 1 });
    assert!(first.more_ns > 25_000.0, "{first:?}");
}

#[test]
fn a_copy_more() {
    let found = compared(Version { copy: true, ..USUAL });
    let first = &found.reasons[0];
    let Difference::Copies { direction, more, bytes } = &first.is else { panic!("{:?}", found.reasons) };
    assert_eq!((direction.as_str(), *more, *bytes), ("device to host", 1, [0, 1 << 20]));
    assert_eq!(first.place.as_deref(), Some(":step/head"));
}

#[test]
fn a_layer_more() {
    let found = compared(Version { layers: 9, ..USUAL });
    let first = &found.reasons[0];
    assert_eq!(first.is, Difference::Region { before: 8, after: 9, kernels: 2 });
    assert_eq!(first.place.as_deref(), Some(":step/layer *"));
    assert!((first.more_ns - 50_000.0).abs() < 2_000.0, "{first:?}");
}

/// Two layers have names of their own, three are one region: still the same layers.
#[test]
fn from_two_layers_to_three() {
    let (two, three) = (Version { layers: 2, ..USUAL }, Version { layers: 3, ..USUAL });
    let found = compare(&[profile(two)], &[profile(three)], 0.01);
    assert_eq!(found.reasons[0].is, Difference::Region { before: 2, after: 3, kernels: 2 });
    assert_eq!(found.reasons[0].place.as_deref(), Some(":step/layer *"));
    // Where both have the same, each is told by its own name.
    let found = compare(&[profile(two)], &[profile(Version { slow_norm: 3.0, ..two })], 0.01);
    assert_eq!(found.reasons[0].place.as_deref(), Some(":step/layer 0"));
}

#[test]
fn another_shape() {
    let found = compared(Version { grid: 96, ..USUAL });
    let Difference::Shape { name, grid, others: 0, .. } = &found.reasons[0].is else {
        panic!("{:?}", found.reasons)
    };
    assert_eq!((name.as_str(), *grid), (USUAL.gemm, [[64, 1, 1], [96, 1, 1]]));
}

#[test]
fn another_name() {
    let found = compared(Version { gemm: "sm90_xmma_gemm_f16f16_v2", ..USUAL });
    let Difference::Renamed { before, after, others: 0 } = &found.reasons[0].is else {
        panic!("{:?}", found.reasons)
    };
    assert_eq!((before.as_str(), after.as_str()), (USUAL.gemm, "sm90_xmma_gemm_f16f16_v2"));
    assert!(found.reasons.len() == 1 && found.reasons[0].more_ns.abs() < 1.0);
}

#[test]
fn a_process_more() {
    let found = compared(Version { two_processes: true, ..USUAL });
    assert_eq!(found.reasons[0].is, Difference::Processes { before: 1, after: 2 });
}

#[test]
fn other_clocks() {
    let found = compared(Version { clock: 1.2, ..USUAL });
    let Difference::AllKernels { ratio, .. } = &found.reasons[0].is else { panic!("{:?}", found.reasons) };
    assert!((ratio - 1.2).abs() < 0.01);
}

#[test]
fn a_slow_host() {
    let found = compared(Version { host_ns: 600_000, ..USUAL });
    let first = &found.reasons[0];
    assert_eq!(
        (&first.is, first.place.as_deref()),
        (&Difference::Idle { cause: IdleCause::Host }, Some(":step/head"))
    );
}
