//! What to do about a cause: all the advice there is, in one place.

use crate::cause::Cause;
use crate::tool::Tool;

/// What to do when a capture by this tool came to this. None where there is nothing to do, or where only
/// the verdict knows what.
pub fn remedy(tool: Tool, cause: Cause) -> Option<&'static str> {
    match tool {
        Tool::Nsys => nsys(cause),
        Tool::Ncu => ncu(cause),
        Tool::Torch => torch(cause),
        Tool::Tracer => tracer(cause),
    }
}

fn nsys(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::NotInstalled => {
            "install Nsight Systems, or point to its `nsys` with `nsys.path` or RANGEFINDER_NSYS"
        }
        Cause::ToolBroken => {
            "reinstall it, or point to another with `nsys.path`; `rangefinder doctor` shows what it says"
        }
        Cause::Refused => "check `nsys.extra_args` and nsys/cmd.txt",
        Cause::NotPermitted => {
            "lower /proc/sys/kernel/perf_event_paranoid to 1, allow GPU counters for all users, or run as root; or do \
             not ask for it (`nsys.sample=none`)"
        }
        Cause::WorkloadFailed => {
            "read the workload's output in nsys/stderr.log: it may not work under a profiler"
        }
        Cause::ReportUnreadable | Cause::ExportFailed => "the raw report was kept: try another nsys on it",
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
        Cause::NotInstalled => {
            "install Nsight Compute, or point to its `ncu` with `ncu.path` or RANGEFINDER_NCU"
        }
        Cause::ToolBroken => {
            "reinstall it, or point to another with `ncu.path`; `rangefinder doctor` shows what it says"
        }
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
            "the program may do less from run to run; measure what is missing by itself (`ncu.nvtx_include`, `--plan`)"
        }
        other => return anywhere(other),
    })
}

fn torch(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::WorkloadFailed | Cause::TimedOut | Cause::Interrupted => {
            "read the workload's output in workload/stage1/stderr.log: it may not work under a profiler"
        }
        Cause::NothingRecorded => {
            "a program that does nothing with torch does not need this pass: `stage1.enable=false`"
        }
        Cause::CuptiInUse => {
            "switch it off in this pass (RANGEFINDER_PASS is `stage1` in it), or set `stage1.enable=false`"
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
            "point to another with RANGEFINDER_CUPTI; `rangefinder doctor` shows which libcupti is used"
        }
        Cause::RecordsLost => "a shorter run loses less; `rangefinder doctor` shows which libcupti is used",
        other => return anywhere(other),
    })
}

/// What helps whichever tool it was. Every cause is listed, so that a new one cannot be forgotten.
fn anywhere(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::NotInstalled => "install it; `rangefinder doctor` shows what is missing",
        Cause::ToolBroken => "`rangefinder doctor` shows what it says",
        Cause::Refused => "check the command in cmd.txt",
        Cause::WrongDomain => "name the domain as well",
        Cause::UnregisteredString => {
            "let the rehearsal correct the gate (`nsys.strict=false`), or add \
             --env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0"
        }
        Cause::GateCannotOpen => {
            "let the rehearsal correct the gate, or record without one: `nsys.strict=false`"
        }
        Cause::GateNeverOpened => "rehearse (`rehearsal.enable=true`) to find out why",
        Cause::PathNotTaken => {
            "look at the workload's own output: an empty input, no token to generate, an early exit?"
        }
        Cause::ClientNotSeen => {
            "use a newer nsys (2025 sees every NVTX), or an older NVTX client (Python nvtx 0.2.8)"
        }
        Cause::RecordsLost => {
            "record less: a gate, fewer kinds of `nsys.trace`, a shorter run; or use a newer nsys"
        }
        Cause::NothingRecorded => "the program uses neither NVTX nor CUDA, or this tool sees neither in it",
        Cause::ImporterNotFound | Cause::ImporterBroken => {
            "install what is missing, or name a folder that has it with RANGEFINDER_LIBRARY_PATH; the `.qdstrm` was \
             kept, and `rangefinder analyze` reads it on any machine with the same nsys and its importer"
        }
        Cause::AgentLost => "run no other nsys on this machine at the same time",
        Cause::CuptiInUse => {
            "switch the workload's own profiler off in this pass (RANGEFINDER_PASS says which pass it is)"
        }
        Cause::NotPermitted => "run as a user who may read the GPU's counters",
        Cause::UnsupportedDriver => "use an nsys that is as new as the driver",
        Cause::WorkloadFailed => "read the workload's output: it may not work under a profiler",
        Cause::TimedOut => "give it more time (`workload.timeout`): everything takes longer under a profiler",
        Cause::DiskFull => "free some space, or record less",
        Cause::ExportFailed | Cause::ReportUnreadable => "the raw report was kept",
        Cause::NoGpu => {
            "run it where there is an NVIDIA GPU with its driver; in a container, pass the GPU in"
        }
        Cause::NoKernels => "look at the workload's output: does it use the GPU at all?",
        Cause::WrongKind => "write NAME/ for a push/pop range and NAME for a start/end range",
        Cause::FewerMeasured => {
            "measure what is missing by itself (`ncu.nvtx_include`, `--plan`); if the program does not do the same in \
             every run, fix its seeds and inputs"
        }
        Cause::NoSuchKernel => "look up its name in kernels.md, or leave `ncu.kernel_include` out",
        Cause::SkippedAll => {
            "the program launched fewer kernels than in its rehearsal: run it again, or name the kernels (`--plan`)"
        }
        Cause::NoContext => {
            "use the GPU once before the range opens (a warm-up), or measure kernel by kernel: `ncu.replay_mode=kernel`"
        }
        Cause::UnsupportedCall => "measure kernel by kernel: `ncu.replay_mode=kernel`",
        Cause::RangeNotClosed => "close the range before the program ends",
        Cause::DeviceBusy => {
            "stop whatever else reads the counters: another ncu, DCGM (`dcgmi profile --pause`), a monitoring agent"
        }
        Cause::ReplayDiverged => {
            "make the program do the same in every run (seeds, inputs, no autotuning), or use `ncu.replay_mode=kernel`"
        }
        Cause::OutOfMemory => {
            "each replay saves what the kernel writes: use `ncu.replay_mode=application`, or a smaller input"
        }
        Cause::UnsupportedChip => "use an ncu that is as new as the GPU",
        Cause::BudgetSpent => {
            "give it more time (`ncu.budget`), or ask for less (`ncu.sections`, `ncu.top_kernels`)"
        }
        Cause::NotSupported => "use a newer one",
        Cause::ToolError => "its error is quoted; its whole log was kept beside its command",
        Cause::NotStarted
        | Cause::NoSuchRange
        | Cause::CountVaries
        | Cause::RehearsalWasBlind
        | Cause::EndedAfterRange
        | Cause::Interrupted
        | Cause::NoReport => return None,
    })
}

/// Advice for situations that a cause alone does not tell apart.
pub mod advice {
    pub const USE_A_LISTED_RANGE: &str = "use one of the ranges that exist: `rangefinder ranges` lists them";
    pub const CALL_THE_PROFILER_API: &str =
        "call cudaProfilerStart and cudaProfilerStop around what matters, or gate on a range";
    /// The rehearsal saw the range, and nsys did not.
    pub const RECORD_WITHOUT_A_GATE: &str =
        "this nsys does not see the range, or the program did not reach it: record without a gate";
    pub const APPLICATION_REPLAY_TAKES_LONG: &str =
        "give it more time (`ncu.budget`), measure less (`-p ncu.quick`), or use `ncu.replay_mode=kernel`";

    /// Not all launches fitted the budget; this one would have.
    pub fn enough_budget(seconds_each: f64, launches: u64, budget: &str) -> String {
        format!(
            "a launch took {seconds_each:.1} s here: all {launches} need about `ncu.budget={budget}`; or ask for less \
             (`ncu.sections`, `ncu.top_kernels`)"
        )
    }

    /// The gate means no range of the report, which has these.
    pub fn ranges_in_report(listed: Option<&str>) -> String {
        match listed {
            Some(listed) => format!("the ranges in the report: {listed}"),
            None => "there is no range in the report at all".to_owned(),
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
