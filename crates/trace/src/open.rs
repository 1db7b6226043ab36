//! Opens any trace file; the format is recognized from the content.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use input::{Compression, Input, InputError, Text};

use crate::extent::{Budget, Extent, Weights};
use crate::kineto::{KinetoError, plainly, read_kineto_text};
use crate::model::{Recording, Trace};
use crate::nsys::{NsysError, read_nsys_input, read_nsys_session};
use crate::sampled::{read_sampled_files, weigh_sampled_files};
use crate::tracer::{ReadError, by_run, read_tracer_files, weigh_tracer_files};

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("`{}` is an nsys report that has not been exported\nhint: nsys export --type sqlite -o report.sqlite {}", path.display(), path.display())]
    Unexported { path: PathBuf },
    #[error("`{}` is empty", path.display())]
    Empty { path: PathBuf },
    #[error("`{}` is not a file that `analyze` can read (nsys SQLite export, PyTorch trace, ncu report or CSV, Rangefinder trace)", path.display())]
    Unknown { path: PathBuf },
    #[error("`{}` is compressed, and only PyTorch traces can be read that way\nhint: {command} {}", path.display(), path.display())]
    Compressed { path: PathBuf, command: &'static str },
    #[error("`{}` is a folder without traces", path.display())]
    EmptyFolder { path: PathBuf },
    #[error(transparent)]
    Nsys(#[from] NsysError),
    #[error(transparent)]
    Kineto(#[from] KinetoError),
    #[error(transparent)]
    Tracer(#[from] ReadError),
}

impl OpenError {
    /// The file was understood well enough to say that it is something else.
    pub fn is_no_trace(&self) -> bool {
        matches!(
            self,
            Self::Unknown { .. }
                | Self::Kineto(KinetoError::NotATrace { .. })
                | Self::Nsys(NsysError::NotNsys { .. })
        )
    }
}

enum Format {
    Nsys,
    Kineto,
    Tracer,
}

/// The result of reading several files.
#[derive(Debug)]
pub struct Opened {
    /// All that could be read, as one.
    pub trace: Trace,
    pub failed: Vec<(PathBuf, OpenError)>,
}

/// Reads all files into one trace, as far as there is memory. A folder stands for the traces in it.
pub fn open(paths: &[PathBuf]) -> Result<Trace, OpenError> {
    let Opened { trace, failed } = open_each(paths, Budget::of_process());
    match failed.into_iter().next() {
        None => Ok(trace),
        Some((_, error)) => Err(error),
    }
}

/// The same, but one that cannot be read does not keep the others from being read.
pub fn open_each(paths: &[PathBuf], budget: Budget) -> Opened {
    let (mut ours, mut runs, mut traces, mut failed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut shares = Shares::of(paths, budget);
    for path in paths {
        match part(path, shares.next(path)) {
            Ok(Part::Trace(trace)) => {
                shares.took(path, &trace);
                traces.push(recorded(*trace, path));
            }
            Ok(Part::Ours(file)) => ours.push(file),
            Ok(Part::Run(files)) => runs.push((path.clone(), files)),
            Err(error) => failed.push((path.clone(), error)),
        }
    }
    // Processes of one run have one clock, so they belong together; those of another begin with them.
    let named = |files: Vec<PathBuf>| {
        let first = files.first().cloned().unwrap_or_default();
        let folder = first.parent().map(Path::to_owned).filter(|_| files.len() > 1);
        (folder.unwrap_or(first), files)
    };
    runs.extend(by_run(ours, shares.left).into_iter().map(named));
    let mut shares = Shares::of_runs(&runs, shares.left);
    for (named, files) in runs {
        let is_sampled = files.iter().all(|file| has_extension(file, SAMPLES));
        match read_run(&files, shares.next(&named)) {
            // Of devices alone there is nothing to tell.
            Ok(trace) if is_sampled && trace.stacks.samples.is_empty() => {
                failed.push((named.clone(), OpenError::EmptyFolder { path: named }));
            }
            Ok(trace) => {
                shares.took(&named, &trace);
                traces.push(recorded(trace, &named));
            }
            Err(error) => failed.push((named, error.into())),
        }
    }
    Opened { trace: Trace::joined(traces), failed }
}

/// Memory for several recordings, by what they take on the disk: what one does not need is for the others.
struct Shares {
    left: Budget,
    sizes: HashMap<PathBuf, u64>,
}

impl Shares {
    fn of(paths: &[PathBuf], left: Budget) -> Self {
        Self { left, sizes: paths.iter().map(|path| (path.clone(), size(path))).collect() }
    }

    fn of_runs(runs: &[(PathBuf, Vec<PathBuf>)], left: Budget) -> Self {
        let size = |files: &[PathBuf]| files.iter().map(|file| size(file)).fold(0, u64::saturating_add);
        Self { left, sizes: runs.iter().map(|(name, files)| (name.clone(), size(files))).collect() }
    }

    fn next(&self, path: &Path) -> Budget {
        let all = self.sizes.values().copied().fold(0, u64::saturating_add);
        self.left.share(self.sizes.get(path).copied().unwrap_or(0).max(1), all.max(1))
    }

    fn took(&mut self, path: &Path, trace: &Trace) {
        self.sizes.remove(path);
        self.left = self.left.less(trace.footprint());
    }
}

/// What a file takes on the disk, or the recordings of a folder: holes are nothing.
fn size(path: &Path) -> u64 {
    let on_disk = |path: &Path| path.metadata().map_or(0, |file| (file.blocks() * 512).min(file.len()));
    let inside = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    match path.is_dir() {
        false => on_disk(path),
        true => {
            let folders = [path.to_owned(), path.join("rehearsal"), path.join("nsys")];
            folders
                .into_iter()
                .flat_map(inside)
                .map(|entry| on_disk(&entry.path()))
                .fold(0, u64::saturating_add)
        }
    }
}

/// The tracer's files of one run, and the samplers'.
fn read_run(files: &[PathBuf], budget: Budget) -> Result<Trace, ReadError> {
    let (sampled, traced): (Vec<PathBuf>, Vec<PathBuf>) =
        files.iter().cloned().partition(|path| has_extension(path, SAMPLES));
    let extent = extent_of_run(&traced, &sampled, budget);
    let mut trace = read_tracer_files(&traced, &extent, |_, _| ())?;
    read_sampled_files(&sampled, &extent, &mut trace);
    Ok(trace)
}

/// How much of a run is read: of the files of all its processes, and of the samplers, up to the same moment.
pub fn extent_of_run(traced: &[PathBuf], sampled: &[PathBuf], budget: Budget) -> Extent {
    let mut weights = Weights::default();
    weigh_tracer_files(traced, &mut weights);
    weigh_sampled_files(sampled, &mut weights);
    weights.extent(budget)
}

enum Part {
    Trace(Box<Trace>),
    /// A file of the tracer, which is read together with others of its run.
    Ours(PathBuf),
    /// All of one run.
    Run(Vec<PathBuf>),
}

fn part(path: &Path, budget: Budget) -> Result<Part, OpenError> {
    let trace = |trace| Ok(Part::Trace(Box::new(trace)));
    if path.is_dir() {
        return match timeline_files(&path.join("nsys")) {
            timeline if timeline.is_empty() => folder(path).map(Part::Run),
            timeline => trace(read_nsys_session(&timeline, budget)?),
        };
    }
    let input = Input::open(path)?;
    if is_unexported(path) {
        return Err(OpenError::Unexported { path: path.to_owned() });
    }
    let text = Text::of(&input).map_err(|error| match error {
        InputError::Io { path, source } => InputError::Io { path, source: plainly(source) },
        error => error,
    })?;
    match format(&input, &text)? {
        Format::Tracer => Ok(Part::Ours(path.to_owned())),
        Format::Kineto => trace(read_kineto_text(text, &input, budget)?),
        Format::Nsys => {
            drop(text);
            trace(read_nsys_input(input, budget)?)
        }
    }
}

fn recorded(mut trace: Trace, path: &Path) -> Trace {
    trace.say_missing_kernels();
    trace.recordings = vec![Recording::of(&trace, path.display().to_string())];
    trace
}

/// Whether a file is one that [`open`] would try to read. JSON may still be something else.
pub fn is_trace(path: &Path) -> bool {
    let Ok(input) = Input::open(path) else { return false };
    Text::of(&input).is_ok_and(|text| format(&input, &text).is_ok())
}

/// A report of nsys, which has to be exported first.
pub fn is_unexported(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("nsys-rep" | "qdstrm" | "qdrep"))
}

fn format(input: &Input, text: &Text<'_>) -> Result<Format, OpenError> {
    let path = input.path().to_owned();
    let start = text.start.as_slice();
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
    let packed = |format: Format| match text.compression {
        None => Ok(format),
        Some(compression) => {
            Err(OpenError::Compressed { path: path.clone(), command: Compression::undone_by(compression) })
        }
    };
    match first {
        None => Err(OpenError::Empty { path }),
        Some(_) if start.starts_with(b"RFTRACE") || start.starts_with(b"RFSAMPLE") => packed(Format::Tracer),
        Some(_) if start.starts_with(b"NVR\0") && text.compression.is_some() => packed(Format::Nsys),
        // The reader of nsys exports says what is wrong with a header of zeros.
        Some(_) if start.starts_with(b"SQLite format 3\0") || start.iter().all(|byte| *byte == 0) => {
            packed(Format::Nsys)
        }
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

const TRACES: &str = "rft";
const SAMPLES: &str = "rfs";

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Rangefinder traces in a run directory or any other folder. Of a program that opens no range, a run has only samples.
fn folder(path: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let mut of_run = Vec::new();
    for (folder, is_of_run) in [(path.join("rehearsal"), true), (path.to_owned(), false)] {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| has_extension(path, TRACES) || has_extension(path, SAMPLES))
            .collect();
        files.sort();
        if files.iter().any(|path| has_extension(path, TRACES)) {
            return Ok(files);
        }
        if is_of_run {
            of_run = files;
        }
    }
    match of_run.is_empty() {
        true => Err(OpenError::EmptyFolder { path: path.to_owned() }),
        false => Ok(of_run),
    }
}
