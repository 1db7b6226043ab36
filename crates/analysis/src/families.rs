//! Families of kernels, told by their names.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// The first that fits counts. Letters of either case.
const KNOWN: [(&str, &str); 12] = [
    ("communication", r"nccl|nvshmem|all_?reduce|all_?gather|reduce_?scatter"),
    ("attention", r"flash|fmha|attention|attn|mha_|paged|splitkv|mla_"),
    ("gemm", r"gemm|gemv|cutlass|cublas|xmma|wgmma|matmul|s16816|sgemm|hgemm|nvjet|splitk|_mm_|dot_kernel"),
    ("convolution", r"conv_|conv\d|convolution|convolve|fprop|dgrad|wgrad|cudnn|winograd|implicit_precomp"),
    ("norm", r"layer_?norm|rms_?norm|batch_?norm|group_?norm|norm_kernel"),
    ("softmax", r"softmax"),
    ("embedding", r"embedding|indexselect|index_select|gather|scatter|rope|rotary"),
    ("sort", r"sort|topk|top_k|radix|argmax|multinomial|sampling|sample_token|token_sampl"),
    ("reduce", r"reduce|reduction|cumsum|scan|sum_kernel|mean_kernel"),
    ("copy", r"copy|memcpy|memset|fill|cat_?array|transpose|permute|contiguous|direct_copy"),
    ("elementwise", r"elementwise|vectorized|pointwise|unrolled|activation|silu|gelu|relu|triton_poi"),
    ("optimizer", r"adam|sgd|multi_tensor|optim"),
];
const OTHER: &str = "other";

/// Patterns and the names they give.
#[derive(Debug, Clone)]
pub struct Families {
    set: RegexSet,
    names: Vec<String>,
}

impl Default for Families {
    fn default() -> Self {
        // Ours are valid, so nothing is left out. Compiled once: that takes a while.
        static OURS: LazyLock<Families> = LazyLock::new(|| {
            Families::with(&[]).unwrap_or_else(|_| Families { set: RegexSet::empty(), names: Vec::new() })
        });
        OURS.clone()
    }
}

impl Families {
    /// Families of one's own, which come before ours: name and regular expression.
    pub fn with(own: &[(String, String)]) -> Result<Self, String> {
        for (name, pattern) in own {
            Regex::new(pattern).map_err(|error| format!("family `{name}`: {error}"))?;
        }
        let own = own.iter().map(|(name, pattern)| (name.as_str(), pattern.as_str()));
        let all: Vec<(&str, &str)> = own.chain(KNOWN).collect();
        let set = RegexSet::new(all.iter().map(|(_, pattern)| format!("(?i){pattern}")))
            .map_err(|error| error.to_string())?;
        Ok(Self { set, names: all.into_iter().map(|(name, _)| name.to_owned()).collect() })
    }

    pub(crate) fn index_of(&self, kernel: &str) -> usize {
        self.set.matches(kernel).into_iter().next().unwrap_or(self.names.len())
    }

    pub(crate) fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or(OTHER, String::as_str)
    }

    /// Which family a kernel belongs to.
    pub fn of(&self, kernel: &str) -> &str {
        self.name(self.index_of(kernel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name() {
        let families = Families::default();
        for (kernel, family) in [
            ("ncclDevKernel_AllReduce_Sum_f16_RING_LL", "communication"),
            ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", "gemm"),
            ("void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>", "attention"),
            ("void at::native::vectorized_elementwise_kernel<4, MulFunctor<float>>", "elementwise"),
            ("void (anonymous namespace)::softmax_warp_forward<float>", "softmax"),
            ("fused_rms_norm_kernel", "norm"),
            ("my_kernel(float*)", "other"),
        ] {
            assert_eq!(families.of(kernel), family, "{kernel}");
        }
        let own = Families::with(&[("mine".to_owned(), "^my_".to_owned())]).unwrap();
        assert_eq!(own.of("my_kernel(float*)"), "mine");
        assert!(Families::with(&[("bad".to_owned(), "(".to_owned())]).is_err());
    }
}
