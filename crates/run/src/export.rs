//! Runs as files of a dataset: which run it is, where its files lie, and that each is complete or absent.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use dataset::{MARKER, NAMES, Run, Source, Table, each_empty_table, each_table, file_of, marker, understood};
use input::Input;
use jiff::Timestamp;
use output::{stays_inside, write_plain};
use record::{JOB, MANIFEST, Manifest, PlaceRecord};
use serde::Serialize;
use trace::Trace;

use crate::job::{is_job, place_in};
use crate::quote::shell_line;
use crate::rundir::{Durable, UNFINISHED, read_document, read_manifest, safe_name};

/// The day of files that only say what the columns of a table are.
const NO_DAY: &str = "1970-01-01";
const NO_RUN: &str = "empty";
/// Of a hash, so much tells runs of one name apart.
const HASH_LETTERS: usize = 12;
/// A marker is a line.
const LARGEST_MARKER: u64 = 4096;

/// A run in a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    pub run: Run,
    /// UTC.
    pub date: String,
}

/// What was written of one.
#[derive(Debug, Serialize)]
pub struct Written {
    pub run: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    pub date: String,
    /// By table, where there are any.
    pub rows: BTreeMap<&'static str, usize>,
    pub bytes: u64,
}

/// Makes a dataset of a folder that is new or empty.
pub fn open_dataset(folder: &Path) -> Result<(), String> {
    let marker_file = folder.join(MARKER);
    let shown = folder.display();
    if folder.exists() && !folder.is_dir() {
        return Err(format!("`{shown}` is not a folder"));
    }
    let cannot = |error: io::Error| format!("cannot write `{shown}`: {error}");
    if marker_file.exists() {
        let text = Input::open(&marker_file).and_then(|input| input.whole(LARGEST_MARKER));
        let text =
            text.map_err(|error| format!("cannot read `{}`: {}", marker_file.display(), error.reason()))?;
        return understood(&String::from_utf8_lossy(&text)).map_err(|why| {
            format!("cannot add to the dataset `{shown}`: {why}\nhint: export into another folder")
        });
    }
    // Others may be making it at this moment.
    let is_ours = |name: &OsStr| {
        let name = name.to_string_lossy();
        name == MARKER || name.starts_with(UNFINISHED) || NAMES.iter().any(|table| name == *table)
    };
    let mut others = std::fs::read_dir(folder).into_iter().flatten().flatten();
    if others.any(|entry| !is_ours(&entry.file_name())) {
        return Err(format!(
            "`{shown}` is no dataset, and has other files in it\nhint: export into a new folder"
        ));
    }
    // The marker last: who finds it finds a file of every table.
    each_empty_table(&|table| {
        write_table(folder, &file_of(folder, table.name(), NO_DAY, NO_RUN, None), table)
    })
    .map_err(cannot)?;
    write_plain(&marker_file, Durable::No, |out| out.write_all(marker().as_bytes())).map_err(cannot)
}

/// Which run it is: the same whenever it is exported, wherever it lies. `masked`: a name without the secrets in it, if it has any.
pub fn identify(path: &Path, trace: &Trace, masked: impl Fn(&str) -> Option<String>) -> io::Result<Exported> {
    let path = &std::fs::canonicalize(path)?;
    let manifest = match path.join(MANIFEST).exists() {
        true => Some(read_manifest(path).map_err(io::Error::other)?),
        false => None,
    };
    let place = place_in(path);
    let begun = begun(manifest.as_ref(), place.as_ref(), trace);
    let name = match &manifest {
        Some(manifest) => manifest.name.clone(),
        None => stem(path),
    };
    let name = masked(&name).unwrap_or(name);
    let id = match &manifest {
        Some(manifest) => of_run(path, &name, manifest)?,
        None => of_file(path, &name)?,
    };
    let day = begun.or_else(|| modified(path)).unwrap_or(0);
    let rank = place.as_ref().map(|place| place.rank.rank);
    let command = manifest.as_ref().map(|manifest| shell_line(&manifest.workload.argv));
    let command = command.map(|command| masked(&command).unwrap_or(command));
    let run = Run { id, name, begun, node: place.map(|place| place.host), rank, command };
    Ok(Exported { run, date: date(day) })
}

/// Writes the tables of a run; what an earlier export of it left is replaced. The row of the run comes last: who finds it finds
/// all of it.
pub fn export(folder: &Path, exported: &Exported, source: Source<'_>) -> io::Result<Written> {
    let Exported { run, date } = exported;
    let date = known_date(folder, &run.id, run.rank).unwrap_or_else(|| date.clone());
    // Whoever looks while it is replaced finds no run, instead of a half of each.
    remove(folder, &file_of(folder, "runs", &date, &run.id, run.rank))?;
    let done: Mutex<(BTreeMap<&'static str, usize>, u64)> = Mutex::default();
    each_table(source, &|table| {
        let file = file_of(folder, table.name(), &date, &run.id, run.rank);
        if table.rows() == 0 {
            return remove(folder, &file);
        }
        write_table(folder, &file, table)?;
        let (rows, bytes) = &mut *done.lock().unwrap_or_else(PoisonError::into_inner);
        rows.insert(table.name(), table.rows());
        *bytes += std::fs::metadata(&file)?.len();
        Ok(())
    })?;
    let (rows, bytes) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Written { run: run.id.clone(), rank: run.rank, date, rows, bytes })
}

fn write_table(dataset: &Path, file: &Path, table: &dyn Table) -> io::Result<()> {
    stays_inside(dataset, file)?;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write_plain(file, Durable::No, |out| table.write(out))
}

fn remove(dataset: &Path, file: &Path) -> io::Result<()> {
    stays_inside(dataset, file)?;
    std::fs::remove_file(file).or_else(unless_absent)
}

fn unless_absent(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}

/// A file whose recording does not say when it was made has the day on which it was exported first.
fn known_date(folder: &Path, run: &str, rank: Option<u32>) -> Option<String> {
    let days = std::fs::read_dir(folder.join("runs")).ok()?.flatten();
    let mut names = days.filter_map(|day| day.file_name().into_string().ok());
    names.find_map(|name| {
        let date = name.strip_prefix("date=")?;
        file_of(folder, "runs", date, run, rank).is_file().then(|| date.to_owned())
    })
}

/// A run by its name and the moment it was made; all ranks of a job are one.
fn of_run(path: &Path, name: &str, manifest: &Manifest) -> io::Result<String> {
    let job = path.parent().filter(|parent| is_job(parent));
    let mut hash = blake3::Hasher::new();
    let name = match job {
        Some(job) => {
            let text = read_document(job, JOB).map_err(|error| io::Error::other(error.with_cause()))?;
            hash.update(text.as_bytes());
            name
        }
        None => {
            let words = manifest.workload.argv.iter().chain([&manifest.created, &manifest.invocation.cwd]);
            words.for_each(|word| {
                hash.update(word.as_bytes());
                hash.update(&[0]);
            });
            &manifest.id
        }
    };
    Ok(named(name, &hash))
}

/// A file by its contents; a folder by the names and sizes in it.
fn of_file(path: &Path, name: &str) -> io::Result<String> {
    let mut hash = blake3::Hasher::new();
    if path.is_dir() {
        let mut files = input::files_in(path, |_| true).files;
        files.sort();
        for file in files {
            let relative = file.strip_prefix(path).unwrap_or(&file);
            hash.update(relative.as_os_str().as_encoded_bytes());
            hash.update(&file.metadata()?.len().to_le_bytes());
        }
    } else {
        hash.update_reader(std::fs::File::open(path)?)?;
    }
    Ok(named(name, &hash))
}

fn named(name: &str, hash: &blake3::Hasher) -> String {
    format!("{}-{}", safe_name(name), &hash.finalize().to_hex()[..HASH_LETTERS])
}

/// The name of a file without what says that it is a trace.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut stem = name.as_str();
    for ending in [".gz", ".json", ".sqlite", ".ncu-rep", ".nsys-rep", ".csv", ".pt.trace"] {
        stem = stem.strip_suffix(ending).unwrap_or(stem);
    }
    stem.to_owned()
}

fn begun(manifest: Option<&Manifest>, place: Option<&PlaceRecord>, trace: &Trace) -> Option<i64> {
    let recorded = trace.session_start.map(|start| start.saturating_add(trace.begin));
    let made = manifest.and_then(|manifest| manifest.created.parse::<Timestamp>().ok());
    let made = made.and_then(|made| i64::try_from(made.as_nanosecond()).ok());
    recorded.or(place.map(|place| place.since_1970_ns)).or(made)
}

fn modified(path: &Path) -> Option<i64> {
    let since = path.metadata().and_then(|of| of.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    i64::try_from(since.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
}

/// `2026-01-02`, UTC. A time that no calendar has is the first day of all.
fn date(since_1970_ns: i64) -> String {
    match Timestamp::from_nanosecond(i128::from(since_1970_ns)) {
        Ok(time) => time.strftime("%Y-%m-%d").to_string(),
        Err(_) => NO_DAY.to_owned(),
    }
}

/// Everything that is exported as one: a run, a trace, a report. Traces of the tracer in one folder are of one program.
pub fn units(given: &crate::gather::Gathered) -> Vec<PathBuf> {
    let is_ours = |path: &Path| path.extension().is_some_and(|extension| extension == "rft");
    let folder = |path: &Path| path.parent().map(Path::to_owned).filter(|_| is_ours(path));
    let mut in_folder: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let folders = given.traced.iter().filter(|given| !given.named).filter_map(|given| folder(&given.path));
    folders.for_each(|folder| *in_folder.entry(folder).or_default() += 1);
    let unit =
        |path: &Path| folder(path).filter(|folder| in_folder.get(folder).is_some_and(|traces| *traces > 1));
    let units = given.traced.iter().map(|given| unit(&given.path).unwrap_or_else(|| given.path.clone()));
    let mut seen = BTreeSet::new();
    let mut units: Vec<PathBuf> = units.filter(|unit| seen.insert(unit.clone())).collect();
    let is_apart = |path: &PathBuf| !units.iter().any(|unit| path.starts_with(unit));
    let apart: Vec<PathBuf> = given.counted.iter().map(|given| given.path.clone()).filter(is_apart).collect();
    units.extend(apart);
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_names() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(1_767_312_245_000_000_000), "2026-01-02");
        assert_eq!(date(i64::MAX), "2262-04-11");
        for (file, expected) in [
            ("a/rank0.pt.trace.json.gz", "rank0"),
            ("x.sqlite", "x"),
            ("run.ncu-rep", "run"),
            ("plain", "plain"),
        ] {
            assert_eq!(stem(Path::new(file)), expected);
        }
    }
}
