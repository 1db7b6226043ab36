//! ncu's results, in files that can be read without ncu.

use analysis::{CounterRegions, KernelPatterns, KnownRegion, Region, counter_regions};
use counters::Report;
use nsight::ncu::reports;
use nvtx::{Kind, RegionPath};
use secrets::Redactor;

use super::super::error::RunError;
use super::nsight::Counted;
use crate::config::NcuConfig;
use crate::rehearsal::Inventory;
use crate::rundir::{Files, WriteError};

/// Every metric, and the regions.
pub(super) fn keep(
    mut report: Report,
    config: &NcuConfig,
    inventory: Option<&Inventory>,
    files: &Files,
) -> Result<Counted, RunError> {
    report.rename(|text| files.redactor.name(text));
    files.stream("ncu/raw.csv", |out| report::write_counters_csv(&report, out))?;
    let regions = by_region(&report, config, inventory, files);
    let folder = files.folder("ncu/regions")?;
    report::write_counter_regions(&folder, &regions, |path, bytes| files.bytes(path, bytes))
        .map_err(|error| WriteError::new(&folder, error))?;
    Ok(Counted { report, regions })
}

/// What an earlier attempt at this run measured.
pub(in crate::steps) fn reread(
    config: &NcuConfig,
    inventory: Option<&Inventory>,
    files: &Files,
) -> Option<Counted> {
    let readable = reports(files.root()).into_iter();
    let mut report = Report::joined(readable.filter_map(|file| counters::read_ncu_report(&file).ok()))?;
    report.rename(|text| files.redactor.name(text));
    Some(Counted { regions: by_region(&report, config, inventory, files), report })
}

fn by_region(
    report: &Report,
    config: &NcuConfig,
    inventory: Option<&Inventory>,
    files: &Files,
) -> CounterRegions {
    let patterns = KernelPatterns::new(&config.kernel_include, &config.kernel_exclude).unwrap_or_default();
    counter_regions(report, &known(inventory, files), &patterns)
}

/// The regions of the rehearsal: those without a counter are shown as such.
fn known(inventory: Option<&Inventory>, files: &Files) -> Vec<KnownRegion> {
    let Some(inventory) = inventory else { return Vec::new() };
    let launches = |region: &Region| {
        let recorded = !inventory.gpu.is_empty() && region.kind == Kind::PushPop;
        recorded.then(|| inventory.gpu_of(region).map_or(0, |gpu| gpu.launches))
    };
    inventory
        .regions
        .iter()
        .map(|region| KnownRegion {
            path: shown(&region.path, &files.redactor),
            kind: region.kind,
            instances: region.instances,
            launches: launches(region),
        })
        .collect()
}

/// The path with the secrets in its names marked.
fn shown(path: &RegionPath, redactor: &Redactor) -> RegionPath {
    let name = |text: &String| redactor.name(text).unwrap_or_else(|| text.clone());
    RegionPath::new(name(&path.domain), path.names.iter().map(name))
}
