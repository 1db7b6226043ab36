//! What limits a busy device, as it was sampled instead of as names suggest.

use trace::{Quantity, counted};

use super::causes::limits::FEWER_BYTES;
use super::finding::{Cause, Finding, Sureness};
use crate::kernels::NEAR_PEAK;
use crate::loop_::Loop;
use crate::sampled::{Sampled, SampledDevice};

/// Puts what was sampled in the steady iterations in the place of a guess.
pub(crate) fn measured_limit(findings: &mut [Finding], loops: &[Loop], sampled: &Sampled) {
    let Some(busy) = loops.first().and_then(|found| found.busy_share).filter(|busy| *busy > 0.0) else {
        return;
    };
    for finding in findings.iter_mut().filter(|finding| finding.is_limit_of_kernels()) {
        let device = match (finding.device, sampled.devices.as_slice()) {
            (None, [only]) => Some(only),
            (of, devices) => devices.iter().find(|device| Some(device.device) == of),
        };
        if let Some(reached) = device.and_then(|device| Reached::of(device, busy)) {
            reached.tell(finding, busy);
        }
    }
}

/// Percent of their peaks, while the device has work.
struct Reached {
    tensor: f64,
    dram: f64,
    sms: Option<f64>,
    evidence: String,
}

impl Reached {
    fn of(device: &SampledDevice, busy: f64) -> Option<Self> {
        let values = device.steady.as_ref()?;
        let of = |quantity: Quantity| values.mean(quantity).map(|percent| (percent / busy).min(100.0));
        let (read, written) = (of(Quantity::DramRead)?, of(Quantity::DramWrite)?);
        let tensor = of(Quantity::TensorActive)?;
        let dram = (read + written).min(100.0);
        let evidence = format!(
            "sampled in the steady iterations, while the GPU had work: tensor cores at {tensor:.0} % of their peak, \
             memory at {dram:.0} % ({read:.0} % read, {written:.0} % written); {} in the recording",
            counted(device.samples, "sample")
        );
        Some(Self { tensor, dram, sms: of(Quantity::SmActive), evidence })
    }

    fn tell(self, finding: &mut Finding, busy: f64) {
        let limit = format!("the GPU is the limit: it is busy {:.0} % of the time", busy * 100.0);
        let near = |percent: f64| percent >= NEAR_PEAK;
        match self.sms {
            _ if near(self.dram) && self.dram >= self.tensor => {
                finding.cause = Cause::MemoryBound;
                finding.title =
                    format!("{limit}, and meanwhile its memory at {:.0} % of its peak", self.dram);
                finding.advice = FEWER_BYTES.to_owned();
                finding.confidence = Sureness::Shown;
            }
            _ if near(self.tensor) => {
                finding.cause = Cause::ComputeBound;
                finding.title =
                    format!("{limit}, and meanwhile its tensor cores at {:.0} % of their peak", self.tensor);
                finding.advice = "it gets faster by less arithmetic or a cheaper type (FP8)".to_owned();
                finding.confidence = Sureness::Shown;
            }
            Some(sms) if !near(sms) => {
                finding.evidence.push(format!(
                    "on average only {sms:.0} % of its SMs have work while it is busy: many kernels are too small for it"
                ));
            }
            _ => {}
        }
        finding.evidence.push(self.evidence);
    }
}
