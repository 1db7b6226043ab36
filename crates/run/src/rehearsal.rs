//! What a rehearsal saw: the tracer put in place, its files read, the regions.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use analysis::{Region, RegionCalls, Times, region_calls, regions};
use nsight::Namesakes;
use nsight::ncu::{Replay, range_replay};
use nsight::nsys::needs_register_only_off;
use nvtx::{Kind, NsysDialect, NsysExpression, nsys_expression};
use rustix::fs::{FallocateFlags, fallocate};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use trace::{Budget, Diagnostic, Process, Trace, extent_of_run, read_sampled_files, read_tracer_files};
use tracefile::{Note, layout};

use secrets::Redactor;

use crate::config::RegionsConfig;
use crate::sampling::sample_files;

const EXTENSION: &str = "rft";
const SCHEMA: u32 = 1;

/// Which ranges really happened.
#[derive(Debug, Clone)]
pub struct Inventory {
    pub trace: Trace,
    pub regions: Vec<Region>,
    /// The CUDA calls of push/pop regions; none if the GPU was not recorded.
    pub gpu: Vec<RegionCalls>,
    traced: Traced,
}

/// How many of the trace's processes and threads the tracer saw. They come first; the others are known only from
/// samples of their stacks.
#[derive(Debug, Clone, Copy)]
struct Traced {
    processes: usize,
    threads: usize,
}

/// The variables that load the tracer in a pass, with its GPU half if a libcupti is given.
pub(crate) fn tracer_variables(
    library: &Path,
    folder: &Path,
    cupti: Option<&Path>,
    notes: Option<&str>,
) -> Vec<(String, Option<String>)> {
    let set = |name: &str, path: &Path| (name.to_owned(), Some(path.to_string_lossy().into_owned()));
    let mut variables = vec![set("NVTX_INJECTION64_PATH", library), set("RANGEFINDER_TRACE_DIR", folder)];
    if let Some(notes) = notes {
        variables.push(("RANGEFINDER_NOTES".to_owned(), Some(notes.to_owned())));
    }
    if let Some(cupti) = cupti {
        variables.extend([set("CUDA_INJECTION64_PATH", library), set("RANGEFINDER_CUPTI", cupti)]);
    }
    variables
}

/// The libcupti for the workload, if there is a driver.
pub(crate) fn locate_cupti(python: Option<PathBuf>, cuda: Option<&str>) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("RANGEFINDER_CUPTI").filter(|path| !path.is_empty()) {
        // A variable tells the program where it is.
        return Some(named.into()).filter(|path: &PathBuf| path.is_file() && path.to_str().is_some());
    }
    nsight::find_cupti(&nsight::CuptiPlaces { python, root: "/".into() }, cuda?)
}

/// Reads what the tracer wrote to `folder`.
pub(crate) fn read_rehearsal(folder: &Path) -> Result<Inventory, trace::ReadError> {
    read(folder, |_, _| ())
}

/// The same, and frees the space that the tracer preallocated in each file.
pub(crate) fn read_and_trim(folder: &Path) -> Result<Inventory, trace::ReadError> {
    read(folder, |path, written| {
        if path.metadata().is_ok_and(|metadata| metadata.len() > written)
            && let Ok(file) = std::fs::OpenOptions::new().write(true).open(path)
        {
            // Never truncated: a process that still has it mapped would crash. If this fails, only disk
            // space is lost.
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let length = file.metadata().map_or(0, |metadata| metadata.len());
            let _ = fallocate(&file, hole, written, length.saturating_sub(written));
        }
    })
}

fn read(folder: &Path, written: impl FnMut(&Path, u64)) -> Result<Inventory, trace::ReadError> {
    let mut files: Vec<PathBuf> = fs_err::read_dir(folder)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION))
        .collect();
    files.sort();
    let samples = sample_files(folder);
    let extent = extent_of_run(&files, &samples, Budget::of_process());
    let mut trace = read_tracer_files(&files, &extent, written)?;
    let traced = Traced { processes: trace.processes.len(), threads: trace.threads.len() };
    read_sampled_files(&samples, &extent, &mut trace);
    Ok(Inventory::of(trace, traced))
}

impl Inventory {
    fn of(trace: Trace, traced: Traced) -> Self {
        Self { regions: regions(&trace), gpu: region_calls(&trace), trace, traced }
    }

    /// Those that the tracer was loaded into.
    fn processes(&self) -> &[Process] {
        &self.trace.processes[..self.traced.processes]
    }

    /// Every name that comes from the program: ranges, domains, kernels.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.trace.names()
    }

    /// As it may be written to disk: unchanged if no name contains a secret.
    pub(crate) fn shown(&self, redactor: &Redactor) -> Cow<'_, Self> {
        match self.names().any(|name| redactor.name(name).is_some()) {
            true => Cow::Owned(self.clone().renamed(|text| redactor.name(text))),
            false => Cow::Borrowed(self),
        }
    }

    /// The same, with some names replaced.
    pub fn renamed(mut self, renamed: impl FnMut(&str) -> Option<String>) -> Self {
        self.trace.rename(renamed);
        Self::of(self.trace, self.traced)
    }

    /// The same, with the regions that are wished.
    pub(crate) fn with_regions(mut self, wish: &RegionsConfig) -> Self {
        wish.apply(&mut self.trace);
        Self::of(self.trace, self.traced)
    }

    pub fn is_empty(&self) -> bool {
        self.trace.ranges.is_empty()
    }

    /// Whether no range is known to be missing, so that an absent range did not happen.
    pub fn is_complete(&self) -> bool {
        !self.trace.ranges_missing
    }

    /// Adds what is known about processes that were not recorded. One that was recorded until it changed
    /// its root has reported that itself; only unrecorded processes send a note.
    pub(crate) fn add_unseen(&mut self, notes: Vec<Note>) {
        let recorded = |note: &Note| {
            note.why.why == layout::note::OTHER_ROOT
                && self.processes().iter().any(|process| process.pid == note.pid)
        };
        let unseen: Vec<Note> = notes.into_iter().filter(|note| !recorded(note)).collect();
        self.trace.ranges_missing |= !unseen.is_empty();
        let diagnostics = trace::unseen(&unseen).into_iter().map(|text| Diagnostic { text, lost: true });
        self.trace.diagnostics.extend(diagnostics);
    }

    /// From the first event to the last.
    pub fn span_ns(&self) -> i64 {
        self.trace.end.saturating_sub(self.trace.begin)
    }

    /// One sentence.
    pub fn summary(&self) -> String {
        if self.is_empty() {
            let lost = self.trace.diagnostics.iter().find(|diagnostic| diagnostic.lost);
            let lost = lost.map(|lost| lost.text.clone());
            let lost = self.trace.unread.first().map(ToString::to_string).or(lost);
            return match lost.filter(|_| !self.is_complete()) {
                // A program that never calls NVTX, or cannot load the tracer, leaves no process.
                None if self.processes().is_empty() => "no NVTX calls were seen".to_owned(),
                None => "no NVTX ranges were opened".to_owned(),
                Some(lost) => format!("no NVTX ranges were recorded, but some may be missing: {lost}"),
            };
        }
        let plural =
            |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
        let gpu = match self.trace.activities.len() {
            0 => String::new(),
            count => format!(", {}", plural(count, "GPU activity", "GPU activities")),
        };
        format!(
            "{} in {}, {}{gpu}",
            plural(self.trace.ranges.len(), "range", "ranges"),
            plural(self.regions.len(), "region", "regions"),
            plural(self.processes().len(), "process", "processes"),
        )
    }

    fn region(&self, region: &Region, gpu: Option<&RegionCalls>, namesakes: &Namesakes<'_>) -> Value {
        let nsys = match nsys_expression(&region.path, region.wide, NsysDialect::NEWEST) {
            NsysExpression::Gate(gate) => {
                let also = namesakes.in_nsys(region).map(|(other, _)| other.path.to_string());
                json!({"gate": gate, "register_only_off": needs_register_only_off(region), "also": also})
            }
            NsysExpression::None(why) => json!({"gate": null, "why": why}),
        };
        let include = namesakes.include(region);
        json!({
            "path": region.path.to_string(),
            "domain": region.path.domain,
            "name": region.path.name(),
            "depth": region.path.depth(),
            "kind": region.kind.as_str(),
            "registered": region.registered,
            "wide": region.wide,
            "threads": region.threads,
            "processes": region.processes,
            "instances": region.instances,
            "forked": region.forked,
            "open": region.open,
            "first_begin_ns": region.first_begin_ns,
            "last_begin_ns": region.last_begin_ns,
            "last_end_ns": region.last_end_ns,
            "share": region.times.map(|times| self.share(&times)),
            "first_ns": region.first_ns,
            "times": region.times,
            "steady": region.steady,
            "nsys": nsys,
            "ncu": {"include": include.text, "note": include.note},
            "gpu": gpu.map(|gpu| json!({
                "launches": gpu.launches, "kernels": gpu.kernels, "gpu_ns": gpu.gpu_ns,
                "synchronised": gpu.synchronised, "in_flight": gpu.in_flight, "calls": gpu.calls,
            })),
            "replay": gpu.map(|gpu| self.replay(gpu)),
        })
    }

    /// The CUDA calls of a push/pop region.
    pub fn gpu_of(&self, region: &Region) -> Option<&RegionCalls> {
        self.gpu.iter().find(|gpu| region.kind == Kind::PushPop && gpu.path == region.path)
    }

    /// Whether ncu can replay it as a range.
    pub fn replay(&self, gpu: &RegionCalls) -> Replay {
        range_replay(gpu, self.span_ns() as f64 / 1e9)
    }

    /// Share of the recording; above 1 if threads overlap.
    pub fn share(&self, times: &Times) -> f64 {
        let span = self.span_ns();
        if span > 0 { times.total_ns as f64 / span as f64 } else { 0.0 }
    }
}

/// The document of `ranges --json` and `rehearsal/ranges.json`.
#[derive(Debug, Clone, Copy)]
pub struct InventoryDocument<'i>(pub &'i Inventory);

impl Serialize for InventoryDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(inventory) = self;
        let trace = &inventory.trace;
        let processes = inventory.processes().iter().map(|process| {
            json!({
                "pid": process.pid, "parent": process.parent, "forked": process.forked,
                "name": process.name, "label": process.label,
            })
        });
        let told = trace.distinct_diagnostics();
        let diagnostics = told
            .iter()
            .map(|told| json!({"text": told.to_string(), "lost": told.diagnostic.lost, "times": told.times}));
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", &SCHEMA)?;
        if let Some(unread) = trace.unread.first() {
            map.serialize_entry("unread", &unread.to_string())?;
        }
        map.serialize_entry("clock", "host, nanoseconds")?;
        map.serialize_entry("span_ns", &inventory.span_ns())?;
        map.serialize_entry("ranges", &trace.ranges.len())?;
        map.serialize_entry("marks", &trace.marks.values().sum::<u64>())?;
        map.serialize_entry("threads", &inventory.traced.threads)?;
        map.serialize_entry("processes", &processes.collect::<Vec<_>>())?;
        map.serialize_entry("regions", &RegionsDocument(inventory))?;
        map.serialize_entry("diagnostics", &diagnostics.collect::<Vec<_>>())?;
        map.end()
    }
}

/// One region at a time: there may be a million.
struct RegionsDocument<'i>(&'i Inventory);

impl Serialize for RegionsDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(inventory) = self;
        // Both are in the order of the tree.
        let mut gpu = inventory.gpu.iter().peekable();
        let namesakes = Namesakes::of(&inventory.regions);
        serializer.collect_seq(inventory.regions.iter().map(|region| {
            let is_same = |gpu: &&RegionCalls| region.kind == Kind::PushPop && gpu.path == region.path;
            inventory.region(region, gpu.next_if(is_same), &namesakes)
        }))
    }
}
