//! Which process, device and recording a row is of.

use analysis::{Analysis, Origin};

/// What lies in no range.
pub(crate) const OUTSIDE: &str = "outside all ranges";

/// Whether rows of one name stand for different processes or devices.
pub(super) fn is_split(analysis: &Analysis) -> bool {
    analysis.scope.by_process || analysis.scope.by_device
}

/// A process as a reader knows it: `rank 3`, `recording 1, 4711`, `4711`.
pub(crate) fn process_called(process: Option<u32>, origin: Origin) -> Option<String> {
    let process = process.map(|process| process.to_string());
    match (origin.called(), process) {
        (Some(rank), _) if origin.rank.is_some() => Some(rank),
        (Some(recording), Some(process)) => Some(format!("{recording}, {process}")),
        (origin, process) => origin.or(process),
    }
}

/// `64x1x1`
pub(super) fn three(numbers: [u32; 3]) -> String {
    numbers.map(|number| number.to_string()).join("x")
}
