//! What of a trace can be kept and compared.

use std::collections::BTreeMap;

use trace::Trace;

use crate::attribute::attribute;
use crate::compare::{PROFILE_SCHEMA, Profile, SampledKinds, StageTimes, loop_profile};
use crate::diagnose::Cause;
use crate::document::{Concluded, beside, conclude};
use crate::loop_::{Loop, loops};
use crate::options::Options;
use crate::time::{Stage, stages};

/// One run of a program: its main loop taken apart, its stages, its limits. No table is made.
pub fn profile(trace: &Trace, options: &Options) -> Profile {
    let attribution = attribute(trace);
    let Concluded { loops, diagnosis, sampled, .. } = conclude(trace, &attribution, options);
    let (main, stages) = beside(
        || loops.first().and_then(|main| loop_profile(trace, &attribution, &options.families, main)),
        || stages(trace, &attribution, options, &loops, &vec![false; attribution.tree.nodes.len()]).0,
    );
    let device = sampled.iter().flat_map(|sampled| &sampled.devices).next();
    let energy = device.and_then(|device| device.energy.as_ref());
    let called = |name: &Option<String>| name.clone().unwrap_or_else(|| "GPU".to_owned());
    let mut devices: Vec<String> = trace.devices.iter().map(|device| called(&device.name)).collect();
    devices.sort();
    let limits = diagnosis.findings.iter().filter(|finding| finding.cause != Cause::Healthy);
    let stage = |stage: &Stage| {
        let times = stage.steady.as_ref()?;
        Some(StageTimes { name: stage.name.clone(), p50_ns: times.p50_ns, p95_ns: times.p95_ns })
    };
    Profile {
        schema: PROFILE_SCHEMA,
        main,
        recorded_ns: trace.end.saturating_sub(trace.begin),
        process_ns: None,
        processes: trace.processes.len() as u64,
        stages: stages.iter().filter_map(stage).collect(),
        devices,
        clock_mhz: device.and_then(|device| device.steady.as_ref()).and_then(|values| values.clock()),
        energy_j: energy.and_then(|energy| energy.per_iteration_j),
        limits: limits.map(|finding| finding.cause.as_str().to_owned()).collect(),
        sampled: Some(SampledKinds {
            stacks: !trace.stacks.samples.is_empty(),
            devices: device.is_some(),
            launch: trace.launched.is_some(),
        }),
        mfu: None,
        stage_mfu: BTreeMap::new(),
        counters: Vec::new(),
        lost: trace.is_incomplete(),
    }
}

/// The loop that [`profile`] takes apart.
pub fn main_loop(trace: &Trace) -> Option<Loop> {
    loops(trace, &attribute(trace)).into_iter().next()
}
