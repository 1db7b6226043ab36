//! ncu's log messages, and what they mean.

use record::Cause;

use crate::clue::Clue;

/// Texts in a log line, and what they mean. The texts are ncu's own, and PyTorch's for a second CUPTI client.
const SIGNS: [(&str, Cause); 28] = [
    ("ERR_NVGPUCTRPERM", Cause::NotPermitted),
    ("does not have permission to access NVIDIA GPU Performance Counters", Cause::NotPermitted),
    ("driver resource was unavailable", Cause::DeviceBusy),
    ("Unsupported API during capture", Cause::UnsupportedCall),
    ("Cannot capture API call for CUDA event recorded outside the range", Cause::UnsupportedCall),
    ("No context is current on this thread", Cause::NoContext),
    ("Could not query the context (CUDA not initialized)", Cause::NoContext),
    ("Failed to end range", Cause::RangeNotClosed),
    ("Profiling is not supported on", Cause::UnsupportedChip),
    ("Unsupported architecture", Cause::UnsupportedChip),
    ("unsupported architecture", Cause::UnsupportedChip),
    ("UnsupportedGpu", Cause::UnsupportedChip),
    ("Out of memory", Cause::OutOfMemory),
    ("OutOfMemory", Cause::OutOfMemory),
    ("Failed to save context state", Cause::OutOfMemory),
    ("Failed to save cuda memory checkpoint", Cause::OutOfMemory),
    ("Application replay requires that the execution", Cause::ReplayDiverged),
    ("Unexpected number of profiled kernels", Cause::ReplayDiverged),
    ("Inconsistent number of profiled kernels", Cause::ReplayDiverged),
    ("failed to connect to the CUDA driver", Cause::NoGpu),
    ("match only start/end ranges", Cause::WrongKind),
    ("Failed to open/create lock file", Cause::LockFile),
    ("InterprocessLockFailed", Cause::LockFile),
    ("ERR_NVCMPGPU", Cause::UnsupportedChip),
    ("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", Cause::CuptiInUse),
    ("No space left on device", Cause::DiskFull),
    ("did not match any section", Cause::Refused),
    ("unrecognised option", Cause::Refused),
];

/// Every cause that ncu reports, once each, in order: from its own log, or from the output, which also has
/// the workload's lines, so that only marked lines count.
pub fn clues(log: &str, printed: &str) -> Vec<Clue> {
    let marked = |line: &&str| {
        let by_ncu = line.starts_with("==ERROR==") || line.starts_with("==WARNING==");
        // Option errors come before ncu marks its lines, and CUPTI errors come from PyTorch.
        by_ncu || line.starts_with("unrecognised option") || line.contains("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS")
    };
    let lines = log.lines().map(str::trim).chain(printed.lines().map(str::trim).filter(marked));
    Clue::in_lines(lines, |line| SIGNS.iter().find(|(sign, _)| line.contains(sign)).map(|(_, cause)| *cause))
}

/// An ncu error with no known cause.
pub fn unknown_error(log: &str) -> Option<&str> {
    let mut errors = log.lines().map(str::trim).filter_map(|line| line.strip_prefix("==ERROR=="));
    errors.find(|error| !error.contains("The application returned an error code")).map(str::trim)
}

/// What ncu prints when it has found the first launch to measure.
pub const FIRST_LAUNCH: &str = "==PROF== Profiling ";

/// The call that could not be replayed, from ncu's message.
pub fn unsupported_call(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("during capture (")?;
    rest.split(')').next().filter(|name| !name.is_empty())
}

/// ncu's progress: `==PROF== Profiling "gemm" - 3: 0%....50%....100% - 10 passes`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Launches or ranges that were started.
    pub begun: u64,
    pub done: u64,
    /// Passes of the last one.
    pub passes: Option<u32>,
}

pub fn progress(log: &str) -> Progress {
    let mut progress = Progress::default();
    for line in log.lines().filter(|line| line.starts_with(FIRST_LAUNCH)) {
        progress.begun += 1;
        let Some((_, end)) = line.rsplit_once(" - ") else { continue };
        let passes = end.strip_suffix("passes").or_else(|| end.strip_suffix("pass"));
        if let Some(passes) = passes.and_then(|passes| passes.trim().parse().ok()) {
            progress.done += 1;
            progress.passes = Some(passes);
        }
    }
    progress
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_from_what_was_printed() {
        let causes = |log: &str| clues(log, "").into_iter().map(|clue| clue.cause).collect::<Vec<_>>();
        let log = "==PROF== Connected to process 12 (/usr/bin/python3)\n==ERROR== Unsupported API during \
        capture (cuKernelSetAttribute)\n==ERROR== An error was reported by the driver\n";
        assert_eq!(causes(log), [Cause::UnsupportedCall]);
        assert_eq!(unsupported_call(&clues(log, "")[0].line), Some("cuKernelSetAttribute"));
        let log = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU \
        Performance Counters on the target device 0.";
        assert_eq!(causes(log), [Cause::NotPermitted]);
        let log = "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no \
        other tool (like DCGM) is concurrently collecting profiling data.";
        assert_eq!(causes(log), [Cause::DeviceBusy]);
        let log = "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this \
        process has write permissions on this file.";
        assert_eq!(causes(log), [Cause::LockFile]);
        assert_eq!(causes("==WARNING== No kernels were profiled.\n"), []);
        let log = "==WARNING== Note that specified NVTX include expressions match only start/end ranges.";
        assert_eq!(causes(log), [Cause::WrongKind]);
        // The workload may say what it likes.
        assert_eq!(clues("", "triton: warning: unsupported architecture\nRuntimeError: Out of memory\n"), []);
        assert_eq!(clues("", "==ERROR== Out of memory.\n")[0].cause, Cause::OutOfMemory);
        let log =
            "==ERROR== Unknown Error on device 0.\n==ERROR== The application returned an error code (9).";
        assert_eq!(unknown_error(log), Some("Unknown Error on device 0."));
        assert_eq!(unknown_error("==ERROR== The application returned an error code (9)."), None);
    }

    #[test]
    fn how_far_it_is() {
        let log = "==PROF== Connected to process 9\n==PROF== Profiling \"a - b\" - 0: 0%....50%....100% - \
        10 passes\n==PROF== Profiling \"c\" - 1: 0%....50%";
        assert_eq!(progress(log), Progress { begun: 2, done: 1, passes: Some(10) });
    }
}
