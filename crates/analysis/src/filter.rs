//! Only some of the kernels.

use regex::RegexSet;
use trace::{ActivityKind, Diagnostic, Trace};

/// Leaves out kernels whose names fit none of `include` (all do when there is none) or
/// any of `exclude`, and says how many that were.
pub fn keep_kernels(trace: &mut Trace, include: &[String], exclude: &[String]) -> Result<(), String> {
    if include.is_empty() && exclude.is_empty() {
        return Ok(());
    }
    let set = |patterns: &[String]| RegexSet::new(patterns).map_err(|error| error.to_string());
    let (included, excluded) = (set(include)?, set(exclude)?);
    let kept: Vec<bool> = trace
        .activities
        .launches
        .iter()
        .map(|launch| {
            let name = trace.strings.text(launch.name);
            (include.is_empty() || included.is_match(name)) && !excluded.is_match(name)
        })
        .collect();
    let activities = &mut trace.activities;
    let keep: Vec<bool> = activities
        .kind
        .iter()
        .zip(&activities.detail)
        .map(|(kind, detail)| *kind != ActivityKind::Kernel || kept[*detail as usize])
        .collect();
    let left_out = keep.iter().filter(|keep| !**keep).count();
    retain(&mut activities.begin, &keep);
    retain(&mut activities.end, &keep);
    retain(&mut activities.kind, &keep);
    retain(&mut activities.process, &keep);
    retain(&mut activities.device, &keep);
    retain(&mut activities.stream, &keep);
    retain(&mut activities.correlation, &keep);
    retain(&mut activities.detail, &keep);
    retain(&mut activities.in_graph, &keep);
    let text = format!("{left_out} kernels are left out by the patterns");
    trace.diagnostics.push(Diagnostic { text, lost: false });
    Ok(())
}

fn retain<T>(column: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    column.retain(|_| keep.next().copied().unwrap_or(true));
}
