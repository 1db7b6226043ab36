//! What a replay costs.

use serde::Serialize;

/// How long ncu takes. The defaults were measured on an H200 with ncu 2025.3: a small kernel of
/// a small program takes 0.47 s in 10 passes, one of PyTorch 0.78 s in 18; a launch that is not
/// measured takes 0.33 ms more than without ncu, whatever is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pace {
    pub launch_s: f64,
    pub pass_s: f64,
    /// Every launch of the program, measured or not.
    pub seen_s: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { launch_s: 0.35, pass_s: 0.024, seen_s: 0.00033 }
    }
}

impl Pace {
    /// With replays so many times as slow: to watch costs the same.
    #[must_use]
    pub fn slower(&self, times: f64) -> Self {
        Self { launch_s: self.launch_s * times, pass_s: self.pass_s * times, ..*self }
    }

    /// One launch of a kernel that runs for `gpu_ns`.
    pub fn seconds(&self, passes: u32, gpu_ns: i64) -> f64 {
        let passes = f64::from(passes);
        self.launch_s + passes * (self.pass_s + gpu_ns as f64 / 1e9)
    }

    /// What ncu adds to a program of so many launches before it measures a single one.
    pub fn watching(&self, launches: usize) -> f64 {
        self.seen_s * launches as f64
    }
}
