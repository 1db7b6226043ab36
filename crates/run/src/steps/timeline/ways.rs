//! The ways to record with nsys: first as requested, then without the gate, which is applied afterwards.

use nsight::nsys::Gate;
use nsight::{Correction, Proof, patterns};
use record::Rung;

use super::super::scene::Scene;
use crate::config::CaptureRange;

/// One way to capture.
pub(super) struct Way {
    pub(super) rung: Rung,
    pub(super) gate: Gate,
    pub(super) follow_forks: bool,
}

pub(super) fn ways(scene: Scene<'_>, proof: Option<&Proof>) -> Vec<Way> {
    let config = &scene.setting.resolved.config.nsys;
    let follow_forks =
        scene.inventory.is_some_and(|seen| seen.regions.iter().any(|region| region.forked > 0));
    let way = |rung: Rung, gate: Gate| Way { rung, gate, follow_forks };
    let typed = |name: &str| Gate::Range { name: name.to_owned(), register_only_off: false };
    if config.capture_range == CaptureRange::CudaProfilerApi {
        return vec![way(Rung::ProfilerApi, Gate::ProfilerApi)];
    }
    let Some(wish) = scene.setting.nsys_wish() else { return vec![way(Rung::AsAsked, Gate::None)] };
    let ungated = way(Rung::WithoutGate, Gate::None);
    match proof {
        _ if config.strict => vec![way(Rung::AsAsked, typed(wish))],
        // A pattern is a name to nsys.
        None if !patterns(wish).is_empty() => vec![ungated],
        None => vec![way(Rung::AsAsked, typed(wish)), ungated],
        Some(proof) => match &proof.gating {
            Some(gating) => {
                let name = gating.gate.clone();
                let gate = Gate::Range { name, register_only_off: gating.register_only_off };
                let is_typed = proof.nsys.correction == Correction::AsTyped;
                vec![way(if is_typed { Rung::AsAsked } else { Rung::CorrectedGate }, gate), ungated]
            }
            // If one gate is not enough.
            None => vec![ungated],
        },
    }
}
