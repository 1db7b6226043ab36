//! What a replay costs.

use serde::Serialize;

/// How long ncu takes for one launch. The defaults were measured on an H200 with ncu 2025.3:
/// a small kernel takes 0.47 s in 10 passes and 0.60 s in 17.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pace {
    pub launch_s: f64,
    pub pass_s: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { launch_s: 0.284, pass_s: 0.0186 }
    }
}

impl Pace {
    /// One launch of a kernel that runs for `gpu_ns`.
    pub fn seconds(&self, passes: u32, gpu_ns: i64) -> f64 {
        let passes = f64::from(passes);
        self.launch_s + passes * (self.pass_s + gpu_ns as f64 / 1e9)
    }
}
