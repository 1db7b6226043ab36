//! Which run a command is about: the one that is named, the one we are in, or the newest.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use record::{MANIFEST, Manifest};
use run::config::{Request, resolve};
use run::job::is_job;
use run::repeat::{MadeSet, sets};
use run::rundir::{newest, read_manifest};

use super::here;

/// The folder that runs are made in; inside a run, the one that it is in.
pub(super) fn root() -> Result<PathBuf> {
    let here = here()?;
    if let Some(folder) = here.parent().filter(|_| read_manifest(&here).is_ok()) {
        return Ok(folder.to_owned());
    }
    let request = Request {
        presets: Vec::new(),
        file: None,
        overrides: Vec::new(),
        command: Vec::new(),
        cwd: here.clone(),
    };
    Ok(here.join(&resolve(&request)?.config.run.dir.0))
}

/// `named` may also be the name of a run without its folder. `what` are the runs that come into question if none is
/// named: `no {what} in ...`; and, where a file is given, comparisons and several runs of one program that have it.
pub(super) fn chosen(
    named: Option<PathBuf>,
    what: &str,
    of_several: Option<&str>,
    is_one: impl Fn(&Manifest) -> bool,
) -> Result<PathBuf> {
    let Some(named) = named else {
        let here = here()?;
        if here.join(MANIFEST).is_file() || is_job(&here) {
            return Ok(here);
        }
        let root = root()?;
        let run = newest(&root).find(|(_, manifest)| is_one(manifest));
        let has_it = |set: &MadeSet| of_several.is_some_and(|file| set.folder.join(file).is_file());
        let set = sets(&root).filter(has_it);
        let set = set.max_by(|one, other| one.created.cmp(&other.created));
        let is_newer =
            |set: &MadeSet| run.as_ref().is_none_or(|(_, manifest)| set.created > manifest.created);
        if let Some(set) = set.filter(is_newer) {
            return Ok(set.folder);
        }
        return match run {
            Some((run, _)) => Ok(run),
            None => bail!(
                "no {what} in `{}`\nhint: name one, or go to the folder in which it was started",
                root.display()
            ),
        };
    };
    existing(named)
}

/// What is named by its path, or by its name in the folder for all runs.
pub(super) fn existing(named: PathBuf) -> Result<PathBuf> {
    if named.exists() {
        return Ok(named);
    }
    let root = root()?;
    let inside = root.join(&named);
    if inside.is_dir() {
        return Ok(inside);
    }
    match like(&root, &named) {
        Some(run) => bail!(
            "`{}` does not exist\nhint: did you mean {}?",
            named.display(),
            run::shell_word(&run.to_string_lossy())
        ),
        None => bail!("`{}` does not exist\nhint: rangefinder list", named.display()),
    }
}

/// The newest run whose name has that in it, or of whose letters few differ.
fn like(root: &Path, named: &Path) -> Option<PathBuf> {
    let wanted = named.file_name()?.to_string_lossy().to_lowercase();
    let name = |run: &Path| run.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let runs: Vec<PathBuf> = newest(root).map(|(run, _)| run).collect();
    let within = runs.iter().find(|run| name(run).contains(&wanted));
    within.or_else(|| runs.iter().find(|run| strsim::jaro_winkler(&name(run), &wanted) > 0.9)).cloned()
}
