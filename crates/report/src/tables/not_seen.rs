//! What samples of stacks could not see, where that may change what they tell.

use analysis::{Analysis, NotSeen, NotSeenIn};

use crate::units::{counted, duration, percent};

/// Processes in a sentence.
const MOST_NAMED: usize = 3;

/// Said before everything that samples tell: what is missing, then what to do about it, if that is known.
pub(crate) fn not_seen_lines(analysis: &Analysis) -> Vec<String> {
    let Some((host, lost)) = analysis.host.as_ref().and_then(|host| Some((host, host.not_seen.as_ref()?)))
    else {
        return Vec::new();
    };
    let of = match (host.gpu_idle, host.steady) {
        (true, _) => "samples of the host while no GPU had work",
        (false, true) => "samples of the steady iterations",
        (false, false) => "samples of threads that ran",
    };
    let why = reason(lost);
    let because = why.map(|(text, _)| format!(": {text}")).unwrap_or_default();
    let shares = if host.lines.is_empty() { "" } else { "; shares are of what was seen" };
    let mut lines = vec![format!(
        "not seen: {} of the {of} have no stack that could be read ({}){because}{shares}",
        percent(lost.share),
        processes(lost)
    )];
    lines.extend(why.and_then(|(_, hint)| hint).map(|hint| format!("hint: {hint}")));
    lines
}

/// Of the process with the most such samples of which it is known, and what to do.
fn reason(lost: &NotSeen) -> Option<(&str, Option<&str>)> {
    let why = lost.processes.iter().find_map(|of| of.why.as_deref())?;
    Some(match why.split_once("\nhint: ") {
        Some((text, hint)) => (text, Some(hint)),
        None => (why, None),
    })
}

fn processes(lost: &NotSeen) -> String {
    let named = |of: &NotSeenIn| {
        let [from, to] = [of.from_ns, of.to_ns].map(|ns| duration(ns as f64));
        format!("`{}` (pid {}), from {from} to {to}", of.name, of.process)
    };
    let mut told: Vec<String> = lost.processes.iter().take(MOST_NAMED).map(named).collect();
    let more = lost.processes.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        told.push(format!("and {}", counted(more as u64, "more process")));
    }
    told.join("; ")
}
