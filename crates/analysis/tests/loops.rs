//! Loops whose truth is known: where iterations begin, which of them are steady, and what is said of them.

use std::path::Path;

use analysis::{Analysis, Cause, Options, analyze};
use trace::{ActivityKind, Trace};

/// A program of one thread and one device that launches kernels.
struct Program {
    trace: Trace,
    /// What the host is at, and what the device is.
    host: i64,
    device: i64,
    kernels: std::collections::HashMap<String, u32>,
}

impl Program {
    fn new() -> Self {
        let mut trace = Trace::default();
        trace.processes.push(trace::Process { pid: 1, ..trace::Process::default() });
        trace.threads.push(trace::Thread { process: 0, id: 1, name: None });
        trace.devices.push(trace::Device::default());
        Self { trace, host: 0, device: 0, kernels: Default::default() }
    }

    /// A call, and what it starts at the earliest when the device is free.
    fn call(&mut self, name: &str, took: i64, activity: Option<(ActivityKind, u32, i64)>) {
        let name = self.trace.strings.intern(name);
        let correlation = self.trace.calls.len() as u32 + 1;
        let (begin, end) = (self.host, self.host + took);
        self.trace.calls.push(trace::Call { begin, end, name, correlation, ..trace::Call::default() });
        if let Some((kind, detail, duration)) = activity {
            let begin = self.device.max(begin + 5_000);
            let end = begin + duration;
            let activity =
                trace::Activity { begin, end, kind, detail, correlation, ..trace::Activity::default() };
            self.trace.activities.push(activity);
            self.device = end;
        }
        self.host = end;
    }

    fn kernel(&mut self, name: &str) -> u32 {
        let (trace, next) = (&mut self.trace, self.kernels.len() as u32);
        *self.kernels.entry(name.to_owned()).or_insert_with(|| {
            let name = trace.strings.intern(name);
            let (grid, block) = ([1_000, 1, 1], [256, 1, 1]);
            let launch = trace::Launch { name, short_name: name, grid, block, ..trace::Launch::default() };
            trace.activities.launches.push(launch);
            next
        })
    }

    fn launch(&mut self, kernel: &str, duration: i64) {
        let kernel = self.kernel(kernel);
        self.call("cudaLaunchKernel", 4_000, Some((ActivityKind::Kernel, kernel, duration)));
    }

    /// Reads a value, and waits for it.
    fn read(&mut self) {
        let transfers = &mut self.trace.activities.transfers;
        if transfers.is_empty() {
            let direction = trace::Direction::DeviceToHost;
            transfers.push(trace::Transfer { direction, bytes: 4, memory: trace::HostMemory::Unknown });
        }
        self.call("cudaMemcpyAsync", 4_000, Some((ActivityKind::Copy, 0, 1_500)));
        let took = (self.device - self.host).max(0) + 2_000;
        self.call("cudaStreamSynchronize", took, None);
    }

    fn range(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        let begin = self.host;
        inside(self);
        let (name, end) = (self.trace.strings.intern(name), self.host);
        self.trace.ranges.push(trace::Range { name, begin, end, ..trace::Range::default() });
    }

    fn finished(mut self) -> Trace {
        self.trace.finish();
        self.trace
    }

    fn analyzed(self) -> Analysis {
        analyze(&self.finished(), &Options::default())
    }
}

/// Launches that take longer than what they launch.
fn launches(program: &mut Program, number: usize) {
    for at in 0..number {
        program.launch(&format!("kernel_{}", at % 30), 3_000);
        program.host += 15_000;
    }
}

/// A generation is a prefill and sixteen steps of decoding: whatever its loop is called, its time is claimed once.
#[test]
fn regions_between_each_other_are_one_loop() {
    let mut program = Program::new();
    for _ in 0..10 {
        program.range("prefill", |program| launches(program, 40));
        (0..16).for_each(|_| program.range("decode", |program| launches(program, 30)));
    }
    let analysis = program.analyzed();
    let regions: Vec<_> = analysis.loops.iter().map(|found| found.region.as_deref()).collect();
    assert_eq!(regions, [Some(":decode")]);
    assert_eq!(analysis.loops[0].iterations, 160);
    let late: Vec<_> = analysis.findings.iter().filter(|one| one.cause == Cause::LaunchBound).collect();
    let [only] = late.as_slice() else { panic!("{late:#?}") };
    assert_eq!(only.place.region.as_deref(), Some(":decode"), "{only:#?}");
    assert!(only.evidence[0].starts_with("30 launches an iteration"), "{only:#?}");
}

/// Of three regions that follow each other in each iteration, none has the launches of all.
#[test]
fn what_is_all_over_the_iteration_is_in_no_part_of_it() {
    let mut program = Program::new();
    for _ in 0..30 {
        for (name, number) in [("forward", 12), ("backward", 14), ("update", 10)] {
            program.range(name, |program| launches(program, number));
        }
    }
    let analysis = program.analyzed();
    assert_eq!(analysis.loops.len(), 1, "{:#?}", analysis.loops);
    assert_eq!(analysis.loops[0].region.as_deref(), Some(":backward"));
    let late = analysis.findings.iter().find(|one| one.cause == Cause::LaunchBound).unwrap();
    assert_eq!(late.place.region, None, "{late:#?}");
    assert!(!late.title.contains("backward"), "{late:#?}");
}

/// One phase behind the other: two loops.
#[test]
fn phases_are_loops_of_their_own() {
    let mut program = Program::new();
    for name in ["train", "evaluate"] {
        (0..20).for_each(|_| program.range(name, |program| launches(program, 20)));
    }
    let analysis = program.analyzed();
    let mut regions: Vec<_> = analysis.loops.iter().map(|found| found.region.as_deref()).collect();
    regions.sort();
    assert_eq!(regions, [Some(":evaluate"), Some(":train")]);
}

/// Thirty iterations of 39 ms without a range. The host pauses before it reads the loss, with which each ends; the first
/// has more to launch, and waits for what is loaded.
#[test]
fn the_end_of_the_last_iteration_is_no_iteration() {
    let mut program = Program::new();
    for step in 0..30 {
        program.launch("embedding", 300_000);
        if step == 0 {
            (0..5).for_each(|_| program.launch("fill", 2_000));
            program.host += 231_000_000;
        }
        for _ in 0..12 {
            ["norm", "attention", "gelu"].into_iter().for_each(|kernel| program.launch(kernel, 1_000_000));
        }
        program.launch("head", 2_000_000);
        program.host += 25_000_000;
        program.read();
    }
    let analysis = program.analyzed();
    let found = &analysis.loops[0];
    let period = found.period_ns.unwrap();
    assert_eq!((found.iterations, found.warm_up), (30, 1), "{found:?}");
    assert!(period.min >= 35_000_000 && period.max <= 45_000_000, "{period:?}");
}

/// One call starts all kernels of a graph, and the recording does not say that it is one: its layers are no iterations,
/// and an iteration takes some time.
#[test]
fn kernels_of_one_call_are_no_loop() {
    let mut program = Program::new();
    program.launch("sample", 5_000);
    let kernels = ["norm", "product"].map(|kernel| program.kernel(kernel));
    program.call("hipGraphLaunch", 50_000, None);
    let correlation = program.trace.calls.len() as u32;
    for at in 0..24 {
        let (begin, detail) = (program.host + at * 10_000, kernels[at as usize % 2]);
        let end = begin + 9_000;
        program.trace.activities.push(trace::Activity {
            begin,
            end,
            detail,
            correlation,
            ..trace::Activity::default()
        });
    }
    let loops = program.analyzed().loops;
    assert!(loops.is_empty(), "{loops:?}");
}

/// Where launches are not recorded, kernels are work all the same.
#[test]
fn work_of_unknown_launches_is_seen() {
    let mut program = Program::new();
    for _ in 0..20 {
        for kernel in ["norm", "product", "gelu"] {
            program.launch(kernel, 300_000);
        }
        program.read();
    }
    let mut trace = program.finished();
    trace.activities.correlation.fill(trace::NONE);
    let analysis = analyze(&trace, &Options::default());
    let found = &analysis.loops[0];
    assert!(!found.without_work && found.busy_share.unwrap() > 0.9, "{found:?}");
}

/// Eight steps take longer while code is loaded: neither the loop nor the stage counts them, nor the rate of tokens.
#[test]
fn stages_are_steady_when_the_loop_is() {
    let mut program = Program::new();
    for step in 0..60 {
        program.range("decode", |program| {
            program.launch("norm", 1_000_000);
            program.host += if step < 8 { 90_000_000 } else { 3_000_000 };
            program.launch("product", 3_000_000);
            program.read();
        });
    }
    let options = Options { tokens: vec![("decode".to_owned(), 1.0)], ..Options::default() };
    let analysis = analyze(&program.finished(), &options);
    let (found, stage) = (&analysis.loops[0], &analysis.stages[0]);
    let (period, steady) = (found.period_ns.unwrap(), stage.steady.unwrap());
    assert_eq!(found.warm_up, 8, "{found:?}");
    assert_eq!(steady.count, found.iterations - found.warm_up, "{stage:?}");
    assert!((steady.mean_ns as f64 / period.p50 as f64 - 1.0).abs() < 0.02, "{stage:?} {period:?}");
    let rate = stage.tokens_per_second.unwrap();
    assert!((rate * period.p50 as f64 / 1e9 - 1.0).abs() < 0.02, "{rate}");
    assert_eq!(stage.times.unwrap().count, 60);
}

/// Something that would make it 1.07 times as fast is in the way.
#[test]
fn nothing_in_the_way_is_not_said_beside_what_is() {
    let steps = |copy: i64| {
        let mut program = Program::new();
        for _ in 0..40 {
            program.range("step", |program| {
                program.launch("first_of_mine", 500_000);
                if copy > 0 {
                    program.launch("void at::native::elementwise_kernel<128, direct_copy_kernel>", copy);
                }
                program.launch("second_of_mine", 430_000);
            });
        }
        program.analyzed().findings
    };
    let causes = |copy: i64| -> Vec<Cause> { steps(copy).iter().map(|finding| finding.cause).collect() };
    assert_eq!(causes(0), [Cause::Healthy]);
    assert_eq!(causes(70_000), [Cause::LayoutCopies]);
}

/// Twelve seconds of imports before the first CUDA call, of which stacks were sampled.
#[test]
fn start_up_begins_with_the_program() {
    let mut program = Program::new();
    program.host = 12_000_000_000;
    for _ in 0..30 {
        program.range("step", |program| {
            program.launch("product", 30_000_000);
            program.read();
        });
    }
    let strings = &mut program.trace.strings;
    let (function, file) = (strings.intern("load"), strings.intern("/home/me/train.py"));
    program.trace.stacks.frames.push(trace::Frame { function, file, line: 7 });
    program.trace.stacks.nodes.push(trace::StackNode { caller: trace::NONE, frame: 0 });
    for at in (0..12_000_000_000).step_by(20_000_000) {
        let state = trace::ThreadState::Running;
        program.trace.stacks.samples.push(trace::StackSample { at, thread: 0, stack: 0, state });
    }
    let analysis = program.analyzed();
    assert_eq!(analysis.loops[0].start_up_ns / 1_000_000_000, 12);
    let start = analysis.findings.iter().find(|one| one.cause == Cause::StartUp).unwrap();
    assert_eq!(start.time_ns / 1_000_000_000, 12);
    let place = "by 600 samples of its thread: 100 % at `train.py:7 load`";
    assert!(start.evidence.iter().any(|line| line.starts_with(place)), "{start:#?}");
}

/// nsys says when it launched the program, and that it recorded from then on.
#[test]
fn nsys_says_when_the_program_was_launched() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/two-2025.3.1.sqlite");
    let mut trace = trace::open(&[path]).unwrap();
    assert_eq!(trace.launched, Some(2_280_055));
    assert!(trace.begin > 3_000_000_000);
    trace.keep_windows(vec![(trace.begin, trace.end)], trace::Selection::Ranges);
    assert_eq!(trace.launched, None, "what is before a selected part is not asked for");
}
