//! What a CUDA call does, judged by its name.

/// It waits for a device: `cudaStreamSynchronize_v3020`, `cuCtxSynchronize`, and the like.
pub(crate) fn synchronises(call: &str) -> bool {
    call.contains("Synchronize")
}

/// A copy that the caller waits for: `cudaMemcpy`, `cuMemcpyDtoH`, but not `…Async`.
pub(crate) fn copies(call: &str) -> bool {
    (call.contains("Memcpy") || call.contains("Memset")) && !call.contains("Async")
}
