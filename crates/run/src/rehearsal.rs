//! What a rehearsal saw: the tracer put in place, its files read, the regions.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use analysis::{Region, RegionCalls, Times, region_calls, regions};
use nsight::ncu::{Replay, range_replay};
use nsight::nsys::needs_register_only_off;
use nvtx::{Kind, NsysExpression, ncu_expression, nsys_expression};
use serde_json::{Value, json};
use trace::{Trace, read_tracer_files};

use crate::rundir::WriteError;
use crate::secrets::Redactor;

const EXTENSION: &str = "rft";
const SCHEMA: u32 = 1;

/// Which ranges really happened.
#[derive(Debug, Clone)]
pub struct Inventory {
    pub trace: Trace,
    pub regions: Vec<Region>,
    /// What push/pop regions ask of CUDA; none where the GPU was not recorded.
    pub gpu: Vec<RegionCalls>,
}

/// Writes the tracer where the workload can load it.
pub(crate) fn place_tracer(folder: &Path, library: &[u8]) -> Result<PathBuf, WriteError> {
    let path = folder.join("rangefinder-tracer.so");
    std::fs::write(&path, library).map_err(|error| WriteError::new(&path, error))?;
    Ok(path)
}

/// The variables that bring the tracer into a pass; its GPU half, too, when a libcupti is
/// given.
pub(crate) fn tracer_variables(
    library: &Path,
    folder: &Path,
    cupti: Option<&Path>,
) -> Vec<(String, Option<String>)> {
    let set = |name: &str, path: &Path| (name.to_owned(), Some(path.to_string_lossy().into_owned()));
    let mut variables = vec![set("NVTX_INJECTION64_PATH", library), set("RANGEFINDER_TRACE_DIR", folder)];
    if let Some(cupti) = cupti {
        variables.extend([set("CUDA_INJECTION64_PATH", library), set("RANGEFINDER_CUPTI", cupti)]);
    }
    variables
}

/// The libcupti for the workload, where there is a driver.
pub(crate) fn locate_cupti(python: Option<PathBuf>, cuda: Option<&str>) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("RANGEFINDER_CUPTI").filter(|path| !path.is_empty()) {
        return Some(named.into()).filter(|path: &PathBuf| path.is_file());
    }
    nsight::find_cupti(&nsight::CuptiPlaces { python, root: "/".into() }, cuda?)
}

/// Reads what the tracer left in `folder`.
pub(crate) fn read_rehearsal(folder: &Path) -> Result<Inventory, trace::ReadError> {
    read(folder, |_, _| ())
}

/// The same, and gives back the space that the tracer had taken ahead in each file.
pub(crate) fn read_and_trim(folder: &Path) -> Result<Inventory, trace::ReadError> {
    read(folder, |path, written| {
        if path.metadata().is_ok_and(|metadata| metadata.len() > written)
            && let Ok(file) = std::fs::OpenOptions::new().write(true).open(path)
        {
            // Only space is lost when this fails.
            let _ = file.set_len(written);
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
    let trace = read_tracer_files(&files, written)?;
    Ok(Inventory::of(trace))
}

impl Inventory {
    fn of(trace: Trace) -> Self {
        Self { regions: regions(&trace), gpu: region_calls(&trace), trace }
    }

    /// Every text of the program's own: names of ranges, domains, kernels.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.trace.names()
    }

    /// As it may be written down, which is as it is where no name holds a secret.
    pub(crate) fn shown(&self, redactor: &Redactor) -> Cow<'_, Self> {
        match self.names().any(|name| redactor.name(name).is_some()) {
            true => Cow::Owned(self.clone().renamed(|text| redactor.name(text))),
            false => Cow::Borrowed(self),
        }
    }

    /// The same with other names in place of some.
    pub fn renamed(mut self, renamed: impl FnMut(&str) -> Option<String>) -> Self {
        self.trace.rename(renamed);
        Self::of(self.trace)
    }

    pub fn is_empty(&self) -> bool {
        self.trace.ranges.is_empty()
    }

    /// From the first event to the last.
    pub fn span_ns(&self) -> i64 {
        self.trace.end.saturating_sub(self.trace.begin)
    }

    /// One sentence.
    pub fn summary(&self) -> String {
        if self.is_empty() {
            return "no NVTX range was opened".to_owned();
        }
        let plural =
            |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
        let gpu = match self.trace.activities.len() {
            0 => String::new(),
            count => format!(", {}", plural(count, "activity of the GPU", "activities of the GPU")),
        };
        format!(
            "{} in {}, {}{gpu}",
            plural(self.trace.ranges.len(), "range", "ranges"),
            plural(self.regions.len(), "region", "regions"),
            plural(self.trace.processes.len(), "process", "processes"),
        )
    }

    /// The document of `ranges --json` and `rehearsal/ranges.json`.
    pub fn to_json(&self) -> Value {
        json!({
            "schema": SCHEMA,
            "clock": "host, nanoseconds",
            "span_ns": self.span_ns(),
            "ranges": self.trace.ranges.len(),
            "marks": self.trace.marks.values().sum::<u64>(),
            "threads": self.trace.threads.len(),
            "processes": self.trace.processes.iter().map(|process| json!({
                "pid": process.pid, "parent": process.parent, "forked": process.forked,
                "name": process.name, "label": process.label,
            })).collect::<Vec<_>>(),
            "regions": self.regions.iter().map(|region| self.region(region)).collect::<Vec<_>>(),
            "diagnostics": self.trace.diagnostics.iter().map(|diagnostic| json!({
                "text": diagnostic.text, "lost": diagnostic.lost,
            })).collect::<Vec<_>>(),
        })
    }

    fn region(&self, region: &Region) -> Value {
        let nsys = match nsys_expression(&region.path, region.wide) {
            NsysExpression::Gate(gate) => {
                json!({"gate": gate, "register_only_off": needs_register_only_off(region)})
            }
            NsysExpression::None(why) => json!({"gate": null, "why": why}),
        };
        let include = ncu_expression(&region.path, region.kind);
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
            "gpu": self.gpu_of(region).map(|gpu| json!({
                "launches": gpu.launches, "kernels": gpu.kernels, "gpu_ns": gpu.gpu_ns,
                "synchronised": gpu.synchronised, "in_flight": gpu.in_flight, "calls": gpu.calls,
            })),
            "replay": self.gpu_of(region).map(|gpu| self.replay(gpu)),
        })
    }

    /// What a push/pop region asks of CUDA.
    pub fn gpu_of(&self, region: &Region) -> Option<&RegionCalls> {
        self.gpu.iter().find(|gpu| region.kind == Kind::PushPop && gpu.path == region.path)
    }

    /// Whether ncu can replay it as a range.
    pub fn replay(&self, gpu: &RegionCalls) -> Replay {
        range_replay(gpu, self.span_ns() as f64 / 1e9)
    }

    /// Of the span of the recording; above 1 when threads overlap.
    pub fn share(&self, times: &Times) -> f64 {
        let span = self.span_ns();
        if span > 0 { times.total_ns as f64 / span as f64 } else { 0.0 }
    }
}
