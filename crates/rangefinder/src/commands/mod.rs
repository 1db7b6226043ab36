//! One file a subcommand.

pub(crate) mod analyze;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod ranges;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;

use std::io::Write;
use std::path::PathBuf;

use ::run::config::{Request, Resolved, resolve};
use anyhow::{Context, Result};

use crate::cli::Layers;

pub(crate) fn here() -> Result<PathBuf> {
    std::env::current_dir().context("the current directory cannot be read")
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

/// Writes data to stdout, secrets masked. A reader that has gone away is not an error.
pub(crate) fn print(text: &str) -> Result<()> {
    let text = ::run::secrets::of_environment().text(text);
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to stdout"),
    }
}
