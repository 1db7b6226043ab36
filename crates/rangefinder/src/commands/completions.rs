//! `rangefinder completions`

use anyhow::Result;
use clap::CommandFactory;
use run::Exit;

use crate::cli::{Cli, CompletionsArguments};
use crate::print::print;

pub(crate) fn main(arguments: &CompletionsArguments) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "rangefinder", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Complete)
}
