//! How long a replay takes.

use serde::Serialize;

/// How long ncu takes. The defaults were measured on an H200 with ncu 2025.3 and PyTorch programs: a
/// launch takes 0.05 s in one pass and 0.5 to 0.7 s in 18; one that is not measured takes 0.3 to 0.7 ms
/// more than without ncu, whatever is asked for (docs/acceptance/counters.md).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pace {
    pub launch_s: f64,
    pub pass_s: f64,
    /// Every launch of the program, measured or not.
    pub seen_s: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { launch_s: 0.03, pass_s: 0.035, seen_s: 0.0005 }
    }
}

impl Pace {
    /// With replays this many times as slow; watching costs the same.
    #[must_use]
    pub fn slower(&self, times: f64) -> Self {
        Self { launch_s: self.launch_s * times, pass_s: self.pass_s * times, ..*self }
    }

    /// One launch of a kernel that runs for `gpu_ns`.
    pub fn seconds(&self, passes: u32, gpu_ns: i64) -> f64 {
        let passes = f64::from(passes);
        self.launch_s + passes * (self.pass_s + gpu_ns as f64 / 1e9)
    }

    /// What ncu adds to a program with this many launches before it measures a single one.
    pub fn watching(&self, launches: usize) -> f64 {
        self.seen_s * launches as f64
    }
}
