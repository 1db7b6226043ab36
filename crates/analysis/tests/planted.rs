//! Programs with one planted bottleneck each, recorded by the tracer on an H200, and what was measured of them: the
//! first finding must name the cause and its place, and the gain must be about the one that was measured.

use analysis::{Analysis, Cause, Finding, GainOf, Loop, NoFinding, Options, Statistics, analyze};
use trace::{ActivityKind, Ranges, Trace};

use crate::recorded::{Planted, recorded, recorded_bytes, truth};

fn analyzed(name: &str) -> Analysis {
    analyze(&recorded(name), &Options::default())
}

/// Of a healthy program: nothing about its loop is said to be wrong.
fn is_alarm(finding: &Finding) -> bool {
    let of_the_start = matches!(finding.cause, Cause::StartUp | Cause::WarmUp | Cause::ModuleLoading);
    !finding.is_limit() && !of_the_start
}

fn is_right(planted: &Planted, found: &[Finding], with_place: bool) -> bool {
    if planted.cause == "healthy" {
        return !found.iter().any(is_alarm);
    }
    let Some(first) = found.first() else { return false };
    let place = first.place.region.as_deref().unwrap_or_default().trim_start_matches(':');
    let in_place = !planted.of_step || place == planted.place || !with_place;
    first.cause.as_str() == planted.cause && in_place
}

#[test]
fn the_first_finding_is_what_was_planted() {
    let mut wrong = Vec::new();
    for planted in truth() {
        let analysis = analyzed(&planted.program);
        if !is_right(&planted, &analysis.findings, true) {
            let found: Vec<String> =
                analysis.findings.iter().map(|one| format!("{}: {}", one.cause, one.title)).collect();
            wrong.push(format!(
                "{}, planted {} in {}: {found:#?}",
                planted.program, planted.cause, planted.place
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same programs without a range: the place is not known, and some causes cannot be told without one.
#[test]
fn causes_without_ranges() {
    let untold =
        ["slow_loading", "busy_neighbor", "row_by_row", "slow_weights", "slow_start", "tried_out_first"];
    let wrong: Vec<String> = truth()
        .into_iter()
        .filter(|planted| {
            let analysis = analyzed(&format!("{}-without-ranges", planted.program));
            !is_right(planted, &analysis.findings, false)
        })
        .map(|planted| planted.program)
        .collect();
    let unexpected: Vec<&String> =
        wrong.iter().filter(|program| !untold.contains(&program.as_str())).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
}

#[test]
fn gains_are_what_was_measured() {
    let mut errors: Vec<(f64, String)> = Vec::new();
    for planted in truth().into_iter().filter(|planted| planted.of_step) {
        let analysis = analyzed(&planted.program);
        let first = analysis.findings.first().unwrap();
        if let (Some(gain), Some(faster)) = (first.gain, planted.faster) {
            assert!(gain.low <= gain.factor && gain.factor <= gain.high, "{first:?}");
            // Unchanged, it must take as long as it took.
            assert!(gain.replay_error.unwrap().abs() <= 0.03, "{}: {first:?}", planted.program);
            errors.push(((gain.factor / faster - 1.0).abs(), planted.program));
        }
    }
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(errors.len() >= 15, "{errors:?}");
    assert!(errors[errors.len() / 2].0 <= 0.15, "{errors:?}");
}

/// Two findings do not claim the same time: together they save no more than there is.
#[test]
fn findings_do_not_overlap() {
    for planted in truth() {
        for name in [planted.program.clone(), format!("{}-without-ranges", planted.program)] {
            let analysis = analyzed(&name);
            let saved = |finding: &Finding| {
                let gain = finding.gain.filter(|gain| gain.of == GainOf::Iteration);
                gain.map_or(0.0, |gain| 1.0 - 1.0 / gain.factor)
            };
            let saved: f64 = analysis.findings.iter().map(saved).sum();
            assert!(saved < 1.0, "{name}: {saved}");
            let mut places: Vec<_> =
                analysis.findings.iter().map(|finding| (finding.cause, &finding.place.region)).collect();
            places.sort();
            let all = places.len();
            places.dedup();
            assert_eq!(places.len(), all, "{name}: one cause in one place twice");
        }
    }
}

/// Ranges say where iterations begin; without them the launches must.
#[test]
fn loops_without_ranges() {
    // Steps of these are several times the same launches, or differ from each other: what repeats is something else.
    let inner = [
        "blocking_batch",
        "many_tiny",
        "thin_layers",
        "logging_beside_streams",
        "busy_neighbor",
        "slow_start_healthy_loop",
        "single_precision",
        "transposed_again",
        "row_by_row",
        "one_after_another",
        "wide_weights",
        "twice_the_work",
        "every_module_at_once",
        "slow_weights",
        "slow_start",
        "tried_out_first",
        "wait_every_layer",
    ];
    let mut exact = 0;
    for planted in truth() {
        let mut trace = recorded(&planted.program);
        let with = analyze(&trace, &Options::default());
        trace.ranges = Ranges::default();
        trace.finish();
        let without = analyze(&trace, &Options::default());
        let (with, without) = (main_loop(&with), main_loop(&without));
        assert_eq!(with.iterations, planted.iterations, "{}", planted.program);
        if inner.contains(&planted.program.as_str()) {
            continue;
        }
        exact += 1;
        assert!(
            without.iterations == with.iterations || without.iterations + 1 == with.iterations,
            "{}: {} instead of {}",
            planted.program,
            without.iterations,
            with.iterations
        );
        let (p50, of_launches) = (with.period_ns.unwrap().p50 as f64, without.period_ns.unwrap().p50 as f64);
        assert!(
            (of_launches / p50 - 1.0).abs() <= 0.02,
            "{}: {of_launches} instead of {p50}",
            planted.program
        );
        let wanted = match planted.program.as_str() {
            // The device was quicker in the first three or nine iterations, and the boundary is in the middle.
            "training" => 0.9,
            "evaluation_between" => 0.8,
            // Four of them: the host was not equally fast between the two places.
            "check_of_two_streams" => 0.9,
            _ => 1.0,
        };
        let close = in_place(with.begins(), without.begins(), p50);
        assert!(close >= wanted, "{}: {close}", planted.program);
    }
    assert!(exact >= 12, "{exact}");
}

/// The same for a C++ program whose ranges have numbers in their names, with a validation between some of its steps.
#[test]
fn numbered_steps_without_ranges() {
    let mut trace = recorded("numbered");
    trace.fold_names();
    let with = analyze(&trace, &Options::default());
    assert_eq!(main_loop(&with).region.as_deref(), Some(":Train step *"));
    assert_eq!(main_loop(&with).iterations, 80);
    trace.ranges = Ranges::default();
    trace.finish();
    let without = analyze(&trace, &Options::default());
    let (with, without) = (main_loop(&with), main_loop(&without));
    assert!((79..=80).contains(&without.iterations), "{}", without.iterations);
    let (p50, of_launches) = (with.period_ns.unwrap().p50 as f64, without.period_ns.unwrap().p50 as f64);
    assert!((of_launches / p50 - 1.0).abs() <= 0.02, "{of_launches} instead of {p50}");
    assert!(in_place(with.begins(), without.begins(), p50) >= 1.0);
}

/// The share of boundaries that are within 2 % of the period, after one constant shift: what repeats has no natural
/// beginning. Warm-up may differ by an iteration.
fn in_place(with: &[i64], without: &[i64], period: f64) -> f64 {
    let share = |skip: (usize, usize)| {
        let pairs = with.iter().skip(skip.0).zip(without.iter().skip(skip.1));
        let mut shifts: Vec<i64> = pairs.map(|(a, b)| b - a).collect();
        shifts.sort_unstable();
        let shift = shifts[shifts.len() / 2];
        let close = shifts.iter().filter(|other| (*other - shift).abs() as f64 <= 0.02 * period).count();
        close as f64 / shifts.len() as f64
    };
    let skips = (0..4).flat_map(|a| [(a, 0), (0, a)]);
    skips.map(share).fold(0.0, f64::max)
}

/// Kernels of the steady state, recounted one by one.
#[test]
fn steady_kernels_are_those_of_the_steady_iterations() {
    for planted in truth() {
        let trace = recorded(&planted.program);
        let analysis = analyze(&trace, &Options::default());
        let found = main_loop(&analysis);
        let steady = analysis.steady.as_ref();
        let (begin, end) = (trace.begin + found.begin_ns, trace.begin + found.end_ns);
        let kernels = (0..trace.activities.len())
            .filter(|at| trace.activities.kind[*at] == ActivityKind::Kernel)
            .filter(|at| (begin..end).contains(&trace.activities.begin[*at]));
        let (mut calls, mut total) = (0u32, 0i64);
        for at in kernels {
            calls += 1;
            total += trace.activities.end[at] - trace.activities.begin[at];
        }
        // Only copies, or graphs that are recorded as a whole.
        let Some(steady) = steady else {
            assert_eq!(calls, 0, "{}", planted.program);
            continue;
        };
        assert_eq!(steady.iterations, found.iterations - found.warm_up, "{}", planted.program);
        let sum = |of: &dyn Fn(&Statistics) -> f64| {
            steady.kernels.iter().map(|row| of(&row.statistics)).sum::<f64>()
        };
        assert_eq!(sum(&|row| row.calls as f64), f64::from(calls), "{}", planted.program);
        assert_eq!(sum(&|row| row.total_ns as f64), total as f64, "{}", planted.program);
        assert!((sum(&|row| row.share) - 1.0).abs() < 1e-9, "{}", planted.program);
    }
}

fn main_loop(analysis: &Analysis) -> &Loop {
    analysis.loops.first().unwrap()
}

/// Steps of a product and a collective behind it, of so many nanoseconds each, on one stream.
fn made_up(product: i64, collective: i64) -> Trace {
    let mut trace = Trace::default();
    trace.processes.push(trace::Process { pid: 1, ..trace::Process::default() });
    trace.threads.push(trace::Thread { process: 0, id: 1, name: None });
    trace.devices.push(trace::Device { name: Some("NVIDIA H200".to_owned()), ..trace::Device::default() });
    for name in ["nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"]
    {
        let name = trace.strings.intern(name);
        let grid = [1_000, 1, 1];
        trace.activities.launches.push(trace::Launch {
            name,
            short_name: name,
            grid,
            ..trace::Launch::default()
        });
    }
    let (launch, step) = (trace.strings.intern("cudaLaunchKernel"), trace.strings.intern("step"));
    let (mut host, mut device, mut correlation) = (0, 10_000, 1);
    for _ in 0..20 {
        trace.ranges.push(trace::Range {
            name: step,
            begin: host,
            end: host + 30_000,
            ..trace::Range::default()
        });
        for (detail, duration) in [(0, product), (1, collective)] {
            let begin = host + 1_000;
            trace.calls.push(trace::Call {
                begin,
                end: begin + 4_000,
                name: launch,
                correlation,
                ..trace::Call::default()
            });
            let start = device.max(begin + 6_000);
            let end = start + duration;
            trace.activities.push(trace::Activity {
                begin: start,
                end,
                correlation,
                detail,
                ..trace::Activity::default()
            });
            (host, device, correlation) = (host + 10_000, end + 1_000, correlation + 1);
        }
        host += 10_000;
    }
    trace.finish();
    trace
}

#[test]
fn communication_that_nothing_runs_beside() {
    let analysis = analyze(&made_up(600_000, 400_000), &Options::default());
    let first = &analysis.findings[0];
    assert_eq!(first.cause, Cause::ExposedCommunication, "{first:?}");
    assert_eq!(first.place.region.as_deref(), Some(":step"));
    assert!((first.gain.unwrap().factor - 1_002.0 / 602.0).abs() < 0.01, "{first:?}");
    // Little of it is no finding.
    let analysis = analyze(&made_up(600_000, 6_000), &Options::default());
    assert_eq!(analysis.findings[0].cause, Cause::ComputeBound, "{:?}", analysis.findings[0]);
}

/// Only some ranges of `slow_logging`, which waits for four milliseconds of Python in `:step/log`.
fn only_in(name: &str) -> Analysis {
    let mut trace = recorded("slow_logging");
    let is_named = |at: &usize| trace.strings.text(trace.ranges.name[*at]) == name;
    let ranges = (0..trace.ranges.len()).filter(is_named);
    let windows = ranges.map(|at| (trace.ranges.begin[at], trace.ranges.end[at])).collect();
    trace.keep_windows(windows, trace::Selection::Ranges);
    analyze(&trace, &Options::default())
}

/// A recording that says too little is not a healthy one.
#[test]
fn why_there_is_no_finding() {
    assert_eq!(only_in("log").no_finding, Some(NoFinding::NoGpuWorkHere));
    assert_eq!(only_in("forward").no_finding, Some(NoFinding::NoWholeIteration));
    assert_eq!(only_in("step").no_finding, Some(NoFinding::NoWholeIteration));
    let mut bytes = recorded_bytes("slow_logging");
    bytes.truncate(60_000);
    let trace = trace::read_tracer_bytes(&bytes, std::path::Path::new("cut.rft")).unwrap();
    assert_eq!(
        trace.diagnostics[0].text,
        "cut.rft: the file is truncated at byte 60000: at least 6832 bytes are missing, with the events in them; \
         copy it again"
    );
    let cut = analyze(&trace, &Options::default());
    assert_eq!((cut.findings.len(), cut.no_finding), (0, Some(NoFinding::NamesLost)));
    let nothing = analyze(&Trace::default(), &Options::default());
    assert_eq!(nothing.no_finding, Some(NoFinding::NoGpuWork));
    assert_eq!(analyzed("slow_logging").no_finding, None);
}

/// However it is launched, a device takes as long as it works; and a loop's shares are of all its time.
#[test]
fn no_launching_makes_the_device_quicker() {
    let mut seen = 0;
    for planted in truth() {
        let analysis = analyzed(&planted.program);
        let main = main_loop(&analysis);
        let busy = main.busy_share.unwrap();
        let all = busy + main.idle.iter().map(|(_, share)| share).sum::<f64>();
        assert!((0.98..=1.02).contains(&all), "{}: {all} {:?}", planted.program, main.idle);
        let launching = |finding: &&Finding| finding.cause == Cause::LaunchBound;
        for gain in analysis.findings.iter().filter(launching).filter_map(|finding| finding.gain) {
            seen += 1;
            assert!(
                gain.then_ns as f64 >= 0.999 * busy * gain.now_ns as f64,
                "{}: {gain:?}",
                planted.program
            );
        }
    }
    assert!(seen >= 4, "{seen}");
}

/// The host is in the loop before the device is: its first iteration is not before the loop.
#[test]
fn no_region_of_the_loop_is_before_it() {
    for planted in truth() {
        let analysis = analyzed(&planted.program);
        let main = main_loop(&analysis).region.clone().unwrap();
        for finding in analysis.findings.iter().filter(|finding| finding.cause == Cause::StartUp) {
            let place = finding.place.region.as_deref().unwrap_or_default();
            assert!(!place.starts_with(&main), "{}: {}", planted.program, finding.title);
        }
    }
}
