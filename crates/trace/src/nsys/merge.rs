//! Parts of tables → one trace.

use std::collections::HashMap;

use super::devices::Gpus;
use super::loss::Losses;
use super::parts::{
    ActivityPart, CallPart, GraphNodePart, Link, MetricPart, Name, NvtxPart, Part, RawLaunch, SamplePart,
    WaitPart,
};
use super::stacks;
use super::tables::{Numbering, Read, Texts, each};
use crate::count::counted;
use crate::metric_rows::{self, Metric, Stamp};
use crate::model::{Diagnostic, Launch, NAME_LOST, Numbers, Process, SeriesSource, StringId, Thread, Trace};
use crate::sqlite::{Database, Finder};

#[derive(Default)]
pub(super) struct Merge {
    /// Domains of its ranges are numbers of `domains` until all of them have their names.
    pub(super) trace: Trace,
    pub(super) losses: Losses,
    /// By their serialised ids.
    processes: Numbering<i64>,
    threads: Numbering<i64>,
    /// By process, and the number that it has there.
    devices: Numbering<(i64, i64)>,
    launches: Numbering<Launch>,
    /// By process and number.
    domains: Numbering<(i64, i64)>,
    domain_names: HashMap<(i64, i64), StringId>,
    marks: Vec<(u32, StringId)>,
    metrics: Vec<(i64, Metric, f32)>,
    /// By sample of a stack: its number, which links refer to.
    samples: Vec<i64>,
    links: Vec<Link>,
}

impl Merge {
    pub(super) fn add(&mut self, read: Read<Part>, texts: &Texts) {
        self.losses.push((read.table.to_owned(), read.loss));
        match read.part {
            Part::Activities(part) => self.activities(part, texts),
            Part::Calls(part) => self.calls(part, texts),
            Part::Waits(part) => self.waits(part),
            Part::GraphNodes(part) => self.graph_nodes(part),
            Part::Nvtx(part) => self.nvtx(part, texts),
            Part::Metrics(part) => self.metrics(part),
            Part::Samples(part) => self.samples(part),
            Part::Chains(part) => self.links.extend(part.links),
        }
    }

    fn activities(&mut self, part: ActivityPart, texts: &Texts) {
        let processes = renumber(&part.processes, &mut self.processes);
        let devices: Vec<u16> =
            renumber(&part.devices, &mut self.devices).into_iter().map(|device| device as u16).collect();
        let lost = self.trace.strings.lost();
        let launches: Vec<u32> =
            part.launches.keys.iter().map(|raw| self.launches.number(launch(raw, texts, lost))).collect();
        let (processes, devices, launches) = (&processes, &devices, &launches);
        let numbers = Numbers { processes, devices, launches, ..Numbers::default() };
        self.trace.activities.append(part.rows, &numbers);
    }

    fn calls(&mut self, part: CallPart, texts: &Texts) {
        let threads = renumber(&part.threads, &mut self.threads);
        let lost = self.trace.strings.lost();
        let names: Vec<StringId> =
            part.names.keys.iter().map(|name| texts.get(*name).unwrap_or(lost)).collect();
        let numbers = Numbers { threads: &threads, texts: &names, ..Numbers::default() };
        self.trace.calls.append_rows(part.rows, &numbers);
    }

    fn waits(&mut self, part: WaitPart) {
        let processes = renumber(&part.processes, &mut self.processes);
        let numbers = Numbers { processes: &processes, ..Numbers::default() };
        self.trace.syncs.append_rows(part.rows, &numbers);
        self.trace.stream_events.append_rows(part.events, &numbers);
    }

    fn graph_nodes(&mut self, part: GraphNodePart) {
        let threads = renumber(&part.threads, &mut self.threads);
        let numbers = Numbers { threads: &threads, ..Numbers::default() };
        self.trace.graph_nodes.append_rows(part.rows, &numbers);
    }

    fn nvtx(&mut self, part: NvtxPart, texts: &Texts) {
        let threads = renumber(&part.threads, &mut self.threads);
        let domains = renumber(&part.domains, &mut self.domains);
        let strings = &mut self.trace.strings;
        let mut text = |name: &Name| match name {
            Name::Registered(id) => texts.get(*id).unwrap_or_else(|| strings.lost()),
            Name::Own(id) => strings.intern(part.strings.text(*id)),
        };
        let names: Vec<StringId> = part.names.keys.iter().map(&mut text).collect();
        for (domain, name) in &part.created {
            self.domain_names.insert(*domain, text(name));
        }
        let marks = part.marks.iter();
        self.marks.extend(marks.map(|(domain, name)| (domains[*domain as usize], names[*name as usize])));
        let domains: Vec<StringId> = domains.into_iter().map(StringId::provisional).collect();
        let numbers = Numbers { threads: &threads, texts: &names, domains: &domains, ..Numbers::default() };
        self.trace.ranges.append_rows(part.rows, &numbers);
    }

    fn metrics(&mut self, part: MetricPart) {
        let metric = |number: u32| part.metrics.keys[number as usize];
        self.metrics.extend(part.rows.iter().map(|(time, number, value)| (*time, metric(*number), *value)));
    }

    fn samples(&mut self, part: SamplePart) {
        let threads = renumber(&part.threads, &mut self.threads);
        let numbers = Numbers { threads: &threads, ..Numbers::default() };
        self.trace.stacks.samples.append_rows(part.rows, &numbers);
        self.samples.extend(part.ids);
    }

    /// Processes, threads and devices by name.
    pub(super) fn names(&mut self, database: &Database, texts: &Texts) {
        for thread in 0..self.threads.keys.len() {
            self.processes.number(self.threads.keys[thread] >> 24);
        }
        let mut process_names = HashMap::new();
        let columns = |find: &mut Finder<'_>| (find.integer("globalPid"), find.text("name"));
        each(database, "PROCESSES", &mut self.losses, columns, |row, (id, name)| {
            if let (Some(id), Some(name)) = (row.integer(*id), row.string(*name)) {
                process_names.insert(id >> 24, name);
            }
        });
        let mut thread_names = HashMap::new();
        let columns = |find: &mut Finder<'_>| (find.integer("globalTid"), find.integer("nameId"));
        each(database, "ThreadNames", &mut self.losses, columns, |row, (id, name)| {
            if let (Some(id), Some(name)) =
                (row.integer(*id), row.integer(*name).and_then(|id| texts.get(id)))
            {
                thread_names.insert(id, self.trace.strings.text(name).to_owned());
            }
        });
        self.trace.processes = self
            .processes
            .keys
            .iter()
            .map(|key| Process {
                pid: (key & 0xff_ffff) as u32,
                parent: 0,
                forked: false,
                name: process_names.get(key).cloned().unwrap_or_default(),
                label: String::new(),
                stream_waits_since: None,
            })
            .collect();
        for key in self.threads.keys.clone() {
            let process = self.processes.number(key >> 24);
            let (id, name) = ((key & 0xff_ffff) as u32, thread_names.get(&key).cloned());
            self.trace.threads.push(Thread { process, id, name });
        }
        let seen: Vec<(i64, i64)> =
            self.devices.keys.iter().map(|(process, device)| (process & 0xff_ffff, *device)).collect();
        let gpus = Gpus::read(database, &self.trace.machine, &mut self.losses);
        let (devices, number_of) = gpus.devices(&seen);
        for device in &mut self.trace.activities.device {
            *device = number_of.get(usize::from(*device)).copied().unwrap_or(0);
        }
        self.trace.devices = devices;
        let metrics = std::mem::take(&mut self.metrics);
        for (gpu, mut series) in metric_rows::series(metrics, SeriesSource::Nsys, Stamp::End) {
            let known = gpus.sampled(gpu, &seen, &number_of);
            // A GPU that the program did not use, unless it used none.
            let device = known.or_else(|| {
                let first = self.trace.activities.is_empty();
                first.then(|| self.trace.devices.push(gpus.device(gpu)));
                first.then_some((self.trace.devices.len().max(1) - 1) as u16)
            });
            if let Some(device) = device {
                series.device = device;
                series.finish();
                self.trace.series.push(series);
            }
        }
        let links = std::mem::take(&mut self.links);
        stacks::join(&mut self.trace, &self.samples, links, texts);
    }

    pub(super) fn finish(mut self) -> Trace {
        let trace = &mut self.trace;
        // An unnamed domain keeps its number, so that it stays separate from others.
        let mut domains = Vec::with_capacity(self.domains.keys.len());
        for domain in &self.domains.keys {
            let name = self.domain_names.get(domain).copied().filter(|_| domain.1 != 0);
            domains.push(name.unwrap_or_else(|| match domain.1 {
                0 => StringId::default(),
                number => trace.strings.intern(&format!("domain {number}")),
            }));
        }
        for domain in &mut trace.ranges.domain {
            *domain = domains[domain.index()];
        }
        for (domain, mark) in &self.marks {
            *trace.marks.entry((domains[*domain as usize], *mark)).or_default() += 1;
        }
        trace.activities.launches = self.launches.keys;
        if self.devices.keys.len() > usize::from(u16::MAX) {
            let text = "more devices than there can be: the file is damaged".to_owned();
            trace.diagnostics.push(Diagnostic { text, lost: true });
        }
        losses(self.losses, &mut trace.diagnostics);
        super::twice::once(trace);
        stream_waits_known(trace);
        trace.finish();
        self.trace
    }
}

/// nsys leaves out tables that are empty: waits without the events that they wait for are waits that were recorded
/// alone, and nothing at all may not have been recorded.
fn stream_waits_known(trace: &mut Trace) {
    let waits = &trace.stream_events.waits;
    let any = !waits.is_empty() || !trace.syncs.is_empty();
    if any && (waits.contains(&false) || !waits.contains(&true)) {
        trace.processes.iter_mut().for_each(|process| process.stream_waits_since = Some(i64::MIN));
    }
}

/// One sentence for each table with missing data.
fn losses(losses: Losses, diagnostics: &mut Vec<Diagnostic>) {
    let mut by_table = Losses::new();
    for (table, loss) in losses {
        match by_table.iter_mut().find(|(name, _)| *name == table) {
            Some((_, sum)) => {
                sum.damage.add(loss.damage);
                sum.unusable += loss.unusable;
                sum.read += loss.read;
            }
            None => by_table.push((table, loss)),
        }
    }
    for (table, loss) in by_table {
        let mut say = |text: String| diagnostics.push(Diagnostic { text, lost: true });
        if !loss.damage.is_none() {
            let parts = [(loss.damage.pages, "page"), (loss.damage.rows, "row")];
            let parts = parts.into_iter().filter(|(count, _)| *count > 0);
            let parts: Vec<String> = parts.map(|(count, what)| counted(count, what)).collect();
            say(format!(
                "{}: {} of the table {table} cannot be read",
                lost_from(&table, loss.read),
                parts.join(" and ")
            ));
        }
        if loss.unusable > 0 {
            let rows = counted(loss.unusable, "row");
            let have = if loss.unusable == 1 { "has" } else { "have" };
            say(format!(
                "{}: {rows} of the table {table} {have} no usable times",
                lost_from(&table, loss.read)
            ));
        }
    }
}

/// What a reader misses when part of a table is lost, and `read` rows of it are left.
fn lost_from(table: &str, read: u64) -> String {
    let some = if read == 0 { "all" } else { "some" };
    let what = match table {
        "StringIds" => {
            return format!(
                "{some} names of kernels, calls and registered ranges are lost and shown as `{NAME_LOST}`"
            );
        }
        "NVTX_EVENTS" => "ranges",
        "CUPTI_ACTIVITY_KIND_KERNEL" => "kernels",
        "CUPTI_ACTIVITY_KIND_MEMCPY" => "copies",
        "CUPTI_ACTIVITY_KIND_MEMSET" => "fills",
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" => "graph launches",
        "CUPTI_ACTIVITY_KIND_RUNTIME" => "CUDA calls",
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION" => "synchronizations",
        "CUPTI_ACTIVITY_KIND_CUDA_EVENT" => "CUDA events",
        "CUDA_GRAPH_NODE_EVENTS" => "nodes of CUDA graphs",
        "GPU_METRICS" | "TARGET_INFO_GPU_METRICS" => "values over time",
        "COMPOSITE_EVENTS" | "SAMPLING_CALLCHAINS" => "stack samples",
        "PROCESSES" => "names of processes",
        "ThreadNames" => "names of threads",
        "DIAGNOSTIC_EVENT" => "messages of nsys",
        "TARGET_INFO_GPU" | "TARGET_INFO_CUDA_DEVICE" => "facts about the GPUs",
        "TARGET_INFO_SYSTEM_ENV" => "facts about the machine",
        "TARGET_INFO_SESSION_START_TIME" => "facts about the recording",
        "META_DATA_EXPORT" | "EXPORT_META_DATA" => "facts about the export",
        _ => "records",
    };
    format!("{some} {what} are lost")
}

/// Numbers of a part → numbers of the trace.
fn renumber<K: Copy + Eq + std::hash::Hash>(part: &Numbering<K>, all: &mut Numbering<K>) -> Vec<u32> {
    part.keys.iter().map(|key| all.number(*key)).collect()
}

fn launch(raw: &RawLaunch, texts: &Texts, lost: StringId) -> Launch {
    let name = texts.get(raw.name).or_else(|| texts.get(raw.short_name)).unwrap_or(lost);
    Launch {
        name,
        short_name: texts.get(raw.short_name).unwrap_or(name),
        mangled: texts.get(raw.mangled).unwrap_or_default(),
        grid: raw.grid,
        block: raw.block,
        registers: raw.registers,
        static_shared: raw.static_shared,
        dynamic_shared: raw.dynamic_shared,
        hidden: false,
    }
}
