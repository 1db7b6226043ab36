//! The figures of a finding are those of the place that it names.

use analysis::{Cause, Options, analyze};
use trace::{Frame, StackNode, StackSample, ThreadState, Trace};

/// Steps with so many launches in `forward` and in `loss`: 20 us of the host, 4 us of the GPU each.
fn steps(in_forward: usize, in_loss: usize) -> Trace {
    steps_that_log(in_forward, in_loss, 0)
}

/// Then the host does something else for a while, with a sample of its stack every 100 us.
fn steps_that_log(in_forward: usize, in_loss: usize, log_ns: i64) -> Trace {
    let mut trace = Trace::default();
    let [launching, logging] = [("forward", 10), ("log", 50)].map(|(function, line)| {
        let (function, file) = (trace.strings.intern(function), trace.strings.intern("/home/me/train.py"));
        trace.stacks.frames.push(Frame { function, file, line });
        let frame = trace.stacks.frames.len() as u32 - 1;
        trace.stacks.nodes.push(StackNode { caller: trace::NONE, frame });
        trace.stacks.nodes.len() as u32 - 1
    });
    trace.processes.push(trace::Process { pid: 1, ..trace::Process::default() });
    trace.threads.push(trace::Thread { process: 0, id: 1, name: None });
    trace.devices.push(trace::Device { id: 0, name: None, identity: None });
    let domain = trace.strings.intern("");
    // Each launch of a step has its own kernel, so that a step is what repeats.
    for number in 0..in_forward + in_loss {
        let name = trace.strings.intern(&format!("kernel_{number}"));
        trace.activities.launches.push(trace::Launch { name, short_name: name, ..trace::Launch::default() });
    }
    let launch = trace.strings.intern("cudaLaunchKernel");
    let (mut now, mut correlation) = (0, 1);
    for _ in 0..(600_000 / (in_forward + in_loss)).clamp(6, 30) {
        let name = trace.strings.intern("step");
        let (begin, end) = (now, now + 20_000 * (in_forward + in_loss) as i64 + log_ns + 500);
        trace.ranges.push(trace::Range { name, begin, end, domain, ..trace::Range::default() });
        let mut detail = 0;
        for (region, launches) in [("forward", in_forward), ("loss", in_loss)] {
            let name = trace.strings.intern(region);
            let begin = now;
            for _ in 0..launches {
                let call = trace::Call {
                    begin: now + 12_000,
                    end: now + 20_000,
                    name: launch,
                    correlation,
                    ..trace::Call::default()
                };
                trace.calls.push(call);
                let (begin, end) = (now + 21_000, now + 25_000);
                trace.activities.push(trace::Activity {
                    begin,
                    end,
                    correlation,
                    detail,
                    ..trace::Activity::default()
                });
                (now, correlation, detail) = (now + 20_000, correlation + 1, detail + 1);
            }
            trace.ranges.push(trace::Range { name, begin, end: now, domain, ..trace::Range::default() });
        }
        let logs = now;
        now += log_ns + 1_000;
        for at in (begin..end).step_by(100_000).filter(|_| log_ns > 0) {
            let stack = if at < logs { launching } else { logging };
            trace.stacks.samples.push(StackSample { at, thread: 0, stack, state: ThreadState::Running });
        }
    }
    trace.finish();
    trace
}

fn title(trace: &Trace) -> String {
    let found = analyze(trace, &Options::default()).findings;
    found.into_iter().find(|found| found.cause == Cause::LaunchBound).unwrap().title
}

#[test]
fn the_figures_are_of_the_place_that_is_named() {
    for (trace, place) in [
        (steps(20, 2), " an iteration, most of it in `:step/forward`"),
        (steps(22, 0), " in `:step/forward`"),
        (steps(11, 11), " in `:step`"),
    ] {
        let title = title(&trace);
        assert!(title.ends_with(&format!("us{place}")), "{title}");
    }
}

/// A whole generation may be what repeats: it is examined, however large it is.
#[test]
fn iterations_of_many_launches() {
    let trace = steps(45_000, 0);
    let analysis = analyze(&trace, &Options::default());
    assert!(analysis.loops[0].busy_share.is_some(), "{:?}", analysis.loops[0]);
    assert_eq!(analysis.findings[0].cause, Cause::LaunchBound, "{:?}", analysis.findings[0].title);
}

/// While it logs, it does not launch: each finding has its own line.
#[test]
fn the_line_is_where_it_launches() {
    let trace = steps_that_log(40, 40, 4_000_000);
    let found = analyze(&trace, &Options::default()).findings;
    let line = |cause| {
        let finding = found.iter().find(|found| found.cause == cause);
        finding.unwrap_or_else(|| panic!("{found:#?}")).place.line.clone()
    };
    assert_eq!(line(Cause::HostCode).as_deref(), Some("train.py:50 log"));
    assert_eq!(line(Cause::LaunchBound).as_deref(), Some("train.py:10 forward"), "{found:#?}");
}
