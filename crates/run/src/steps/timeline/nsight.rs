//! An nsys capture: what is known before and after.

use nsight::Proof;
use nsight::nsys::{Importer, Nsys};
use trace::Trace;

use super::super::scene::Scene;
use crate::rehearsal::Inventory;

pub(super) struct Nsight<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) nsys: &'a Nsys,
    pub(super) importer: Importer,
    /// For the gate, if there was a rehearsal.
    pub(super) proof: Option<Proof>,
    /// A second rehearsal, if a report's counts differed.
    pub(super) second: Option<Inventory>,
    /// The usable part of the recording.
    pub(super) report: Option<Trace>,
}
