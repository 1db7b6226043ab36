//! What becomes of a run whose process dies while it analyzes.

use std::path::Path;
use std::time::Duration;

use process::until_the_parent_ends;
use record::{MANIFEST, PLACE, RunStatus, StepStatus};

use crate::rundir::{lock, read_manifest, write_json_whole};

const WHY: &str = "Rangefinder's own process was killed in this step, or had no memory left\n\
    hint: `rangefinder resume` repeats the step; what was recorded is kept";
/// The lock of a process that dies is free a moment later than its pipes.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until the process that works on the run has ended. If that left it as under way, it has failed. Returns the exit code.
pub fn keeper_main(run: &Path) -> i32 {
    until_the_parent_ends();
    for _ in 0..TRIES {
        let is_running = read_manifest(run).is_ok_and(|manifest| manifest.status == RunStatus::Running);
        if !is_running {
            return 0;
        }
        // A rank locks nothing.
        if run.join(PLACE).exists() {
            return i32::from(!mark_as_failed(run));
        }
        match lock(run) {
            Ok(Some(_held)) => return i32::from(!mark_as_failed(run)),
            Ok(None) => std::thread::sleep(PAUSE),
            Err(_) => return 1,
        }
    }
    // Somebody else has resumed it.
    0
}

fn mark_as_failed(run: &Path) -> bool {
    let Ok(mut manifest) = read_manifest(run) else { return false };
    if manifest.status != RunStatus::Running {
        return true;
    }
    manifest.status = RunStatus::Failed;
    for step in manifest.steps.iter_mut().filter(|step| step.status == StepStatus::Running) {
        step.status = StepStatus::Failed;
        step.note = Some(WHY.to_owned());
    }
    // What is on the disk is masked already.
    write_json_whole(&run.join(MANIFEST), &manifest).is_ok()
}
