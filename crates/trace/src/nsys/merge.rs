//! Parts of tables → one trace.

use std::collections::HashMap;

use super::Loss;
use super::activities::{ActivityPart, CallPart, Part, RawLaunch, SyncPart};
use super::nvtx_events::{Name, NvtxPart};
use super::tables::{Numbering, Texts, each, text_of};
use crate::model::{Device, Diagnostic, Launch, Process, StringId, Thread, Trace};
use crate::sqlite::Database;

#[derive(Default)]
pub(super) struct Merge {
    pub(super) trace: Trace,
    pub(super) losses: Vec<(String, Loss)>,
    /// By their serialised ids.
    processes: Numbering<i64>,
    threads: Numbering<i64>,
    devices: Numbering<i64>,
    launches: Numbering<Launch>,
    /// What each domain is called, by process and number.
    domains: HashMap<(i64, i64), StringId>,
    /// Ranges of parts whose domains may still get a name: range → process and number.
    unnamed: Vec<(i64, i64)>,
    marks: Vec<((i64, i64), StringId)>,
}

impl Merge {
    pub(super) fn add(&mut self, part: Part, texts: &Texts) {
        match part {
            Part::Activities(part) => self.activities(part, texts),
            Part::Calls(part) => self.calls(part, texts),
            Part::Syncs(part) => self.syncs(part),
            Part::Nvtx(part) => self.nvtx(part, texts),
        }
    }

    fn activities(&mut self, part: ActivityPart, texts: &Texts) {
        self.losses.push((part.table.to_owned(), part.loss));
        let processes = renumber(&part.processes, &mut self.processes);
        let devices = renumber(&part.devices, &mut self.devices);
        let lost = self.trace.strings.lost();
        let launches: Vec<u32> =
            part.launches.keys.iter().map(|raw| self.launches.number(launch(raw, texts, lost))).collect();
        let activities = &mut self.trace.activities;
        let transfers = activities.transfers.len() as u32;
        activities.transfers.extend(part.transfers);
        let Some(kind) = part.kind else { return };
        activities.detail.extend(part.detail.iter().map(|detail| match kind {
            crate::ActivityKind::Kernel => launches[*detail as usize],
            crate::ActivityKind::Copy | crate::ActivityKind::Fill | crate::ActivityKind::Migration => {
                transfers + detail
            }
            crate::ActivityKind::Graph => *detail,
        }));
        let first = activities.kind.len();
        activities.kind.extend(std::iter::repeat_n(kind, part.begin.len()));
        for row in part.migrations {
            activities.kind[first + row as usize] = crate::ActivityKind::Migration;
        }
        activities.process.extend(part.process.iter().map(|process| processes[*process as usize]));
        activities.device.extend(part.device.iter().map(|device| devices[*device as usize] as u16));
        extend(&mut activities.begin, part.begin);
        extend(&mut activities.end, part.end);
        extend(&mut activities.stream, part.stream);
        extend(&mut activities.correlation, part.correlation);
        extend(&mut activities.in_graph, part.in_graph);
    }

    fn calls(&mut self, part: CallPart, texts: &Texts) {
        self.losses.push((part.table.to_owned(), part.loss));
        let threads = renumber(&part.threads, &mut self.threads);
        let lost = self.trace.strings.lost();
        let names: Vec<StringId> =
            part.names.keys.iter().map(|name| texts.get(*name).unwrap_or(lost)).collect();
        let calls = &mut self.trace.calls;
        calls.thread.extend(part.thread.iter().map(|thread| threads[*thread as usize]));
        calls.name.extend(part.name.iter().map(|name| names[*name as usize]));
        extend(&mut calls.begin, part.begin);
        extend(&mut calls.end, part.end);
        extend(&mut calls.correlation, part.correlation);
    }

    fn syncs(&mut self, part: SyncPart) {
        self.losses.push((part.table.to_owned(), part.loss));
        let processes = renumber(&part.processes, &mut self.processes);
        let syncs = &mut self.trace.syncs;
        syncs.process.extend(part.process.iter().map(|process| processes[*process as usize]));
        extend(&mut syncs.begin, part.begin);
        extend(&mut syncs.end, part.end);
        extend(&mut syncs.correlation, part.correlation);
    }

    fn nvtx(&mut self, part: NvtxPart, texts: &Texts) {
        self.losses.push((part.table.to_owned(), part.loss));
        let threads = renumber(&part.threads, &mut self.threads);
        let strings = &mut self.trace.strings;
        let mut text = |name: &Name| match name {
            Name::Registered(id) => texts.get(*id).unwrap_or_else(|| strings.lost()),
            Name::Own(id) => strings.intern(part.strings.text(*id)),
        };
        let names: Vec<StringId> = part.names.keys.iter().map(&mut text).collect();
        for (domain, name) in &part.created {
            self.domains.insert(*domain, text(name));
        }
        let registered: Vec<bool> =
            part.names.keys.iter().map(|name| matches!(name, Name::Registered(_))).collect();
        let ranges = &mut self.trace.ranges;
        let first = ranges.begin.len() as u32;
        ranges.thread.extend(part.thread.iter().map(|thread| threads[*thread as usize]));
        ranges.name.extend(part.name.iter().map(|name| names[*name as usize]));
        ranges.registered.extend(part.name.iter().map(|name| registered[*name as usize]));
        ranges.wide.extend(std::iter::repeat_n(false, part.begin.len()));
        ranges.payload.extend(part.payload.into_iter().map(|(range, payload)| (first + range, payload)));
        extend(&mut ranges.begin, part.begin);
        extend(&mut ranges.end, part.end);
        extend(&mut ranges.kind, part.kind);
        self.unnamed.extend(part.domain.iter().map(|domain| part.domains.keys[*domain as usize]));
        for (domain, name) in part.marks {
            self.marks.push((part.domains.keys[domain as usize], names[name as usize]));
        }
    }

    /// Processes, threads and devices by name.
    pub(super) fn names(&mut self, database: &Database, texts: &Texts) {
        for thread in 0..self.threads.keys.len() {
            self.processes.number(self.threads.keys[thread] >> 24);
        }
        let mut process_names = HashMap::new();
        each(database, "PROCESSES", &["globalPid", "name"], |row| {
            if let (Some(id), Some(name)) = (row.integer(0), text_of(row, 1)) {
                process_names.insert(id >> 24, name);
            }
        });
        let mut thread_names = HashMap::new();
        each(database, "ThreadNames", &["globalTid", "nameId"], |row| {
            if let (Some(id), Some(name)) = (row.integer(0), row.integer(1).and_then(|id| texts.get(id))) {
                thread_names.insert(id, self.trace.strings.text(name).to_owned());
            }
        });
        let device_names = device_names(database);
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
            })
            .collect();
        for key in self.threads.keys.clone() {
            let process = self.processes.number(key >> 24);
            let (id, name) = ((key & 0xff_ffff) as u32, thread_names.get(&key).cloned());
            self.trace.threads.push(Thread { process, id, name });
        }
        self.trace.devices = self
            .devices
            .keys
            .iter()
            .map(|id| Device {
                id: u32::try_from(*id).unwrap_or(0),
                name: device_names.get(id).cloned().flatten(),
            })
            .collect();
    }

    pub(super) fn finish(mut self) -> Trace {
        let trace = &mut self.trace;
        // A domain that nobody named keeps its number, so that it stays apart from others.
        let mut domains = self.domains;
        domains.retain(|domain, _| domain.1 != 0);
        for domain in self.unnamed.iter().chain(self.marks.iter().map(|(domain, _)| domain)) {
            if !domains.contains_key(domain) {
                let name = if domain.1 == 0 { String::new() } else { format!("domain {}", domain.1) };
                domains.insert(*domain, trace.strings.intern(&name));
            }
        }
        trace.ranges.domain = self.unnamed.iter().map(|domain| domains[domain]).collect();
        for (domain, mark) in &self.marks {
            *trace.marks.entry((domains[domain], *mark)).or_default() += 1;
        }
        trace.activities.launches = self.launches.keys;
        if self.devices.keys.len() > usize::from(u16::MAX) {
            let text = "more devices than there can be: the file is damaged".to_owned();
            trace.diagnostics.push(Diagnostic { text, lost: true });
        }
        losses(self.losses, &mut trace.diagnostics);
        super::twice::once(trace);
        trace.finish();
        self.trace
    }
}

/// One sentence for each table of which something is missing.
fn losses(losses: Vec<(String, Loss)>, diagnostics: &mut Vec<Diagnostic>) {
    let mut by_table: Vec<(String, Loss)> = Vec::new();
    for (table, loss) in losses {
        match by_table.iter_mut().find(|(name, _)| *name == table) {
            Some((_, sum)) => {
                sum.damage.add(loss.damage);
                sum.unusable += loss.unusable;
            }
            None => by_table.push((table, loss)),
        }
    }
    for (table, loss) in by_table {
        let mut say = |text: String| diagnostics.push(Diagnostic { text, lost: true });
        if !loss.damage.is_none() {
            say(format!("{table}: {} pages and {} rows cannot be read", loss.damage.pages, loss.damage.rows));
        }
        if loss.unusable > 0 {
            say(format!("{table}: {} rows have no usable times and were left out", loss.unusable));
        }
    }
}

/// Numbers of a part → numbers of the trace.
fn renumber<K: Copy + Eq + std::hash::Hash>(part: &Numbering<K>, all: &mut Numbering<K>) -> Vec<u32> {
    part.keys.iter().map(|key| all.number(*key)).collect()
}

/// Without a copy where there is nothing yet.
fn extend<T>(all: &mut Vec<T>, mut part: Vec<T>) {
    if all.is_empty() {
        *all = part;
    } else {
        all.append(&mut part);
    }
}

fn launch(raw: &RawLaunch, texts: &Texts, lost: StringId) -> Launch {
    let [gx, gy, gz, bx, by, bz, registers, static_shared, dynamic_shared] = raw.numbers;
    let name = texts.get(raw.name).or_else(|| texts.get(raw.short_name)).unwrap_or(lost);
    Launch {
        name,
        short_name: texts.get(raw.short_name).unwrap_or(name),
        mangled: texts.get(raw.mangled).unwrap_or_default(),
        grid: [gx, gy, gz],
        block: [bx, by, bz],
        registers,
        static_shared,
        dynamic_shared,
        hidden: false,
    }
}

/// The names of devices as the program counts them, which is not how nsys counts GPUs: newer reports say
/// which is which. None where two processes mean different ones.
fn device_names(database: &Database) -> HashMap<i64, Option<String>> {
    let mut gpus: HashMap<i64, Option<String>> = HashMap::new();
    each(database, "TARGET_INFO_GPU", &["id", "name"], |row| {
        if let Some(id) = row.integer(0) {
            gpus.insert(id, text_of(row, 1));
        }
    });
    let mut names: HashMap<i64, Option<String>> = HashMap::new();
    each(database, "TARGET_INFO_CUDA_DEVICE", &["cudaId", "gpuId"], |row| {
        if let (Some(device), Some(gpu)) = (row.integer(0), row.integer(1)) {
            let name = gpus.get(&gpu).cloned().flatten();
            let known = names.entry(device).or_insert_with(|| name.clone());
            if *known != name {
                *known = None;
            }
        }
    });
    if names.is_empty() { gpus } else { names }
}
