//! Files → one trace, with diagnostics about what is missing.

use std::path::{Path, PathBuf};

use input::{Input, InputError};
use tracefile::TraceFile;

use super::clock::Clock;
use super::excerpt::{Excerpt, weigh};
use super::graph_samples;
use super::loss;
use super::reader::Reader;
use crate::count::counted;
use crate::extent::{Extent, Weights};
use crate::model::{Diagnostic, Process, Recorder, Trace};

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("`{}` is {why}", path.display())]
    File { path: PathBuf, why: tracefile::ReadError },
}

/// Reads every file into one trace. One that is damaged is read as far as it goes, and one that
/// cannot be read at all is left out: a diagnostic says so. When none can be read, that is an error.
/// `written` is told how much of each file holds anything.
pub fn read_tracer_files(
    paths: &[PathBuf],
    extent: &Extent,
    mut written: impl FnMut(&Path, u64),
) -> Result<Trace, ReadError> {
    let mut trace = empty();
    for path in paths {
        match read_file(path, extent, &mut trace) {
            Ok(used) => written(path, used),
            Err(error) if paths.len() == 1 => return Err(error),
            Err(error) => {
                trace.diagnostics.push(Diagnostic { text: error.to_string(), lost: true });
                trace.ranges_missing = true;
            }
        }
    }
    if let Some(unread) = extent.unread() {
        trace.ranges_missing = true;
        trace.unread = vec![unread];
    }
    Ok(finished(trace))
}

/// What the files take in memory, and when what is in them happened.
pub(crate) fn weigh_tracer_files(paths: &[PathBuf], weights: &mut Weights) {
    paths.iter().filter_map(|path| Input::open(path).ok()).for_each(|input| weigh(&input, weights));
}

fn read_file(path: &Path, extent: &Extent, trace: &mut Trace) -> Result<u64, ReadError> {
    let excerpt = Excerpt::of(&Input::open(path)?, extent)?;
    let excerpt = excerpt.map_err(|why| ReadError::File { path: path.to_owned(), why })?;
    let file = excerpt.file();
    read(&file, path, extent, trace);
    Ok(file.written())
}

/// Reads the bytes of one file; `path` is what diagnostics call it.
pub fn read_tracer_bytes(bytes: &[u8], path: &Path) -> Result<Trace, tracefile::ReadError> {
    let mut trace = empty();
    read(&TraceFile::parse(bytes)?, path, &Extent::whole(), &mut trace);
    Ok(finished(trace))
}

fn empty() -> Trace {
    Trace {
        source: "rangefinder's tracer".to_owned(),
        recorders: [Recorder::Tracer].into(),
        begin: i64::MAX,
        end: i64::MIN,
        ..Trace::default()
    }
}

fn finished(mut trace: Trace) -> Trace {
    graph_samples::set_apart(&mut trace);
    if trace.begin > trace.end {
        (trace.begin, trace.end) = (0, 0);
    }
    if trace.is_empty() {
        trace.nothing = Some(NOTHING.to_owned());
    }
    trace
}

/// Why a trace has nothing to analyze, and what to do.
const NOTHING: &str = "the program opened no NVTX ranges, and no GPU activity was recorded\n\
    hint: open ranges in it (`torch.cuda.nvtx.range(\"name\")`, or `rangefinder run --auto`), or record it on a \
    machine with a GPU";

fn read(file: &TraceFile<'_>, path: &Path, extent: &Extent, trace: &mut Trace) {
    let process = trace.processes.len() as u32;
    trace.processes.push(Process {
        pid: file.header.pid,
        parent: file.header.parent,
        forked: file.header.forked,
        stream_waits_since: None,
        name: file.header.name.clone(),
        label: file.header.label.clone(),
    });
    let mut reader = Reader::new(Clock::of(file), *extent, process, trace);
    let mut damage = reader.strings(file);
    let (segments, broken) = file.segments();
    damage.broken_chunks += broken;
    for segment in &segments {
        reader.segment(segment);
    }
    reader.finish();
    damage.broken_chunks += reader.gpu(file);
    let (unbalanced, too_deep) = (reader.unbalanced, reader.too_deep);
    trace.say_too_deep(too_deep);
    let shown = path.file_name().unwrap_or_default().to_string_lossy();
    let mut say = |text: String, lost| trace.diagnostics.push(Diagnostic { text, lost });
    let losses = loss::sentences(&file.header);
    let missing = !losses.is_empty() || damage != tracefile::Damage::default();
    for text in losses {
        say(text, true);
    }
    let is_cut = damage.missing_bytes > 0;
    if is_cut {
        let (bytes, missing) = (file.length(), counted(damage.missing_bytes, "byte"));
        let are = if damage.missing_bytes == 1 { "is" } else { "are" };
        say(
            format!(
                "{shown}: the file is truncated at byte {bytes}: at least {missing} {are} missing, with the events in \
                 them; copy it again"
            ),
            true,
        );
    }
    // The one that is cut off is no longer whole, either.
    if let broken @ 1.. = damage.broken_chunks.saturating_sub(u64::from(is_cut)) {
        let all = counted(file.chunks.len() as u64, "part");
        say(format!("{shown}: {broken} of its {all} cannot be read to the end: the file is damaged"), true);
    }
    if damage.lost_bytes > 0 {
        let lost = counted(damage.lost_bytes, "byte");
        say(format!("{shown}: the last {lost} cannot be read: the file is damaged"), true);
    }
    if unbalanced > 0 {
        say(format!("{shown}: {} without a matching push", counted(unbalanced, "pop")), false);
    }
    trace.ranges_missing |= missing;
}
