//! Log messages of nsys and its importer, and what they mean.

use std::collections::HashSet;

use record::Cause;

use crate::clue::Clue;

/// CUPTI's error for a second client.
pub(super) const REFUSED_BY_CUPTI: &str = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";

/// Texts in a log line, and what they mean. The texts are nsys's own, and PyTorch's for a second CUPTI
/// client.
const SIGNS: [(&str, Cause); 19] = [
    ("Connection to Agent lost", Cause::AgentLost),
    ("Connection to the Agent lost", Cause::AgentLost),
    ("Local Endpoint is not available.", Cause::AgentLost),
    // It waits for the program with a semaphore, which may already be gone.
    ("ProcessWaiterImpl", Cause::AgentLost),
    ("Errors occurred while processing the raw events", Cause::RecordsLost),
    ("events might have been collected", Cause::RecordsLost),
    (") were lost", Cause::RecordsLost),
    ("sampling not supported, disabling", Cause::NotPermitted),
    ("context switch tracing not supported, disabling", Cause::NotPermitted),
    ("requires root privileges or a paranoid level", Cause::NotPermitted),
    ("ERR_NVGPUCTRPERM", Cause::NotPermitted),
    ("does not have permission to access NVIDIA GPU Performance Counters", Cause::NotPermitted),
    (REFUSED_BY_CUPTI, Cause::CuptiInUse),
    ("Another profiling session appears to be active", Cause::CuptiInUse),
    ("is not supported by this build of Nsight Systems", Cause::UnsupportedDriver),
    ("No space left on device", Cause::DiskFull),
    // It crashes while growing a file.
    ("QuadDCommon::FileStream::truncate", Cause::DiskFull),
    ("unrecognised option", Cause::Refused),
    ("Illegal --", Cause::Refused),
];

/// Every cause in the log, once each, in order. The same log has the workload's output: lines that it also
/// wrote without nsys are not from nsys.
pub fn clues(log: &str, own: &str) -> Vec<Clue> {
    let own: HashSet<&str> = own.split(['\n', '\r']).map(str::trim).collect();
    // Progress bars return to the start of their line.
    let lines = log.split(['\n', '\r']).map(str::trim).filter(|line| !own.contains(line));
    Clue::in_lines(lines, |line| match line {
        "End of file" => Some(Cause::AgentLost),
        line => SIGNS.iter().find(|(sign, _)| line.contains(sign)).map(|(_, cause)| *cause),
    })
}

/// nsys lost the connection to its agent, a process of its own that does the recording, and
/// gave up with exit code 1 or 0: this says nothing about the workload, which may or may not
/// have run.
///
/// Seen in 5 of 360 captures of 2022.4.2 and 2023.4.4 when six ran at once on two
/// cores, and in none of 150 that ran one at a time on a machine just as busy.
pub fn lost_its_agent(log: &str, own: &str) -> bool {
    clues(log, own).iter().any(|clue| clue.cause == Cause::AgentLost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_from_what_was_printed() {
        for (log, cause) in [
            ("End of file\n", Cause::AgentLost),
            (
                "Connection to Agent lost. This is most likely a bug. Internal reason: 'Connection reset \
                by peer'.\n",
                Cause::AgentLost,
            ),
            ("Connection to the Agent lost.\n", Cause::AgentLost),
            (
                "ProcessWaiterImpl.cpp(166): Throw in function \
                QuadDCommon::ProcessWaiter::ProcessWaiterImpl::ProcessWaiterImpl(QuadDCommon::ProcessId, \
                bool)\n",
                Cause::AgentLost,
            ),
            (
                "std::exception::what: RuntimeException\n[QuadDCommon::tag_message*] = Local Endpoint is \
                not available.\n",
                Cause::AgentLost,
            ),
            (
                "[1/1] [0%   ] run.nsys-rep\r**** Errors occurred while processing the raw events. ****\n",
                Cause::RecordsLost,
            ),
            (
                "WARNING: CPU IP/backtrace sampling not supported, disabling.\nTry the 'nsys status \
                --environment'",
                Cause::NotPermitted,
            ),
            ("Not all CUDA events might have been collected.", Cause::RecordsLost),
            ("unrecognised option '--no-such-option'", Cause::Refused),
            (
                "Illegal --trace argument 'foo'.\nPossible --trace values are one or more of 'cuda'",
                Cause::Refused,
            ),
        ] {
            let found = clues(log, "");
            assert_eq!(clues(log, log), []);
            assert_eq!(found.iter().map(|clue| clue.cause).collect::<Vec<_>>(), [cause], "{log}");
        }
        assert_eq!(clues("Generated:\n    /tmp/End of file.nsys-rep\n", ""), []);
        assert_eq!(clues("FlashAttention is not supported by this build of PyTorch", ""), []);
    }
}
