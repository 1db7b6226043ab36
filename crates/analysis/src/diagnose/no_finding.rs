//! Why there is no finding.

use std::fmt;

use trace::{ActivityKind, Trace};

use super::case::percent;
use super::causes::limits::BUSY;
use crate::loop_::Loop;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoFinding {
    NoGpuWork,
    /// Nor any range; of a program that is written in Python, or that is not.
    NothingMarked {
        python: bool,
    },
    /// Some was recorded, but it is elsewhere.
    NoGpuWorkHere,
    /// Of kernels, so that they cannot be told apart.
    NamesLost,
    /// A damaged file: what is left of it has no whole iterations, or too few.
    Incomplete,
    /// Only parts of the program were recorded or are looked at, and none has an iteration up to the next one.
    NoWholeIteration,
    /// So that it is unknown what the device waited for.
    NoCalls,
    TooLittle,
    /// More was recorded, but it is elsewhere.
    TooLittleHere,
    /// The same in what is left of a damaged file.
    NoneInWhatIsLeft,
    /// It was looked for causes, and none was worth a word.
    Examined {
        busy: f64,
    },
}

impl NoFinding {
    /// Of a trace that was examined, and whose device was `busy` for a share of the time.
    pub(super) fn examined(trace: &Trace, busy: f64) -> Self {
        if is_incomplete(trace) { Self::NoneInWhatIsLeft } else { Self::Examined { busy } }
    }

    /// Of a trace that could not be examined.
    pub(super) fn unexamined(trace: &Trace, main: Option<&Loop>) -> Self {
        let is_work = |kind: &ActivityKind| *kind != ActivityKind::Migration;
        let has_work = trace.activities.kind.iter().any(is_work);
        match () {
            () if !has_work && !trace.windows.is_empty() => Self::NoGpuWorkHere,
            () if !has_work && trace.ranges.is_empty() && !trace.stacks.samples.is_empty() => {
                Self::NothingMarked { python: is_python(trace) }
            }
            () if !has_work => Self::NoGpuWork,
            () if is_incomplete(trace) => Self::Incomplete,
            () if trace.calls.is_empty() => Self::NoCalls,
            () if main.is_some() && !trace.windows.is_empty() => Self::NoWholeIteration,
            () if !trace.windows.is_empty() => Self::TooLittleHere,
            () => Self::TooLittle,
        }
    }
}

/// How a program opens a range around an iteration.
pub(super) fn open_a_range(python: bool) -> &'static str {
    match python {
        true => "in Python: `from rangefinder import stage`, then `with stage(\"step\"):`",
        false => "in C and C++: `nvtxRangePushA(\"step\")` before it and `nvtxRangePop()` behind it",
    }
}

fn is_python(trace: &Trace) -> bool {
    trace.stacks.frames.iter().any(|frame| trace.strings.text(frame.file).ends_with(".py"))
}

/// Whether part of the recording is known to be lost.
pub(super) fn is_incomplete(trace: &Trace) -> bool {
    trace.is_incomplete()
}

impl fmt::Display for NoFinding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGpuWork => out.write_str("no GPU work was recorded"),
            Self::NothingMarked { python } => write!(
                out,
                "neither GPU work nor a range was recorded; with an NVTX range around each iteration, Rangefinder looks into \
                 them ({})",
                open_a_range(*python)
            ),
            Self::NoGpuWorkHere => out.write_str("no GPU work was launched in the part that is looked at"),
            Self::NamesLost => {
                out.write_str("the recording is incomplete: it has lost the names of its kernels")
            }
            Self::Incomplete => {
                out.write_str("the recording is incomplete, and what is left says too little about a loop")
            }
            Self::NoWholeIteration => out.write_str(
                "only parts of the program are looked at, and none reaches from one iteration to the next",
            ),
            Self::NoCalls => out.write_str("the calls that launched the GPU's work were not recorded"),
            Self::TooLittle => out.write_str("too little was recorded to tell what limits it"),
            Self::TooLittleHere => {
                out.write_str("too little is left in the part that is looked at to tell what limits it")
            }
            Self::NoneInWhatIsLeft => {
                out.write_str("the recording is incomplete, and what is left of it shows no cause")
            }
            Self::Examined { busy } if *busy >= BUSY => {
                write!(out, "the GPU is busy {} of the time, and nothing is worth changing", percent(*busy))
            }
            Self::Examined { busy } => write!(
                out,
                "the GPU is busy only {} of the time, but no change that Rangefinder tries in its replay makes it \
                more than 5 % faster",
                percent(*busy)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that is idle for a reason, and no change that helps: the two do not contradict each other.
    #[test]
    fn of_an_idle_device() {
        assert_eq!(
            NoFinding::Examined { busy: 0.48 }.to_string(),
            "the GPU is busy only 48 % of the time, but no change that Rangefinder tries in its replay makes it more \
             than 5 % faster"
        );
        assert!(NoFinding::Examined { busy: 0.97 }.to_string().ends_with("and nothing is worth changing"));
    }
}
