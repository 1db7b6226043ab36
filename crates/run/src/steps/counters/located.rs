//! The ncu to use, and whether the user asked for it.

use std::collections::BTreeMap;

use nsight::NoTool;
use nsight::ncu::Ncu;

use crate::config::{CaptureRange, Enable, Resolved, Text};
use crate::workload::words_of;

/// The ncu that the configuration selects.
pub(super) fn located(resolved: &Resolved) -> Result<Ncu, NoTool> {
    Ncu::locate(resolved.config.ncu.path.as_ref().map(|path| path.0.as_str()))
}

/// `max_new_tokens=4 batch=1`
pub(super) fn settings_text(settings: &BTreeMap<String, Text>) -> String {
    words_of(settings).collect::<Vec<_>>().join(" ")
}

/// Set to `true`, or gated in a layer that the user wrote.
pub(super) fn asked_for(resolved: &Resolved) -> bool {
    let config = &resolved.config.ncu;
    let by_user = |key: &str| resolved.set_by_user(key);
    config.enable == Enable::True
        || !config.nvtx_include.is_empty() && by_user("ncu.nvtx_include")
        || config.capture_range == CaptureRange::CudaProfilerApi && by_user("ncu.capture_range")
        || config.plan.is_some()
}
