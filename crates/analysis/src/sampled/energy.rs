//! Energy, and why the clock was lower than it could be.

use serde::Serialize;
use trace::{Quantity, Series};

/// What the steady iterations took from the socket.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Energy {
    /// By the device's own meter.
    pub metered_j: Option<f64>,
    /// Power at the moments of the samples, over time.
    pub integrated_j: Option<f64>,
    pub per_iteration_j: Option<f64>,
    /// If it is known how many tokens the iterations yield.
    pub per_token_j: Option<f64>,
    pub mean_w: Option<f64>,
}

/// What the driver names as the reason for a lower clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThrottleReason {
    PowerCap,
    HardwareSlowdown,
    SoftwareThermal,
    HardwareThermal,
    PowerBrake,
}

impl ThrottleReason {
    /// With its bit in NVML.
    const ALL: [(Self, u32); 5] = [
        (Self::PowerCap, 0x4),
        (Self::HardwareSlowdown, 0x8),
        (Self::SoftwareThermal, 0x20),
        (Self::HardwareThermal, 0x40),
        (Self::PowerBrake, 0x80),
    ];

    /// In a sentence, after "because".
    pub fn words(self) -> &'static str {
        match self {
            Self::PowerCap => "the GPU is at its power limit",
            Self::HardwareSlowdown => "the hardware slows itself down",
            Self::SoftwareThermal => "the GPU is at its temperature limit",
            Self::HardwareThermal => "the GPU is too hot",
            Self::PowerBrake => "the power supply asks for less",
        }
    }
}

/// How much of the time the clock was held down, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Throttle {
    pub reason: ThrottleReason,
    pub share: f64,
}

/// Of one device in a stretch of time.
pub(super) fn energy(series: &Series, begin: i64, end: i64, iterations: u64) -> Option<Energy> {
    let values = super::spans::over(series, begin, end)?;
    let metered_j = values.mean(Quantity::Energy);
    let mean_w = values.mean(Quantity::Power).or_else(|| values.mean(Quantity::PowerAveraged));
    let integrated_j = values.mean(Quantity::Power).map(|watts| watts * (end - begin) as f64 / 1e9);
    let per_iteration_j = metered_j.or(integrated_j).map(|joules| joules / iterations.max(1) as f64);
    Some(Energy { metered_j, integrated_j, per_iteration_j, per_token_j: None, mean_w })
}

/// The reasons that held in a stretch of time, the longest first.
pub(super) fn throttling(series: &Series, begin: i64, end: i64) -> Vec<Throttle> {
    let Some(bits) = series.values(Quantity::ThrottleReasons) else { return Vec::new() };
    let samples: Vec<u32> =
        series.touching(begin, end).filter(|at| bits[*at].is_finite()).map(|at| bits[at] as u32).collect();
    let share = |bit: u32| {
        samples.iter().filter(|sample| **sample & bit != 0).count() as f64 / samples.len().max(1) as f64
    };
    let mut found: Vec<Throttle> = ThrottleReason::ALL
        .into_iter()
        .map(|(reason, bit)| Throttle { reason, share: share(bit) })
        .filter(|found| found.share > 0.0)
        .collect();
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}
