//! What a call is for, as far as a replay is concerned.

use crate::attribute::synchronises;

/// By its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CallKind {
    /// A kernel or a graph.
    Launch,
    /// A copy or a fill.
    Copy,
    /// It waits for the device.
    Wait,
    /// It gets memory from the driver or gives it back.
    Memory,
    /// It loads code.
    Load,
    Other,
}

impl CallKind {
    pub(crate) fn of(name: &str) -> Self {
        let bare = name.strip_prefix("cuda").or_else(|| name.strip_prefix("cu")).unwrap_or(name);
        let starts = |starts: &[&str]| starts.iter().any(|start| bare.starts_with(start));
        if synchronises(name) {
            Self::Wait
        } else if starts(&["Launch", "GraphLaunch"]) {
            Self::Launch
        } else if starts(&["Memcpy", "Memset"]) {
            Self::Copy
        } else if starts(&[
            "Malloc",
            "Free",
            "MemAlloc",
            "MemFree",
            "HostAlloc",
            "MemHostAlloc",
            "MemCreate",
            "MemRelease",
            "MemMap",
            "MemUnmap",
            "MemSetAccess",
            "MemAddress",
        ]) {
            Self::Memory
        } else if starts(&["LibraryLoad", "ModuleLoad", "KernelGetFunction", "FuncLoad"]) {
            Self::Load
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_interfaces() {
        for (name, kind) in [
            ("cudaLaunchKernel", CallKind::Launch),
            ("cuLaunchKernelEx", CallKind::Launch),
            ("cudaGraphLaunch", CallKind::Launch),
            ("cudaGraphInstantiate", CallKind::Other),
            ("cudaMemcpyAsync", CallKind::Copy),
            ("cuMemsetD8Async", CallKind::Copy),
            ("cudaStreamSynchronize", CallKind::Wait),
            ("cuMemAlloc_v2", CallKind::Memory),
            ("cudaFreeAsync", CallKind::Memory),
            ("cuLibraryLoadData", CallKind::Load),
            ("cudaFuncSetAttribute", CallKind::Other),
        ] {
            assert_eq!(CallKind::of(name), kind, "{name}");
        }
    }
}
