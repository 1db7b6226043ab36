//! The two kinds of ranges.

/// How a range was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `nvtxRangePush` and `nvtxRangePop`: a stack on each thread.
    #[default]
    PushPop,
    /// `nvtxRangeStart` and `nvtxRangeEnd`: may overlap anything and end anywhere.
    StartEnd,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PushPop => "push/pop",
            Self::StartEnd => "start/end",
        }
    }
}
