//! What is missing from a recording.

use crate::model::{ActivityKind, Diagnostic, Trace};

/// Calls that start work of a device, of CUDA and of HIP.
fn starts_work(call: &str) -> bool {
    call.contains("Launch") && !call.contains("HostFunc") && !call.contains("PopCall")
}

impl Trace {
    /// Launches were recorded and not a single kernel: the half that was wanted is missing.
    pub(crate) fn say_missing_kernels(&mut self) {
        let on_device = |kind: &ActivityKind| matches!(kind, ActivityKind::Kernel | ActivityKind::Graph);
        if self.activities.kind.iter().any(on_device) {
            return;
        }
        let mut starts = vec![None; self.strings.len()];
        let mut launches = 0u64;
        for name in &self.calls.name {
            let known = &mut starts[name.index()];
            launches += u64::from(*known.get_or_insert_with(|| starts_work(self.strings.text(*name))));
        }
        let calls = match launches {
            0 => return,
            1 => "1 launch was".to_owned(),
            count => format!("{count} launches were"),
        };
        let text = format!(
            "{calls} recorded, but no kernel: GPU activity is missing from the recording, so GPU times are unknown. \
             Either the profiler was not allowed to record it, another profiler was using the GPU, or the program \
             was killed before it was written. Record again with one profiler and CUDA tracing on, and let the \
             program end by itself"
        );
        self.diagnostics.push(Diagnostic { text, lost: true });
    }
}
