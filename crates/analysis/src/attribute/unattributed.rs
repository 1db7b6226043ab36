//! Kernels launched outside all ranges.

use std::collections::BTreeMap;

use serde::Serialize;
use trace::{NONE, Trace};

use super::attribution::Attribution;
use crate::origin::Origin;

/// Kernels in no range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Unattributed {
    /// In no push/pop range of any domain and in no start/end range.
    pub kernels: u64,
    pub gpu_ns: i64,
    /// Those among them without a recorded launch.
    pub without_call: u64,
    /// In no push/pop range of a domain.
    pub domains: BTreeMap<String, Outside>,
    /// Threads that started them.
    pub threads: Vec<OutsideThread>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Outside {
    pub kernels: u64,
    pub gpu_ns: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutsideThread {
    pub process: u32,
    #[serde(flatten)]
    pub origin: Origin,
    pub thread: u32,
    pub name: Option<String>,
    pub kernels: u64,
    pub gpu_ns: i64,
}

/// `in_start_end`: by activity, whether a start/end region was open.
pub(crate) fn unattributed(trace: &Trace, attribution: &Attribution, in_start_end: &[bool]) -> Unattributed {
    let activities = &trace.activities;
    let mut outside = Unattributed::default();
    let mut threads: BTreeMap<u32, Outside> = BTreeMap::new();
    let mut domains = vec![Outside::default(); attribution.planes.len()];
    for (activity, in_start_end) in in_start_end.iter().enumerate() {
        if !activities.is_shown_kernel(activity) {
            continue;
        }
        let duration = activities.duration(activity);
        let mut inside = *in_start_end;
        for (plane, domain) in attribution.planes.iter().zip(&mut domains) {
            match plane.range[activity] {
                NONE => domain.add(duration),
                _ => inside = true,
            }
        }
        if inside {
            continue;
        }
        outside.kernels += 1;
        outside.gpu_ns = outside.gpu_ns.saturating_add(duration);
        match attribution.call[activity] {
            NONE => outside.without_call += 1,
            call => threads.entry(trace.calls.thread[call as usize]).or_default().add(duration),
        }
    }
    for (plane, domain) in attribution.planes.iter().zip(domains) {
        outside.domains.insert(trace.strings.text(plane.domain).to_owned(), domain);
    }
    outside.threads = threads
        .into_iter()
        .map(|(index, Outside { kernels, gpu_ns })| {
            let thread = &trace.threads[index as usize];
            OutsideThread {
                process: trace.processes[thread.process as usize].pid,
                origin: Origin::of_process(trace, thread.process),
                thread: thread.id,
                name: thread.name.clone(),
                kernels,
                gpu_ns,
            }
        })
        .collect();
    outside
}

impl Outside {
    fn add(&mut self, duration: i64) {
        self.kernels += 1;
        self.gpu_ns = self.gpu_ns.saturating_add(duration);
    }
}
