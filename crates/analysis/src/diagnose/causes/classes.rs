//! What kernels are, by their names, and what some of them take together.

use std::collections::HashMap;

use super::super::case::Case;
use crate::replay::Work;

/// Of shorter ones it is the launching that takes the time.
pub(super) const LONG_ENOUGH: i64 = 8_000;

/// What a kernel is, as far as its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in super::super) enum Class {
    /// A matrix product on tensor cores, attention, a convolution.
    Product,
    /// A matrix product in FP32 that does not use them.
    PlainProduct,
    /// A matrix and a vector: every weight is read once.
    MatrixVector,
    Elementwise,
    /// A copy that changes the layout.
    Layout,
    /// Copies, sums, norms: what moves more than it computes.
    Moving,
    Communication,
    Other,
}

impl Class {
    pub(in super::super) fn of(name: &str, family: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        match family {
            "gemm" | "convolution" if has(&["gemv", "dot_kernel"]) => Self::MatrixVector,
            "gemm" | "convolution" if is_plain(&name) => Self::PlainProduct,
            "gemm" | "convolution" | "attention" => Self::Product,
            "elementwise" => Self::Elementwise,
            "copy" if has(&["transpose", "permute", "nchwtonhwc", "nhwctonchw"]) => Self::Layout,
            // PyTorch copies what is contiguous in vectors, and only the rest element by element.
            "copy" if has(&["direct_copy_kernel"]) && has(&["::elementwise_kernel<"]) => Self::Layout,
            "copy" | "norm" | "reduce" | "softmax" | "embedding" | "gather" | "optimizer"
            | "quantization" | "rope" | "kv-cache" => Self::Moving,
            "communication" => Self::Communication,
            _ => Self::Other,
        }
    }
}

/// FP32 on the general pipes.
fn is_plain(name: &str) -> bool {
    let plain = ["sgemm", "ffma", "simt", "gemmsn", "f32f32_f32f32_f32"];
    let tensor = ["tf32", "tensorop", "1688", "16816", "hmma", "wgmma", "gmma", "bf16", "f16_s", "mma_sync"];
    plain.iter().any(|word| name.contains(word)) && !tensor.iter().any(|word| name.contains(word))
}

/// The class of each work; copies and fills have none.
pub(in super::super) fn classes(case: &Case<'_>) -> Vec<Option<Class>> {
    let mut known: HashMap<trace::StringId, Class> = HashMap::new();
    let mut class = |work: &Work| {
        let launch = case.launch(work).filter(|_| work.kernels <= 1)?;
        Some(*known.entry(launch.name).or_insert_with(|| {
            let name = case.trace.strings.text(launch.name);
            Class::of(name, case.families.family_of(name).as_str())
        }))
    };
    case.graph.works.iter().map(&mut class).collect()
}

pub(super) fn total(case: &Case<'_>, works: &[usize]) -> i64 {
    works.iter().map(|at| case.graph.works[*at].duration).sum()
}

/// The region with the most of their time, and the kernel.
pub(super) fn place(case: &Case<'_>, works: &[usize]) -> (Option<u32>, Option<String>) {
    let mut nodes: HashMap<Option<u32>, i64> = HashMap::new();
    let mut kernels: HashMap<trace::StringId, i64> = HashMap::new();
    for work in works.iter().map(|at| &case.graph.works[*at]) {
        *nodes.entry(case.node_of_call[work.call as usize]).or_default() += work.duration;
        if let Some(launch) = case.launch(work) {
            *kernels.entry(launch.short_name).or_default() += work.duration;
        }
    }
    let node = nodes
        .into_iter()
        .max_by_key(|(node, time)| (*time, std::cmp::Reverse(*node)))
        .and_then(|(node, _)| node);
    let kernel = kernels.into_iter().max_by_key(|(name, time)| (*time, std::cmp::Reverse(*name)));
    (node, kernel.map(|(name, _)| case.trace.strings.text(name).to_owned()))
}

pub(super) fn share(case: &Case<'_>, ns: i64) -> String {
    format!("{:.0} %", ns as f64 / (case.graph.measured * case.iterations()).max(1.0) * 100.0)
}
