//! The steady iterations of the main loop, as tables.

use serde::Serialize;
use trace::Trace;

use crate::limit::MoreRows;
use crate::loop_::Loop;
use crate::options::Options;
use crate::time::{KernelRow, kernels_where, limited_kernels};

/// What the steady iterations of the main loop are made of.
#[derive(Debug, Serialize)]
pub struct SteadyState {
    pub process: u32,
    /// The loop's, where it was found by ranges.
    pub region: Option<String>,
    pub iterations: u64,
    /// As in the loop.
    pub begin_ns: i64,
    pub end_ns: i64,
    /// Those that began in this time, in the loop's process.
    pub kernels: Vec<KernelRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_kernels: Option<MoreRows>,
    #[serde(skip)]
    work: Work,
}

/// What a process started on the devices in the steady iterations.
#[derive(Debug, Clone, Copy)]
struct Work {
    process: u32,
    begin: i64,
    end: i64,
}

impl Work {
    fn has(self, trace: &Trace, activity: usize) -> bool {
        trace.activities.process[activity] == self.process
            && (self.begin..self.end).contains(&trace.activities.begin[activity])
    }
}

impl SteadyState {
    /// Whether an activity is of this time and process.
    pub(crate) fn has(&self, trace: &Trace, activity: usize) -> bool {
        self.work.has(trace, activity)
    }

    /// The time of all kernels, whether their names are shown or not.
    pub fn kernel_ns(&self) -> i64 {
        let shown = self.kernels.iter().map(|row| row.statistics.total_ns);
        shown.chain(self.more_kernels.map(|more| more.total_ns)).fold(0, i64::saturating_add)
    }
}

/// None without a loop, or without kernels in it.
pub(crate) fn steady_state(trace: &Trace, options: &Options, loops: &[Loop]) -> Option<SteadyState> {
    let main = loops.first()?;
    let work =
        Work { process: main.steady.process, begin: *main.steady.on_device.first()?, end: main.steady.end };
    let is_meant = |activity: usize| work.has(trace, activity);
    let rows = kernels_where(trace, options.scope, options.grouping, &options.families, is_meant);
    let (kernels, more_kernels) = limited_kernels(rows, options.limit);
    let iterations = main.iterations.saturating_sub(main.warm_up);
    (!kernels.is_empty()).then(|| SteadyState {
        process: main.process,
        region: main.region.clone(),
        iterations,
        begin_ns: main.begin_ns,
        end_ns: main.end_ns,
        kernels,
        more_kernels,
        work,
    })
}
