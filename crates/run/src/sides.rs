//! What a side of a comparison is made of.

use std::path::{Path, PathBuf};

use crate::gather::is_run;
use crate::repeat::SET_FILE;

/// More runs than this are a mistake.
const MOST_RUNS: usize = 10_000;

/// Some runs of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Run directories, or traces.
    pub runs: Vec<PathBuf>,
}

/// A trace or a run stands for itself; a folder for the runs in it, or for the traces, each a run of the program. Why
/// there is nothing to compare otherwise.
pub fn side(path: &Path) -> Result<Side, String> {
    let found = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_dir() || is_run(path) {
        return Ok(Side { runs: vec![path.to_owned()] });
    }
    if path.join(SET_FILE).is_file() && path.join("a").is_dir() {
        let shown = path.display();
        return Err(format!("it has the runs of two programs: name one of them, `{shown}/a` or `{shown}/b`"));
    }
    let entries = std::fs::read_dir(path).map_err(|error| error.to_string())?;
    let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).take(MOST_RUNS).collect();
    inside.sort();
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = inside.into_iter().partition(|path| path.is_dir());
    let (runs, others): (Vec<PathBuf>, Vec<PathBuf>) = folders.into_iter().partition(|folder| is_run(folder));
    if !runs.is_empty() {
        return Ok(Side { runs });
    }
    // The folder for all runs, with several runs of one program in it.
    match others.into_iter().filter(|folder| folder.join(SET_FILE).is_file()).collect::<Vec<_>>().as_slice() {
        [] => {}
        [only] => return side(only),
        sets => {
            let named: Vec<String> = sets.iter().map(|set| format!("`{}`", set.display())).collect();
            return Err(format!("it has the runs of several programs: name one of {}", named.join(", ")));
        }
    }
    let is_trace = |file: &PathBuf| file.is_file() && (trace::is_unexported(file) || trace::is_trace(file));
    let traces: Vec<PathBuf> = files.into_iter().filter(is_trace).collect();
    match traces.is_empty() {
        true => Err("it has neither runs nor traces".to_owned()),
        false => Ok(Side { runs: traces }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_or_traces() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(side(folder.path()), Err("it has neither runs nor traces".to_owned()));
        assert!(side(&at("missing")).unwrap_err().contains("No such file"));
        for run in ["2", "1"] {
            std::fs::create_dir(at(run)).unwrap();
            std::fs::write(at(run).join(record::MANIFEST), "{}").unwrap();
        }
        std::fs::create_dir(at("other")).unwrap();
        std::fs::write(at(SET_FILE), "{}").unwrap();
        assert_eq!(side(folder.path()).unwrap().runs, [at("1"), at("2")]);
        assert_eq!(side(&at("2")).unwrap().runs, [at("2")]);
        // A folder with one such set stands for it; one with several does not say which.
        let above = tempfile::tempdir().unwrap();
        let set = |name: &str| {
            let run = above.path().join(name).join("1");
            std::fs::create_dir_all(&run).unwrap();
            std::fs::write(run.join(record::MANIFEST), "{}").unwrap();
            std::fs::write(above.path().join(name).join(SET_FILE), "{}").unwrap();
            run
        };
        let only = set("one");
        assert_eq!(side(above.path()).unwrap().runs, [only]);
        set("two");
        assert!(side(above.path()).unwrap_err().contains("the runs of several programs: name one of"));
        std::fs::create_dir(at("a")).unwrap();
        assert!(side(folder.path()).unwrap_err().contains("the runs of two programs: name one of them"));
    }
}
