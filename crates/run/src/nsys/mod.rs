//! nsys on this machine: found, asked what it can do, its importer looked after.

mod ask;
mod export;
mod importer;
mod probe;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use ask::last_lines;
pub use export::{Export, ExportError, to_sqlite};
pub use importer::Importer;
use nsight::nsys::{Fitness, Installation, Places, Probe, environment_findings, find, fitness};
use serde::Serialize;

const PATIENCE: Duration = Duration::from_secs(15);
const IMPORT_PATIENCE: Duration = Duration::from_secs(1800);
/// Names another nsys, instead of the one that would be found; `none` for none.
const NSYS_VARIABLE: &str = "RANGEFINDER_NSYS";

/// An nsys that answers.
#[derive(Debug, Clone)]
pub struct Nsys {
    pub installation: Installation,
    pub probe: Probe,
    /// Others that answer as well, with their versions: newer ones that are unfit, and older ones.
    pub others: Vec<(PathBuf, String)>,
    pub fit: bool,
}

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoNsys {
    Absent(String),
    Broken(String),
}

impl std::fmt::Display for NoNsys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Absent(text) | Self::Broken(text)) = self;
        f.write_str(text)
    }
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
    pub fn locate(chosen: Option<&str>, cuda: Option<&str>) -> Result<Self, NoNsys> {
        let variable = std::env::var_os(NSYS_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let (chosen, named_by) = match chosen {
            Some(chosen) => (Some(PathBuf::from(chosen)), "nsys.path"),
            None => (variable, NSYS_VARIABLE),
        };
        if chosen.as_deref() == Some(Path::new("none")) {
            return Err(NoNsys::Absent("nsys is not installed".to_owned()));
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = Places { chosen, path: std::env::split_paths(&path).collect(), root: "/".into() };
        let found = find(&places);
        let mut problem = match &places.chosen {
            Some(chosen) => {
                NoNsys::Absent(format!("`{named_by}` names `{}`, and no nsys is there", chosen.display()))
            }
            None => NoNsys::Absent("nsys is not installed".to_owned()),
        };
        let mut answering: Vec<(Fitness, PathBuf, Probe)> = Vec::new();
        for path in found {
            match probe::of(&path) {
                Ok(probe) => answering.push((fitness(&probe.version, cuda), path, probe)),
                Err(why) => problem = NoNsys::Broken(why),
            }
        }
        // Stable: of equals the one that was found first.
        answering.sort_by_key(|(fitness, _, probe)| std::cmp::Reverse((*fitness, numbers(&probe.version))));
        let mut answering = answering.into_iter();
        let Some((fitness, path, probe)) = answering.next() else { return Err(problem) };
        let others = answering.map(|(_, path, probe)| (path, probe.version)).collect();
        Ok(Self { installation: Installation::of(&path), probe, others, fit: fitness == Fitness::Fit })
    }

    /// For `env.json` and `doctor`.
    pub fn record(&self, folder: &Path) -> NsysRecord {
        let status = [self.installation.nsys.clone().into(), "status".into(), "--environment".into()];
        NsysRecord {
            probe: self.probe.clone(),
            fit_for_driver: self.fit,
            importer: self.importer(folder),
            others: self.others.clone(),
            environment: environment_findings(&ask::said(&status, &[], PATIENCE).unwrap_or_default()),
        }
    }
}

/// `2022.4.2.1-df9881f` in the order of versions.
fn numbers(version: &str) -> Vec<u32> {
    version.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}
