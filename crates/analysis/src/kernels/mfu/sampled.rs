//! Shares of the peaks from samples over time, for when neither the model nor ncu tells.

use trace::{Quantity, counted as count};

use super::chips::Chip;
use super::efficiency::{Efficiency, seconds};
use crate::sampled::regions::SampledRegion;
use crate::sampled::rows::Sampled;
use crate::sampled::values::Values;
use crate::time::{GpuRegion, Stage};

/// For every stage whose work was sampled. `device`: the GPU's name.
pub fn sampled_efficiency(
    stages: &[Stage],
    regions: &[GpuRegion],
    sampled: &Sampled,
    device: Option<&str>,
) -> Vec<Efficiency> {
    let chip = device.and_then(Chip::named);
    let efficiency = |stage| of_stage(stage, seconds(stage, regions)?, regions, sampled, chip);
    stages.iter().filter_map(efficiency).collect()
}

fn of_stage(
    stage: &Stage,
    (seconds, how): (f64, String),
    regions: &[GpuRegion],
    sampled: &Sampled,
    chip: Option<Chip>,
) -> Option<Efficiency> {
    // A stage of several regions or devices would need their sum, whose parts may be shared.
    let [path] = stage.regions.as_slice() else { return None };
    let mut of_path = sampled.regions.iter().filter(|row| row.path == *path);
    let (row, None) = (of_path.next()?, of_path.next()) else { return None };
    let region = regions.iter().find(|region| region.path == *path)?;
    let busy = region.gpu_busy_ns as f64 / 1e9 / region.instances.max(1) as f64;
    // What a region's work reaches while it runs, over the whole time.
    let part = (busy / seconds).min(1.0);
    let tensor = row.values.mean(Quantity::TensorActive)? / 100.0;
    let dram = row.values.dram().map(|percent| percent / 100.0);
    let per_second = bytes_per_second(row);
    let (clock, told) = clock(sampled, row.device, chip);
    Some(Efficiency {
        stage: stage.name.clone(),
        region: stage.region.clone(),
        seconds,
        tokens: None,
        flops: None,
        bytes: per_second.map(|bytes| bytes * busy),
        peak_flops: None,
        peak_bytes: per_second
            .zip(dram)
            .filter(|(_, share)| *share > 0.0)
            .map(|(bytes, share)| bytes / share),
        peak_source: "samples".to_owned(),
        mfu: None,
        mfu_at_most: Some(tensor * part * clock),
        mbu: dram.map(|dram| dram * part),
        assumptions: vec![
            format!(
                "sampled while its work ran ({}): the tensor cores were busy for {:.1} % of that time; what they did \
                 in it, and in which type, is not counted, so the MFU may be lower",
                count(row.samples, "sample"),
                tensor * 100.0
            ),
            told,
            how,
        ],
    })
}

/// The clock that the work ran at, as a part of the data sheet's, and what was taken for it.
fn clock(sampled: &Sampled, device: u32, chip: Option<Chip>) -> (f64, String) {
    let sampled = sampled.devices.iter().find(|row| row.device == device);
    let values = sampled.and_then(|row| row.steady.as_ref().or(row.recording.as_ref()));
    match values.and_then(Values::clock).zip(chip) {
        Some((mhz, chip)) => {
            let sheet = chip.sheet_mhz();
            (
                mhz / sheet,
                format!("peaks of the data sheet are at {sheet:.0} MHz; the SMs ran at {mhz:.0} MHz"),
            )
        }
        None => (1.0, "of the peak at the clock that the SMs ran at".to_owned()),
    }
}

fn bytes_per_second(row: &SampledRegion) -> Option<f64> {
    let read = row.values.mean(Quantity::DramReadBytes)?;
    let written = row.values.mean(Quantity::DramWriteBytes)?;
    (row.gpu_ns > 0).then(|| (read + written) / (row.gpu_ns as f64 / 1e9))
}
