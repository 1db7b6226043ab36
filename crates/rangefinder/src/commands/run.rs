//! `rangefinder run`

use anyhow::{Context, Result};
use process::{Route, Signals, interruptible};
use run::Exit;
use run::rundir::{WriteError, remove_unfinished};
use run::steps::{Run, RunError, Start, begin, plan_text};

use super::{Usage, export, here, repeat, resolved};
use crate::cli::{ExitCodeOf, RunArguments, Talk};
use crate::print::{print, say};
use crate::progress::Progress;

pub(crate) fn main(mut arguments: RunArguments) -> Result<Exit> {
    if let Some(plan) = &arguments.plan {
        // Relative to here, wherever the workload runs.
        let plan = std::path::absolute(plan).with_context(|| format!("`{}`", plan.display()))?;
        let Some(text) = plan.to_str() else {
            let plan = plan.display();
            let why =
                format!("the path of the plan is not UTF-8: `{plan}`\nhint: copy the plan to a path that is");
            return Err(Usage(why).into());
        };
        arguments.layers.overrides.push(format!("ncu.plan={}", serde_json::Value::from(text)));
    }
    if arguments.quick {
        arguments.layers.preset.insert(0, "quick".to_owned());
    }
    if arguments.auto {
        arguments.layers.overrides.push("workload.auto=true".to_owned());
    }
    let start = Start {
        resolved: resolved(&arguments.layers)?,
        command: arguments.layers.command,
        here: here()?,
        invocation: std::env::args_os().collect(),
        route: route(&arguments.talk),
        tracer: crate::TRACER,
        place: None,
    };
    if let Some(rounds) = arguments.repeat {
        return repeat::main(start, rounds, arguments.plain, arguments.talk.json);
    }
    if arguments.dry_run {
        print(&plan_text(&start)?)?;
        return Ok(Exit::Complete);
    }
    // Before any thread is started: threads inherit the signal mask.
    let signals = Signals::listen().context("cannot listen for signals")?;
    execute(begin(start)?, &signals, arguments.talk, arguments.exit_code)
}

pub(crate) fn route(talk: &Talk) -> Route {
    if talk.json { Route::ToStderr } else { Route::Through }
}

pub(crate) fn execute(run: Run, signals: &Signals, talk: Talk, whose: ExitCodeOf) -> Result<Exit> {
    let mut progress = Progress::new(talk, here()?, whose);
    let folder = run.folder().to_owned();
    let dataset = run.dataset(&here()?);
    let outcome = run.execute(signals, &mut progress).inspect_err(|error| {
        drop(progress);
        if folder.exists() && !matches!(error, RunError::Write(WriteError::Gone { .. })) {
            say(&format!("what was captured so far is kept in {}", folder.display()));
        }
    })?;
    let mut exit = outcome.exit;
    if let Some(dataset) = dataset.filter(|_| exit != Exit::Interrupted)
        && let Err(error) = interruptible(signals, || export::add(&folder, &dataset), remove_unfinished)
    {
        say(&format!("error: the run is not in the dataset: {error:#}"));
        exit = if exit == Exit::Complete { Exit::Missing } else { exit };
    }
    Ok(match whose {
        ExitCodeOf::Rangefinder => exit,
        ExitCodeOf::Workload => Exit::Workload(whose.code(exit.code(), outcome.workload_code)),
    })
}
