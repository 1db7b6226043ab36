//! `rangefinder resume`

use anyhow::{Context, Result};
use process::Signals;
use run::Exit;
use run::steps::{Resume, reopen};

use super::run::{execute, route};
use crate::cli::{ExitCodeOf, ResumeArguments};

pub(crate) fn main(arguments: ResumeArguments) -> Result<Exit> {
    let signals = Signals::listen().context("cannot listen for signals")?;
    let run = reopen(Resume {
        run: arguments.run,
        command: arguments.command,
        without: arguments.without,
        route: route(&arguments.talk),
        tracer: crate::TRACER,
    })?;
    execute(run, &signals, arguments.talk, ExitCodeOf::Rangefinder)
}
