//! Why a capture is what it is.

use serde::{Deserialize, Serialize};

/// Declares each cause once: the variant, and its meaning in a few words.
macro_rules! causes {
    ($($(#[$doc:meta])* $cause:ident = $name:literal: $meaning:literal,)+) => {
        /// Why a capture is what it is. With [`Captured`](crate::Outcome::Captured) it explains what looks
        /// odd.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Cause {
            $($(#[$doc])* #[serde(rename = $name)] $cause,)+
        }

        impl Cause {
            pub const ALL: &[Self] = &[$(Self::$cause,)+];

            /// As written in `run.json`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$cause => $name,)+ }
            }

            /// What it means, to follow a colon.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$cause => $meaning,)+ }
            }
        }
    };
}

causes! {
    NotInstalled = "not-installed": "the tool is not installed",
    /// It is installed but does not respond.
    ToolBroken = "tool-broken": "the tool does not respond",
    NotStarted = "not-started": "the tool could not be started",
    Refused = "refused": "the tool rejected the command",
    NoSuchRange = "no-such-range": "no range has that name",
    WrongDomain = "wrong-domain": "the range is in another domain",
    /// And nsys was not told to look at unregistered names.
    UnregisteredString = "unregistered-string": "the range's name is not a registered string",
    /// No nsys gate opens for such a range, or it opens only in a child that nsys does not follow.
    GateCannotOpen = "gate-cannot-open": "the gate can never open for this range",
    GateNeverOpened = "gate-never-opened": "the gate did not open",
    PathNotTaken = "path-not-taken": "the program did not reach the range this time",
    ClientNotSeen = "client-not-seen": "the program opened no ranges in this pass, or this nsys does not see its NVTX client",
    RecordsLost = "records-lost": "records were lost",
    CountVaries = "count-varies": "the number of ranges varies from run to run",
    FewerMeasured = "fewer-measured": "fewer launches were measured than planned",
    RehearsalWasBlind = "rehearsal-was-blind": "the rehearsal could not see any range",
    NothingRecorded = "nothing-recorded": "nothing was recorded",
    ImporterNotFound = "importer-not-found": "nsys's importer is missing",
    ImporterBroken = "importer-broken": "nsys's importer does not work",
    AgentLost = "agent-lost": "nsys lost the connection to its own agent",
    ExportFailed = "export-failed": "the report could not be exported",
    ReportUnreadable = "report-unreadable": "the report cannot be read",
    CuptiInUse = "cupti-in-use": "another profiler in the workload uses CUPTI",
    NotPermitted = "not-permitted": "this user lacks a permission that the tool needs",
    UnsupportedDriver = "unsupported-driver": "the tool does not support the driver",
    WorkloadFailed = "workload-failed": "the workload failed",
    /// As requested.
    EndedAfterRange = "ended-after-range": "nsys ended the workload when the range closed",
    Interrupted = "interrupted": "it was interrupted",
    TimedOut = "timed-out": "it timed out",
    DiskFull = "disk-full": "the disk is full",
    /// nsys was still waiting for `capture.delay` to pass.
    EndedTooSoon = "ended-too-soon": "the workload ended before recording began",
    NoReport = "no-report": "the tool left no report",
    NoGpu = "no-gpu": "no GPU or no driver",
    NoKernels = "no-kernels": "no kernel is launched in the range",
    /// ncu looks for push/pop ranges with a slash, for start/end ranges without one.
    WrongKind = "wrong-kind": "the range is of the other kind (push/pop or start/end)",
    NoSuchKernel = "no-such-kernel": "no kernel has that name",
    SkippedAll = "skipped-all": "the program launched fewer kernels than the plan skips",
    NoContext = "no-context": "the range opened before the program used the GPU, or not at all",
    UnsupportedCall = "unsupported-call": "the range makes a call that cannot be replayed",
    RangeNotClosed = "range-not-closed": "the range was still open when the program ended",
    DeviceBusy = "device-busy": "another program is using the GPU's counters",
    LockFile = "lock-file": "ncu cannot write its lock file",
    ReplayDiverged = "replay-diverged": "the program behaved differently when it was run again",
    OutOfMemory = "out-of-memory": "not enough memory to save what the kernels write",
    UnsupportedChip = "unsupported-chip": "the tool does not support this GPU",
    BudgetSpent = "budget-spent": "the time budget was used up",
    NotSupported = "not-supported": "this version of the tool does not support that",
    ToolError = "tool-error": "the tool itself failed",
}

impl Cause {
    /// Whether ncu would meet it in any other replay mode, too: a missing permission, say. Every cause is
    /// listed, so that a new one cannot be forgotten.
    pub const fn stops_every_replay(self) -> bool {
        match self {
            Self::NotStarted
            | Self::Refused
            | Self::CuptiInUse
            | Self::NotPermitted
            | Self::Interrupted
            | Self::TimedOut
            | Self::DiskFull
            | Self::NoGpu
            | Self::DeviceBusy
            | Self::LockFile
            | Self::UnsupportedChip
            | Self::BudgetSpent => true,
            Self::NotInstalled
            | Self::ToolBroken
            | Self::NoSuchRange
            | Self::WrongDomain
            | Self::UnregisteredString
            | Self::GateCannotOpen
            | Self::GateNeverOpened
            | Self::PathNotTaken
            | Self::ClientNotSeen
            | Self::RecordsLost
            | Self::CountVaries
            | Self::FewerMeasured
            | Self::RehearsalWasBlind
            | Self::NothingRecorded
            | Self::ImporterNotFound
            | Self::ImporterBroken
            | Self::AgentLost
            | Self::ExportFailed
            | Self::ReportUnreadable
            | Self::UnsupportedDriver
            | Self::WorkloadFailed
            | Self::EndedAfterRange
            | Self::EndedTooSoon
            | Self::NoReport
            | Self::NoKernels
            | Self::WrongKind
            | Self::NoSuchKernel
            | Self::SkippedAll
            | Self::NoContext
            | Self::UnsupportedCall
            | Self::RangeNotClosed
            | Self::ReplayDiverged
            | Self::OutOfMemory
            | Self::NotSupported
            | Self::ToolError => false,
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
