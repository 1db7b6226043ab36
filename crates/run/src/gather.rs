//! What `analyze` is given, sorted: files that hold traces, files that hold counters.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use input::files_in;

use record::{JOB, MANIFEST};

use crate::job::{is_job, parts};
use crate::repeat::SET_FILE;

#[derive(Debug, Default)]
pub struct Gathered {
    /// Files, and run directories, which stand for their capture.
    pub traced: Vec<Given>,
    pub counted: Vec<Given>,
    /// Other files in the folders: neither traces nor reports.
    pub others: Vec<PathBuf>,
    /// Pipes, sockets, devices and broken links in the folders.
    pub special: u64,
    /// What else was skipped, and why.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub path: PathBuf,
    /// Named by the user; otherwise it was found in a folder.
    pub named: bool,
}

/// A folder stands for every trace and report in it and in its folders. A run directory stands
/// for its last capture: its traces are several recordings of the same program.
pub fn gather(paths: &[PathBuf]) -> Gathered {
    let mut gathered = Gathered::default();
    for path in paths {
        match () {
            () if !path.is_dir() => gathered.file(path.clone(), true),
            () if is_run(path) => gathered.run(path, true),
            () if is_job(path) => gathered.job(path),
            () => gathered.folder(path),
        }
    }
    gathered
}

/// Where a run keeps what it captured.
pub(crate) fn is_run(folder: &Path) -> bool {
    folder.join(MANIFEST).is_file()
        || ["nsys", "rehearsal", "ncu"].iter().any(|part| holds_capture(&folder.join(part)))
}

fn holds_capture(folder: &Path) -> bool {
    let ours = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        extension == "rft" || (["sqlite", "ncu-rep"].contains(&extension) && stem.starts_with("run"))
    };
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| ours(&entry.path()))
}

impl Gathered {
    fn run(&mut self, folder: &Path, named: bool) {
        self.counted.extend(nsight::ncu::reports(folder).into_iter().map(|path| Given { path, named }));
        self.traced.push(Given { path: folder.to_owned(), named });
    }

    /// The runs of its ranks; what was found in all of them is no trace.
    fn job(&mut self, folder: &Path) {
        match parts(folder) {
            Some(parts) => parts.runs.iter().for_each(|run| self.run(run, false)),
            None => {
                self.notes.push(format!(
                    "`{}` cannot be read: the ranks are taken for runs",
                    folder.join(JOB).display()
                ));
                self.folder(folder);
            }
        }
    }

    fn file(&mut self, path: PathBuf, named: bool) {
        let list = if !trace::is_unexported(&path) && counters::is_counters(&path) {
            &mut self.counted
        } else {
            &mut self.traced
        };
        list.push(Given { path, named });
    }

    fn folder(&mut self, folder: &Path) {
        let runs = RefCell::new(Vec::new());
        let found = files_in(folder, |path| {
            let run = is_run(path);
            if run {
                runs.borrow_mut().push(path.to_owned());
            }
            !run
        });
        let mut runs = runs.into_inner();
        runs.sort();
        runs.iter().for_each(|run| self.run(run, false));
        let all: BTreeSet<&PathBuf> = found.files.iter().collect();
        for path in &found.files {
            match () {
                () if is_copy(path, &all) || path.file_name().is_some_and(|name| name == SET_FILE) => {}
                () if trace::is_unexported(path) || trace::is_trace(path) || counters::is_counters(path) => {
                    self.file(path.clone(), false);
                }
                () => self.others.push(path.clone()),
            }
        }
        let shown = folder.display();
        self.special += found.others;
        match found.others {
            0 => {}
            1 => self.notes.push(format!("skipped 1 pipe, socket, device, or broken link in `{shown}`")),
            count => self
                .notes
                .push(format!("skipped {count} pipes, sockets, devices, or broken links in `{shown}`")),
        }
        if found.cut_short {
            self.notes.push(format!(
                "`{shown}` has too many files or too deeply nested folders: not all \
            were searched"
            ));
        }
    }
}

/// Whether the same recording is next to it in a form that is easier to read: the export of a report, an
/// uncompressed copy, or the report that a CSV was printed from (`a.csv` or `a.raw.csv` beside `a.ncu-rep`).
fn is_copy(path: &Path, all: &BTreeSet<&PathBuf>) -> bool {
    let there = |path: PathBuf| all.contains(&path);
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension {
        "qdstrm" => ["nsys-rep", "qdrep", "sqlite"].iter().any(|other| there(path.with_extension(other))),
        "nsys-rep" | "qdrep" => there(path.with_extension("sqlite")),
        "gz" | "zst" => there(path.with_extension("")),
        "csv" => {
            let report = |path: &Path| there(path.with_extension("ncu-rep"));
            (report(path) || report(&path.with_extension(""))) && counters::is_counters(path)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["ranks", "pair-compare", "old/run-1/rehearsal", "old/run-1/nsys"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        let trace = "{\"traceEvents\": []}";
        for (name, text) in [
            ("ranks/0.json", trace),
            ("ranks/0.json.gz", "a copy"),
            ("pair-compare/set.json", "{}"),
            ("ranks/1.json", trace),
            ("a.nsys-rep", "NVR\0"),
            ("b.nsys-rep", "NVR\0"),
            ("b.sqlite", "SQLite format 3\0"),
            ("c.ncu-rep", "NVR\0"),
            ("c.csv", "\"ID\",\"Process ID\"\n"),
            ("c.raw.csv", "\"ID\",\"Process ID\"\n"),
            ("d.csv", "\"ID\",\"Process ID\"\n"),
            ("notes.txt", "text"),
            ("old/run-1/run.json", "{}"),
            ("old/run-1/nsys/run.sqlite", "SQLite format 3\0"),
            ("old/run-1/rehearsal/1.rft", "RFTRACE1"),
        ] {
            std::fs::write(at(name), text).unwrap();
        }
        let gathered = gather(&[folder.path().to_owned()]);
        let paths = |given: &[Given]| given.iter().map(|given| given.path.clone()).collect::<Vec<_>>();
        assert_eq!(
            paths(&gathered.traced),
            ["old/run-1", "a.nsys-rep", "b.sqlite", "ranks/0.json", "ranks/1.json"].map(at)
        );
        assert_eq!(paths(&gathered.counted), ["c.ncu-rep", "d.csv"].map(at));
        assert!(gathered.traced.iter().all(|given| !given.named));
        assert_eq!((gathered.others, gathered.notes), (vec![at("notes.txt")], Vec::new()));
    }
}
