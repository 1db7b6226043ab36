//! Which calls are recorded. Recording all of them would be most of the cost of a trace.

use crate::environment;

/// Whether to record every call, whatever it costs.
pub(crate) fn all_calls() -> bool {
    environment::is_on(b"RANGEFINDER_ALL_CALLS")
}

/// How the names of recorded calls begin, after `cuda`: calls that start work or wait for it,
/// allocate or free memory, use graphs, or begin and end a capture.
const MATTER: [&str; 16] = [
    "Launch",
    "_cudaLaunch",
    "Memcpy",
    "Memset",
    "DeviceSynchronize",
    "StreamSynchronize",
    "EventSynchronize",
    "CtxSynchronize",
    "Malloc",
    "Free",
    "MemAlloc",
    "MemFree",
    "Graph",
    "HostAlloc",
    "DeviceReset",
    "Profiler",
];

/// Driver functions, in groups and singly, that ncu's range replay supports and that
/// [`DRIVER_MATTERS`] does not record anyway: error handling, version, devices, contexts, modules,
/// memory, streams, events, execution, occupancy, texture and surface objects, entry points. Range
/// replay refuses all others, so those are recorded.
const REPLAYED: [&str; 34] = [
    "GetError",
    "DriverGetVersion",
    "DeviceGet",
    "DevicePrimaryCtxGetState",
    "Ctx",
    "ModuleGet",
    "ModuleLoad",
    "ModuleUnload",
    "Array",
    "MemGetAddressRange",
    "MemGetInfo",
    "MemHost",
    "Mipmapped",
    "StreamCreate",
    "StreamDestroy",
    "StreamGet",
    "StreamQuery",
    "StreamSetAttribute",
    "StreamWaitEvent",
    "Event",
    "FuncGetAttribute",
    "FuncGetModule",
    "FuncSetAttribute",
    "FuncSetCacheConfig",
    "Occupancy",
    "TexObject",
    "SurfObject",
    "GetProcAddress",
    "GetExportTable",
    "Profiler",
    "FuncGetName",
    "FuncLoad",
    "FuncIsLoaded",
    "FuncGetParamInfo",
];

/// Driver functions that start work, allocate or free memory, or create a context; and those that
/// range replay refuses although their names begin like those of [`REPLAYED`].
const DRIVER_MATTERS: [&str; 10] = [
    "Launch",
    "Graph",
    "Memcpy",
    "Memset",
    "MemAlloc",
    "MemFree",
    "MemHostAlloc",
    "CtxCreate",
    "CtxSet",
    "CtxEnablePeerAccess",
];

/// Whether to record a call of the runtime, such as `cudaLaunchKernel_v7000`.
pub(crate) fn runtime_call_matters(name: &[u8]) -> bool {
    let name = name.strip_prefix(b"cuda").unwrap_or(name);
    starts(name, &MATTER) || contains(name, b"FuncSetAttribute")
}

/// Whether to record a call of the driver, such as `cuLaunchKernel`. The runtime makes them, too.
pub(crate) fn driver_call_matters(name: &[u8]) -> bool {
    let name = name.strip_prefix(b"cu").unwrap_or(name);
    // Called with every launch, and harmless.
    let asks = starts(name, &["KernelGet", "LibraryGet"]);
    starts(name, &DRIVER_MATTERS) || contains(name, b"Synchronize") || !asks && !starts(name, &REPLAYED)
}

fn starts(name: &[u8], list: &[&str]) -> bool {
    list.iter().any(|start| name.starts_with(start.as_bytes()))
}

fn contains(name: &[u8], part: &[u8]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}
