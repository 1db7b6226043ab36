//! One file a subcommand.

pub(crate) mod analyze;
mod analyze_settings;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod man;
pub(crate) mod ranges;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;
mod usage;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use ::report::{printable_lines, write_json};
use ::run::config::{Request, Resolved, resolve};
use ::run::rundir::Masked;
use ::secrets::of_environment;
use anyhow::{Context, Result};
use serde::Serialize;

use crate::cli::Layers;
pub(crate) use usage::{Usage, is_usage};

const BUFFER: usize = 256 << 10;

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

/// Writes what people read to stdout, secrets masked. A reader that has gone away is not an error.
pub(crate) fn print(text: &str) -> Result<()> {
    write_out(|out| out.write_all(printable_lines(&of_environment().text(text)).as_bytes()))
}

/// The same of a document that was made to be printed.
pub(crate) fn print_as_is(text: &str) -> Result<()> {
    write_out(|out| out.write_all(text.as_bytes()))
}

/// Says something on stderr. Nobody is there to hear when that is closed.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(&of_environment().text(text)));
}

/// Writes a document to stdout, as it is made.
pub(crate) fn print_json(document: &(impl Serialize + ?Sized)) -> Result<()> {
    write_out(|out| {
        write_json(document, &Masked(of_environment()), out)?;
        out.write_all(b"\n")
    })
}

fn write_out(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            // Nothing of what is left is written when the buffer goes.
            let _ = out.into_parts();
            Ok(())
        }
        result => result.context("cannot write to stdout"),
    }
}
