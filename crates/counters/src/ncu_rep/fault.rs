//! What can be wrong with a report.

/// Why a message is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Broken,
    TooMuch,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Broken => "is broken",
            Self::TooMuch => "expands to far more data than the file holds",
        })
    }
}
