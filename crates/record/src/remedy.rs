//! What to do about each cause: all advice in one place.

use crate::cause::Cause;
use crate::tool::Tool;

/// What to do when a capture by this tool ended with this cause. None if there is nothing to do, or only
/// the verdict can tell.
pub fn remedy(tool: Tool, cause: Cause) -> Option<&'static str> {
    match tool {
        Tool::Nsys => nsys(cause),
        Tool::Ncu => ncu(cause),
        Tool::Torch => torch(cause),
        Tool::Tracer => tracer(cause),
        Tool::Sampler => sampler(cause),
    }
}

fn nsys(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::NotInstalled => "install Nsight Systems, or set `nsys.path` or RANGEFINDER_NSYS to its `nsys`",
        Cause::ToolBroken => "reinstall it, or set `nsys.path` to another",
        Cause::Refused => {
            "correct the setting behind it (`nsys.trace`, `nsys.nvtx_domain_include`, `nsys.extra_args`, …); \
            nsys/cmd.txt has the whole command"
        }
        Cause::NotPermitted => {
            "lower /proc/sys/kernel/perf_event_paranoid to 1, allow GPU counters for all users, or run as \
            root; or turn sampling off (`nsys.sample=none`)"
        }
        Cause::WorkloadFailed => {
            "read the workload's output in nsys/stderr.log: it may not work under a profiler"
        }
        Cause::ReportUnreadable | Cause::ExportFailed => {
            "the raw report was kept: try another nsys \
        version on it"
        }
        Cause::NotSupported => "use a newer nsys",
        Cause::WrongDomain => "name the domain: NAME@DOMAIN",
        Cause::GateNeverOpened => {
            "rehearse (`rehearsal.enable=true`) to find out why, or record without a gate"
        }
        other => return anywhere(other),
    })
}

fn ncu(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::NotInstalled => "install Nsight Compute, or set `ncu.path` or RANGEFINDER_NCU to its `ncu`",
        Cause::ToolBroken => "reinstall it, or set `ncu.path` to another",
        Cause::Refused => "check `ncu.extra_args` and ncu/cmd.txt",
        Cause::NotPermitted => {
            "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run as root; in a container, add \
             CAP_SYS_ADMIN"
        }
        Cause::WorkloadFailed => {
            "read the workload's output in ncu/stderr.log: it may not work when its kernels are replayed"
        }
        Cause::ReportUnreadable | Cause::ExportFailed => "the raw report was kept: try `ncu --import` on it",
        Cause::NotSupported => "install a newer Nsight Compute, or use `ncu.replay_mode=kernel`",
        Cause::WrongDomain => "name the domain: DOMAIN@NAME/",
        Cause::GateNeverOpened => {
            "rehearse (`rehearsal.enable=true`) to find out why, or measure without a gate"
        }
        Cause::CountVaries => {
            "the program may do less work in some runs; measure what is missing separately \
            (`ncu.nvtx_include`, `--plan`)"
        }
        other => return anywhere(other),
    })
}

fn torch(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::WorkloadFailed | Cause::TimedOut => {
            "read the workload's output in workload/stage1/stderr.log: it may not work under a profiler"
        }
        Cause::NothingRecorded => "if the program does not use torch, skip this pass: `stage1.enable=false`",
        Cause::CuptiInUse => {
            "turn the other profiler off in this pass (where RANGEFINDER_PASS is `stage1`), or set \
            `stage1.enable=false`"
        }
        Cause::ReportUnreadable | Cause::ExportFailed => {
            "the trace was kept in stage1/: the program may have ended while it was being written"
        }
        other => return anywhere(other),
    })
}

fn tracer(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::ToolBroken => {
            "set RANGEFINDER_CUPTI to another libcupti; `rangefinder doctor` shows which one is used"
        }
        Cause::RecordsLost => "a shorter run loses less; `rangefinder doctor` shows which libcupti is used",
        other => return anywhere(other),
    })
}

fn sampler(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::NotInstalled => {
            "install CUPTI 12.6 or newer (it comes with the CUDA toolkit, and with PyTorch), or set \
            RANGEFINDER_CUPTI to its libcupti"
        }
        Cause::NotSupported => "install CUPTI 12.6 or newer, or set RANGEFINDER_CUPTI to one",
        Cause::NotPermitted => {
            "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run as root; in a container, add \
             CAP_SYS_ADMIN"
        }
        Cause::UnsupportedChip => {
            "nothing on this GPU: a part of a GPU (MIG), or one that a virtual machine shares, has no counters over \
             time; for a GPU newer than the library, install a newer CUPTI"
        }
        Cause::RecordsLost => "take fewer samples: `counters.interval=1ms`",
        Cause::ToolBroken => {
            "run it again; if that happens every time, `counters.enable=false` leaves it out"
        }
        Cause::NothingRecorded => "run it again, or leave it out: `counters.enable=false`",
        other => return anywhere(other),
    })
}

/// Advice that holds for every tool. Every cause is listed, so that a new one cannot be forgotten.
fn anywhere(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::NotInstalled => "install it; `rangefinder doctor` shows what is missing",
        Cause::ToolBroken => "`rangefinder doctor` shows its error",
        Cause::Refused => "check the command in cmd.txt",
        Cause::WrongDomain => "name the domain as well",
        Cause::UnregisteredString => {
            "let the rehearsal correct the gate (`rehearsal.enable=true`, `nsys.strict=false`), or set \
             `nsys.extra_args=[--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0]`"
        }
        Cause::GateCannotOpen => {
            "let the rehearsal correct the gate (`rehearsal.enable=true`, `nsys.strict=false`), or record without one"
        }
        Cause::GateNeverOpened => "rehearse (`rehearsal.enable=true`) to find out why",
        Cause::PathNotTaken => {
            "check the workload's output: empty input, no tokens to generate, an early exit?"
        }
        Cause::ClientNotSeen => {
            "compare nsys/stdout.log with workload/rehearsal/stdout.log: did the program do less in this pass? If not, this \
            nsys does not see its NVTX client: use a newer nsys (2025 sees every one), or Python nvtx 0.2.8"
        }
        Cause::RecordsLost => {
            "record less (a gate, fewer entries in `nsys.trace`, a shorter run), or use a newer nsys"
        }
        Cause::NothingRecorded => {
            "check the command: does it use CUDA or NVTX, itself or in a process that it starts?"
        }
        Cause::ImporterNotFound | Cause::ImporterBroken => {
            "install what is missing, or set RANGEFINDER_LIBRARY_PATH to a folder that has it; the `.qdstrm` was kept, and `rangefinder analyze` can read it on any machine with the same nsys and its importer"
        }
        Cause::AgentLost => "do not run another nsys on this machine at the same time",
        Cause::CuptiInUse => {
            "turn the workload's own profiler off in this pass (RANGEFINDER_PASS names the pass)"
        }
        Cause::NotPermitted => "run as a user with permission to read the GPU's counters",
        Cause::UnsupportedDriver => "use an nsys as new as the driver",
        Cause::WorkloadFailed => "read the workload's output: it may not work under a profiler",
        Cause::TimedOut => "raise `workload.timeout`: programs run slower under a profiler",
        Cause::EndedTooSoon => "shorten `capture.delay`",
        Cause::DiskFull => "free some space or record less",
        Cause::ExportFailed | Cause::ReportUnreadable => "the raw report was kept",
        Cause::NoGpu => {
            "run it on a machine with an NVIDIA GPU and driver; in a container, pass the GPU through"
        }
        Cause::NoKernels => "check the workload's output: does it use the GPU at all?",
        Cause::WrongKind => "write NAME/ for a push/pop range and NAME for a start/end range",
        Cause::FewerMeasured => {
            "measure what is missing separately (`ncu.nvtx_include`, `--plan`); if the program differs \
            from run to run, fix its seeds and inputs"
        }
        Cause::NoSuchKernel => "look up the name in kernels.md, or drop `ncu.kernel_include`",
        Cause::SkippedAll => {
            "the program launched fewer kernels than in the rehearsal: run it again, or name the kernels \
            (`--plan`)"
        }
        Cause::NoContext => {
            "use the GPU once before the range opens (a warm-up), or measure kernel by kernel: \
            `ncu.replay_mode=kernel`"
        }
        Cause::UnsupportedCall => "measure kernel by kernel: `ncu.replay_mode=kernel`",
        Cause::RangeNotClosed => "close the range before the program ends",
        Cause::LockFile => {
            "delete the lock file if nobody else is measuring, or set TMPDIR to a folder of your own"
        }
        Cause::DeviceBusy => {
            "stop the other reader of the counters: another ncu, DCGM (`dcgmi profile --pause`), a \
            monitoring agent"
        }
        Cause::ReplayDiverged => {
            "make the program do the same in every run (seeds, inputs, no autotuning), or use \
            `ncu.replay_mode=kernel`"
        }
        Cause::OutOfMemory => {
            "each replay saves what the kernel writes: use `ncu.replay_mode=application`, or a smaller input"
        }
        Cause::UnsupportedChip => "use an ncu as new as the GPU",
        Cause::BudgetSpent => "raise `ncu.budget`, or measure less (`ncu.sections`, `ncu.top_kernels`)",
        Cause::NotSupported => "use a newer version",
        Cause::ToolError => "its error is quoted; the full log is next to its command",
        Cause::NotStarted
        | Cause::NoSuchRange
        | Cause::CountVaries
        | Cause::RehearsalWasBlind
        | Cause::EndedAfterRange
        | Cause::Interrupted
        | Cause::NoReport => return None,
    })
}

/// Advice for situations that the cause alone does not distinguish.
pub mod advice {
    pub const USE_A_LISTED_RANGE: &str = "use an existing range: `rangefinder ranges` lists them";
    pub const CALL_THE_PROFILER_API: &str =
        "call cudaProfilerStart and cudaProfilerStop around what matters, or gate on a range";
    /// The rehearsal saw the range, but nsys did not.
    pub const RECORD_WITHOUT_A_GATE: &str =
        "this nsys does not see the range, or the program did not reach it: record without a gate";
    pub const APPLICATION_REPLAY_TAKES_LONG: &str =
        "raise `ncu.budget`, measure less (`-p ncu.quick`), or use `ncu.replay_mode=kernel`";

    /// A setting points to a place where the tool is not; `undo` says how to be rid of the setting.
    pub fn correct_path(setting: impl std::fmt::Display, undo: &str) -> String {
        format!("correct {setting}, or {undo} it to use the newest version that is found")
    }

    /// Not all launches fit the budget; this budget would be enough.
    pub fn enough_budget(seconds_each: f64, launches: u64, budget: &str) -> String {
        format!(
            "each launch took {seconds_each:.1} s: all {launches} need about `ncu.budget={budget}`; or \
            measure less (`ncu.sections`, `ncu.top_kernels`)"
        )
    }

    /// The gate matches no range in the report, which has these.
    pub fn ranges_in_report(listed: Option<&str>) -> String {
        match listed {
            Some(listed) => format!("gate on a range that is in the report: {listed}"),
            None => "record without a gate: the report contains no ranges".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_the_tool_that_failed() {
        let wrong = [(Tool::Torch, "nsys"), (Tool::Ncu, "try another nsys"), (Tool::Torch, "ncu.")];
        for (tool, name) in wrong {
            for cause in [Cause::ReportUnreadable, Cause::WorkloadFailed, Cause::NothingRecorded] {
                let text = remedy(tool, cause).unwrap_or_default();
                assert!(!text.contains(name), "{tool}, {cause}: {text}");
            }
        }
    }

    #[test]
    fn most_causes_have_a_remedy() {
        for tool in Tool::ALL {
            let without = Cause::ALL.iter().filter(|cause| remedy(tool, **cause).is_none()).count();
            assert!(without <= 7, "{tool}: {without} causes have no remedy");
        }
    }
}
