//! One file a subcommand.

pub(crate) mod analyze;
mod analyze_settings;
pub(crate) mod attach;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod open;
pub(crate) mod ranges;
pub(crate) mod rank;
mod recordings;
mod repeat;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;
mod runs;
pub(crate) mod steps;
mod traces;
mod usage;

use std::path::{Path, PathBuf};

use ::run::config::{Request, Resolved, resolve};
use anyhow::{Context, Result};

use crate::cli::Layers;
pub(crate) use usage::{Usage, is_usage};

pub(crate) fn here() -> Result<PathBuf> {
    std::env::current_dir().context("cannot read the current directory")
}

/// Relative to here, if it lies below.
fn shown(path: &Path) -> String {
    let here = here().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}

pub(crate) fn resolved(layers: &Layers) -> Result<Resolved> {
    Ok(resolve(&Request {
        presets: layers.preset.clone(),
        file: layers.config.clone(),
        overrides: layers.overrides.clone(),
        command: layers.command.iter().map(|text| text.to_string_lossy().into_owned()).collect(),
        cwd: here()?,
    })?)
}
