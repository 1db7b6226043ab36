//! Programs without GPU work: what takes the time of an iteration, by samples whose truth is known.

use analysis::{Analysis, Cause, NoFinding, Options, analyze};
use trace::{CuptiTrouble, Frame, Kind, Process, Range, StackNode, StackSample, Thread, ThreadState, Trace};

const MS: i64 = 1_000_000;

/// Iterations of 10 ms, of which `slow` ms are in `augment`, called by PyTorch's data loader, and the rest in line 48 of `main`;
/// a sample each ms. The ranges are open for 6 ms.
fn program(iterations: i64, slow: i64) -> Trace {
    let mut trace = Trace::default();
    process(&mut trace, iterations, slow, 100);
    trace.sampling.wall_ns = 1;
    trace.finish();
    trace
}

fn process(trace: &mut Trace, iterations: i64, slow: i64, pid: u32) {
    trace.processes.push(Process { pid, ..Process::default() });
    let process = trace.processes.len() as u32 - 1;
    trace.threads.push(Thread { process, id: pid, name: None });
    let thread = trace.threads.len() as u32 - 1;
    let main = frame(trace, trace::NONE, "main", "/home/me/train.py", 48);
    let loading = frame(trace, trace::NONE, "main", "/home/me/train.py", 46);
    let next = frame(trace, loading, "__next__", "/x/dist-packages/torch/utils/data/dataloader.py", 628);
    let augment = [25, 28].map(|line| frame(trace, next, "augment", "/home/me/train.py", line));
    let (domain, name) = (trace.strings.intern(""), trace.strings.intern("step"));
    for at in 0..iterations {
        let begin = at * 10 * MS;
        let range = Range {
            begin: begin + 4 * MS,
            end: begin + 10 * MS,
            thread,
            domain,
            name,
            kind: Kind::PushPop,
            ..Range::default()
        };
        trace.ranges.push(range);
        for ms in 0..10 {
            let stack = if ms < slow { augment[(ms % 2) as usize] } else { main };
            let state = ThreadState::Running;
            trace.stacks.samples.push(StackSample { at: begin + ms * MS + MS / 2, thread, stack, state });
        }
    }
}

fn frame(trace: &mut Trace, caller: u32, function: &str, file: &str, line: u32) -> u32 {
    let (function, file) = (trace.strings.intern(function), trace.strings.intern(file));
    trace.stacks.frames.push(Frame { function, file, line });
    trace.stacks.nodes.push(StackNode { caller, frame: trace.stacks.frames.len() as u32 - 1 });
    trace.stacks.nodes.len() as u32 - 1
}

fn told(trace: &Trace) -> Analysis {
    analyze(trace, &Options::default())
}

#[test]
fn the_slow_place_is_named_with_its_gain() {
    let analysis = told(&program(100, 4));
    let first = &analysis.findings[0];
    assert_eq!(first.cause, Cause::HostCode);
    assert_eq!(first.title, "`train.py:48 main` takes 60 % of the time of an iteration");
    let analysis = told(&program(100, 6));
    let first = &analysis.findings[0];
    assert_eq!(first.title, "`train.py:25-28 augment` takes 60 % of the time of an iteration");
    assert_eq!(first.place.line.as_deref(), Some("train.py:25-28 augment"));
    let gain = first.gain.unwrap();
    assert!((gain.factor - 2.5).abs() < 0.05 && (gain.low - 1.0 / 0.7).abs() < 0.05, "{gain:?}");
    let by_samples = gain.by_samples.unwrap();
    assert!(gain.low < by_samples.low && by_samples.low < gain.factor, "{gain:?}");
    assert!(gain.factor < by_samples.high && by_samples.high == gain.high, "{gain:?}");
    assert!((gain.now_ns - 10 * MS).abs() < MS / 10, "{gain:?}");
    assert!(first.advice.contains("`num_workers` of the `DataLoader`"), "{}", first.advice);
    assert!(
        first.evidence.iter().any(|line| line.contains("4.00 ms of the 10.0 ms")),
        "{:?}",
        first.evidence
    );
    // What the program is for cannot be left out.
    let all = told(&program(100, 0));
    assert_eq!(all.findings[0].gain, None, "{:?}", all.findings[0]);
}

/// Iterations of so many steps of 0.25 ms and one more each time, in line 48 of `main` or in `augment`; a sample in each.
#[test]
fn the_place_that_grows() {
    let grown = |least: i64, is_inside: fn(i64) -> bool| {
        let mut trace = program(0, 0);
        let main = frame(&mut trace, trace::NONE, "main", "/home/me/train.py", 48);
        let augment = frame(&mut trace, main, "augment", "/home/me/train.py", 25);
        let (domain, name) = (trace.strings.intern(""), trace.strings.intern("step"));
        let mut begin = 0;
        for at in 0..40 {
            let steps = least + at;
            let end = begin + steps * MS / 4;
            let kind = Kind::PushPop;
            trace.ranges.push(Range { begin, end, thread: 0, domain, name, kind, ..Range::default() });
            for step in 0..steps {
                let stack = if is_inside(step) { augment } else { main };
                let (at, state) = (begin + step * MS / 4 + MS / 8, ThreadState::Running);
                trace.stacks.samples.push(StackSample { at, thread: 0, stack, state });
            }
            begin = end;
        }
        trace.finish();
        told(&trace).findings.remove(0)
    };
    let found = grown(16, |step| step >= 8);
    assert_eq!(found.place.line.as_deref(), Some("train.py:25 augment"));
    let told = found.evidence.iter().find(|line| line.starts_with("this is what grows"));
    // By hand: 8 + 0..10 and 8 + 30..40 steps of 0.25 ms, on average.
    let told = told.unwrap_or_else(|| panic!("{found:?}"));
    assert!(told.contains(": 3.12 ms of an iteration in the first quarter, 10.6 ms in the last"), "{told}");
    assert!(
        found.advice.starts_with("keep what it goes through from growing, or make it"),
        "{}",
        found.advice
    );
    // It need not be the place that takes the most.
    let second = grown(40, |step| step >= 40);
    assert_eq!(second.place.line.as_deref(), Some("train.py:48 main"));
    let told = "what grows is `train.py:25 augment`: 1.12 ms of an iteration in the first quarter, 8.62 ms in the last";
    assert!(second.evidence.iter().any(|line| line.starts_with(told)), "{second:?}");
    assert!(
        second
            .advice
            .starts_with("keep what `train.py:25 augment` goes through from growing; apart from that, make")
    );
    // As much of each iteration.
    let not_alone = grown(16, |step| step % 4 == 0);
    assert!(!not_alone.advice.contains("growing"), "{not_alone:?}");
}

/// What a place does decides what is advised: data that is loaded here, workers that are waited for, gradients.
#[test]
fn what_the_place_does() {
    // Each iteration of 10 ms: 7 in the place, 3 in the rest of `main`.
    let doing = |inner: &[(&str, &str)], python: bool| {
        let mut trace = program(100, 0);
        let file = if python { "/home/me/train.py" } else { "/home/me/train.cpp" };
        let mut stack = frame(&mut trace, trace::NONE, "main", file, 50);
        for (function, file) in inner {
            stack = frame(&mut trace, stack, function, file, 9);
        }
        for row in 0..trace.stacks.samples.len() {
            if row % 10 < 7 {
                trace.stacks.samples.stack[row] = stack;
            }
        }
        trace
    };
    let loader = "/x/site-packages/torch/utils/data/dataloader.py";
    let loading =
        told(&doing(&[("__next__", loader), ("fetch", "/x/site-packages/torch/utils/data/fetch.py")], true));
    assert!(loading.findings[0].advice.contains("`num_workers` of the `DataLoader`"));
    let backward = told(&doing(&[("backward", "/x/site-packages/torch/autograd/__init__.py")], true));
    assert!(backward.findings[0].advice.starts_with("this is the model itself"));
    assert_eq!(backward.findings[0].gain, None);
    let module = "/x/site-packages/torch/nn/modules/module.py";
    let forward = told(&doing(&[("_call_impl", module)], true));
    assert!(forward.findings[0].advice.starts_with("this is the model itself"));
    assert_eq!(forward.findings[0].gain, None);
    // What a module of the program's own does by itself is its author's to change.
    let own = told(&doing(&[("_call_impl", module), ("forward", "/home/me/model.py")], true));
    assert!(own.findings[0].advice.starts_with("make it shorter"), "{}", own.findings[0].advice);
    assert!(own.findings[0].gain.is_some());
    let python = told(&doing(&[("count", "/x/lib/python3.11/statistics.py")], true));
    assert!(python.findings[0].advice.contains("let another process do it"), "{}", python.findings[0].advice);
    let native = told(&doing(&[], false));
    assert!(native.findings[0].advice.contains("let another thread do it"), "{}", native.findings[0].advice);
    // A worker of the data loader is a process of its own: the loop waits, and what the worker does is told.
    let mut waits = doing(&[("__next__", loader), ("_try_get_data", loader)], true);
    waits.processes.push(Process { pid: 300, ..Process::default() });
    let process = waits.processes.len() as u32 - 1;
    waits.threads.push(Thread { process, id: 300, name: None });
    let thread = waits.threads.len() as u32 - 1;
    let stack = frame(&mut waits, trace::NONE, "clean", "/home/me/data.py", 7);
    for at in 0..1000 {
        let state = ThreadState::Running;
        waits.stacks.samples.push(StackSample { at: at * MS + MS / 2, thread, stack, state });
    }
    let analysis = told(&waits);
    let first = &analysis.findings[0];
    assert_eq!(first.cause, Cause::DataLoading);
    assert_eq!(
        first.title,
        "`train.py:50 main` waits for workers of the `DataLoader` for 70 % of the time of an iteration"
    );
    assert_eq!(
        first.advice,
        "more workers (`num_workers`), or make what they do (`data.py:7 clean`) shorter"
    );
}

/// Two processes: samples of the one whose loop it is.
#[test]
fn samples_are_of_the_loops_own_process() {
    let mut trace = Trace::default();
    process(&mut trace, 100, 6, 100);
    process(&mut trace, 100, 1, 200);
    trace.finish();
    let analysis = told(&trace);
    let process = analysis.loops[0].process;
    let place =
        if process == 100 { "`train.py:25-28 augment` takes 60 %" } else { "`train.py:48 main` takes 90 %" };
    let first = &analysis.findings[0];
    assert!(
        first.title.starts_with(place) && first.title.ends_with(&format!("of process {process}")),
        "{}",
        first.title
    );
}

#[test]
fn what_is_not_known_is_not_told() {
    // A program that uses the GPU, of which nothing was recorded.
    let mut blind = program(100, 6);
    blind.cupti_trouble = Some(CuptiTrouble::Taken);
    assert!(told(&blind).findings.is_empty());
    // A loop that is a small part of the program.
    let mut short = program(10, 6);
    short.end = 10_000 * MS;
    let analysis = told(&short);
    assert!(analysis.findings.is_empty() && !analysis.host.as_ref().unwrap().steady, "{:?}", analysis.host);
    // Nothing but samples, and too few of them.
    let mut bare = program(4, 6);
    bare.ranges = Default::default();
    assert_eq!(told(&bare).no_finding, Some(NoFinding::NothingMarked { python: true }));
}

/// A program that has nothing marked: the place that takes most of its CPU time.
#[test]
fn a_program_without_ranges() {
    let unmarked = |slow: i64| {
        let mut trace = program(100, slow);
        trace.ranges = Default::default();
        trace
    };
    let analysis = told(&unmarked(6));
    let first = &analysis.findings[0];
    assert_eq!(
        first.title,
        "`train.py:25-28 augment` takes 60 % of the time in which the program ran, by samples"
    );
    let gain = first.gain.unwrap();
    assert_eq!(gain.of, analysis::GainOf::Total);
    assert!((gain.factor - 2.5).abs() < 0.01 && (gain.now_ns - 999 * MS).abs() < MS, "{gain:?}");
    assert_eq!(analysis.no_finding, None);
    // A thread that waits half of the time: what it does in the other half is still told, without a gain.
    let mut waits = unmarked(6);
    let state = &mut waits.stacks.samples.state;
    state.iter_mut().step_by(2).for_each(|state| *state = ThreadState::Blocked);
    let analysis = told(&waits);
    assert_eq!((analysis.findings.len(), analysis.findings[0].gain), (1, None));
    let evidence = &analysis.findings[0].evidence;
    assert!(evidence.iter().any(|line| line.contains("waits for 50 % of the time")), "{evidence:?}");
    // nsys samples threads only while they run: parts of its samples are not parts of the time.
    let mut by_nsys = unmarked(6);
    by_nsys.sampling.wall_ns = 0;
    assert_eq!(told(&by_nsys).findings[0].gain, None);
    // Two threads that run at once.
    let mut two = Trace::default();
    process(&mut two, 100, 6, 100);
    process(&mut two, 100, 6, 200);
    two.ranges = Default::default();
    two.finish();
    let analysis = told(&two);
    assert_eq!((analysis.findings.len(), analysis.findings[0].gain), (1, None));
    // What the program is for cannot be left out, and it is unknown what a GPU does that could not be recorded.
    assert_eq!(told(&unmarked(0)).findings[0].gain, None);
    let mut blind = unmarked(6);
    blind.cupti_trouble = Some(CuptiTrouble::Taken);
    assert!(told(&blind).findings.is_empty());
}

/// Something else, once in a while, between two iterations.
#[test]
fn what_happens_between_iterations_is_not_in_them() {
    let mut trace = program(100, 4);
    let evaluate = frame(&mut trace, trace::NONE, "evaluate", "/home/me/train.py", 70);
    for row in 0..trace.stacks.samples.len() {
        if trace.stacks.samples.at[row] >= 500 * MS {
            trace.stacks.samples.at[row] += 800 * MS;
        }
    }
    for row in 0..trace.ranges.len() {
        if trace.ranges.begin[row] >= 500 * MS {
            trace.ranges.begin[row] += 800 * MS;
            trace.ranges.end[row] += 800 * MS;
        }
    }
    for at in 500..1300 {
        let sample = StackSample { at: at * MS, thread: 0, stack: evaluate, state: ThreadState::Running };
        trace.stacks.samples.push(sample);
    }
    trace.finish();
    let analysis = told(&trace);
    let lines = &analysis.host.as_ref().unwrap().lines;
    assert!(lines.iter().all(|line| !line.place.contains("evaluate")), "{lines:?}");
    assert!(
        analysis.findings.iter().any(|one| one.title.starts_with("`train.py:48 main` takes 6")),
        "{lines:?}"
    );
}

/// A loop on a GPU, 8 ms an iteration: for 4 ms between the ranges the data is made ready, and in the range the GPU waits
/// twice, for 1 ms each, for code that launches. A sample each quarter of a millisecond.
fn with_a_gpu(iterations: i64) -> Trace {
    let mut trace = Trace::default();
    trace.processes.push(Process { pid: 100, ..Process::default() });
    trace.threads.push(Thread { process: 0, id: 100, name: None });
    trace.devices.push(trace::Device::default());
    let main = frame(&mut trace, trace::NONE, "main", "/home/me/train.py", 46);
    let next = frame(&mut trace, main, "__next__", "/x/dist-packages/torch/utils/data/dataloader.py", 628);
    let encode = [19, 20].map(|line| frame(&mut trace, next, "Texts.encode", "/home/me/train.py", line));
    let step = frame(&mut trace, trace::NONE, "main", "/home/me/train.py", 51);
    let backward =
        frame(&mut trace, step, "_engine_run_backward", "/x/dist-packages/torch/autograd/graph.py", 869);
    let (domain, name) = (trace.strings.intern(""), trace.strings.intern("step"));
    let launch = trace.strings.intern("cudaLaunchKernel");
    let kernel = trace.strings.intern("gemm");
    trace.activities.launches.push(trace::Launch {
        name: kernel,
        short_name: kernel,
        ..trace::Launch::default()
    });
    let mut correlation = 0;
    for at in 0..iterations {
        let begin = at * 8 * MS;
        let (from, to) = (begin + 4 * MS, begin + 7 * MS + MS / 4);
        let kind = Kind::PushPop;
        trace.ranges.push(Range { begin: from, end: to, domain, name, kind, ..Range::default() });
        // Twelve launches in a row, with a pause of 1 ms before two of them.
        let starts = (0..12).map(|launch| from + launch * MS / 10 + [0, 1, 2][launch as usize / 5] * MS);
        for start in starts {
            correlation += 1;
            let call = trace::Call { begin: start, end: start + 5_000, name: launch, correlation, thread: 0 };
            trace.calls.push(call);
            trace.activities.push(trace::Activity {
                begin: start + 10_000,
                end: start + 90_000,
                kind: trace::ActivityKind::Kernel,
                correlation,
                ..trace::Activity::default()
            });
        }
        for quarter in 0..32 {
            let stack = if quarter < 16 { encode[quarter as usize % 2] } else { backward };
            let state = ThreadState::Running;
            trace.stacks.samples.push(StackSample {
                at: begin + quarter * MS / 4 + MS / 8,
                thread: 0,
                stack,
                state,
            });
        }
    }
    trace.sampling.wall_ns = 1;
    trace.finish();
    trace
}

/// What the host does in a pause is told by samples in that pause, not by all in which the GPU waits.
#[test]
fn a_pause_is_named_by_its_own_samples() {
    let analysis = told(&with_a_gpu(60));
    let titles: Vec<&str> = analysis.findings.iter().map(|finding| finding.title.as_str()).collect();
    let outside = analysis.findings.iter().find(|finding| finding.place.region.is_none());
    let outside = outside.unwrap_or_else(|| panic!("{titles:?} {:?}", analysis.loops));
    assert_eq!(outside.place.line.as_deref(), Some("train.py:19-20 Texts.encode"), "{titles:?} {outside:?}");
    assert!(
        outside
            .evidence
            .iter()
            .any(|line| line.starts_with("in this time, the host was 84 % at `train.py:19-20 Texts")),
        "{outside:?}"
    );
    assert!(outside.advice.starts_with("load ahead in other processes"), "{}", outside.advice);
    let inside = analysis
        .findings
        .iter()
        .find(|finding| finding.cause == Cause::HostCode && finding.place.region.as_deref() == Some(":step"));
    let inside = inside.unwrap_or_else(|| panic!("{titles:?}"));
    assert_eq!(inside.place.line.as_deref(), Some("train.py:51 main"), "{inside:?}");
}

/// A hundred steps of 10 ms in line 48 of `main`, and in every tenth, from the first on if it is so, 180 ms more in `save`; a
/// sample each ms. What is saved may have a range of its own.
fn with_a_checkpoint(first: i64, inside: Option<&str>) -> Trace {
    let mut trace = program(0, 0);
    let main = frame(&mut trace, trace::NONE, "main", "/home/me/train.py", 48);
    let saving = frame(&mut trace, trace::NONE, "main", "/home/me/train.py", 50);
    let save = [70, 71].map(|line| frame(&mut trace, saving, "save", "/home/me/train.py", line));
    let (domain, name) = (trace.strings.intern(""), trace.strings.intern("step"));
    let inside = inside.map(|inside| trace.strings.intern(inside));
    let kind = Kind::PushPop;
    let mut begin = 0;
    for at in 0..100 {
        let saves = if at % 10 == first { 180 } else { 0 };
        let end = begin + (10 + saves) * MS;
        trace.ranges.push(Range { begin, end, domain, name, kind, ..Range::default() });
        if let Some(name) = inside.filter(|_| saves > 0) {
            let begin = begin + 10 * MS;
            trace.ranges.push(Range { begin, end, domain, name, kind, ..Range::default() });
        }
        for ms in 0..10 + saves {
            let stack = if ms < 10 { main } else { save[(ms % 2) as usize] };
            let (at, state) = (begin + ms * MS + MS / 2, ThreadState::Running);
            trace.stacks.samples.push(StackSample { at, thread: 0, stack, state });
        }
        begin = end;
    }
    trace.finish();
    trace
}

/// Most of the time is in iterations that nothing else is said about.
#[test]
fn iterations_that_are_left_out_come_first() {
    let trace = with_a_checkpoint(9, None);
    let analysis = told(&trace);
    let slow = analysis.loops[0].slow.unwrap();
    assert_eq!((slow.iterations, slow.time_ns, slow.p50_ns), (10, 1_900 * MS, 190 * MS));
    let first = &analysis.findings[0];
    assert_eq!(first.cause, Cause::SlowIterations);
    // 10 x 190 of 2,800 ms.
    assert_eq!(
        first.title,
        "10 of 100 iterations take 68 % of the loop's time: 190.0 ms instead of 10.0 ms (medians), most of it at \
         `train.py:70-71 save`"
    );
    assert_eq!(first.place.line.as_deref(), Some("train.py:70-71 save"));
    assert_eq!(first.place.region.as_deref(), Some(":step"));
    assert_eq!(first.time_ns, 1_800 * MS);
    assert!(first.evidence.iter().any(|line| line.ends_with("the loop would be 2.80x as fast")), "{first:?}");
    // What is said of the others says so.
    let second = &analysis.findings[1];
    assert_eq!(second.title, "`train.py:48 main` takes 100 % of the time of a usual iteration");
    let told_so =
        "10 iterations that take more than twice as long as usual, 68 % of the loop's time, are left out";
    assert!(second.evidence.iter().any(|line| line == told_so), "{second:?}");
    assert_eq!(analysis.host.as_ref().unwrap().left_out, 10);
}

/// A range inside says where it is, with samples or without.
#[test]
fn a_range_in_the_slow_iterations_is_their_place() {
    let mut trace = with_a_checkpoint(9, Some("eval"));
    let first = told(&trace).findings.remove(0);
    assert_eq!(first.cause, Cause::SlowIterations);
    assert_eq!(first.place.region.as_deref(), Some(":step/eval"));
    assert!(first.title.ends_with("most of it at `train.py:70-71 save`, in `:step/eval`"), "{}", first.title);
    trace.stacks.samples = Default::default();
    let bare = told(&trace).findings.remove(0);
    assert!(
        bare.title.ends_with("190.0 ms instead of 10.0 ms (medians), most of it in `:step/eval`"),
        "{}",
        bare.title
    );
    // Lines of several functions share the one that calls them.
    let mut several = with_a_checkpoint(9, None);
    let saving = (0..several.stacks.nodes.len() as u32)
        .find(|node| several.stacks.frames_of(*node).next().is_some_and(|frame| frame.line == 50))
        .unwrap();
    let parts = ["pack", "write", "check"]
        .map(|name| frame(&mut several, saving, name, "/home/me/train.py", 90 + name.len() as u32));
    let of_saving: Vec<usize> = (0..several.stacks.samples.len())
        .filter(|row| several.stacks.frames_of(several.stacks.samples.stack[*row]).count() > 1)
        .collect();
    for (number, row) in of_saving.into_iter().enumerate() {
        several.stacks.samples.stack[row] = parts[number % 3];
    }
    let shared = told(&several).findings.remove(0);
    assert_eq!(shared.place.line.as_deref(), Some("train.py:50 main, in what it calls"), "{shared:?}");
}

/// What comes again and again is not said to happen once, though the first iteration has it, too.
#[test]
fn what_comes_again_is_no_warm_up() {
    let analysis = told(&with_a_checkpoint(0, None));
    let main = &analysis.loops[0];
    assert_eq!((main.warm_up, main.slow.unwrap().iterations), (0, 10));
    assert!(
        analysis.findings.iter().all(|one| !one.advice.contains("happens once")),
        "{:?}",
        analysis.findings
    );
    assert_eq!(analysis.findings[0].cause, Cause::SlowIterations);
}

/// A thread that computes for 20 ms and then sleeps for 480 ms, ten times, after a while of imports: samples of 5 ms.
fn that_waits(computes: i64) -> Trace {
    let mut trace = program(0, 0);
    let work = frame(&mut trace, trace::NONE, "work", "/home/me/wait.py", 4);
    let ask = frame(&mut trace, trace::NONE, "ask", "/home/me/wait.py", 6);
    for at in 0..1_000 {
        let runs = at % 100 < computes;
        let (stack, state) = if runs { (work, ThreadState::Running) } else { (ask, ThreadState::Blocked) };
        trace.stacks.samples.push(StackSample { at: at * 5 * MS, thread: 0, stack, state });
    }
    trace.stacks.interval_ns = 5 * MS;
    trace.finish();
    trace
}

/// It is not told as if it computed.
#[test]
fn a_program_that_waits() {
    let analysis = told(&that_waits(6));
    let first = &analysis.findings[0];
    assert_eq!(first.cause, Cause::Waiting);
    assert_eq!(first.title, "the program waited 4.7 of 5.0 s; while it ran, `wait.py:4 work` took 100 %");
    assert_eq!((first.place.line.as_deref(), first.gain), (Some("wait.py:6 ask"), None));
    let waited = analysis.host.as_ref().unwrap().waited.as_ref().unwrap();
    assert_eq!((waited.waited_ns, waited.of_ns), (4_700 * MS, 5_000 * MS));
    // Too few samples of what runs to name a place, or none at all.
    for (computes, samples, waited) in [(4, 40, "4.8"), (0, 0, "5.0")] {
        let analysis = told(&that_waits(computes));
        assert_eq!(analysis.findings[0].title, format!("the program waited {waited} of 5.0 s"));
        assert_eq!(analysis.host.as_ref().unwrap().samples, samples);
    }
    // A part of the time, and another thread that runs meanwhile.
    let part = told(&that_waits(80));
    let first = &part.findings[0];
    assert_eq!(first.cause, Cause::HostCode);
    assert_eq!(first.title, "the program waited 1.0 of 5.0 s; while it ran, `wait.py:4 work` took 100 %");
    let mut two = that_waits(6);
    two.threads.push(Thread { process: 0, id: 101, name: None });
    let other = frame(&mut two, trace::NONE, "other", "/home/me/wait.py", 9);
    for at in 0..1_000 {
        let state = ThreadState::Running;
        two.stacks.samples.push(StackSample { at: at * 5 * MS + 1, thread: 1, stack: other, state });
    }
    two.finish();
    let analysis = told(&two);
    assert_eq!(analysis.host.as_ref().unwrap().waited, None);
    assert!(
        analysis.findings[0].title.starts_with("`wait.py:9 other` takes 94 %"),
        "{:?}",
        analysis.findings
    );
    // nsys samples threads only while they run.
    let mut by_nsys = that_waits(6);
    for row in 0..by_nsys.stacks.samples.len() {
        by_nsys.stacks.samples.state[row] = ThreadState::Running;
    }
    by_nsys.sampling.wall_ns = 0;
    assert_eq!(told(&by_nsys).host.unwrap().waited, None);
}

/// What is advised is of the program's language, and of what is known of it.
#[test]
fn advice_fits_the_program() {
    let of = |function: &str, file: &str, line: u32, ranges: bool| {
        let mut trace = program(100, 0);
        let other = frame(&mut trace, trace::NONE, function, file, line);
        trace.stacks.samples.stack.iter_mut().for_each(|stack| *stack = other);
        // No frame of Python is left.
        trace.stacks.frames.retain(|frame| trace.strings.text(frame.function) == function);
        trace.stacks.nodes = vec![StackNode { caller: trace::NONE, frame: 0 }];
        trace.stacks.samples.stack.iter_mut().for_each(|stack| *stack = 0);
        if !ranges {
            trace.ranges = Default::default();
        }
        told(&trace)
    };
    let native = of("solve", "/home/me/solve.c", 9, false);
    assert!(native.findings[0].advice.contains("nvtxRangePushA"), "{:?}", native.findings);
    assert!(!native.findings[0].advice.contains("Python"), "{:?}", native.findings);
    let python = of("solve", "/home/me/solve.py", 9, false);
    assert!(python.findings[0].advice.contains("from rangefinder import stage"), "{:?}", python.findings);
    for ranges in [false, true] {
        let nameless = of("?", "libsolve.so", 0, ranges);
        let first = &nameless.findings[0];
        assert!(first.title.starts_with("`code without symbols (libsolve.so)` takes 100 %"), "{first:?}");
        assert!(first.advice.starts_with("build that file with symbols"), "{first:?}");
    }
    let mut few = of("solve", "/home/me/solve.c", 9, false);
    assert_eq!(few.no_finding.take(), None);
    assert!(NoFinding::NothingMarked { python: false }.to_string().contains("nvtxRangePushA"));
}

/// A loop of four threads, each `ms` an iteration, forty in all for each thread.
fn of_threads(ms: i64) -> Trace {
    let mut trace = program(0, 0);
    let (domain, name) = (trace.strings.intern(""), trace.strings.intern("step"));
    let mut caller = trace::NONE;
    for (function, file) in [
        ("Thread._bootstrap", "/usr/lib/python3.11/threading.py"),
        ("Thread.run", "/usr/lib/python3.11/threading.py"),
        ("worker", "/home/me/train.py"),
    ] {
        caller = frame(&mut trace, caller, function, file, 9);
    }
    trace.threads.extend((101..104).map(|id| Thread { process: 0, id, name: None }));
    for thread in 0..4_u32 {
        for at in 0..40 {
            // They begin one soon after the other.
            let begin = at * ms * MS + i64::from(thread) * MS / 10;
            let end = begin + ms * MS - MS / 100;
            let kind = Kind::PushPop;
            trace.ranges.push(Range { begin, end, thread, domain, name, kind, ..Range::default() });
            for sample in 0..ms {
                let (at, state) = (begin + sample * MS + MS / 2, ThreadState::Running);
                trace.stacks.samples.push(StackSample { at, thread, stack: caller, state });
            }
        }
    }
    trace.finish();
    trace
}

/// From one iteration to the next, in whichever thread, is no time that anything takes.
#[test]
fn a_loop_of_several_threads_is_compared_by_all_of_it() {
    let profile = |ms: i64| analysis::profile(&of_threads(ms), &Options::default());
    let sides = [20, 5].map(|ms| vec![profile(ms); 6]);
    let found = analysis::compare::compare(&sides[0], &sides[1], 0.01);
    let time = found.time.as_ref().unwrap();
    assert!((1.0 / time.ratio - 4.0).abs() < 0.1, "{time:?}");
    // Four at once, each of 20 ms, or of 5.
    assert!(
        (time.values[0] / 5e6 - 1.0).abs() < 0.02 && (time.values[1] / 1.25e6 - 1.0).abs() < 0.02,
        "{time:?}"
    );
    assert_eq!(found.function.as_ref().unwrap().function, "worker train.py");
    let parts: f64 = found.changes.iter().map(|part| part.change.more_ns()).sum();
    let whole = found.iteration_ns[1] - found.iteration_ns[0];
    assert!((parts / whole - 1.0).abs() < 0.02, "{parts} of {whole}");
    // Nor are some of them slow.
    let analysis = told(&of_threads(20));
    assert_eq!(analysis.loops[0].slow, None);
    assert!(
        analysis.findings.iter().all(|one| one.cause != Cause::SlowIterations),
        "{:?}",
        analysis.findings
    );
    // Threads that take turns are a loop like any other.
    let mut turns = of_threads(20);
    for row in 0..turns.ranges.len() {
        turns.ranges.end[row] = turns.ranges.begin[row] + MS / 20;
    }
    let median = analysis::profile(&turns, &Options::default()).main.unwrap().median_ns;
    assert!((median / (0.1 * MS as f64) - 1.0).abs() < 0.02, "{median}");
}
