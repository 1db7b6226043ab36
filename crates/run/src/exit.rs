//! Exit codes, and which one wins.

/// How `rangefinder` ends. When several apply, the first of this list wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Interrupted,
    /// Nothing was run, and nothing will be until the command line changes.
    Usage,
    WorkloadFailed,
    Missing,
    /// `check` can tell neither that a limit is kept nor that it is broken.
    Undecided,
    Complete,
    /// `--exit-code=workload`: the workload's own code, 128 + n for signals.
    Workload(u8),
}

impl Exit {
    /// Our own codes; the first that applies wins.
    pub const OURS: [Self; 6] = [
        Self::Interrupted,
        Self::Usage,
        Self::WorkloadFailed,
        Self::Missing,
        Self::Undecided,
        Self::Complete,
    ];

    pub fn code(self) -> u8 {
        match self {
            Self::Interrupted => 130,
            Self::Usage => 2,
            Self::WorkloadFailed => 3,
            Self::Missing => 1,
            Self::Undecided => 4,
            Self::Complete => 0,
            Self::Workload(code) => code,
        }
    }

    /// As `--help` and the documentation say it.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
            Self::Usage => "the command line or the configuration is wrong; nothing was run",
            Self::WorkloadFailed => {
                "in some pass, the workload failed, could not be started, or ran past its limit"
            }
            Self::Missing => {
                "something asked for is missing, a file cannot be read or written, or a `check` failed"
            }
            Self::Undecided => "a `check` could not decide whether every limit is kept",
            Self::Complete => {
                "everything asked for is there; if a file given to `analyze` has lost data, a warning says so"
            }
            Self::Workload(_) => "the workload's own code",
        }
    }
}
