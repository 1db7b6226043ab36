//! Step 4: what will be run.

use std::path::Path;

use super::begin::{RunError, Start, redactor};
use super::flow::{Run, StepResult};
use crate::config::{Config, Enable};
use crate::quote::shell_line;
use crate::workload::Workload;

pub(super) fn step(_: &Run) -> StepResult {
    StepResult::Done(None)
}

/// What `--dry-run` prints. Checks all that `begin` checks, and writes nothing.
pub fn plan_text(start: &Start) -> Result<String, RunError> {
    let config = &start.resolved.config;
    let workload = Workload::new(config, &start.command, &start.here)?;
    let redactor = redactor(config);
    let folder = Path::new("RUN/workload/rehearsal");
    let (argv, _) = redactor.argv(&workload.argv(folder));
    let root = start.here.join(&config.run.dir.0);
    let name = config.run.name.as_ref().map_or_else(|| workload.name(), |name| name.0.clone());
    let mut text = format!(
        "run        {}/<time>-{}, called RUN below\nworkload   {}\n  in       {}\n",
        super::begin::shown(&root, &start.here).display(),
        crate::rundir::safe_name(&redactor.text(&name)),
        shell_line(&argv),
        workload.cwd.display(),
    );
    for (name, value) in workload.variables("rehearsal", folder, Path::new("RUN/tmp")) {
        match value {
            Some(value) => text.push_str(&format!("  set      {name}={}\n", redactor.named(&name, &value))),
            None => text.push_str(&format!("  unset    {name}\n")),
        }
    }
    for name in workload.reserved_variables() {
        text.push_str(&format!("  warning  {name} is set: another profiler may be attached already\n"));
    }
    text.push_str(&limits(config));
    text.push_str(&format!(
        "rehearse   {}\ntimeline   {}\ncounters   {}\n",
        rehearse(config),
        capture("nsys", config.nsys.enable),
        capture("ncu", config.ncu.enable),
    ));
    Ok(text)
}

fn limits(config: &Config) -> String {
    let mut text = String::new();
    if let Some(timeout) = config.workload.timeout {
        text.push_str(&format!(
            "  limit    {:?}, then SIGTERM, and SIGKILL {:?} later\n",
            timeout.0, config.capture.grace.0
        ));
    }
    if let Some(duration) = config.capture.duration {
        let delay = config.capture.delay.map(|delay| delay.0).unwrap_or_default();
        text.push_str(&format!("  stop     after {:?}\n", delay + duration.0));
    }
    text
}

fn rehearse(config: &Config) -> &'static str {
    match config.rehearsal.enable {
        Enable::False => "skipped: rehearsal.enable=false",
        Enable::Auto | Enable::True => {
            "the workload once, with only our tracer in it (NVTX_INJECTION64_PATH)"
        }
    }
}

fn capture(tool: &str, enable: Enable) -> String {
    match enable {
        Enable::False => format!("skipped: {tool}.enable=false"),
        Enable::Auto | Enable::True => format!("skipped: this version does not capture with {tool} yet"),
    }
}
