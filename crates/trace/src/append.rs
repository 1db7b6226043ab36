//! Two traces as one: every number of the second is moved behind those of the first.

use crate::model::{ActivityKind, OPEN, StringId, Trace};

/// What the numbers of the second trace are in the first.
struct Numbers {
    processes: Vec<u32>,
    threads: Vec<u32>,
    devices: Vec<u16>,
}

impl Trace {
    /// Processes, threads and devices of the other trace stay apart, also when they have
    /// the same ids: it is another recording, maybe of another machine, with another clock.
    /// Its times are moved so that both begin together.
    pub fn append(&mut self, other: Trace) {
        self.append_unfinished(other);
        self.finish();
    }

    /// All of them as one.
    pub(crate) fn joined(traces: Vec<Trace>) -> Self {
        let mut traces = traces.into_iter();
        let mut all = traces.next().unwrap_or_default();
        if traces.len() > 0 {
            traces.for_each(|trace| all.append_unfinished(trace));
            all.finish();
        }
        all
    }

    fn append_unfinished(&mut self, mut other: Trace) {
        other.shift(self.begin.saturating_sub(other.begin));
        let numbers = Numbers {
            processes: (0..other.processes.len()).map(|at| (self.processes.len() + at) as u32).collect(),
            threads: (0..other.threads.len()).map(|at| (self.threads.len() + at) as u32).collect(),
            devices: (0..other.devices.len()).map(|at| device_number(self.devices.len() + at)).collect(),
        };
        let (processes, devices) = (self.processes.len() as u32, device_number(self.devices.len()));
        let recordings = std::mem::take(&mut other.recordings).into_iter();
        self.recordings.extend(recordings.map(|recording| recording.moved(processes, devices)));
        self.nothing = self.nothing.take().filter(|_| other.nothing.is_some());
        for line in std::mem::take(&mut other.machine) {
            if !self.machine.contains(&line) {
                self.machine.push(line);
            }
        }
        self.processes.append(&mut other.processes);
        self.threads.extend(other.threads.drain(..).map(|mut thread| {
            thread.process = numbers.processes[thread.process as usize];
            thread
        }));
        self.devices.append(&mut other.devices);
        self.take(other, &numbers);
    }

    /// The same processes, recorded once more: ids mean the same in both, and the times are
    /// told apart by when each recording began. Each becomes a window.
    pub fn continue_with(&mut self, mut other: Trace) {
        if self.windows.is_empty() {
            self.windows.push((self.begin, self.end));
        }
        if let (Some(mine), Some(theirs)) = (self.session_start, other.session_start) {
            other.shift(theirs.saturating_sub(mine));
        } else {
            other.shift(self.end.saturating_sub(other.begin));
        }
        let mut window = (i64::MAX, i64::MIN);
        for time in other.times().filter(|time| **time != OPEN) {
            window = (window.0.min(*time), window.1.max(*time));
        }
        let numbers = self.same(&other);
        self.nothing = self.nothing.take().filter(|_| other.nothing.is_some());
        self.take(other, &numbers);
        self.finish();
        if window.0 <= window.1 {
            self.windows.push(window);
            self.windows = Self::windows_of(std::mem::take(&mut self.windows));
        }
    }

    /// Finds the other's processes, threads and devices here by their ids, and adds those
    /// that are not.
    fn same(&mut self, other: &Trace) -> Numbers {
        let processes: Vec<u32> = other
            .processes
            .iter()
            .map(|process| {
                let known = self.processes.iter().position(|mine| mine.pid == process.pid);
                known.unwrap_or_else(|| {
                    self.processes.push(process.clone());
                    self.processes.len() - 1
                }) as u32
            })
            .collect();
        let threads = other
            .threads
            .iter()
            .map(|thread| {
                let process = processes[thread.process as usize];
                let same = |mine: &crate::Thread| mine.process == process && mine.id == thread.id;
                let known = self.threads.iter().position(same);
                known.unwrap_or_else(|| {
                    self.threads.push(crate::Thread { process, ..thread.clone() });
                    self.threads.len() - 1
                }) as u32
            })
            .collect();
        let devices = other
            .devices
            .iter()
            .map(|device| {
                let known = self.devices.iter().position(|mine| mine == device);
                device_number(known.unwrap_or_else(|| {
                    self.devices.push(device.clone());
                    self.devices.len() - 1
                }))
            })
            .collect();
        Numbers { processes, threads, devices }
    }

    /// Everything that happens, under the numbers it has here.
    fn take(&mut self, other: Trace, numbers: &Numbers) {
        let strings = &mut self.strings;
        let texts: Vec<StringId> = other.strings.iter().map(|text| strings.intern(text)).collect();
        let text = |id: &StringId| texts[id.index()];
        let thread = |number: &u32| numbers.threads[*number as usize];
        let process = |number: &u32| numbers.processes[*number as usize];
        let first_range = self.ranges.begin.len() as u32;
        let ranges = &mut self.ranges;
        ranges.thread.extend(other.ranges.thread.iter().map(thread));
        ranges.domain.extend(other.ranges.domain.iter().map(text));
        ranges.name.extend(other.ranges.name.iter().map(text));
        ranges.kind.extend(other.ranges.kind);
        ranges.registered.extend(other.ranges.registered);
        ranges.wide.extend(other.ranges.wide);
        ranges.begin.extend(other.ranges.begin);
        ranges.end.extend(other.ranges.end);
        ranges
            .payload
            .extend(other.ranges.payload.iter().map(|(range, value)| (range + first_range, *value)));
        let calls = &mut self.calls;
        calls.begin.extend(other.calls.begin);
        calls.end.extend(other.calls.end);
        calls.thread.extend(other.calls.thread.iter().map(thread));
        calls.name.extend(other.calls.name.iter().map(text));
        calls.correlation.extend(other.calls.correlation);
        let activities = &mut self.activities;
        let (launches, transfers) = (activities.launches.len() as u32, activities.transfers.len() as u32);
        activities.launches.extend(other.activities.launches.iter().map(|launch| {
            let mut launch = *launch;
            (launch.name, launch.short_name) = (text(&launch.name), text(&launch.short_name));
            launch.mangled = text(&launch.mangled);
            launch
        }));
        activities.transfers.extend(other.activities.transfers);
        activities.detail.extend(other.activities.detail.iter().zip(&other.activities.kind).map(
            |(detail, kind)| match kind {
                ActivityKind::Kernel => detail + launches,
                ActivityKind::Copy | ActivityKind::Fill | ActivityKind::Migration => detail + transfers,
                ActivityKind::Graph => *detail,
            },
        ));
        activities.kind.extend(other.activities.kind);
        activities.begin.extend(other.activities.begin);
        activities.end.extend(other.activities.end);
        activities.process.extend(other.activities.process.iter().map(process));
        let device = |number: &u16| numbers.devices[usize::from(*number)];
        activities.device.extend(other.activities.device.iter().map(device));
        activities.stream.extend(other.activities.stream);
        activities.correlation.extend(other.activities.correlation);
        activities.in_graph.extend(other.activities.in_graph);
        let syncs = &mut self.syncs;
        syncs.begin.extend(other.syncs.begin);
        syncs.end.extend(other.syncs.end);
        syncs.process.extend(other.syncs.process.iter().map(process));
        syncs.correlation.extend(other.syncs.correlation);
        let operators = &mut self.operators;
        operators.begin.extend(other.operators.begin);
        operators.end.extend(other.operators.end);
        operators.thread.extend(other.operators.thread.iter().map(thread));
        operators.name.extend(other.operators.name.iter().map(text));
        for ((domain, name), count) in other.marks {
            *self.marks.entry((text(&domain), text(&name))).or_default() += count;
        }
        self.gpu_annotations += other.gpu_annotations;
        self.diagnostics.extend(other.diagnostics);
        self.ranges_missing |= other.ranges_missing;
        if !self.source.contains(&other.source) {
            self.source = format!("{}; {}", self.source, other.source);
        }
    }

    /// Moves every time.
    fn shift(&mut self, by: i64) {
        for time in self.times().filter(|time| **time != OPEN) {
            *time = time.saturating_add(by);
        }
    }

    fn times(&mut self) -> impl Iterator<Item = &mut i64> {
        let columns = [
            &mut self.ranges.begin,
            &mut self.ranges.end,
            &mut self.calls.begin,
            &mut self.calls.end,
            &mut self.activities.begin,
            &mut self.activities.end,
            &mut self.syncs.begin,
            &mut self.syncs.end,
            &mut self.operators.begin,
            &mut self.operators.end,
        ];
        columns.into_iter().flatten()
    }
}

fn device_number(number: usize) -> u16 {
    number.min(usize::from(u16::MAX)) as u16
}
