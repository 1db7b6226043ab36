//! What a capture can build on: the results of earlier steps.

use nsight::nsys::RangeEnd;
use process::SuperviseError;
use trace::Trace;

use super::error::RunError;
use super::session::Setting;
use crate::gates::NsysTerms;
use crate::provenance::Provenance;
use crate::rehearsal::Inventory;
use crate::workload::Workload;

#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) setting: &'a Setting,
    /// As it runs in this capture.
    pub(super) workload: &'a Workload,
    pub(super) provenance: Option<&'a Provenance>,
    /// What the rehearsal saw.
    pub(super) inventory: Option<&'a Inventory>,
    /// Our tracer could not be injected into the workload.
    pub(super) blind: bool,
    /// A second rehearsal, if a capture's counts differed.
    pub(super) second: Option<&'a Inventory>,
    /// The timeline's capture, if usable.
    pub(super) timeline: Option<&'a Trace>,
}

impl Scene<'_> {
    /// How the nsys of this run is used, and reads a gate.
    pub(super) fn nsys_terms(&self) -> NsysTerms {
        let nsys = self.provenance.and_then(|provenance| provenance.nsys.as_ref());
        NsysTerms::with(&self.setting.resolved.config, RangeEnd::None, nsys.map(|nsys| &nsys.probe))
    }
}

/// Whether the workload or the tool could not be started at all. A log that cannot be written is an error
/// of the run itself.
pub(super) fn not_started(error: RunError) -> Result<SuperviseError, RunError> {
    match error {
        RunError::Supervise(error) if !matches!(error, SuperviseError::Log { .. }) => Ok(error),
        other => Err(other),
    }
}
