//! The importer, which turns an nsys recording into a report. A separate program, whose libraries may be
//! missing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use record::Ending;
use serde::Serialize;

use super::installation::{Installation, find_library, missing_library, package_of};
use crate::ask::{finished, last_lines, output_of, said};

/// Time limits for an answer and for an import.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
pub(super) const IMPORT_PATIENCE: Duration = Duration::from_secs(1800);
/// Missing libraries are reported one at a time.
const MOST_LIBRARIES: usize = 16;
/// What it prints when the report is there.
const SAVED: &str = "Saved report file to";
/// Folders with libraries for the importer, and for nothing else.
const LIBRARY_VARIABLE: &str = "RANGEFINDER_LIBRARY_PATH";

/// Its entry in `env.json` and `doctor`.
#[derive(Debug, Clone, Serialize)]
pub struct Importer {
    pub path: Option<PathBuf>,
    /// nsys finds it by itself.
    pub in_place: bool,
    /// It starts, if necessary with the libraries in `library_path`.
    pub starts: bool,
    /// Libraries that are nowhere to be found.
    pub missing: Vec<String>,
    /// What to put on its `LD_LIBRARY_PATH`.
    pub library_path: Vec<PathBuf>,
    pub problem: Option<String>,
}

impl Importer {
    /// Retries the importer with one more library each time until it starts. Links to libraries of another
    /// version go into `folder`.
    pub fn of(installation: &Installation, folder: &Path) -> Self {
        let mut importer = Self {
            path: installation.importer(),
            in_place: installation.importer_in_place,
            starts: false,
            missing: Vec::new(),
            library_path: Vec::new(),
            problem: None,
        };
        let Some(path) = importer.path.clone() else {
            importer.problem = Some("its importer is not installed".to_owned());
            return importer;
        };
        let given = std::env::var_os(LIBRARY_VARIABLE).unwrap_or_default();
        let given: Vec<PathBuf> = std::env::split_paths(&given).filter(|path| path.is_dir()).collect();
        let system = ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
        let folders: Vec<PathBuf> = given.iter().cloned().chain(system.map(PathBuf::from)).collect();
        importer.library_path = given;
        let mut linked: Vec<String> = Vec::new();
        for _ in 0..MOST_LIBRARIES {
            let text = match said(&[path.clone().into(), "--help".into()], &importer.library_path, PATIENCE) {
                Ok(text) => text,
                Err(problem) => {
                    importer.problem = Some(problem);
                    return importer;
                }
            };
            let Some(library) = missing_library(&text).map(str::to_owned) else {
                importer.starts = true;
                return importer;
            };
            let found = find_library(&library, &folders).filter(|_| !linked.contains(&library));
            if found.is_none_or(|found| link(&found, &library, folder).is_err()) {
                importer.missing.push(library);
                break;
            }
            linked.push(library);
            if linked.len() == 1 {
                importer.library_path.push(folder.to_owned());
            }
        }
        let named: Vec<String> = importer.missing.iter().map(|library| needs(library)).collect();
        importer.problem = Some(format!("its importer does not start: {}", named.join(", ")));
        importer
    }
}

impl Importer {
    /// `.qdstrm` → `.nsys-rep`. Returns what the importer said: it saves a report even if most of the data
    /// was lost.
    pub fn import(&self, stream: &Path, report: &Path) -> Result<String, String> {
        let Some(path) = self.path.as_ref().filter(|_| self.starts) else {
            return Err(self.problem.clone().unwrap_or_else(|| "there is no importer".to_owned()));
        };
        let argv = [path.clone().into(), "-i".into(), stream.into(), "-o".into(), report.into()];
        let once = |is_last: bool| {
            let finished =
                finished(&argv, &self.library_path, IMPORT_PATIENCE).map_err(|error| error.to_string())?;
            let text = output_of(&finished);
            if finished.ending.success() && report.is_file() {
                return Ok(text);
            }
            // What it saved is judged by its contents.
            let crashed = matches!(finished.ending, Ending::Signal(_));
            if is_last && crashed && text.contains(SAVED) && report.is_file() {
                return Ok(format!(
                    "{text}\nthe importer ended with {} after it had saved the report\n",
                    finished.ending
                ));
            }
            // A stub is not a report.
            let _ = std::fs::remove_file(report);
            Err(format!("the importer ended with {}: {}", finished.ending, last_lines(&text)))
        };
        // Seen twice in many hundred captures: it crashed, although nothing else was wrong, and once so the second time.
        once(false).or_else(|_| once(true))
    }
}

/// `libdw.so.1 (package libdw1)`
fn needs(library: &str) -> String {
    match package_of(library) {
        Some(package) => format!("{library} is missing (Debian's package {package})"),
        None => format!("{library} is missing"),
    }
}

/// A link by the name that is looked for.
fn link(found: &Path, name: &str, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let place = folder.join(name);
    match std::os::unix::fs::symlink(found, &place) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}
