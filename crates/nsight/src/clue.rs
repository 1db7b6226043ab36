//! What a tool's log says about the result of a capture.

use record::Cause;

/// A line of a log that names a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clue {
    pub cause: Cause,
    pub line: String,
}

impl Clue {
    /// Every cause in these lines, once each, in order.
    pub(crate) fn in_lines<'l>(
        lines: impl Iterator<Item = &'l str>,
        cause_of: impl Fn(&str) -> Option<Cause>,
    ) -> Vec<Self> {
        let mut clues: Vec<Self> = Vec::new();
        for line in lines {
            let cause = cause_of(line).filter(|cause| !clues.iter().any(|clue| clue.cause == *cause));
            clues.extend(cause.map(|cause| Self { cause, line: line.to_owned() }));
        }
        clues
    }
}
