//! ncu on this machine: found, and queried for its capabilities.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::find::find;
use super::permission::{Permission, permission};
use super::probe::{PATIENCE, Probe, metrics, probe};
use crate::locate::{NoTool, Wanted};
use crate::version::numbers;

/// The reports of a run, from the last rung that produced any.
pub fn reports(run: &Path) -> Vec<PathBuf> {
    // `run.ncu-rep`, `run-2.ncu-rep` of a second rung, `run-2.1.ncu-rep` of its first run.
    let rung = |path: &Path| -> Option<(u32, u32)> {
        path.extension().filter(|extension| *extension == "ncu-rep")?;
        let rest = path.file_stem()?.to_str()?.strip_prefix("run")?;
        let (rung, part) = rest.split_once('.').unwrap_or((rest, "0"));
        let rung = if rung.is_empty() { 1 } else { rung.strip_prefix('-')?.parse().ok()? };
        Some((rung, part.parse().ok()?))
    };
    let entries = std::fs::read_dir(run.join("ncu")).into_iter().flatten().flatten();
    let mut found: Vec<((u32, u32), PathBuf)> =
        entries.filter_map(|entry| Some((rung(&entry.path())?, entry.path()))).collect();
    found.sort();
    let last = found.last().map(|((rung, _), _)| *rung);
    found.into_iter().filter(|((rung, _), _)| Some(*rung) == last).map(|(_, path)| path).collect()
}

/// An ncu that works.
#[derive(Debug, Clone)]
pub struct Ncu {
    pub path: PathBuf,
    pub probe: Probe,
    /// Other working installations, with their versions.
    pub others: Vec<(PathBuf, String)>,
}

/// Its entry in `env.json`.
#[derive(Debug, Clone, Serialize)]
pub struct NcuRecord {
    pub path: PathBuf,
    pub probe: Probe,
    pub others: Vec<(PathBuf, String)>,
    pub counters: Permission,
}

impl Ncu {
    /// The newest that works. `chosen` is the path from the configuration; then nothing else is considered.
    pub fn locate(chosen: Option<&str>) -> Result<Self, NoTool> {
        let wanted = Wanted { program: "ncu", variable: "RANGEFINDER_NCU", key: "ncu.path", chosen, find };
        let mut answering = wanted.answering(probe)?;
        // Stable: among equals, the first one found.
        answering.sort_by_key(|(_, probe)| std::cmp::Reverse(numbers(&probe.version)));
        let (path, probe) = answering.remove(0);
        let others = answering.into_iter().map(|(path, probe)| (path, probe.version)).collect();
        Ok(Self { path, probe, others })
    }

    /// For `env.json` and `doctor`.
    pub fn record(&self) -> NcuRecord {
        NcuRecord {
            path: self.path.clone(),
            probe: self.probe.clone(),
            others: self.others.clone(),
            counters: permission(),
        }
    }

    /// The metrics of the GPUs in this machine, or of every chip that this ncu supports if there is no
    /// driver. None if ncu does not list them.
    pub fn metrics(&self) -> Option<Vec<String>> {
        let ask = |words: &[&str]| {
            let argv: Vec<std::ffi::OsString> =
                std::iter::once(self.path.clone().into()).chain(words.iter().map(Into::into)).collect();
            crate::ask::said(&argv, &[], PATIENCE).unwrap_or_default()
        };
        let here = metrics(&ask(&["--query-metrics"]));
        if !here.is_empty() {
            return Some(here);
        }
        let chips: String = ask(&["--list-chips"]).split_whitespace().collect();
        let all = metrics(&ask(&["--query-metrics", "--chips", &chips]));
        (!all.is_empty()).then_some(all)
    }
}
