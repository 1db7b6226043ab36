//! An export → a trace.

use std::path::Path;

use input::Input;

use super::error::NsysError;
use super::gpu_metrics::Metrics;
use super::loss::Losses;
use super::merge::Merge;
use super::tables::{Texts, each};
use super::{diagnostics, jobs, machine, parallel, weigh};
use crate::count::counted;
use crate::extent::Budget;
use crate::model::{Diagnostic, Recorder, Trace};
use crate::sqlite::{Database, Finder};

const TESTED: [&str; 3] = ["3.0.", "3.7.", "3.20."];
/// One of these is in every export.
const SIGNS: [&str; 5] =
    ["META_DATA_EXPORT", "EXPORT_META_DATA", "StringIds", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL"];

/// Reads an export, as far as there is memory.
pub fn read_nsys(path: &Path) -> Result<Trace, NsysError> {
    read_nsys_within(path, Budget::of_process())
}

pub(super) fn read_nsys_within(path: &Path, budget: Budget) -> Result<Trace, NsysError> {
    read(&Database::open(path)?, budget, path)
}

/// The same, of a file that has been looked at already.
pub(crate) fn read_nsys_input(input: Input, budget: Budget) -> Result<Trace, NsysError> {
    let path = input.path().to_owned();
    read(&Database::from_input(input)?, budget, &path)
}

/// Reads the bytes of an export; `path` is what errors call it.
pub fn read_nsys_bytes(bytes: Vec<u8>, path: &Path) -> Result<Trace, NsysError> {
    read(&Database::from_bytes(bytes, path)?, Budget::of(u64::MAX), path)
}

fn read(database: &Database, budget: Budget, path: &Path) -> Result<Trace, NsysError> {
    if !SIGNS.iter().any(|name| database.table(name).is_some()) {
        let not_nsys = || NsysError::NotNsys { path: path.display().to_string() };
        return Err(database.why_absent(path).map_or_else(not_nsys, NsysError::from));
    }
    let mut merge = Merge::default();
    let export = weigh::within(database, budget);
    let room = budget.bytes() / 2;
    let texts = Texts::read(database, &mut merge.trace.strings, room, &mut merge.losses);
    version(database, &mut merge);
    for text in truncated(database, path).into_iter().chain(tables_lost(database)) {
        merge.trace.diagnostics.push(Diagnostic { text, lost: true });
    }
    let metrics = Metrics::read(database, &mut merge.losses);
    for read in parallel::run(jobs::jobs(export, &metrics)) {
        merge.add(read, &texts);
    }
    metrics.say(&mut merge.trace.diagnostics);
    merge.trace.machine = machine::machine(database, &mut merge.losses);
    merge.names(database, &texts);
    merge.trace.session_start = session_start(database, &mut merge.losses);
    diagnostics::read(database, &mut merge.trace, &mut merge.losses);
    let mut trace = merge.finish();
    if let Some(unread) = export.extent.unread() {
        trace.ranges_missing = true;
        trace.unread = vec![unread];
    }
    if let Some(input) = database.input() {
        trace.say_when_changed(input);
    }
    if trace.is_empty() {
        let is_cut = database.missing() > 0;
        let is_damaged = trace.diagnostics.iter().any(|diagnostic| diagnostic.lost);
        let file = if is_cut { "truncated" } else { "damaged" };
        trace.nothing = Some(match is_cut || is_damaged {
            true => format!("the file is {file}, and what is left of it {NOTHING_LEFT}"),
            false => NOTHING.to_owned(),
        });
    }
    Ok(trace)
}

/// Why an export has nothing to analyze, and what to do.
const NOTHING: &str = "nsys recorded no NVTX ranges, CUDA calls, or kernels\n\
    hint: record the program with `nsys profile --trace=cuda,nvtx`; if a gate was set (`--capture-range`), it never \
    opened; if the program starts other processes, those may be the ones that use the GPU";

const NOTHING_LEFT: &str = "has no NVTX ranges, CUDA calls, or kernels\n\
    hint: copy the file again, or export the report again (`nsys export --type sqlite`)";

/// How much of the file is missing, and what to do.
fn truncated(database: &Database, path: &Path) -> Option<String> {
    let missing = database.missing();
    let are = if missing == 1 { "is" } else { "are" };
    (missing > 0).then(|| {
        let all = counted(u64::from(database.said()), "page");
        format!(
            "{}: the file is truncated: {missing} of its {all} {are} missing; copy it again, or export the report \
            again (`nsys export --type sqlite`)",
            path.file_name().unwrap_or_default().to_string_lossy()
        )
    })
}

/// What is missing of the list of tables, and what to do.
fn tables_lost(database: &Database) -> Option<String> {
    let damage = database.damage();
    let part = match damage.pages {
        0 => counted(damage.rows, "row"),
        pages => counted(pages, "page"),
    };
    // Of a truncated file that is said already.
    let remedy = match database.missing() {
        0 => "; copy the file again, or export the report again (`nsys export --type sqlite`)",
        _ => "",
    };
    let text = format!("whole tables may be lost: {part} of the list of tables cannot be read{remedy}");
    (!damage.is_none()).then_some(text)
}

/// Which nsys wrote it, and whether we have seen its schema.
fn version(database: &Database, merge: &mut Merge) {
    let (mut product, mut schema) = (String::new(), String::new());
    for table in ["META_DATA_EXPORT", "EXPORT_META_DATA"] {
        let columns = |find: &mut Finder<'_>| (find.text("name"), find.text("value"));
        each(database, table, &mut merge.losses, columns, |row, (name, value)| {
            let value = || row.string(*value).unwrap_or_default();
            match row.text(*name) {
                Some(b"EXPORT_PRODUCT_VERSION") => product = value(),
                Some(b"EXPORT_SCHEMA_VERSION") => schema = value(),
                _ => {}
            }
        });
    }
    let trace = &mut merge.trace;
    trace.recorders.insert(Recorder::Nsys);
    trace.source = match (product.as_str(), schema.as_str()) {
        ("", "") => "nsys, version unknown".to_owned(),
        (product, schema) => format!("nsys {product}, schema {schema}"),
    };
    // Of a damaged file, the part that names the version may be missing.
    let is_whole = database.missing() == 0
        && database.damage().is_none()
        && merge.losses.iter().all(|(_, loss)| loss.damage.is_none());
    let lost = schema.is_empty() && !is_whole;
    if !lost && !TESTED.iter().any(|tested| schema.starts_with(tested)) {
        let what = match schema.as_str() {
            "" => "the export does not say which version of nsys wrote it".to_owned(),
            schema => format!("schema {schema} has not been tested"),
        };
        let text = format!("{what}; tables are read by their column names");
        trace.diagnostics.push(Diagnostic { text, lost: false });
    }
}

/// What the times of an export count from, in nanoseconds since 1970.
fn session_start(database: &Database, losses: &mut Losses) -> Option<i64> {
    let mut start = None;
    let columns = |find: &mut Finder<'_>| find.integer("utcEpochNs");
    each(database, "TARGET_INFO_SESSION_START_TIME", losses, columns, |row, utc| start = row.integer(*utc));
    start
}
