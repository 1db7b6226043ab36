//! Only some of the kernels.

use regex::RegexSet;
use trace::{Diagnostic, Trace};

/// Hides kernels whose names fit none of `include` (all do when there is none) or any of
/// `exclude`, and says how many that were. They stay where they ran: a device is not idle
/// because somebody does not want to look.
pub fn keep_kernels(trace: &mut Trace, include: &[String], exclude: &[String]) -> Result<(), String> {
    if include.is_empty() && exclude.is_empty() {
        return Ok(());
    }
    let set = |patterns: &[String]| RegexSet::new(patterns).map_err(|error| error.to_string());
    let (included, excluded) = (set(include)?, set(exclude)?);
    for launch in &mut trace.activities.launches {
        let name = trace.strings.text(launch.name);
        launch.hidden = !(include.is_empty() || included.is_match(name)) || excluded.is_match(name);
    }
    let activities = &trace.activities;
    let kernels = activities.kind.iter().filter(|kind| **kind == trace::ActivityKind::Kernel).count();
    let shown = (0..activities.len()).filter(|activity| activities.is_shown_kernel(*activity)).count();
    let text = format!("{} kernels are left out of the tables by the patterns", kernels - shown);
    trace.diagnostics.push(Diagnostic { text, lost: false });
    Ok(())
}
