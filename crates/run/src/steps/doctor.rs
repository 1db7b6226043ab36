//! Step 2: what is here, written down before the workload runs.

use super::begin::RunError;
use super::flow::{Context, Run, StepResult};
use crate::provenance::{gather, inputs_yaml};

pub(super) fn step(run: &mut Run, context: &mut Context<'_>) -> Result<StepResult, RunError> {
    let provenance = gather(Some(&run.workload), &run.workload.cwd);
    run.files.json("env.json", &provenance)?;
    let inputs = inputs_yaml(&run.workload.command_with_overrides(), &run.workload.cwd, &run.files.redactor);
    run.files.masked("inputs.yaml", &inputs)?;
    for name in run.workload.reserved_variables() {
        let text = format!("`{name}` is set: another profiler may be attached to the workload already");
        run.warn(text, context);
    }
    if let Some(problem) = &provenance.python_problem {
        run.warn(format!("the workload's Python could not be asked for its versions: {problem}"), context);
    }
    run.provenance = Some(provenance);
    Ok(StepResult::Done(None))
}
