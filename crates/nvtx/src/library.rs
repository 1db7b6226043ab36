//! Domains in which libraries open ranges, wherever a program calls them.

/// As their sources name them; nsys names the last three itself. Upper and lower case do not count.
const LIBRARIES: [&str; 28] = [
    "CCCL",
    "CUB",
    "Thrust",
    "NCCL",
    "com.nvidia.nccl.proxy",
    "cuBLAS",
    "cuBLASLt",
    "cuDNN",
    "cuFFT",
    "cuRAND",
    "cuSOLVER",
    "cuSPARSE",
    "cuSPARSELt",
    "cuTENSOR",
    "DALI",
    "TensorRT",
    "libcudf",
    "cudf_python",
    "libkvikio",
    "librmm",
    "libxgboost",
    "nvJPEG",
    "TSL",
    "xprof",
    "NVSHMEM",
    "OpenSHMEM",
    "UCX",
    "MPI",
];

/// Whether the ranges of a domain are a library's and not the program's own. The default domain is the program's,
/// whatever a library puts into it.
pub fn is_library(domain: &str) -> bool {
    LIBRARIES.iter().any(|library| library.eq_ignore_ascii_case(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_the_name_of_the_domain() {
        assert!(["CCCL", "NCCL", "cublas", "cuDNN", "cuSPARSE", "thrust"].into_iter().all(is_library));
        assert!(!["", "LLM", "CCCL2", "my NCCL", "model"].into_iter().any(is_library));
    }
}
