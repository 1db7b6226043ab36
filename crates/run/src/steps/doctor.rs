//! The step `doctor`: records the machine before the workload runs.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::session::{Made, Session, Setting, StepResult};
use crate::config::Text;
use crate::provenance::{ChosenTools, Provenance, gather, inputs_yaml};

/// Longer than any single query may take.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

pub(super) fn step(setting: &Setting, session: &mut Session<'_>) -> Made<Option<Provenance>> {
    let workload = &setting.workload;
    let Some(provenance) = ask_everyone(setting, session) else {
        return Ok((StepResult::Interrupted("the machine was not recorded".to_owned()), None));
    };
    session.files.json("env.json", &provenance)?;
    let inputs = inputs_yaml(&workload.command_with_overrides(), &workload.cwd, &session.files.redactor);
    session.files.masked("inputs.yaml", &inputs)?;
    for name in workload.reserved_variables() {
        let text = format!("`{name}` is set: another profiler may already be attached to the workload");
        session.warn(text);
    }
    if let Some(problem) = &provenance.problem {
        session.warn(problem.clone());
    }
    if let Some(problem) = &provenance.python_problem {
        session.warn(format!("cannot get the package versions of the workload's Python: {problem}"));
    }
    Ok((StepResult::Done(None), Some(provenance)))
}

/// Queries on a separate thread, so that an interrupt need not wait, and a driver that never responds does
/// not block the run.
fn ask_everyone(setting: &Setting, session: &Session<'_>) -> Option<Provenance> {
    let workload = setting.workload.clone();
    let config = &setting.resolved.config;
    let named = |path: &Option<Text>| path.as_ref().map(|path| path.0.clone());
    let chosen = ChosenTools { nsys: named(&config.nsys.path), ncu: named(&config.ncu.path) };
    let (sender, answers) = channel();
    let asking = std::thread::Builder::new().name("doctor".to_owned());
    let asked = asking.spawn(move || sender.send(Box::new(gather(Some(&workload), &workload.cwd, &chosen))));
    if let Err(error) = asked {
        return Some(Provenance::not_asked(format!(
            "cannot collect information about this machine: {error}"
        )));
    }
    let clock = Instant::now();
    loop {
        match answers.recv_timeout(LOOK_AGAIN) {
            Ok(provenance) => return Some(*provenance),
            Err(_) if session.signals.interrupted() => return None,
            Err(_) if clock.elapsed() > PATIENCE => return Some(Provenance::unanswered()),
            Err(_) => {}
        }
    }
}
