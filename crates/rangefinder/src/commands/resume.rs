//! `rangefinder resume`

use anyhow::{Context, Result, bail};
use process::Signals;
use record::{Manifest, RunStatus};
use run::Exit;
use run::repeat::SET_FILE;
use run::steps::{Resume, reopen};

use super::run::{execute, route};
use super::runs::chosen;
use crate::cli::{ExitCodeOf, ResumeArguments};

pub(crate) fn main(arguments: ResumeArguments) -> Result<Exit> {
    let signals = Signals::listen().context("cannot listen for signals")?;
    // What ended as it should has nothing to resume.
    let can_go_on = |manifest: &Manifest| {
        manifest.status != RunStatus::Finished || manifest.exit_code.is_some_and(|code| code != 0)
    };
    let run = chosen(arguments.run, "run that can be resumed", None, can_go_on)?;
    if run.join(SET_FILE).is_file() {
        bail!(
            "`{}` holds several runs, and these are not resumed\nhint: start it anew; `rangefinder diff` compares what is there",
            run.display()
        );
    }
    let run = reopen(Resume {
        run,
        command: arguments.command,
        without: arguments.without,
        route: route(&arguments.talk),
        tracer: crate::TRACER,
    })?;
    execute(run, &signals, arguments.talk, ExitCodeOf::Rangefinder)
}
