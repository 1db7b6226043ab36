//! An ncu capture: what is known before and after.

use std::time::Duration;

use analysis::CounterRegions;
use counters::Report;
use nsight::Proof;
use nsight::ncu::{Ncu, Preferences, Wanted};

use super::super::scene::Scene;

/// What ncu measured, in total and per region.
#[derive(Debug)]
pub(in crate::steps) struct Counted {
    pub(in crate::steps) report: Report,
    pub(in crate::steps) regions: CounterRegions,
}

pub(super) struct Nsight<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) ncu: &'a Ncu,
    /// What to measure for each launch.
    pub(super) wanted: &'a Wanted,
    /// For each gate, if there was a rehearsal.
    pub(super) proofs: Vec<Proof>,
    /// Which launches to measure.
    pub(super) preferences: Preferences,
    /// How many ranks the program has; less than two if it is not distributed.
    pub(super) ranks: usize,
    /// The results, if usable.
    pub(super) counted: Option<Counted>,
    /// How many ways were tried.
    pub(super) tried: usize,
    /// Whether a way may be abandoned for fewer launches: once.
    pub(super) may_give_up: bool,
    /// What the last way took, from its first launch on.
    pub(super) took: Duration,
}

impl<'a> Nsight<'a> {
    pub(super) fn new(scene: Scene<'a>, ncu: &'a Ncu, wanted: &'a Wanted, proofs: Vec<Proof>) -> Self {
        let preferences = scene.setting.resolved.config.ncu.preferences();
        Self {
            scene,
            ncu,
            wanted,
            proofs,
            preferences,
            ranks: 0,
            counted: None,
            tried: 0,
            may_give_up: true,
            took: Duration::ZERO,
        }
    }
}
