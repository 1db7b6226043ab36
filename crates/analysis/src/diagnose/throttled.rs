//! A clock that is held down.

use super::finding::{Cause, Finding, FoundAt, Sureness};
use crate::sampled::{Sampled, SampledDevice, ThrottleReason};

/// The clock is held down if the driver names a reason in so much of the time,
const MOST: f64 = 0.2;
/// and it is lower than it can be by more than this.
const LOWER: f64 = 0.97;

/// One for each device whose clock was held down in the steady iterations.
pub(crate) fn throttled(sampled: &Sampled) -> Vec<Finding> {
    sampled.devices.iter().filter_map(of_device).collect()
}

fn of_device(device: &SampledDevice) -> Option<Finding> {
    let longest = device.throttled.first().filter(|found| found.share >= MOST)?;
    let values = device.steady.as_ref()?;
    let clock = values.clock()?;
    let highest = device.highest_mhz.filter(|highest| clock < LOWER * highest)?;
    let title = format!(
        "the GPU's clock is {clock:.0} MHz on average instead of {highest:.0} MHz, because {}",
        longest.reason.words()
    );
    let mut evidence: Vec<String> = device
        .throttled
        .iter()
        .map(|found| {
            format!(
                "the driver says so in {:.0} % of its samples in the steady iterations: {}",
                found.share * 100.0,
                found.reason.words()
            )
        })
        .collect();
    evidence.push(format!("{highest:.0} MHz is the highest clock in this recording"));
    Some(Finding {
        cause: Cause::ClockThrottled,
        place: FoundAt::default(),
        device: Some(device.device),
        title,
        evidence,
        advice: advice(longest.reason).to_owned(),
        confidence: Sureness::Shown,
        gain: None,
        time_ns: 0,
        also_in: 0,
    })
}

fn advice(reason: ThrottleReason) -> &'static str {
    match reason {
        ThrottleReason::PowerCap => {
            "full use of the arithmetic units can do this; raise the power limit (`nvidia-smi -pl WATTS`) if the \
             machine allows it, and compare times only at the same limit"
        }
        ThrottleReason::SoftwareThermal | ThrottleReason::HardwareThermal => {
            "see to the machine's cooling, and compare times only at the same temperature"
        }
        ThrottleReason::HardwareSlowdown | ThrottleReason::PowerBrake => {
            "see to the machine's power supply and cooling (`nvidia-smi -q -d PERFORMANCE`)"
        }
    }
}
