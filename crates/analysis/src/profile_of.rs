//! What of an analysis can be kept and compared.

use crate::compare::{PROFILE_SCHEMA, Profile, StageTimes};
use crate::diagnose::Cause;
use crate::document::Analysis;
use crate::time::Stage;

/// Of an analysis that took the loop apart ([`crate::Options::take_apart`]).
pub fn profile_of(analysis: &Analysis) -> Profile {
    let device = analysis.sampled.iter().flat_map(|sampled| &sampled.devices).next();
    let called = |name: &Option<String>| name.clone().unwrap_or_else(|| "GPU".to_owned());
    let mut devices: Vec<String> = analysis.devices.iter().map(|device| called(&device.name)).collect();
    devices.sort();
    let stage = |stage: &Stage| {
        let times = stage.steady.as_ref()?;
        Some(StageTimes { name: stage.name.clone(), p50_ns: times.p50_ns, p95_ns: times.p95_ns })
    };
    let stages = analysis.stages.iter().filter_map(stage).collect();
    let limits = analysis.findings.iter().filter(|finding| finding.cause != Cause::Healthy);
    let energy = device.and_then(|device| device.energy.as_ref());
    Profile {
        schema: PROFILE_SCHEMA,
        main: analysis.one_iteration.clone(),
        recorded_ns: analysis.span_ns,
        process_ns: None,
        processes: analysis.processes.len() as u64,
        stages,
        devices,
        clock_mhz: device.and_then(|device| device.steady.as_ref()).and_then(|values| values.clock()),
        energy_j: energy.and_then(|energy| energy.per_iteration_j),
        limits: limits.map(|finding| finding.cause.as_str().to_owned()).collect(),
        lost: analysis.diagnostics.iter().any(|diagnostic| diagnostic.lost),
    }
}
