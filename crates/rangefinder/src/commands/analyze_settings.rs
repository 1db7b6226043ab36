//! The configuration keys that `analyze` accepts: `model.*`, `regions.*` and `report.*`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use report::Format;
use run::ModelSource;
use run::config::{ModelConfig, RegionsConfig, resolve_with};
use run::rundir::read_manifest;

use super::{Usage, here};

/// The file that holds a run's configuration.
const CONFIG: &str = "config.yaml";

const ACCEPTED: [&str; 3] = ["model", "regions", "report"];

/// Files, and overrides: `key.of.a.group=value`, unless a file has that name.
pub(super) fn split(words: &[PathBuf]) -> (Vec<PathBuf>, Vec<String>) {
    let (mut files, mut overrides) = (Vec::new(), Vec::new());
    for word in words {
        match word.to_str().filter(|text| is_override(text) && !word.exists()) {
            Some(text) => overrides.push(text.to_owned()),
            None => files.push(word.clone()),
        }
    }
    (files, overrides)
}

fn is_override(text: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    text.split_once('=').is_some_and(|(key, _)| key.contains('.') && key.split('.').all(is_part))
}

#[derive(Debug)]
pub(super) struct Settings {
    model: ModelConfig,
    formats: Vec<Format>,
    /// Rows of a table in `report.md`.
    top: usize,
    /// What is a region.
    regions: RegionsConfig,
    /// What `model.config` is relative to.
    cwd: PathBuf,
    /// What the workload of a run wrote.
    workload: Option<PathBuf>,
}

impl Settings {
    /// The run's own, if one is analyzed, then what was typed.
    pub(super) fn of(paths: &[PathBuf], overrides: &[String]) -> Result<Self> {
        for text in overrides {
            let key = text.split('=').next().unwrap_or_default();
            if !ACCEPTED.iter().any(|group| key.split('.').next() == Some(group)) {
                let [first, second, third] = ACCEPTED;
                return Err(Usage(format!(
                    "`{key}` has no effect on `analyze` (it accepts `{first}.*`, `{second}.*` and `{third}.*`)"
                ))
                .into());
            }
        }
        let run = match paths {
            [run] if run.join(CONFIG).is_file() => read_manifest(run).ok().map(|manifest| (run, manifest)),
            _ => None,
        };
        let typed = resolve_with(None, overrides)?.config;
        // The formats the run wrote say nothing about what is wanted now.
        let (formats, top) = (typed.report.formats, typed.report.top as usize);
        let here = here()?;
        let Some((run, manifest)) = run else {
            let (model, regions) = (typed.model, typed.regions);
            let settings = Self { model, formats, top, regions, cwd: here, workload: None };
            settings.model().check().map_err(Usage)?;
            return Ok(settings);
        };
        // A typed path is relative to here, one of the run to where it was started. A run can be analyzed
        // without its configuration.
        let is_typed = overrides.iter().any(|text| text.starts_with("model.config="));
        let cwd = if is_typed { here } else { PathBuf::from(&manifest.invocation.cwd) };
        let of_run = resolve_with(Some(&run.join(CONFIG)), overrides);
        let config = of_run.map(|of_run| (of_run.config.model, of_run.config.regions));
        let (model, regions) = config.unwrap_or((typed.model, typed.regions));
        let settings =
            Self { model, formats, top, regions, cwd, workload: Some(run.join("workload/rehearsal")) };
        if is_typed {
            settings.model().check().map_err(Usage)?;
        }
        Ok(settings)
    }

    pub(super) fn model(&self) -> ModelSource<'_> {
        ModelSource {
            config: &self.model,
            cwd: &self.cwd,
            workload: self.workload.as_deref().filter(|folder: &&Path| folder.is_dir()),
            devices: &[],
        }
    }

    pub(super) fn regions(&self) -> &RegionsConfig {
        &self.regions
    }

    pub(super) fn top(&self) -> usize {
        self.top
    }

    pub(super) fn formats(&self) -> &[Format] {
        &self.formats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_overrides() {
        let words = ["a.sqlite", "model.config=c.json", "x=y", "runs/a.b=c", "report.formats=[csv]"];
        let (files, overrides) = split(&words.map(PathBuf::from));
        assert_eq!(files, ["a.sqlite", "x=y", "runs/a.b=c"].map(PathBuf::from));
        assert_eq!(overrides, ["model.config=c.json", "report.formats=[csv]"]);
        let refused = Settings::of(&files, &["ncu.budget=5s".to_owned()]).map_err(|error| error.to_string());
        assert!(refused.is_err_and(|why| why.starts_with("`ncu.budget` has no effect on `analyze`")));
    }
}
