//! `rangefinder report`

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use record::{PLACE, RunStatus, StepName, StepStatus};
use run::job::{TOGETHER, is_job};
use run::repeat::SET_FILE;
use run::rundir::{lock, read_document, read_manifest};
use run::{ANALYSIS, DOCUMENT, Exit, SUMMARY};

use super::runs::chosen;
use crate::cli::ReportArguments;
use crate::print::{print, print_as_is, say};

pub(crate) fn main(arguments: ReportArguments) -> Result<Exit> {
    let run = chosen(arguments.run, "runs", Some(SUMMARY), |_| true)?;
    if is_job(&run) {
        return of_a_job(&run, arguments.json);
    }
    if run.join(SET_FILE).is_file() && arguments.json {
        bail!("these are several runs, which have no {DOCUMENT}\nhint: rangefinder diff --json BEFORE AFTER");
    }
    if run.join(SET_FILE).is_file() {
        let word = run::shell_word(&run.to_string_lossy());
        let text = read_document(&run, SUMMARY).map_err(|error| {
            match (error.is_absent(), run.join("a").is_dir()) {
                (false, _) => anyhow!(error.with_cause()),
                (true, true) => anyhow!("nothing was compared\nhint: rangefinder diff {word}/a {word}/b"),
                (true, false) => {
                    anyhow!("these are several runs of one program\nhint: rangefinder diff {word} OTHER")
                }
            }
        })?;
        print(&text)?;
        return Ok(Exit::Complete);
    }
    let manifest = match read_manifest(&run) {
        Ok(manifest) => manifest,
        Err(why) => bail!("{why}"),
    };
    let name = if arguments.json { DOCUMENT } else { SUMMARY };
    match read_document(&run, name) {
        // Our own JSON is masked already and must stay unchanged.
        Ok(text) if arguments.json => print_as_is(&text)?,
        Ok(text) => {
            print(&text)?;
            if manifest.status == RunStatus::Interrupted {
                let word = run::shell_word(&run.to_string_lossy());
                say(&format!("note: the run was interrupted; to continue: rangefinder resume {word}"));
            }
        }
        Err(error) if error.is_absent() => {
            let word = run::shell_word(&run.to_string_lossy());
            let is_one_of_several = manifest.step(StepName::Report).status == StepStatus::Skipped;
            match manifest.status {
                RunStatus::Finished if is_one_of_several => bail!(
                    "the run has no {name}: it is one of several (`--repeat`, `compare`), which have none\n\
                    hint: `rangefinder diff` compares them; if it was traced, `rangefinder analyze {word}` shows it alone"
                ),
                RunStatus::Finished if arguments.json => bail!(
                    "the run has no {name}: it was deleted, or `report.formats` does not include `json`\n\
                    hint: to print the analysis alone: rangefinder analyze --json {word}"
                ),
                RunStatus::Finished => bail!(
                    "the run has no {name}: it was deleted after the run\n\
                    hint: to write it again into a new folder: rangefinder analyze --out FOLDER {word}"
                ),
                _ if run.join(PLACE).exists() => {
                    bail!(
                        "this rank has no {name}: it is still under way, or was killed before it was written"
                    )
                }
                _ if lock(&run)?.is_none() => {
                    bail!("the run is still in progress: its report is written at the end")
                }
                _ => bail!(
                    "the run has no {name}: it ended before the report was written\n\
                    hint: rangefinder resume {word}"
                ),
            }
        }
        Err(error) => bail!(error.with_cause()),
    }
    Ok(Exit::Complete)
}

/// What was found in all ranks.
fn of_a_job(job: &Path, json: bool) -> Result<Exit> {
    let name = format!("{TOGETHER}/{}", if json { ANALYSIS } else { SUMMARY });
    let text = read_document(job, &name).map_err(|error| {
        let job = run::shell_word(&job.to_string_lossy());
        match error.is_absent() {
            true => anyhow!(
                "the ranks of this job were not merged\nhint: rangefinder analyze --out {job}/{TOGETHER} {job}"
            ),
            false => anyhow!(error.with_cause()),
        }
    })?;
    match json {
        true => print_as_is(&text)?,
        false => print(&text)?,
    }
    Ok(Exit::Complete)
}
