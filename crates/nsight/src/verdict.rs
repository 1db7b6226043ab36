//! What a capture really was, with its cause and what to do.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// What was wanted is there.
    Captured,
    /// A part of it is.
    Partial,
    /// The tool ran, or need not have, and nothing that was wanted is there.
    Missed,
    /// There is no usable report.
    Failed,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Captured => "captured",
            Self::Partial => "partial",
            Self::Missed => "missed",
            Self::Failed => "failed",
        }
    }
}

/// Why a capture is what it is. With `captured` it explains what looks odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// There is no nsys, or none where it was said to be.
    NotInstalled,
    /// There is one, and it does not answer.
    ToolBroken,
    NotStarted,
    /// nsys did not take the command.
    Refused,
    /// No range is called that.
    NoSuchRange,
    /// The range exists in another domain.
    WrongDomain,
    /// The range's string is not registered, and nsys was not told to look at such.
    UnregisteredString,
    /// The range is one that no gate of nsys opens for, or only in a child that it does not follow.
    GateCannotOpen,
    /// The gate did not open, and nothing says why.
    GateNeverOpened,
    /// The program ran, and did not come to the range this time.
    PathNotTaken,
    /// This nsys sees nothing of this NVTX client.
    ClientNotSeen,
    RecordsLost,
    /// The program opens more or fewer ranges from run to run.
    CountVaries,
    /// ncu measured fewer launches than the plan chose, and nothing says why.
    FewerMeasured,
    RehearsalWasBlind,
    NothingRecorded,
    ImporterNotFound,
    ImporterBroken,
    AgentLost,
    ExportFailed,
    ReportUnreadable,
    /// Another profiler in the workload uses CUPTI.
    CuptiInUse,
    NotPermitted,
    UnsupportedDriver,
    WorkloadFailed,
    /// nsys ended the workload when the range closed, as it was told to.
    EndedAfterRange,
    Interrupted,
    TimedOut,
    DiskFull,
    NoReport,
    /// There is no GPU, or no driver for it.
    NoGpu,
    /// The program launches no kernel.
    NoKernels,
    /// With a slash ncu looks for push/pop ranges, without for start/end ranges.
    WrongKind,
    /// No kernel is called that.
    NoSuchKernel,
    /// Fewer launches happened than were to be skipped.
    SkippedAll,
    /// A range opened before the program had a CUDA context.
    NoContext,
    /// A range holds a call that cannot be replayed.
    UnsupportedCall,
    /// A range was still open when the program ended.
    RangeNotClosed,
    /// Somebody else holds the counters.
    DeviceBusy,
    /// The program did something else when it was run again.
    ReplayDiverged,
    OutOfMemory,
    /// This tool does not know the GPU.
    UnsupportedChip,
    BudgetSpent,
    /// This version of the tool cannot do that.
    NotSupported,
    /// The tool itself failed, and says so.
    ToolError,
}

impl Cause {
    /// What to do about it, where that is always the same.
    pub fn remedy(self) -> Option<&'static str> {
        Some(match self {
            Self::NotInstalled => {
                "install Nsight Systems, or name its `nsys` with `nsys.path` or RANGEFINDER_NSYS"
            }
            Self::ToolBroken => {
                "reinstall it, or name another with `nsys.path`; `rangefinder doctor` shows what it says"
            }
            Self::Refused => "look at `nsys.extra_args` and at nsys/cmd.txt",
            Self::WrongDomain => "name the domain: NAME@DOMAIN",
            Self::UnregisteredString => {
                "let the rehearsal correct the gate (`nsys.strict=false`), or add --env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0"
            }
            Self::GateCannotOpen => {
                "let the rehearsal correct it, or record without a gate: `nsys.strict=false`"
            }
            Self::GateNeverOpened => {
                "rehearse (`rehearsal.enable=true`) to learn why, or record without a gate"
            }
            Self::PathNotTaken => {
                "look at the workload's own output: an empty input, no token to generate, an early exit?"
            }
            Self::ClientNotSeen => {
                "use a newer nsys (2025 sees every NVTX), or an older NVTX client (Python nvtx 0.2.8)"
            }
            Self::RecordsLost => {
                "record less: a gate, fewer kinds of `nsys.trace`, a shorter run; or a newer nsys"
            }
            Self::NothingRecorded => {
                "the program uses neither NVTX nor CUDA, or this nsys sees neither in it"
            }
            Self::ImporterNotFound | Self::ImporterBroken => {
                "install what is missing, or name a folder that has it with RANGEFINDER_LIBRARY_PATH; the `.qdstrm` is kept, \
                 and `rangefinder analyze` reads it on any machine with the same nsys and its importer"
            }
            Self::AgentLost => "let no other nsys run on this machine at the same time",
            Self::CuptiInUse => {
                "switch the workload's own profiler off in this pass (RANGEFINDER_PASS says which it is)"
            }
            Self::NotPermitted => {
                "lower /proc/sys/kernel/perf_event_paranoid to 1, allow GPU counters for all users, or run as root; or do not ask for it (`nsys.sample=none`)"
            }
            Self::UnsupportedDriver => "use an nsys that is as new as the driver",
            Self::WorkloadFailed => {
                "look at the workload's output in nsys/stderr.log: it may not bear a profiler"
            }
            Self::TimedOut => {
                "give it more time (`workload.timeout`): under a profiler everything takes longer"
            }
            Self::DiskFull => "make room, or record less",
            Self::ExportFailed | Self::ReportUnreadable => "the raw report is kept: try another nsys on it",
            Self::NoGpu => {
                "run it where there is an NVIDIA GPU with its driver; in a container, pass the GPU in"
            }
            Self::NoKernels => "look at the workload's output: does it use the GPU at all?",
            Self::WrongKind => "write NAME/ for a push/pop range and NAME for a start/end range",
            Self::FewerMeasured => {
                "measure what is missing by itself (`ncu.nvtx_include`, `--plan`); if the program does not do the same in \
                 every run, fix its seeds and inputs"
            }
            Self::NoSuchKernel => "look for its name in kernels.md, or leave `ncu.kernel_include` out",
            Self::SkippedAll => {
                "the program launched fewer kernels than in its rehearsal: run it again, or name the kernels (`--plan`)"
            }
            Self::NoContext => {
                "use the GPU once before the range opens (a warm-up), or measure kernel by kernel: `ncu.replay_mode=kernel`"
            }
            Self::UnsupportedCall => "measure kernel by kernel: `ncu.replay_mode=kernel`",
            Self::RangeNotClosed => "close the range before the program ends",
            Self::DeviceBusy => {
                "end whoever else reads the counters: another ncu, DCGM (`dcgmi profile --pause`), a monitoring agent"
            }
            Self::ReplayDiverged => {
                "make the program do the same in every run (seeds, inputs, no autotuning), or use `ncu.replay_mode=kernel`"
            }
            Self::OutOfMemory => {
                "each replay saves what the kernel writes: use `ncu.replay_mode=application`, or a smaller input"
            }
            Self::NotSupported => "use a newer one",
            Self::ToolError => "what it says is quoted; its whole log is kept beside its command",
            Self::UnsupportedChip => "use an ncu that is as new as the GPU",
            Self::BudgetSpent => {
                "give it more time (`ncu.budget`), or ask for less (`ncu.sections`, `ncu.top_kernels`)"
            }
            Self::NotStarted
            | Self::NoSuchRange
            | Self::CountVaries
            | Self::RehearsalWasBlind
            | Self::EndedAfterRange
            | Self::Interrupted
            | Self::NoReport => return None,
        })
    }
}

/// `1 launch`, `2 launches`
pub fn counted(count: u64, what: &str) -> String {
    let plural = match (count, what) {
        (1, _) => "",
        (_, "launch") => "es",
        _ => "s",
    };
    format!("{count} {what}{plural}")
}

/// A line of a log that names a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub cause: Cause,
    pub line: String,
}

impl Told {
    /// Every cause that lines name, once each, in their order.
    pub(crate) fn by<'l>(
        lines: impl Iterator<Item = &'l str>,
        cause_of: impl Fn(&str) -> Option<Cause>,
    ) -> Vec<Self> {
        let mut told: Vec<Self> = Vec::new();
        for line in lines {
            let cause = cause_of(line).filter(|cause| !told.iter().any(|told| told.cause == *cause));
            told.extend(cause.map(|cause| Self { cause, line: line.to_owned() }));
        }
        told
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub outcome: Outcome,
    pub cause: Option<Cause>,
    /// One sentence.
    pub text: String,
    /// What it is told from.
    pub evidence: Vec<String>,
    pub remedy: Option<String>,
    pub coverage: Vec<Coverage>,
}

/// Instances of a region in the report and in the rehearsals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    pub region: String,
    pub captured: u64,
    /// The fewest and the most that any rehearsal saw.
    pub expected: u64,
    pub expected_most: u64,
}

impl Verdict {
    pub fn new(outcome: Outcome, cause: Option<Cause>, text: impl Into<String>) -> Self {
        Self {
            outcome,
            cause,
            text: text.into(),
            evidence: Vec::new(),
            remedy: cause.and_then(Cause::remedy).map(str::to_owned),
            coverage: Vec::new(),
        }
    }

    pub fn failed(cause: Cause, text: impl Into<String>) -> Self {
        Self::new(Outcome::Failed, Some(cause), text)
    }

    pub fn missed(cause: Cause, text: impl Into<String>) -> Self {
        Self::new(Outcome::Missed, Some(cause), text)
    }

    #[must_use]
    pub fn with_evidence(mut self, evidence: impl IntoIterator<Item = String>) -> Self {
        self.evidence.extend(evidence.into_iter().filter(|line| !line.is_empty()));
        self
    }

    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}
