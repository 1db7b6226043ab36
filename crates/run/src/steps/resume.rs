//! `resume`: the same run, from its first unfinished step.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use analysis::Region;
use nsight::nsys::PARTIAL;
use process::Route;
use record::{Manifest, PLACE, PassKind, Reason, Step, StepName, StepStatus, Tool};
use secrets::{MASK, looks_secret_name, mark_traces, rebuild_argv, secret_spans};

use super::begin::redactor;
use super::error::RunError;
use super::flow::Run;
use super::session::Setting;
use crate::config::{Request, Text, resolve};
use crate::rehearsal::{Inventory, read_rehearsal};
use crate::rundir::{Files, lock_soon, read_manifest};
use crate::workload::{Workload, check_texts};

/// What `rangefinder resume` was given.
#[derive(Debug)]
pub struct Resume {
    pub run: PathBuf,
    /// The command again, if it contained a secret that was not stored.
    pub command: Vec<OsString>,
    /// Secret variables the user chooses to do without.
    pub without: Vec<String>,
    pub route: Route,
    /// The library that is injected into the workload.
    pub tracer: &'static [u8],
}

pub fn reopen(resume: Resume) -> Result<Run, RunError> {
    let folder = std::path::absolute(&resume.run).unwrap_or_else(|_| resume.run.clone());
    check_texts(&folder)?;
    let manifest = read_manifest(&folder).map_err(RunError::NotARun)?;
    if folder.join(PLACE).exists() {
        let folder = folder.display();
        return Err(RunError::NotARun(format!(
            "`{folder}` is a rank of a job: it cannot be resumed alone\nhint: let its launcher start the job again"
        )));
    }
    let Some(lock) = lock_soon(&folder)? else { return Err(RunError::Busy { run: folder }) };
    let cwd = directory(&manifest.workload.cwd, &folder)?;
    let mut resolved =
        resolve(&Request { file: Some(folder.join("config.yaml")), cwd: cwd.clone(), ..Request::default() })?;
    if let Some(keys) = &manifest.set_by_user {
        resolved = resolved.with_keys_by_user(keys.clone());
    }
    let known = &manifest.workload.secret_variables;
    if let Some(name) = resume.without.iter().find(|name| !known.contains(name)) {
        return Err(RunError::NotSecret { name: name.clone(), known: known.clone() });
    }
    let mut needs = Vec::new();
    let without = |name: &str| resume.without.iter().any(|other| other == name);
    for (name, value) in &mut resolved.config.workload.env {
        if value.as_ref().is_some_and(|value| value.0.contains(MASK)) {
            match std::env::var(name) {
                Ok(ours) => *value = Some(Text(ours)),
                Err(_) if without(name) => *value = None,
                Err(_) => {}
            }
        }
    }
    for name in &manifest.workload.secret_variables {
        if std::env::var_os(name).is_none() && !without(name) {
            needs.push(format!("environment variable `{name}`"));
        }
    }
    let capture = &resolved.config.capture;
    let commands = [("capture.stop_command", &capture.stop_command), ("capture.load", &capture.load)];
    if capture.ready.as_ref().is_some_and(|ready| ready.0.contains(MASK)) {
        needs.push("`capture.ready`, which contained a secret: this run cannot be resumed".to_owned());
    }
    for (key, argv) in commands {
        if argv.iter().any(|argument| argument.contains(MASK)) {
            needs.push(format!("`{key}`, which contained a secret: this run cannot be resumed"));
        }
    }
    let names = resolved.config.secrets.names.clone();
    let mut command = command(&manifest, &resume, &names, &mut needs)?;
    // Where there is nothing to resume, nothing is started.
    let mut reopened = manifest.clone();
    reopen_steps(&mut reopened);
    let is_over = reopened.steps.iter().all(|step| step.status.is_finished());
    if is_over && command.is_empty() {
        command = manifest.workload.argv.iter().map(OsString::from).collect();
    }
    if !needs.is_empty() && !is_over {
        let hint = "set the variables, or pass `--without NAME` for one that is not needed; repeat a \
        command with secrets after `--`";
        return Err(RunError::Withheld { needs, hint: hint.to_owned() });
    }
    // The command already includes the module and the overrides; the directory is known.
    resolved.config.workload.cwd = None;
    resolved.config.workload.module = None;
    resolved.config.workload.overrides = Vec::new();
    let workload = Workload::new(&resolved.config, &command, &cwd)?;
    let mut redactor = redactor(&resolved.config);
    redactor.learn(redactor.secrets_in(&command));
    let secret_arguments = manifest.workload.withheld.iter().filter_map(|withheld| command.get(withheld.arg));
    redactor.learn(secret_arguments.map(|argument| argument.to_string_lossy().into_owned()));
    let files = Files::new(folder, redactor);
    files.reserve()?;
    mask_leftovers(&files);
    let rehearsed = manifest.step(StepName::Rehearse).status == StepStatus::Done;
    let rehearsal = files.path(PassKind::Rehearsal.as_str());
    let inventory = rehearsed.then(|| read_rehearsal(&rehearsal).ok()).flatten();
    let mut manifest = manifest;
    manifest.warnings.clear();
    reopen_steps(&mut manifest);
    let inventory = inventory.filter(|inventory| !is_of_no_use(inventory, &mut manifest));
    let setting = Setting { resolved, workload, route: resume.route, tracer: resume.tracer };
    Ok(Run::new(setting, files, manifest, Some(lock)).with_rehearsal(inventory))
}

/// The workload's directory. If it contained a secret: the matching one among the parents of the run and of
/// the current directory.
fn directory(written: &str, run: &Path) -> Result<PathBuf, RunError> {
    if !written.contains(MASK) {
        return Ok(PathBuf::from(written));
    }
    let here = std::env::current_dir().unwrap_or_default();
    let fits = |folder: &&Path| is_masked_as(&folder.to_string_lossy(), written);
    let found = here.ancestors().chain(run.ancestors()).find(fits);
    found.map(Path::to_owned).ok_or_else(|| RunError::Withheld {
        needs: vec![format!("the working directory, stored as `{written}`")],
        hint: "run `resume` from there".to_owned(),
    })
}

/// Whether `text` is `written` with something in place of each `***`.
fn is_masked_as(text: &str, written: &str) -> bool {
    let mut parts = written.split(MASK);
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.len() > part.len() && rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

/// A run that was killed may have left secrets that were still to be masked.
fn mask_leftovers(files: &Files) {
    for entry in std::fs::read_dir(files.root()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(PassKind::Rehearsal.as_str()) {
            let _ = mark_traces(&entry.path(), &files.redactor);
        }
        let exports = std::fs::read_dir(entry.path()).into_iter().flatten().flatten();
        for export in exports.filter(|_| name.starts_with(Tool::Nsys.as_str())) {
            if export.file_name().to_string_lossy().ends_with(PARTIAL) {
                let _ = std::fs::remove_file(export.path());
            }
        }
    }
}

/// Masked names can be compared with what was recorded with them, but not with new recordings: then the
/// workload is rehearsed again.
fn is_of_no_use(inventory: &Inventory, manifest: &mut Manifest) -> bool {
    let captures: Vec<StepName> = StepName::ALL.into_iter().filter(|step| step.is_capture()).collect();
    let has_marks = |region: &Region| region.path.to_string().contains(MASK);
    let is_pending = |name: &StepName| manifest.step(*name).status == StepStatus::Pending;
    if !captures.iter().any(is_pending) || !inventory.regions.iter().any(has_marks) {
        return false;
    }
    for step in [StepName::Rehearse, StepName::Plan].iter().chain(&captures) {
        manifest.step_mut(*step).status = StepStatus::Pending;
    }
    true
}

/// If one step is repeated, so are the steps that depend on it.
fn reopen_steps(manifest: &mut Manifest) {
    for step in manifest.steps.iter_mut().filter(|step| !step.status.is_finished()) {
        step.status = StepStatus::Pending;
    }
    // What was skipped because the rehearsal failed may be possible now.
    if manifest.step(StepName::Rehearse).status == StepStatus::Pending {
        let is_due = |step: &&mut Step| {
            step.name == StepName::Plan || step.name.is_capture() && step.status == StepStatus::Skipped
        };
        manifest.steps.iter_mut().filter(is_due).for_each(|step| step.status = StepStatus::Pending);
    }
    // An interrupted step is repeated and reports its own result.
    manifest.passes.retain(|pass| pass.ended_by_us != Some(Reason::Interrupted));
    if manifest.steps.iter().any(|step| !step.status.is_finished()) {
        for step in [StepName::Doctor, StepName::Analyze, StepName::Report] {
            manifest.step_mut(step).status = StepStatus::Pending;
        }
    }
}

fn command(
    manifest: &Manifest,
    resume: &Resume,
    names: &[String],
    needs: &mut Vec<String>,
) -> Result<Vec<OsString>, RunError> {
    let written = &manifest.workload.argv;
    let withheld = &manifest.workload.withheld;
    if !resume.command.is_empty() {
        same_command(written, withheld.iter().map(|withheld| withheld.arg).collect(), &resume.command)?;
        return Ok(resume.command.clone());
    }
    match rebuild_argv(written, withheld, |name| secret_of(name, names)) {
        Ok(argv) => Ok(argv.into_iter().map(OsString::from).collect()),
        Err(missing) => {
            for need in missing {
                if !needs.iter().any(|other| need.starts_with(other.as_str())) {
                    needs.push(need);
                }
            }
            Ok(Vec::new())
        }
    }
}

/// The secret part of a variable: all of it, or the part that looks like a secret.
fn secret_of(name: &str, names: &[String]) -> Option<String> {
    let value = std::env::var(name).ok()?;
    if looks_secret_name(name, &value, names) {
        return Some(value.trim().to_owned());
    }
    match secret_spans(&value).as_slice() {
        [span] => Some(value[span.clone()].to_owned()),
        _ => None,
    }
}

fn same_command(written: &[String], withheld: Vec<usize>, given: &[OsString]) -> Result<(), RunError> {
    let longest = written.len().max(given.len());
    for at in 0..longest {
        let expected = written.get(at).map(String::as_str).unwrap_or("<nothing>");
        let text = given.get(at).map_or("<nothing>".into(), |text| text.to_string_lossy());
        if text != expected && !withheld.contains(&at) {
            return Err(RunError::OtherCommand {
                at,
                given: text.into_owned(),
                expected: expected.to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_directory_is_told_from_others() {
        for (text, written, fits) in [
            ("/home/hunter2/x", "/home/***/x", true),
            ("/home/hunter2/x/y", "/home/***/x", false),
            ("/home//x", "/home/***/x", false),
            ("/a/s/b/t", "/a/***/b/***", true),
            ("/a/s/c/t", "/a/***/b/***", false),
        ] {
            assert_eq!(is_masked_as(text, written), fits, "{text}");
        }
    }
}
