//! nsys on this machine: found, queried for its capabilities, its importer checked.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::find::find;
use super::fitness::{Fitness, fitness};
use super::importer::{Importer, PATIENCE};
use super::installation::Installation;
use super::probe::{Probe, environment_findings, probe};
use crate::locate::{NoTool, Wanted};
use crate::version::numbers;

/// An nsys that works.
#[derive(Debug, Clone)]
pub struct Nsys {
    pub installation: Installation,
    pub probe: Probe,
    /// Other working installations, with their versions: newer ones that do not fit the driver, and older
    /// ones.
    pub others: Vec<(PathBuf, String)>,
    pub fit: bool,
}

/// Its entry in `env.json`.
#[derive(Debug, Clone, Serialize)]
pub struct NsysRecord {
    pub probe: Probe,
    pub fit_for_driver: bool,
    pub importer: Importer,
    pub others: Vec<(PathBuf, String)>,
    /// What `nsys status --environment` complains about.
    pub environment: Vec<String>,
}

impl Nsys {
    /// The newest that works and fits the driver, whose newest CUDA is `cuda`; the newest if none fits.
    /// `chosen` is the path from the configuration; then nothing else is considered.
    pub fn locate(chosen: Option<&str>, cuda: Option<&str>) -> Result<Self, NoTool> {
        let wanted = Wanted { program: "nsys", variable: "RANGEFINDER_NSYS", key: "nsys.path", chosen, find };
        let mut answering: Vec<(Fitness, PathBuf, Probe)> = wanted
            .answering(probe)?
            .into_iter()
            .map(|(path, probe)| (fitness(&probe.version, cuda), path, probe))
            .collect();
        // Stable: among equals, the first one found.
        answering.sort_by_key(|(fitness, _, probe)| std::cmp::Reverse((*fitness, numbers(&probe.version))));
        let (fitness, path, probe) = answering.remove(0);
        let others = answering.into_iter().map(|(_, path, probe)| (path, probe.version)).collect();
        Ok(Self { installation: Installation::of(&path), probe, others, fit: fitness == Fitness::Fit })
    }

    pub fn importer(&self, folder: &Path) -> Importer {
        Importer::of(&self.installation, folder)
    }

    /// For `env.json` and `doctor`.
    pub fn record(&self, folder: &Path) -> NsysRecord {
        let status = [self.installation.nsys.clone().into(), "status".into(), "--environment".into()];
        NsysRecord {
            probe: self.probe.clone(),
            fit_for_driver: self.fit,
            importer: self.importer(folder),
            others: self.others.clone(),
            environment: environment_findings(&crate::ask::said(&status, &[], PATIENCE).unwrap_or_default()),
        }
    }
}
