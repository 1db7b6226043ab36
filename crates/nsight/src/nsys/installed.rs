//! nsys on this machine: found, asked what it can do, its importer looked after.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::find::find;
use super::fitness::{Fitness, fitness};
use super::importer::{Importer, PATIENCE};
use super::installation::Installation;
use super::probe::{Probe, environment_findings, probe};
use crate::locate::{NoTool, Wanted};
use crate::version::numbers;

/// An nsys that answers.
#[derive(Debug, Clone)]
pub struct Nsys {
    pub installation: Installation,
    pub probe: Probe,
    /// Others that answer as well, with their versions: newer ones that are unfit, and older ones.
    pub others: Vec<(PathBuf, String)>,
    pub fit: bool,
}

/// What `env.json` says of it.
#[derive(Debug, Clone, Serialize)]
pub struct NsysRecord {
    pub probe: Probe,
    pub fit_for_driver: bool,
    pub importer: Importer,
    pub others: Vec<(PathBuf, String)>,
    /// What `nsys status --environment` finds wanting.
    pub environment: Vec<String>,
}

impl Nsys {
    /// The newest that answers and is fit for the driver, whose newest CUDA is `cuda`; the
    /// newest when none is. `chosen` is what the configuration names, which alone counts then.
    pub fn locate(chosen: Option<&str>, cuda: Option<&str>) -> Result<Self, NoTool> {
        let wanted = Wanted { program: "nsys", variable: "RANGEFINDER_NSYS", key: "nsys.path", chosen, find };
        let mut answering: Vec<(Fitness, PathBuf, Probe)> = wanted
            .answering(probe)?
            .into_iter()
            .map(|(path, probe)| (fitness(&probe.version, cuda), path, probe))
            .collect();
        // Stable: of equals the one that was found first.
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
