//! Any file that holds a trace, told by what is in it.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::kineto::{KinetoError, read_kineto};
use crate::model::Trace;
use crate::nsys::{NsysError, read_nsys, read_nsys_session};
use crate::tracer::{ReadError, read_tracer_files};

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("`{}` cannot be read", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("`{}` is an unexported report of nsys\nhint: nsys export --type sqlite -o report.sqlite {}", path.display(), path.display())]
    Unexported { path: PathBuf },
    #[error("`{}` is empty", path.display())]
    Empty { path: PathBuf },
    #[error("`{}` is neither an SQLite export of nsys, nor a PyTorch trace, nor a report or CSV of ncu, nor a trace of ours", path.display())]
    Unknown { path: PathBuf },
    #[error("`{}` is a folder without a trace in it", path.display())]
    EmptyFolder { path: PathBuf },
    #[error(transparent)]
    Nsys(#[from] NsysError),
    #[error(transparent)]
    Kineto(#[from] KinetoError),
    #[error(transparent)]
    Tracer(#[from] ReadError),
}

enum Format {
    Nsys,
    Kineto,
    Tracer,
}

/// Reads all files into one trace. A folder stands for the traces in it.
pub fn open(paths: &[PathBuf]) -> Result<Trace, OpenError> {
    let (mut files, mut ours, mut traces) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        match timeline_files(&path.join("nsys")) {
            timeline if timeline.is_empty() => files.extend(folder(path)?),
            timeline => traces.push(read_nsys_session(&timeline)?),
        }
    }
    for path in files {
        match format(&path)? {
            Format::Tracer => ours.push(path),
            Format::Nsys => traces.push(read_nsys(&path)?),
            Format::Kineto => traces.push(read_kineto(&path)?),
        }
    }
    if !ours.is_empty() {
        traces.push(read_tracer_files(&ours, |_, _| ())?);
    }
    let mut traces = traces.into_iter();
    let mut all = traces.next().unwrap_or_default();
    for trace in traces {
        all.append(trace);
    }
    Ok(all)
}

fn format(path: &Path) -> Result<Format, OpenError> {
    let io = |source| OpenError::Io { path: path.to_owned(), source };
    let path = path.to_owned();
    let extension = path.extension().and_then(|extension| extension.to_str());
    if matches!(extension, Some("nsys-rep" | "qdstrm" | "qdrep")) {
        return Err(OpenError::Unexported { path });
    }
    let mut start = [0; 64];
    let mut file = std::fs::File::open(&path).map_err(io)?;
    let mut length = 0;
    while length < start.len() {
        match file.read(&mut start[length..]).map_err(io)? {
            0 => break,
            read => length += read,
        }
    }
    let start = &start[..length];
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => Err(OpenError::Empty { path }),
        Some(_) if start.starts_with(b"RFTRACE") => Ok(Format::Tracer),
        // The reader of nsys exports says what is wrong with a header of zeros.
        Some(_) if start.starts_with(b"SQLite format 3\0") || start.iter().all(|byte| *byte == 0) => {
            Ok(Format::Nsys)
        }
        Some(_) if start.starts_with(&[0x1f, 0x8b]) => Ok(Format::Kineto),
        Some(b'{' | b'[') => Ok(Format::Kineto),
        Some(_) => Err(OpenError::Unknown { path }),
    }
}

/// The exports of one capture, in their order: `run.sqlite`, or `run.1.sqlite` and so on.
pub fn timeline_files(folder: &Path) -> Vec<PathBuf> {
    capture_files(folder, &["sqlite"])
}

/// The files of one capture with one of these endings, in the order of their numbers.
pub fn capture_files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let number = |path: &Path| -> Option<u32> {
        endings.contains(&path.extension()?.to_str()?).then_some(())?;
        match path.file_stem()?.to_str()?.strip_prefix("run")? {
            "" => Some(0),
            number => number.strip_prefix('.')?.parse().ok(),
        }
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<(u32, PathBuf)> =
        entries.filter_map(|entry| Some((number(&entry.path())?, entry.path()))).collect();
    files.sort();
    files.into_iter().map(|(_, path)| path).collect()
}

/// Traces of ours in a run directory or any other folder.
fn folder(path: &Path) -> Result<Vec<PathBuf>, OpenError> {
    for folder in [path.join("rehearsal"), path.to_owned()] {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "rft"))
            .collect();
        files.sort();
        if !files.is_empty() {
            return Ok(files);
        }
    }
    Err(OpenError::EmptyFolder { path: path.to_owned() })
}
