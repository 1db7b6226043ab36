//! Whether ncu can replay a range, judged by the calls in it.
//! ncu captures the driver calls of a range and replays them. It supports only some of the
//! driver's functions (Profiling Guide, "Range Replay", "Supported APIs": compared 2022.3 and
//! 2025.3, which differ in the library functions); at any other call it aborts with
//! exit code 9 and kills the program.

use analysis::RegionCalls;
use record::counted;
use serde::Serialize;

use super::pace::Pace;

/// Functions that range replay supports; a star stands for the rest of the name.
const TAKEN: [&str; 70] = [
    // Errors, versions, entry points
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDriverGetVersion",
    "cuGetProcAddress*",
    "cuGetExportTable",
    // Devices and contexts
    "cuDeviceGet*",
    "cuDeviceComputeCapability",
    "cuDeviceTotalMem*",
    "cuDevicePrimaryCtxGetState",
    "cuCtxCreate*",
    "cuCtxDestroy*",
    "cuCtxGet*",
    "cuCtxPopCurrent*",
    "cuCtxPushCurrent*",
    "cuCtxSetCurrent",
    "cuCtxSetLimit",
    "cuCtxSynchronize*",
    "cuCtxResetPersistingL2Cache",
    "cuCtxRecordEvent",
    "cuCtxWaitEvent",
    // Modules
    "cuModuleGetFunction",
    "cuModuleGetGlobal*",
    "cuModuleGetSurfRef",
    "cuModuleGetTexRef",
    "cuModuleLoad",
    "cuModuleLoadData",
    "cuModuleLoadDataEx",
    "cuModuleLoadFatBinary",
    "cuModuleUnload",
    "cuModuleGetLoadingMode",
    // Memory
    "cuArray*",
    "cuMemAlloc",
    "cuMemAlloc_v2",
    "cuMemAllocHost*",
    "cuMemAllocPitch*",
    "cuMemcpy*",
    "cuMemFree",
    "cuMemFree_v2",
    "cuMemFreeHost",
    "cuMemGetAddressRange*",
    "cuMemGetInfo*",
    "cuMemHost*",
    "cuMemset*",
    "cuMipmapped*",
    "cuMemBatchDecompressAsync",
    // Streams and events
    "cuStreamCreate*",
    "cuStreamDestroy*",
    "cuStreamGet*",
    "cuStreamQuery*",
    "cuStreamSetAttribute*",
    "cuStreamSynchronize*",
    "cuStreamWaitEvent*",
    "cuEvent*",
    // Execution
    "cuFuncGetAttribute",
    "cuFuncGetModule",
    "cuFuncSetAttribute",
    "cuFuncSetCacheConfig",
    "cuFuncGetName",
    "cuFuncLoad",
    "cuFuncIsLoaded",
    "cuLaunchCooperativeKernel",
    "cuLaunchHostFunc*",
    "cuLaunchKernel*",
    "cuOccupancy*",
    "cuTexObject*",
    "cuSurfObject*",
    // Capture start and end
    "cuProfilerStart",
    "cuProfilerStop",
    "cuGreenCtx*",
    "cuFuncGetParamInfo",
];

/// Supported since CUDA 12's libraries, except these.
const LIBRARIES: [&str; 2] = ["cuLibrary", "cuKernel"];
const LIBRARIES_REFUSED: [&str; 2] = ["cuKernelSetAttribute", "cuKernelSetCacheConfig"];

/// The answer for one region.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replay {
    /// Whether `--replay-mode range` can work.
    pub possible: bool,
    /// Why not, and what to know if it can; a sentence each.
    pub notes: Vec<String>,
    pub refused: Vec<Refused>,
    /// How long each replay mode would take, for a few metrics (`--set basic`).
    pub costs: Vec<Cost>,
}

/// A call that ncu does not replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    pub call: String,
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    pub mode: &'static str,
    pub passes: u32,
    pub seconds: f64,
}

/// Passes of the sections that are measured by default, on an H200.
const PASSES: u32 = 18;

/// The answer, for a program that runs for `wall_s` seconds.
pub fn range_replay(region: &RegionCalls, wall_s: f64) -> Replay {
    let refused: Vec<Refused> = region
        .calls
        .iter()
        .filter(|(call, _)| call.starts_with("cu") && !call.starts_with("cuda") && !taken(call))
        .map(|(call, count)| Refused { call: call.clone(), count: *count })
        .collect();
    let graphs =
        region.calls.iter().filter(|(call, _)| call.starts_with("cudaGraph")).map(|(_, n)| n).sum::<u64>();
    let mut notes: Vec<String> = refused
        .iter()
        .map(|refused| {
            format!("it calls {} {}, which range replay does not support", refused.call, times(refused.count))
        })
        .collect();
    let mut possible = refused.is_empty();
    if graphs > 0 && refused.is_empty() {
        possible = false;
        notes.push(format!("it uses CUDA graphs ({}), which range replay does not support", times(graphs)));
    }
    if region.first_call {
        possible = false;
        notes.push(
            "it contains the program's first CUDA call: there is no context yet when it opens".to_owned(),
        );
    }
    if region.launches == 0 {
        notes.push(
            "its own thread launches nothing in it; ncu measures what other threads launch \
            meanwhile"
                .to_owned(),
        );
    }
    let allocations: u64 = region
        .calls
        .iter()
        // The runtime's calls end in the driver's.
        .filter(|(call, _)| call.starts_with("cuMemAlloc") || call.starts_with("cuMemHostAlloc"))
        .map(|(_, count)| count)
        .sum();
    if allocations > 0 {
        notes.push(format!("it allocates memory {}: each replay allocates again", times(allocations)));
    }
    let callbacks: u64 = region
        .calls
        .iter()
        .filter(|(call, _)| call.contains("LaunchHostFunc") || call.contains("AddCallback"))
        .map(|(_, count)| count)
        .sum();
    if callbacks > 0 {
        notes.push(format!("the GPU calls the host {} in it: each replay does so again", times(callbacks)));
    }
    if region.in_flight > 0 {
        notes.push(format!(
            "work is still running when {} of {} end: it still counts as part of the range",
            region.in_flight,
            counted(region.instances, "instance")
        ));
    }
    Replay { possible, notes, refused, costs: costs(region, wall_s) }
}

fn costs(region: &RegionCalls, wall_s: f64) -> Vec<Cost> {
    let passes = f64::from(PASSES);
    let launches = region.launches as f64;
    let cost = |mode, seconds| Cost { mode, passes: PASSES, seconds };
    vec![
        cost("kernel", wall_s + launches * Pace::default().seconds(PASSES, 0)),
        cost("range", wall_s + passes * region.host_ns as f64 / 1e9),
        cost("app-range", passes * wall_s),
        cost("application", passes * wall_s),
    ]
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Whether range replay supports a driver function.
fn taken(call: &str) -> bool {
    let plain = call.trim_end_matches("_ptsz");
    let fits = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => plain.starts_with(start),
        None => plain == *pattern,
    };
    let library =
        LIBRARIES.iter().any(|start| plain.starts_with(start)) && !LIBRARIES_REFUSED.contains(&plain);
    library || TAKEN.iter().any(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn region(calls: &[(&str, u64)]) -> RegionCalls {
        RegionCalls {
            path: nvtx::RegionPath::new(String::new(), ["prefill"]),
            instances: 2,
            calls: calls.iter().map(|(call, count)| ((*call).to_owned(), *count)).collect::<BTreeMap<_, _>>(),
            launches: 100,
            kernels: 3,
            gpu_ns: 1_000_000,
            host_ns: 2_000_000_000,
            in_flight: 0,
            synchronised: 2,
            first_call: false,
        }
    }

    #[test]
    fn what_ncu_refuses() {
        let fine = [
            ("cudaLaunchKernel", 90),
            ("cuLaunchKernelEx", 10),
            ("cuLibraryGetKernel", 1),
            ("cuMemAlloc_v2", 2),
        ];
        let replay = range_replay(&region(&fine), 10.0);
        assert!(replay.possible && replay.refused.is_empty(), "{replay:?}");
        assert_eq!(replay.notes, ["it allocates memory 2 times: each replay allocates again"]);
        assert_eq!(replay.costs[0].seconds, 10.0 + 100.0 * Pace::default().seconds(18, 0));
        let replay = range_replay(&region(&[("cuKernelSetAttribute", 3)]), 10.0);
        assert!(!replay.possible);
        assert_eq!(replay.refused, [Refused { call: "cuKernelSetAttribute".to_owned(), count: 3 }]);
        for refused in [
            "cuMemAllocAsync",
            "cuMemAddressReserve",
            "cuStreamBeginCapture",
            "cuGraphLaunch",
            "cuCtxSetCacheConfig",
            "cuInit",
        ] {
            assert!(!taken(refused), "{refused}");
        }
        for fine in ["cuMemcpyHtoD_v2", "cuStreamSynchronize_ptsz", "cuMemAlloc_v2", "cuEventRecord"] {
            assert!(taken(fine), "{fine}");
        }
        let first = RegionCalls { first_call: true, ..region(&[]) };
        assert!(!range_replay(&first, 1.0).possible);
    }
}
