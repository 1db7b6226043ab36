//! Only some of the kernels.

use regex::RegexSet;
use trace::{Diagnostic, Trace, counted};

/// Which kernels to look at: those whose names fit one of the patterns to include (all do
/// when there is none) and none of those to exclude.
#[derive(Debug, Clone, Default)]
pub struct KernelPatterns {
    included: RegexSet,
    excluded: RegexSet,
}

impl KernelPatterns {
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, String> {
        let set = |patterns: &[String]| RegexSet::new(patterns).map_err(|error| error.to_string());
        Ok(Self { included: set(include)?, excluded: set(exclude)? })
    }

    pub fn is_empty(&self) -> bool {
        self.included.is_empty() && self.excluded.is_empty()
    }

    pub fn include(&self) -> &[String] {
        self.included.patterns()
    }

    pub fn exclude(&self) -> &[String] {
        self.excluded.patterns()
    }

    pub fn keep(&self, name: &str) -> bool {
        (self.included.is_empty() || self.included.is_match(name)) && !self.excluded.is_match(name)
    }
}

/// Hides kernels that the patterns leave out and says how many. They still count as busy time:
/// a device is not idle because a kernel is hidden.
pub fn keep_kernels(trace: &mut Trace, include: &[String], exclude: &[String]) -> Result<(), String> {
    let patterns = KernelPatterns::new(include, exclude)?;
    if patterns.is_empty() {
        return Ok(());
    }
    for launch in &mut trace.activities.launches {
        launch.hidden = !patterns.keep(trace.strings.text(launch.name));
    }
    let activities = &trace.activities;
    let kernels = activities.kernels();
    let shown = (0..activities.len()).filter(|activity| activities.is_shown_kernel(*activity)).count();
    let left_out = counted((kernels - shown) as u64, "kernel");
    let text = format!("the patterns leave {left_out} out of the tables");
    trace.diagnostics.push(Diagnostic { text, lost: false });
    Ok(())
}
