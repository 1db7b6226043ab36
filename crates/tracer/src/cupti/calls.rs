//! Which calls are recorded. Recording all of them is where the cost of a trace lies.

/// Beginnings of names, after `cuda` or `cu`: what starts work or waits for it, what takes
/// or gives memory, graphs, and what frames a capture.
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

/// Groups of the driver's functions, and single ones, that range replay of ncu takes, of those that
/// [`DRIVER_MATTERS`] does not record anyway: error handling, version, devices, contexts, modules,
/// memory, streams, events, execution, occupancy, texture and surface objects, entry points. What
/// is not among these is refused, and therefore recorded.
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

/// Of the driver: what starts work, takes or gives memory or makes a context; and what begins like
/// functions that are replayed, and is not.
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

/// A call of the runtime, `cudaLaunchKernel_v7000`.
pub(crate) fn runtime_call_matters(name: &[u8]) -> bool {
    let name = name.strip_prefix(b"cuda").unwrap_or(name);
    starts(name, &MATTER) || contains(name, b"FuncSetAttribute")
}

/// A call of the driver, `cuLaunchKernel`. The runtime makes them, too.
pub(crate) fn driver_call_matters(name: &[u8]) -> bool {
    let name = name.strip_prefix(b"cu").unwrap_or(name);
    // Asked with every launch, and harmless.
    let asks = starts(name, &["KernelGet", "LibraryGet"]);
    starts(name, &DRIVER_MATTERS) || contains(name, b"Synchronize") || !asks && !starts(name, &REPLAYED)
}

fn starts(name: &[u8], list: &[&str]) -> bool {
    list.iter().any(|start| name.starts_with(start.as_bytes()))
}

fn contains(name: &[u8], part: &[u8]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}
