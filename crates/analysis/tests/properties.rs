//! What must hold of any trace, however odd.

use analysis::{Families, GpuRegion, Limit, Options, Scope, analyze, attribute, gpu_regions, idle, kernels};
use proptest::prelude::*;
use trace::{
    ActivityKind, Call, Device, Direction, Kind, Launch, NONE, OPEN, Operator, Process, Thread, Trace,
    Transfer,
};

/// `(thread, domain, name, kind, begin, length)`
type Range = (u32, u8, u8, bool, i64, i64);
/// `(thread, begin, delay, length, kind, device, known)`
type Activity = (u32, i64, i64, i64, u8, u16, bool);

/// Two processes of two threads, two devices, and the given ranges and activities.
fn trace(ranges: &[Range], activities: &[Activity]) -> Trace {
    let mut trace = Trace::default();
    for pid in [10, 20] {
        trace.processes.push(Process { pid, ..Process::default() });
    }
    for id in 0..4 {
        trace.threads.push(Thread { process: id / 2, id, name: None });
    }
    for id in 0..2 {
        trace.devices.push(Device { id, ..Device::default() });
    }
    let names = ["a", "b", "c"].map(|name| trace.strings.intern(name));
    let domains = ["", "D"].map(|name| trace.strings.intern(name));
    for (thread, domain, name, start_end, begin, length) in ranges {
        trace.ranges.push(trace::Range {
            thread: *thread,
            domain: domains[usize::from(*domain)],
            name: names[usize::from(*name)],
            kind: if *start_end { Kind::StartEnd } else { Kind::PushPop },
            begin: *begin,
            end: if *length > 90 { OPEN } else { begin + length },
            ..trace::Range::default()
        });
    }
    for name in names {
        trace.activities.launches.push(Launch {
            name,
            short_name: name,
            mangled: name,
            grid: [1; 3],
            block: [1; 3],
            ..Launch::default()
        });
    }
    trace.activities.transfers.push(Transfer {
        direction: Direction::HostToDevice,
        bytes: 8,
        memory: trace::HostMemory::Unknown,
    });
    for (number, (thread, begin, delay, length, kind, device, known)) in activities.iter().enumerate() {
        // Both processes count from one.
        let correlation = number as u32 / 2 + 1;
        let correlation = if *known { correlation * 4 + thread } else { NONE };
        let (called, thread) = (*begin, *thread);
        trace.calls.push(Call { begin: called, end: called + 1, thread, name: names[0], correlation });
        let (kind, detail) = match kind {
            0..=2 => (ActivityKind::Kernel, u32::from(*kind)),
            3 => (ActivityKind::Copy, 0),
            _ => (ActivityKind::Graph, 0),
        };
        let begin = called + delay;
        let (end, process, device) = (begin + length, thread / 2, *device);
        trace.activities.push(trace::Activity {
            begin,
            end,
            kind,
            process,
            device,
            correlation,
            detail,
            ..trace::Activity::default()
        });
    }
    trace.finish();
    trace
}

fn children<'a>(rows: &'a [GpuRegion], row: &'a GpuRegion) -> impl Iterator<Item = &'a GpuRegion> {
    rows.iter().filter(move |child| {
        child.parent.as_ref() == Some(&row.path) && child.kind == row.kind && child.place == row.place
    })
}

/// Kernels, their time, and how long the devices were at it, of all that was started in its process
/// while a start/end region was open: told activity by activity.
fn while_open(trace: &Trace, calls: &[u32], region: &GpuRegion) -> (u64, i64, i64) {
    let (ranges, activities) = (&trace.ranges, &trace.activities);
    let is_open = |process: u32, time: i64| {
        (0..ranges.len()).any(|range| {
            ranges.kind[range] == Kind::StartEnd
                && trace.strings.text(ranges.name[range]) == region.name
                && trace.strings.text(ranges.domain[range]) == region.domain
                && trace.threads[ranges.thread[range] as usize].process == process
                && (ranges.begin[range]..ranges.end[range]).contains(&time)
        })
    };
    let here: Vec<usize> = (0..activities.len())
        .filter(|at| calls[*at] != NONE)
        .filter(|at| is_open(activities.process[*at], trace.calls.begin[calls[*at] as usize]))
        .collect();
    let kernels = || here.iter().filter(|at| activities.kind[**at] == ActivityKind::Kernel);
    let busy = |device: u16| {
        let on_device = || here.iter().filter(|at| activities.device[**at] == device);
        let is_busy =
            |time: &i64| on_device().any(|at| (activities.begin[*at]..activities.end[*at]).contains(time));
        (0..400).filter(is_busy).count() as i64
    };
    (kernels().count() as u64, kernels().map(|at| activities.duration(*at)).sum(), busy(0) + busy(1))
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_counts_twice(
        ranges in proptest::collection::vec((0u32..4, 0u8..2, 0u8..3, proptest::bool::weighted(0.2), 0i64..200, 0i64..100), 0..40),
        activities in proptest::collection::vec((0u32..4, 0i64..250, 0i64..20, 0i64..40, 0u8..5, 0u16..2, proptest::bool::weighted(0.9)), 0..60),
    ) {
        let trace = trace(&ranges, &activities);
        let attribution = attribute(&trace);
        let (rows, outside) = gpu_regions(&trace, &attribution, Scope::default());
        let all = kernels(&trace, Scope::default(), analysis::Grouping::Name, &Families::default());
        let total: i64 = all.iter().map(|row| row.statistics.total_ns).sum();
        let count: u64 = all.iter().map(|row| row.statistics.calls).sum();
        // Kernels are shared out among the regions of a domain and what is in none.
        for (domain, outside) in &outside.domains {
            let roots = || rows.iter().filter(|row| {
                row.domain == *domain && row.parent.is_none() && row.kind == Kind::PushPop
            });
            prop_assert_eq!(roots().map(|row| row.gpu_inclusive_ns).sum::<i64>() + outside.gpu_ns, total);
            prop_assert_eq!(roots().map(|row| row.kernels_inclusive).sum::<u64>() + outside.kernels, count);
        }
        let longest = trace.activities.end.iter().max().copied().unwrap_or(0)
            - trace.activities.begin.iter().min().copied().unwrap_or(0);
        for row in &rows {
            let below: i64 = children(&rows, row).map(|child| child.gpu_inclusive_ns).sum();
            let places: Vec<_> = rows.iter().filter(|child| child.parent.as_ref() == Some(&row.path)).collect();
            // A place that several share is not that of any one of them.
            if places.iter().all(|child| child.place == row.place) && row.kind == Kind::PushPop {
                prop_assert_eq!(row.gpu_inclusive_ns, row.gpu_exclusive_ns + below, "{}", row.path);
            }
            prop_assert!(row.gpu_exclusive_ns >= 0 && row.gpu_exclusive_ns <= row.gpu_inclusive_ns);
            prop_assert!(row.gpu_busy_ns <= row.gpu_inclusive_ns + row.copy_ns + row.graph_ns);
            prop_assert!(row.gpu_busy_ns <= longest * 2, "busy on two devices at most");
        }
        // Every device is busy or idle from its first activity to its last.
        for row in idle(&trace, &attribution, &Families::default()).iter().filter(|row| row.region.is_none()) {
            let here = || (0..trace.activities.len()).filter(|at| {
                trace.devices[usize::from(trace.activities.device[*at])].id == row.device
            });
            let begin = here().map(|at| trace.activities.begin[at]).min().unwrap_or(0);
            let end = here().map(|at| trace.activities.end[at]).max().unwrap_or(0);
            prop_assert_eq!(row.busy_ns + row.idle_ns, end - begin);
        }
        // Two ways to say how long a region kept its devices busy.
        let times = idle(&trace, &attribution, &Families::default());
        for row in rows.iter().filter(|row| row.kind == Kind::PushPop) {
            let here = times.iter().filter(|time| time.region.as_ref() == Some(&row.path));
            prop_assert_eq!(here.map(|time| time.busy_ns).sum::<i64>(), row.gpu_busy_ns, "{}", row.path);
        }
        for time in &times {
            prop_assert!(time.concurrency.is_none_or(|number| (0.99..100.0).contains(&number)));
            if let Some(overlap) = time.overlap {
                prop_assert!(overlap.copy_beside_kernels_ns <= overlap.copy_ns);
                prop_assert!(overlap.communication_beside_kernels_ns <= overlap.communication_ns);
            }
        }
        for row in rows.iter().filter(|row| row.kind == Kind::StartEnd) {
            let (kernels, kernel_ns, busy_ns) = while_open(&trace, &attribution.call, row);
            prop_assert_eq!(
                (row.kernels_inclusive, row.gpu_inclusive_ns, row.gpu_busy_ns),
                (kernels, kernel_ns, busy_ns),
                "{}", row.path
            );
        }
        // Rows of their own add up to those together, in every scope.
        for (by_process, by_device) in [(true, false), (false, true), (true, true)] {
            let (parts, _) = gpu_regions(&trace, &attribution, Scope { by_process, by_device });
            for row in &rows {
                let same = || parts.iter().filter(|part| part.path == row.path && part.kind == row.kind);
                prop_assert_eq!(same().map(|part| part.gpu_inclusive_ns).sum::<i64>(), row.gpu_inclusive_ns);
                prop_assert_eq!(same().map(|part| part.kernels_inclusive).sum::<u64>(), row.kernels_inclusive);
                if !by_process {
                    prop_assert_eq!(same().map(|part| part.gpu_busy_ns).sum::<i64>(), row.gpu_busy_ns);
                }
                for part in same() {
                    let work = part.gpu_inclusive_ns + part.copy_ns + part.graph_ns;
                    prop_assert!(part.gpu_busy_ns <= work && (part.gpu_busy_ns > 0 || work == 0), "{}", part.path);
                }
            }
        }
        analyze(&trace, &Options::default());
    }
}

proptest! {
    /// A device that runs work from before the window, or of another thread, is not idle in it.
    #[test]
    fn left_out_work_is_no_idle_time(
        activities in proptest::collection::vec((0u32..4, 0i64..250, 0i64..20, 0i64..40, 0u8..4, 0u16..2, proptest::bool::weighted(0.9)), 0..60),
        windows in proptest::collection::vec((0i64..250, 1i64..60), 1..4),
    ) {
        let whole = trace(&[], &activities);
        let mut cut = whole.clone();
        cut.keep_windows(Trace::windows_of(windows.iter().map(|(begin, length)| (*begin, begin + length)).collect()), trace::Selection::Ranges);
        let of = |trace: &Trace, device: u16| -> Vec<(i64, i64)> {
            let of = &trace.activities;
            (0..of.len()).filter(|at| of.device[*at] == device).map(|at| (of.begin[at], of.end[at])).collect()
        };
        for row in idle(&cut, &attribute(&cut), &Families::default()).iter().filter(|row| row.region.is_none()) {
            let (kept, all) = (of(&cut, row.device as u16), of(&whole, row.device as u16));
            let span = kept.iter().map(|work| work.0).min().unwrap_or(0)..kept.iter().map(|work| work.1).max().unwrap_or(0);
            let is_idle = |time: &i64| !all.iter().any(|(begin, end)| (*begin..*end).contains(time));
            prop_assert!(row.idle_ns <= span.filter(is_idle).count() as i64);
        }
    }
}

proptest! {
    /// However nodes refer to each other: every kernel of a graph is captured in one region of a domain, in none, or
    /// nothing is known about it, and analyses end.
    #[test]
    fn kernels_of_graphs_are_captured_once(
        ranges in proptest::collection::vec((0u32..4, Just(0u8), 0u8..3, Just(false), 0i64..200, 0i64..100), 0..30),
        activities in proptest::collection::vec((0u32..4, 0i64..250, 0i64..20, 0i64..40, 0u8..5, 0u16..2, proptest::bool::weighted(0.9)), 0..50),
        // Thread, graph, place, and of what it is a copy, if that graph is not 0; then the time.
        nodes in proptest::collection::vec((0u32..4, 1u64..4, 0u64..4, 0u64..4, 0u64..4, 0i64..250), 0..40),
        replayed in proptest::collection::vec((0u64..4, 0u64..6), 50),
        window in proptest::option::of((0i64..200, 1i64..100)),
    ) {
        let mut trace = trace(&ranges, &activities);
        for (at, (graph, place)) in replayed.iter().take(trace.activities.len()).enumerate() {
            trace.activities.in_graph[at] = *graph > 0;
            trace.activities.node[at] = if *graph > 0 { graph << 32 | place } else { 0 };
        }
        let name = trace.strings.intern("cudaGraphInstantiate");
        for (thread, graph, place, original_graph, original_place, time) in nodes.iter().copied() {
            let original = if original_graph > 0 { original_graph << 32 | original_place } else { 0 };
            trace.graph_nodes.push(trace::GraphNode { time, thread, node: graph << 32 | place, original });
            trace.calls.push(Call { begin: time - 5, end: time + 5, thread, name, correlation: NONE });
        }
        trace.finish();
        if let Some((begin, length)) = window {
            trace.keep_windows(vec![(begin, begin + length)], trace::Selection::Ranges);
        }
        let in_graphs = (0..trace.activities.len())
            .filter(|at| trace.activities.in_graph[*at] && trace.activities.is_shown_kernel(*at))
            .count() as u64;
        let analysis = analyze(&trace, &Options::default());
        let Some(graphs) = analysis.cuda_graphs else {
            prop_assert_eq!(in_graphs, 0);
            return Ok(());
        };
        prop_assert_eq!(graphs.kernels, in_graphs);
        let captured: u64 = graphs.captured.iter().map(|row| row.kernels_exclusive).sum();
        prop_assert_eq!(captured + graphs.outside + graphs.unseen, in_graphs);
        let roots: i64 = graphs.captured.iter().filter(|row| row.parent.is_none()).map(|row| row.gpu_ns).sum();
        prop_assert_eq!(roots + graphs.outside_ns + graphs.unseen_ns, graphs.kernel_ns);
    }
}

/// What a range does after its last kernel is its own time, too, and the device's idleness is told.
#[test]
fn the_end_of_a_range_belongs_to_it() {
    // In turn in both processes, which count from one.
    let thread = |at: i64| (at as u32 % 2) * 2;
    let ranges: Vec<Range> = (0..20).map(|at| (thread(at), 0, 0, false, at * 100, 90)).collect();
    let activities: Vec<Activity> = (0..20).map(|at| (thread(at), at * 100, 1, 9, 0, 0, true)).collect();
    let findings = analyze(&trace(&ranges, &activities), &Options::default());
    let device = findings.idle.iter().find(|row| row.region.is_none()).unwrap();
    assert_eq!(device.in_ranges_ns, Some(19 * 90 - 1 + 10));
}

/// Ranges of two domains around the same are counted once, and work that goes on after they have closed belongs to them.
#[test]
fn time_in_ranges_is_counted_once() {
    let ranges = [
        (0, 0, 0, false, 0, 50),
        (0, 1, 1, false, 0, 50),
        (2, 0, 2, false, 10, 20),
        (0, 0, 0, false, 300, 10),
    ];
    let activities = [(0, 0, 0, 10, 0, 0, true), (2, 20, 60, 10, 0, 0, true), (0, 300, 0, 10, 0, 0, true)];
    let findings = analyze(&trace(&ranges, &activities), &Options::default());
    let device = findings.idle.iter().find(|row| row.region.is_none()).unwrap();
    assert_eq!((device.in_ranges_ns, device.busy_ns + device.idle_ns), (Some(100), 310));
}

/// Nobody says what the stages are: `prefill` and `decode`, or else the outermost regions of the program.
#[test]
fn what_a_program_is_made_of() {
    let found_as = |names: &[&str], domain: &str, wanted: &[&str]| {
        let mut trace = Trace::default();
        trace.threads.push(Thread { process: 0, id: 1, name: None });
        trace.processes.push(Process { pid: 1, ..Process::default() });
        for (at, name) in names.iter().enumerate() {
            // `/b` is inside of what came before.
            let (begin, length) =
                if name.starts_with('/') { (at as i64 * 10 - 9, 1) } else { (at as i64 * 10, 5) };
            let (domain, name) =
                (trace.strings.intern(domain), trace.strings.intern(name.trim_start_matches('/')));
            trace.ranges.push(trace::Range {
                domain,
                name,
                begin,
                end: begin + length,
                ..trace::Range::default()
            });
        }
        trace.ranges.payload = (0..names.len() as u32).map(|range| (range, 7.0)).collect();
        trace.finish();
        let stages = wanted.iter().map(|name| (*name).to_owned()).collect();
        analyze(&trace, &Options { stages, ..Options::default() }).stages
    };
    let found = |names: &[&str], domain: &str| found_as(names, domain, &[]);
    let stages = |names: &[&str], domain: &str| -> Vec<String> {
        found(names, domain).into_iter().map(|stage| stage.region).collect()
    };
    assert_eq!(stages(&["load", "prefill", "decode", "decode"], ""), [":prefill", ":decode"]);
    assert_eq!(stages(&["stem", "/conv", "head", "stem"], ""), [":stem", ":head"]);
    assert_eq!(stages(&["stem"], "LLM"), ["LLM:stem"]);
    assert!(stages(&["cub"], "CCCL").is_empty());
    let tokens = |name: &str| found(&[name], "")[0].tokens;
    assert_eq!(
        ["decode", "decode 2 tokens", "train"].map(tokens),
        [Some(7.0), Some(7.0), None],
        "of any meaning"
    );
    let numbered = &found(&["decode 1 tokens", "decode 2 tokens"], "")[0];
    assert_eq!((numbered.times.unwrap().count, numbered.regions.len()), (2, 2));
    let steps = ["Train step 1", "/fwd", "Train step 2", "train", "Train step *"];
    for (wanted, count) in
        [("train STEP *", 3), (":Train step *", 3), (":Train step 2", 1), (":*/fwd", 1), ("*x", 0)]
    {
        let named = found_as(&steps, "", &[wanted]);
        let instances: u64 = named.iter().filter_map(|stage| stage.times).map(|times| times.count).sum();
        assert_eq!((instances, named.len()), (count, usize::from(count > 0)), "{wanted}");
        assert!(named.iter().all(|stage| stage.name == wanted));
    }
    let requests: Vec<String> = (0..13).map(|number| format!("request {number}")).collect();
    let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
    assert_eq!(stages(&requests[..12], "").len(), 12);
    assert!(stages(&requests, "").is_empty(), "so many are not what a program is made of");
}

/// Of two ranks one is slower, which a mean of both would hide.
#[test]
fn stages_and_operators_of_each_process() {
    // Processes 10 and 20: instances of 10 and of 30, the first of each a warm-up.
    let ranges: Vec<Range> = (0..8)
        .map(|at| (at as u32 % 2 * 2, 0, 0, false, at * 100, if at % 2 == 0 { 10 } else { 30 }))
        .collect();
    let mut trace = trace(&ranges, &[(0, 5, 1, 4, 0, 0, true), (2, 105, 1, 8, 0, 1, true)]);
    for (thread, begin, end) in [(0, 0, 10), (2, 100, 140)] {
        let name = trace.ranges.name[0];
        trace.operators.push(Operator { begin, end, thread, name });
    }
    let found = |by_process: bool| {
        let scope = Scope { by_process, by_device: false };
        analyze(&trace, &Options { scope, stages: vec!["a".to_owned()], ..Options::default() })
    };
    let stages = |by_process: bool| -> Vec<(Option<u32>, u64, i64)> {
        let stages = found(by_process).stages;
        stages
            .iter()
            .map(|row| (row.process, row.steady.unwrap().count, row.steady.unwrap().mean_ns))
            .collect()
    };
    assert_eq!(stages(false), [(None, 6, 20)]);
    assert_eq!(stages(true), [(Some(10), 3, 10), (Some(20), 3, 30)]);
    let operators = |by_process: bool| -> Vec<(Option<u32>, u64, i64, i64)> {
        let rows = found(by_process).operators;
        rows.iter().map(|row| (row.process, row.calls, row.host_total_ns, row.device_self_ns)).collect()
    };
    assert_eq!(operators(false), [(None, 2, 50, 12)]);
    assert_eq!(operators(true), [(Some(20), 1, 40, 8), (Some(10), 1, 10, 4)]);
}

proptest! {
    /// What a table leaves out is added up, and what it has is as if it had everything.
    #[test]
    fn what_is_left_out_is_counted(
        ranges in proptest::collection::vec((0u32..4, 0u8..2, 0u8..3, proptest::bool::weighted(0.2), 0i64..200, 0i64..100), 0..40),
        activities in proptest::collection::vec((0u32..4, 0i64..250, 0i64..20, 0i64..40, 0u8..5, 0u16..2, proptest::bool::weighted(0.9)), 0..60),
        rows in 0usize..8,
        text_bytes in 0usize..40,
        (by_process, by_device) in (proptest::bool::ANY, proptest::bool::ANY),
    ) {
        let trace = trace(&ranges, &activities);
        let scope = Scope { by_process, by_device };
        let all = analyze(&trace, &Options { scope, ..Options::default() });
        let limit = Limit { rows, text_bytes };
        let cut = analyze(&trace, &Options { scope, limit, ..Options::default() });
        prop_assert!(all.more_regions.is_empty() && all.more_idle == 0 && all.more_kernels.is_none());
        prop_assert!(cut.regions.len() <= rows && cut.kernels.len() <= rows);
        prop_assert_eq!(cut.region_count(), all.region_count());
        // The rows that are left are the same, with the same kernels.
        let mut rest: Vec<&GpuRegion> = all.regions.iter().collect();
        for row in &cut.regions {
            let at = rest.iter().position(|other| *other == row);
            prop_assert!(at.is_some(), "{}", row.path);
            rest.remove(at.unwrap());
        }
        for (domain, kind) in all.regions.iter().map(|row| (&row.domain, row.kind)) {
            let of = |row: &&&GpuRegion| row.domain == *domain && row.kind == kind;
            let more = cut.more_regions.iter().find(|more| more.domain == *domain && more.kind == kind);
            let left = || rest.iter().filter(of);
            let sums = more.map_or((0, 0, 0, 0, 0), |more| {
                (more.regions, more.instances, more.gpu_ns, more.kernels, more.copy_ns)
            });
            let exclusive: (i64, u64) =
                (left().map(|row| row.gpu_exclusive_ns).sum(), left().map(|row| row.kernels_exclusive).sum());
            prop_assert_eq!((sums.2, sums.3), exclusive);
            prop_assert_eq!((sums.0, sums.1), (left().count() as u64, left().map(|row| row.instances).sum::<u64>()));
            // On the host what lies in another counts once.
            let outermost = left().filter(|row| {
                !left().any(|other| row.parent.as_ref() == Some(&other.path))
            });
            if scope == Scope::default() {
                prop_assert_eq!(more.map_or(0, |more| more.wall_ns), outermost.map(|row| row.wall_ns).sum::<i64>());
            }
        }
        prop_assert_eq!((cut.kernel_calls(), cut.kernel_ns()), (all.kernel_calls(), all.kernel_ns()));
        prop_assert_eq!(cut.idle.len() as u64 + cut.more_idle, all.idle.len() as u64);
        let instances = |findings: &analysis::Analysis| {
            let told: u64 = findings.stages.iter().filter_map(|stage| Some(stage.times?.count)).sum();
            told + findings.more_stages.map_or(0, |more| more.calls)
        };
        prop_assert_eq!(instances(&cut), instances(&all));
        // Every region can be had, one after another.
        let mut every = Vec::new();
        analysis::every_region(&trace, scope, |row| {
            every.push(row);
            Ok(())
        })
        .unwrap();
        let without_details = |row: &GpuRegion| GpuRegion { top_kernels: Vec::new(), times: None, ..row.clone() };
        prop_assert_eq!(every, all.regions.iter().map(without_details).collect::<Vec<_>>());
    }
}
