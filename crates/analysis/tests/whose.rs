//! Whose work it is: of threads without a range, as in PyTorch's backward pass, and of libraries with ranges.

use analysis::{
    Analysis, GpuRegion, Options, Scope, analyze, attribute, gpu_regions, launch_groups, launches_in,
    region_calls, regions,
};
use proptest::prelude::*;
use trace::{Activity, ActivityKind, Call, Device, Direction, Kind, Launch, OPEN, Process, Range, Thread};
use trace::{NONE, Trace, Transfer};

/// A trace that is made up, one event after the other.
struct Made {
    trace: Trace,
}

/// Threads of the first process, and one of the second.
const MAIN: u32 = 0;
const BACKWARD: u32 = 1;
const LOADER: u32 = 2;
const ELSEWHERE: u32 = 3;

impl Made {
    fn new() -> Self {
        let mut trace = Trace::default();
        for pid in [10, 20] {
            trace.processes.push(Process { pid, ..Process::default() });
        }
        for (id, process) in [(1, 0), (2, 0), (3, 0), (4, 1)] {
            trace.threads.push(Thread { process, id, name: None });
        }
        for id in 0..2 {
            trace.devices.push(Device { id, ..Device::default() });
        }
        let name = trace.strings.intern("kernel");
        trace.activities.launches.push(Launch { name, short_name: name, ..Launch::default() });
        trace.activities.transfers.push(Transfer {
            direction: Direction::HostToDevice,
            bytes: 8,
            memory: trace::HostMemory::Unknown,
        });
        Self { trace }
    }

    fn range(mut self, thread: u32, name: &str, begin: i64, end: i64) -> Self {
        self.push(thread, "", name, Kind::PushPop, begin, end);
        self
    }

    fn range_in(mut self, thread: u32, domain: &str, name: &str, begin: i64, end: i64) -> Self {
        self.push(thread, domain, name, Kind::PushPop, begin, end);
        self
    }

    fn start_end(mut self, thread: u32, name: &str, begin: i64, end: i64) -> Self {
        self.push(thread, "", name, Kind::StartEnd, begin, end);
        self
    }

    fn push(&mut self, thread: u32, domain: &str, name: &str, kind: Kind, begin: i64, end: i64) {
        let (domain, name) = (self.trace.strings.intern(domain), self.trace.strings.intern(name));
        self.trace.ranges.push(Range { thread, domain, name, kind, begin, end, ..Range::default() });
    }

    /// A kernel of 10 ns, called at this time.
    fn kernel(self, thread: u32, at: i64) -> Self {
        self.work(thread, at, ActivityKind::Kernel, 0)
    }

    fn work(mut self, thread: u32, at: i64, kind: ActivityKind, device: u16) -> Self {
        let trace = &mut self.trace;
        let name = trace.strings.intern("cudaLaunchKernel");
        let correlation = trace.calls.len() as u32 + 1;
        trace.calls.push(Call { begin: at, end: at + 1, thread, name, correlation });
        let begin = 1000 + 20 * i64::from(correlation);
        let process = trace.process_of(thread);
        let (end, row) = (begin + 10, Activity::default());
        trace.activities.push(Activity { begin, end, kind, process, device, correlation, ..row });
        self
    }

    fn finish(mut self) -> Trace {
        self.trace.finish();
        self.trace
    }
}

fn rows(trace: &Trace) -> Vec<GpuRegion> {
    gpu_regions(trace, &attribute(trace), Scope::default()).0
}

/// Path, kernels in it and in what is inside, and launches by other threads among them.
fn table(trace: &Trace) -> Vec<(String, u64, u64)> {
    let row = |row: GpuRegion| (row.path, row.kernels_inclusive, row.other_thread_launches);
    rows(trace).into_iter().map(row).collect()
}

fn expected(rows: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    rows.iter().map(|(path, kernels, others)| ((*path).to_owned(), *kernels, *others)).collect()
}

fn outside(trace: &Trace) -> u64 {
    gpu_regions(trace, &attribute(trace), Scope::default()).1.kernels
}

#[test]
fn a_thread_without_a_range_works_for_the_only_one_that_has_one() {
    let trace = Made::new()
        .range(MAIN, "step", 0, 100)
        .range(MAIN, "forward", 10, 40)
        .range(MAIN, "backward", 50, 90)
        .kernel(MAIN, 20)
        .kernel(BACKWARD, 60)
        .kernel(BACKWARD, 70)
        .kernel(BACKWARD, 95)
        .work(BACKWARD, 75, ActivityKind::Copy, 1)
        .kernel(BACKWARD, 120)
        .finish();
    let found = rows(&trace);
    assert_eq!(
        table(&trace),
        expected(&[(":step", 4, 4), (":step/forward", 1, 0), (":step/backward", 2, 3)])
    );
    let backward = found.iter().find(|row| row.name == "backward").unwrap();
    assert_eq!((backward.other_thread_gpu_ns, backward.gpu_inclusive_ns), (20, 20));
    assert_eq!((backward.copies, backward.launches, backward.gpu_busy_ns), (1, 3, 30));
    assert_eq!(outside(&trace), 1, "after the step nobody has a range open");
}

#[test]
fn a_range_is_open_from_its_begin_to_before_its_end() {
    let launch_at =
        |at: i64| table(&Made::new().range(MAIN, "step", 10, 20).kernel(BACKWARD, at).finish())[0].1;
    assert_eq!([9, 10, 19, 20].map(launch_at), [0, 1, 1, 0]);
    // It closes as another one opens, inside a third.
    let trace = Made::new()
        .range(MAIN, "step", 0, 100)
        .range(MAIN, "a", 10, 20)
        .range(MAIN, "b", 20, 30)
        .kernel(BACKWARD, 20)
        .kernel(BACKWARD, 30)
        .finish();
    assert_eq!(table(&trace), expected(&[(":step", 2, 2), (":step/a", 0, 0), (":step/b", 1, 1)]));
    let never_closed = Made::new().range(MAIN, "step", 10, OPEN).kernel(BACKWARD, 500).finish();
    assert_eq!(table(&never_closed), expected(&[(":step", 1, 1)]));
}

#[test]
fn of_two_candidates_it_is_neither() {
    let trace = Made::new()
        .range(MAIN, "step", 0, 100)
        .range(LOADER, "load", 40, 60)
        .kernel(BACKWARD, 39)
        .kernel(BACKWARD, 40)
        .kernel(BACKWARD, 59)
        .kernel(BACKWARD, 60)
        // Each of the two has its own.
        .kernel(LOADER, 50)
        .kernel(MAIN, 50)
        .finish();
    assert_eq!(table(&trace), expected(&[(":step", 3, 2), (":load", 1, 0)]));
    assert_eq!(outside(&trace), 2);
}

#[test]
fn processes_have_nothing_to_do_with_each_other() {
    let trace = Made::new()
        .range(MAIN, "step", 0, 100)
        .range(ELSEWHERE, "other", 0, 50)
        .kernel(ELSEWHERE, 60)
        .kernel(BACKWARD, 30)
        .finish();
    assert_eq!(table(&trace), expected(&[(":step", 1, 1), (":other", 0, 0)]));
    assert_eq!(outside(&trace), 1);
}

/// They are the process's, not a thread's: they have all of it anyway, and make no thread a candidate.
#[test]
fn start_end_ranges_are_of_no_thread() {
    let trace = Made::new()
        .start_end(MAIN, "request", 0, 100)
        .start_end(LOADER, "request", 0, 100)
        .range(MAIN, "step", 20, 80)
        .kernel(BACKWARD, 10)
        .kernel(BACKWARD, 30)
        .kernel(LOADER, 40)
        .finish();
    assert_eq!(table(&trace), expected(&[(":request", 3, 0), (":step", 2, 2)]));
    assert_eq!(outside(&trace), 0);
}

/// Its domains keep their own stacks, and a range in any of them is a range.
#[test]
fn in_each_domain_of_the_candidate() {
    let trace = Made::new()
        .range(MAIN, "step", 0, 100)
        .range_in(MAIN, "model", "layer", 20, 40)
        .kernel(BACKWARD, 10)
        .kernel(BACKWARD, 30)
        .range_in(BACKWARD, "model", "hook", 50, 60)
        .kernel(BACKWARD, 55)
        .finish();
    let found = [(":step", 2, 2), ("model:layer", 1, 1), ("model:hook", 1, 0)];
    assert_eq!(table(&trace), expected(&found), "in its own range it is in no other");
    let (rows, outside) = gpu_regions(&trace, &attribute(&trace), Scope::default());
    for (domain, outside) in outside.domains {
        let roots = rows.iter().filter(|row| row.domain == domain && row.parent.is_none());
        assert_eq!(roots.map(|row| row.kernels_inclusive).sum::<u64>() + outside.kernels, 3, "{domain}");
    }
}

/// nsys and ncu look at the stack of the launching thread: what is predicted of gates does, too.
#[test]
fn gates_see_the_launching_thread_alone() {
    let trace = Made::new()
        .range(MAIN, "step", 0, 100)
        .kernel(MAIN, 10)
        .kernel(BACKWARD, 20)
        .kernel(BACKWARD, 30)
        .finish();
    assert_eq!(table(&trace), expected(&[(":step", 3, 2)]));
    let launches = launch_groups(&trace);
    let regions_of =
        |group: &analysis::LaunchGroup| (group.region.as_ref().map(ToString::to_string), group.launches);
    let mut groups: Vec<_> = launches.groups.iter().map(regions_of).collect();
    groups.sort();
    assert_eq!(groups, [(None, 2), (Some(":step".to_owned()), 1)]);
    let step = &regions(&trace)[0];
    assert_eq!(launches_in(&trace, &launches, &[step], false), [true, false, false]);
    assert_eq!(launches_in(&trace, &launches, &[step], true), [true; 3], "a gate on the whole process");
    let calls = &region_calls(&trace)[0];
    assert_eq!((calls.launches, calls.calls.values().sum::<u64>()), (1, 1));
}

/// Training as PyTorch does it: the thread of the ranges launches little, autograd's the most.
fn training() -> Trace {
    let mut made = Made::new();
    for step in 0..10 {
        let begin = step * 100_000;
        made = made
            .range(MAIN, "step", begin, begin + 90_000)
            .range(MAIN, "forward", begin, begin + 20_000)
            .range(MAIN, "backward", begin + 20_000, begin + 80_000);
        for at in 0..10 {
            made = made.kernel(MAIN, begin + at * 1000).kernel(BACKWARD, begin + 25_000 + at * 5000);
        }
    }
    let mut trace = made.finish();
    for (activity, correlation) in trace.activities.correlation.clone().into_iter().enumerate() {
        let called = trace.calls.begin[correlation as usize - 1];
        trace.activities.begin[activity] = called + 2000;
        trace.activities.end[activity] = called + 2900;
    }
    trace.finish();
    trace
}

#[test]
fn loops_and_findings_share_it() {
    let Analysis { loops, regions, findings, unattributed, .. } = analyze(&training(), &Options::default());
    assert_eq!(unattributed.kernels, 0);
    assert_eq!(loops[0].region.as_deref(), Some(":step"));
    assert_eq!(loops[0].iterations, 10);
    let backward = regions.iter().find(|row| row.name == "backward").unwrap();
    assert_eq!((backward.kernels_inclusive, backward.other_thread_launches), (100, 100));
    let in_backward =
        |finding: &&analysis::Finding| finding.place.region.as_deref() == Some(":step/backward");
    let found = findings.iter().find(in_backward).unwrap_or_else(|| panic!("{findings:#?}"));
    let says = "100 % of the GPU time of `:step/backward` is counted here by inference: launched by threads \
                that have no range of their own (autograd's, for example), while only the thread of this range had any \
                open";
    assert!(found.evidence.iter().any(|line| line == says), "{found:#?}");
}

/// What libraries do is the program's work, wherever it calls them.
#[test]
fn ranges_of_libraries_are_no_regions() {
    let trace = Made::new()
        .range(MAIN, "step", 0, 100)
        .range_in(MAIN, "CCCL", "cub::DeviceReduce", 10, 20)
        .range_in(MAIN, "NCCL", "ncclAllReduce", 30, 40)
        .range_in(MAIN, "model", "layer", 25, 45)
        .kernel(MAIN, 15)
        .kernel(MAIN, 35)
        .range_in(MAIN, "CCCL", "cub::DeviceScan", 110, 120)
        .kernel(MAIN, 115)
        .finish();
    let analysis = analyze(&trace, &Options::default());
    assert_eq!(table(&trace), expected(&[(":step", 2, 0), ("model:layer", 1, 0)]));
    assert_eq!(outside(&trace), 1, "the program has no range there");
    let domains: Vec<&str> = analysis.unattributed.domains.keys().map(String::as_str).collect();
    assert_eq!(domains, ["", "model"]);
    let notes: Vec<&str> = analysis.diagnostics.iter().map(|row| row.text.as_str()).collect();
    assert_eq!(
        notes,
        ["3 ranges of libraries (CCCL, NCCL) are no regions; `regions.library=true` shows them"]
    );
    let stages: Vec<&str> = analysis.stages.iter().map(|stage| stage.region.as_str()).collect();
    assert_eq!(stages, [":step", "model:layer"]);
    assert!(analysis.idle.iter().all(|row| !row.region.as_deref().unwrap_or_default().contains("CCL:")));
    // Gates see them all.
    let paths: Vec<String> = regions(&trace).iter().map(|region| region.path.to_string()).collect();
    assert!(paths.contains(&r"CCCL:cub\:\:DeviceReduce".to_owned()), "{paths:?}");
    let launches = launch_groups(&trace);
    let reduce = regions(&trace).into_iter().find(|region| region.path.domain == "CCCL").unwrap();
    assert_eq!(launches_in(&trace, &launches, &[&reduce], false), [true, false, false]);
    let calls = region_calls(&trace);
    assert_eq!(calls.iter().filter(|region| region.path.domain == "CCCL").count(), 2);
}

#[test]
fn they_are_if_there_are_no_others_or_if_they_are_wanted() {
    let library = || Made::new().range_in(MAIN, "CCCL", "sort", 10, 20).kernel(MAIN, 15);
    assert_eq!(table(&library().finish()), expected(&[("CCCL:sort", 1, 0)]));
    assert!(analyze(&library().finish(), &Options::default()).diagnostics.is_empty());
    assert!(analyze(&library().finish(), &Options::default()).stages.is_empty(), "never its stages");
    // A start/end range of the program's own is one of its own, in whichever process.
    let with_others = library().start_end(ELSEWHERE, "request", 0, 5);
    assert_eq!(table(&with_others.finish()), expected(&[(":request", 0, 0)]));
    let mut wanted = library().range(MAIN, "step", 0, 100).finish();
    wanted.library_regions = true;
    assert_eq!(table(&wanted), expected(&[(":step", 1, 0), ("CCCL:sort", 1, 0)]));
}

/// A library's range neither keeps a thread from working for another nor makes it one to work for.
#[test]
fn threads_in_a_library_have_no_range() {
    let made = || {
        Made::new()
            .range(MAIN, "step", 0, 100)
            .range_in(BACKWARD, "CCCL", "sort", 10, 30)
            .kernel(BACKWARD, 20)
            .range_in(MAIN, "NCCL", "broadcast", 110, 130)
            .kernel(BACKWARD, 120)
    };
    let trace = made().finish();
    assert_eq!(table(&trace), expected(&[(":step", 1, 1)]));
    assert_eq!(outside(&trace), 1);
    let mut wanted = made().finish();
    wanted.library_regions = true;
    let rows = [(":step", 1, 1), ("CCCL:sort", 1, 0), ("NCCL:broadcast", 0, 0)];
    assert_eq!(table(&wanted), expected(&rows), "in the library's range it is on its own thread");
}

/// Start/end ranges of NCCL, and a stage's name in a library's domain.
#[test]
fn of_any_kind_and_name() {
    let mut made = Made::new().range(MAIN, "step", 0, 50).range_in(MAIN, "TensorRT", "decode", 10, 20);
    made.push(MAIN, "NCCL", "group", Kind::StartEnd, 0, 100);
    let trace = made.kernel(MAIN, 60).finish();
    let analysis = analyze(&trace, &Options::default());
    assert_eq!(table(&trace), expected(&[(":step", 0, 0)]));
    assert_eq!(analysis.unattributed.kernels, 1);
    let stages: Vec<&str> = analysis.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(stages, ["step"]);
}

#[test]
fn loops_are_the_programs_own() {
    let mut made = Made::new();
    for step in 0..12 {
        let begin = step * 100;
        made = made.range_in(MAIN, "CCCL", "sort", begin, begin + 20).kernel(MAIN, begin + 10);
        if step % 2 == 0 {
            made = made.range(MAIN, "step", begin, begin + 190);
        }
    }
    let analysis = analyze(&made.finish(), &Options::default());
    assert_eq!(analysis.loops[0].region.as_deref(), Some(":step"));
    assert_eq!(analysis.loops[0].iterations, 6);
    // Without work of a device nothing else repeats.
    let idle = (0..6).fold(Made::new(), |made, at| made.range_in(MAIN, "DALI", "run", at * 10, at * 10 + 5));
    let analysis = analyze(&idle.finish(), &Options::default());
    assert_eq!(analysis.loops[0].region.as_deref(), Some("DALI:run"));
}

/// The innermost push/pop range of a thread and domain: the one that began last of those that are open.
fn innermost(trace: &Trace, thread: u32, domain: trace::StringId, time: i64) -> Option<u32> {
    let ranges = &trace.ranges;
    let is_open = |range: &u32| {
        let at = *range as usize;
        ranges.kind[at] == Kind::PushPop
            && (ranges.thread[at], ranges.domain[at]) == (thread, domain)
            && (ranges.begin[at]..ranges.end[at]).contains(&time)
    };
    (0..ranges.len() as u32).rfind(is_open)
}

proptest! {
    /// Told call by call, thread by thread.
    #[test]
    fn whose_it_is_by_looking_at_every_thread(
        ranges in proptest::collection::vec((0u32..4, 0u8..2, proptest::bool::weighted(0.1), 0i64..60, 0i64..30), 0..16),
        launches in proptest::collection::vec((0u32..4, 0i64..90), 0..30),
    ) {
        let mut made = Made::new();
        for (thread, domain, start_end, begin, length) in ranges {
            let (domain, end) = (["", "D"][usize::from(domain)], if length > 27 { OPEN } else { begin + length });
            let kind = if start_end { Kind::StartEnd } else { Kind::PushPop };
            made.push(thread, domain, "range", kind, begin, end);
        }
        let trace = launches.iter().fold(made, |made, (thread, at)| made.kernel(*thread, *at)).finish();
        let attribution = attribute(&trace);
        for (activity, (thread, time)) in launches.into_iter().enumerate() {
            let domains = || attribution.planes.iter().map(|plane| plane.domain);
            let has_one =
                |other: &u32| domains().any(|domain| innermost(&trace, *other, domain, time).is_some());
            let same_process = |other: &u32| trace.process_of(*other) == trace.process_of(thread);
            let with_one: Vec<u32> = (0..4).filter(same_process).filter(has_one).collect();
            let is_other = with_one.len() == 1 && with_one[0] != thread;
            prop_assert_eq!(attribution.by_other_thread[activity], is_other);
            let whose = if is_other { with_one[0] } else { thread };
            for plane in &attribution.planes {
                let expected = innermost(&trace, whose, plane.domain, time).unwrap_or(NONE);
                prop_assert_eq!(plane.range[activity], expected);
            }
        }
    }
}
