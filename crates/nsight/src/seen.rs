//! For tests: regions that a rehearsal saw.

use analysis::Region;
use nvtx::Kind;
use trace::{Range, Thread, Trace};

/// Ranges one after the other, each with the ranges around it: domain, names from the outermost on, kind.
pub(crate) fn trace(ranges: &[(&str, &[&str], Kind)]) -> Trace {
    let mut trace = Trace::default();
    trace.processes.push(trace::Process::default());
    trace.threads.push(Thread { process: 0, id: 1, name: None });
    for (at, (domain, names, kind)) in ranges.iter().enumerate() {
        let domain = trace.strings.intern(domain);
        for (depth, name) in names.iter().enumerate() {
            let (name, depth) = (trace.strings.intern(name), depth as i64);
            let (begin, end) = (at as i64 * 100 + depth, at as i64 * 100 + 50 - depth);
            trace.ranges.push(Range { domain, name, kind: *kind, begin, end, ..Range::default() });
        }
    }
    trace.finish();
    trace
}

pub(crate) fn regions(ranges: &[(&str, &[&str], Kind)]) -> Vec<Region> {
    analysis::regions(&trace(ranges))
}
