//! What a call is for, judged by its name: those of CUDA's runtime and driver, and of HIP.

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
        let bare = bare(name);
        let starts = |starts: &[&str]| starts.iter().any(|start| bare.starts_with(start));
        if synchronises(name) {
            Self::Wait
        } else if starts(&["Launch", "GraphLaunch", "ModuleLaunch"]) {
            Self::Launch
        } else if starts(&["Memcpy", "Memset"]) {
            Self::Copy
        } else if starts(&[
            "Malloc",
            "Free",
            "MemAlloc",
            "MemFree",
            "HostAlloc",
            "HostMalloc",
            "HostFree",
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

/// Without the interface that it belongs to: `cudaLaunchKernel`, `cuLaunchKernel` and `hipExtLaunchKernel` are one.
fn bare(name: &str) -> &str {
    if let Some(hip) = name.strip_prefix("hip") {
        let part_of_hip = ["Ext", "Drv", "Hcc"].iter().find_map(|part| hip.strip_prefix(part));
        return part_of_hip.unwrap_or(hip);
    }
    name.strip_prefix("cuda").or_else(|| name.strip_prefix("cu")).unwrap_or(name)
}

/// It waits for a device: `cudaStreamSynchronize_v3020`, `cuCtxSynchronize`, `hipEventSynchronize`, and the like.
pub(crate) fn synchronises(call: &str) -> bool {
    call.contains("Synchronize")
}

/// It returns before its work is done, or may do so.
pub(crate) fn is_async(call: &str) -> bool {
    call.contains("Async")
}

/// A copy that the caller waits for: `cudaMemcpy`, `cuMemcpyDtoH`, `hipMemcpyWithStream`, but not `…Async`.
pub(crate) fn copies(call: &str) -> bool {
    CallKind::of(call) == CallKind::Copy && !is_async(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_interfaces() {
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
            ("cuGraphAddMemcpyNode", CallKind::Other),
            ("hipLaunchKernel", CallKind::Launch),
            ("hipExtLaunchKernel", CallKind::Launch),
            ("hipModuleLaunchKernel", CallKind::Launch),
            ("hipExtModuleLaunchKernel", CallKind::Launch),
            ("hipLaunchCooperativeKernel", CallKind::Launch),
            ("hipDrvLaunchKernelEx", CallKind::Launch),
            ("hipGraphLaunch", CallKind::Launch),
            ("hipGraphInstantiateWithFlags", CallKind::Other),
            ("hipMemcpy", CallKind::Copy),
            ("hipMemcpyAsync", CallKind::Copy),
            ("hipMemcpyWithStream", CallKind::Copy),
            ("hipMemcpyHtoDAsync", CallKind::Copy),
            ("hipMemset", CallKind::Copy),
            ("hipMemsetAsync", CallKind::Copy),
            ("hipStreamSynchronize", CallKind::Wait),
            ("hipDeviceSynchronize", CallKind::Wait),
            ("hipEventSynchronize", CallKind::Wait),
            ("hipMalloc", CallKind::Memory),
            ("hipMallocAsync", CallKind::Memory),
            ("hipExtMallocWithFlags", CallKind::Memory),
            ("hipHostMalloc", CallKind::Memory),
            ("hipHostFree", CallKind::Memory),
            ("hipFree", CallKind::Memory),
            ("hipMemAddressReserve", CallKind::Memory),
            ("hipModuleLoadData", CallKind::Load),
            ("hipGetDevicePropertiesR0600", CallKind::Other),
            ("hipExternalMemoryGetMappedBuffer", CallKind::Other),
        ] {
            assert_eq!(CallKind::of(name), kind, "{name}");
        }
    }

    #[test]
    fn copies_that_are_waited_for() {
        for name in ["cudaMemcpy", "cuMemcpyDtoH_v2", "hipMemcpy", "hipMemcpyWithStream", "hipMemset"] {
            assert!(copies(name), "{name}");
        }
        for name in ["cudaMemcpyAsync", "hipMemcpyAsync", "hipMemsetAsync", "cuGraphAddMemcpyNode"] {
            assert!(!copies(name), "{name}");
        }
    }
}
