//! A trace of HIP's calls is analyzed like one of CUDA's.

use std::collections::BTreeSet;

use analysis::{Options, analyze};
use trace::Trace;

use crate::recorded::{recorded, truth};

/// Those whose name differs in more than its beginning.
const OTHER_NAMES: [(&str, &str); 6] = [
    ("cudaHostAlloc", "hipHostMalloc"),
    ("cuLaunchKernelEx", "hipExtModuleLaunchKernel"),
    ("cuLaunchKernel", "hipModuleLaunchKernel"),
    ("cudaLaunchKernelExC", "hipExtLaunchKernel"),
    ("cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain"),
    ("cudaMemcpy", "hipMemcpyWithStream"),
];

fn in_hip(name: &str) -> String {
    let other = OTHER_NAMES.iter().find(|(cuda, _)| *cuda == name);
    let bare = || name.strip_prefix("cuda").or_else(|| name.strip_prefix("cu")).unwrap();
    other.map_or_else(|| format!("hip{}", bare()), |(_, hip)| (*hip).to_owned())
}

/// With HIP's names; returns them beside CUDA's, the longest first.
fn renamed(trace: &mut Trace) -> Vec<(String, String)> {
    let names: BTreeSet<_> = trace.calls.name.iter().copied().collect();
    let mut pairs = Vec::new();
    for name in names {
        let cuda = trace.strings.text(name).to_owned();
        let hip = in_hip(&cuda);
        let new = trace.strings.intern(&hip);
        trace.calls.name.iter_mut().filter(|call| **call == name).for_each(|call| *call = new);
        pairs.push((hip, cuda));
    }
    pairs.sort_by_key(|(hip, _)| std::cmp::Reverse(hip.len()));
    let all = pairs.len();
    pairs.dedup_by(|a, b| a.0 == b.0);
    assert_eq!(pairs.len(), all, "two calls of CUDA have one name of HIP: {pairs:?}");
    pairs
}

#[test]
fn the_same_document() {
    let mut different = Vec::new();
    for planted in truth() {
        let mut trace = recorded(&planted.program);
        let cuda = serde_json::to_string_pretty(&analyze(&trace, &Options::default())).unwrap();
        let pairs = renamed(&mut trace);
        let mut hip = serde_json::to_string_pretty(&analyze(&trace, &Options::default())).unwrap();
        for (hip_name, cuda_name) in &pairs {
            hip = hip.replace(hip_name, cuda_name);
        }
        if hip != cuda {
            let first = cuda.lines().zip(hip.lines()).find(|(cuda, hip)| cuda != hip);
            different.push(format!("{}: {first:?}", planted.program));
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}
