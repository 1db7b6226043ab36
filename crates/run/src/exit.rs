//! Exit codes, and which one wins.

/// How `rangefinder` ends. When several apply, the first of this list wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 130: the user, or a signal, ended the run.
    Interrupted,
    /// 2: the command line or the configuration is wrong; nothing was run.
    Usage,
    /// 3: the workload failed, could not be started or ran past its limit.
    WorkloadFailed,
    /// 1: something that was asked for is missing.
    Missing,
    /// 0: everything asked for is there.
    Complete,
    /// `--exit-code=workload`: the workload's own code, 128 + n for signals.
    Workload(u8),
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Self::Interrupted => 130,
            Self::Usage => 2,
            Self::WorkloadFailed => 3,
            Self::Missing => 1,
            Self::Complete => 0,
            Self::Workload(code) => code,
        }
    }
}
