//! An nsys that is to record, and what is known before and after.

use nsight::Proof;
use nsight::nsys::{Importer, Nsys};
use trace::Trace;

use super::super::scene::Scene;
use crate::rehearsal::Inventory;

pub(super) struct Nsight<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) nsys: &'a Nsys,
    pub(super) importer: Importer,
    /// Of the gate, where there was a rehearsal.
    pub(super) proof: Option<Proof>,
    /// A second look at the program, once a report has counted differently.
    pub(super) second: Option<Inventory>,
    /// What can be used of what was recorded.
    pub(super) report: Option<Trace>,
}
