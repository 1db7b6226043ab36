//! nsys's own diagnostics, and whether it lost anything that is read here.

use super::loss::Losses;
use super::tables::each;
use crate::model::{Diagnostic, Trace};
use crate::sqlite::{Database, Finder};

/// When the program was started, and when nsys began to record.
const LAUNCHED: &[u8] = b"Process was launched by the profiler";
const STARTED: &[u8] = b"Profiling has started";

const WARNING: i64 = 2;
const ERROR: i64 = 3;

/// Data that nsys collects but is not read here: losing it does not matter.
const NOT_READ: [&str; 16] = [
    "sampl",
    "backtrace",
    "context switch",
    "perf event",
    "perf_event",
    "paranoid",
    "ftrace",
    "unified memory",
    "page fault",
    "gpu metrics",
    "os runtime",
    "vulkan",
    "opengl",
    "symbol",
    "network",
    "infiniband",
];

pub(super) fn read(database: &Database, trace: &mut Trace, losses: &mut Losses) {
    let columns =
        |find: &mut Finder<'_>| (find.integer("severity"), find.text("text"), find.integer("timestamp"));
    let (mut launched, mut started): (Option<i64>, Option<i64>) = (None, None);
    each(database, "DIAGNOSTIC_EVENT", losses, columns, |row, (severity, text, time)| {
        let severity = row.integer(*severity).unwrap_or(0);
        let first = |known: Option<i64>| known.into_iter().chain(row.integer(*time)).min();
        match row.text(*text) {
            Some(text) if text.starts_with(LAUNCHED) => launched = first(launched),
            Some(text) if text.starts_with(STARTED) => started = first(started),
            _ => {}
        }
        if let (WARNING | ERROR, Some(text)) = (severity, row.string(*text)) {
            let lost = says_lost(severity, &text);
            trace.diagnostics.push(Diagnostic { text: format!("nsys: {}", text.trim_end()), lost });
        }
    });
    // A gate opens later: what the program did before is not recorded.
    trace.launched = launched.filter(|launched| started.is_some_and(|started| started <= *launched));
}

/// An error is loss unless it is about something else, or only about what might have been: every
/// program that ends while it is profiled gets "Not all CUDA events might have been collected".
/// Records that CUPTI dropped are loss, however that is called.
fn says_lost(severity: i64, text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let about = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if about(&["cupti", "cuda", "nvtx"]) && about(&["dropped", " lost"]) {
        return true;
    }
    severity == ERROR && !about(&NOT_READ) && !about(&["might have", "may have", "does the process use"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loss_is_lost() {
        for (severity, text, lost) in [
            (ERROR, "An error occurred while handling the collected events.", true),
            (ERROR, "Event buffer is full: events were not stored.", true),
            (WARNING, "CUPTI dropped 12 records. Some CUPTI events might be missing.", true),
            (ERROR, "CUPTI dropped 12 records. Some CUPTI events might be missing.", true),
            (WARNING, "Not all CUDA events might have been collected.", false),
            (ERROR, "Not all NVTX events might have been collected.", false),
            (ERROR, "CPU IP/backtrace sampling not supported, disabling.", false),
            (ERROR, "CPU context switch tracing not supported, disabling.", false),
            (ERROR, "FTrace: some events (7) were lost. Try to increase ftrace buffer size.", false),
            (WARNING, "CUDA device 0: Unified Memory trace is not supported on this device.", false),
            (WARNING, "anything else", false),
        ] {
            assert_eq!(says_lost(severity, text), lost, "{severity} {text}");
        }
    }
}
