//! Two traces as one: every number of the second is moved behind those of the first.

use crate::extent::Unread;
use crate::model::{Launch, Numbers, OPEN, Series, StringId, Thread, Trace};

/// What the numbers of the second trace's processes, threads and devices are in the first.
struct Known {
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
        let by = self.begin.saturating_sub(other.begin);
        other.shift(by);
        let known = Known {
            processes: (0..other.processes.len()).map(|at| (self.processes.len() + at) as u32).collect(),
            threads: (0..other.threads.len()).map(|at| (self.threads.len() + at) as u32).collect(),
            devices: (0..other.devices.len()).map(|at| device_number(self.devices.len() + at)).collect(),
        };
        let (processes, devices) = (self.processes.len() as u32, device_number(self.devices.len()));
        let first = self.recordings.len() as u32;
        let unread = std::mem::take(&mut other.unread).into_iter();
        self.unread.extend(unread.map(|one| Unread { recording: one.recording + first, ..one }));
        let recordings = std::mem::take(&mut other.recordings).into_iter();
        self.recordings.extend(recordings.map(|recording| recording.moved(processes, devices, by)));
        self.nothing = self.nothing.take().filter(|_| other.nothing.is_some());
        for line in std::mem::take(&mut other.machine) {
            if !self.machine.contains(&line) {
                self.machine.push(line);
            }
        }
        self.processes.append(&mut other.processes);
        self.threads.extend(other.threads.drain(..).map(|mut thread| {
            thread.process = known.processes[thread.process as usize];
            thread
        }));
        self.devices.append(&mut other.devices);
        self.append_events(other, &known);
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
        let known = self.same(&other);
        self.nothing = self.nothing.take().filter(|_| other.nothing.is_some());
        self.append_events(other, &known);
        self.finish();
        if window.0 <= window.1 {
            self.windows.push(window);
            self.windows = Self::windows_of(std::mem::take(&mut self.windows));
        }
    }

    /// Finds the other's processes, threads and devices here by their ids, and adds those
    /// that are not.
    fn same(&mut self, other: &Trace) -> Known {
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
                let same = |mine: &Thread| mine.process == process && mine.id == thread.id;
                let known = self.threads.iter().position(same);
                known.unwrap_or_else(|| {
                    self.threads.push(Thread { process, ..thread.clone() });
                    self.threads.len() - 1
                }) as u32
            })
            .collect();
        let devices = other
            .devices
            .iter()
            .map(|device| {
                let known = self.devices.iter().position(|mine| mine.is_same(device));
                device_number(known.unwrap_or_else(|| {
                    self.devices.push(device.clone());
                    self.devices.len() - 1
                }))
            })
            .collect();
        Known { processes, threads, devices }
    }

    /// Everything that happens, under the numbers it has here.
    fn append_events(&mut self, mut other: Trace, known: &Known) {
        let strings = &mut self.strings;
        let texts: Vec<StringId> = other.strings.iter().map(|text| strings.intern(text)).collect();
        let text = |id: StringId| texts[id.index()];
        let first_launch = self.activities.launches.len();
        let launches: Vec<u32> =
            (0..other.activities.launches.len()).map(|at| (first_launch + at) as u32).collect();
        let renamed = |launch: Launch| Launch {
            name: text(launch.name),
            short_name: text(launch.short_name),
            mangled: text(launch.mangled),
            ..launch
        };
        self.activities.launches.extend(other.activities.launches.drain(..).map(renamed));
        let numbers = Numbers {
            texts: &texts,
            domains: &texts,
            threads: &known.threads,
            processes: &known.processes,
            devices: &known.devices,
            launches: &launches,
        };
        self.ranges.append_rows(other.ranges, &numbers);
        self.calls.append_rows(other.calls, &numbers);
        let transfers = self.activities.transfers.len() as u32;
        self.activities.append(other.activities, &numbers);
        self.graph_samples.append_beside(other.graph_samples, &numbers, transfers);
        self.syncs.append_rows(other.syncs, &numbers);
        self.stream_events.append_rows(other.stream_events, &numbers);
        self.graph_nodes.append_rows(other.graph_nodes, &numbers);
        let thread = |thread: u32| known.threads.get(thread as usize).copied();
        let instantiations = other.instantiations.into_iter();
        self.instantiations.extend(
            instantiations.filter_map(|(by, begin, end)| thread(by).map(|thread| (thread, begin, end))),
        );
        self.capture_ranges.append_rows(other.capture_ranges, &numbers);
        self.operators.append_rows(other.operators, &numbers);
        self.collectives.append_rows(other.collectives, &numbers);
        for series in other.series {
            let series = Series { device: known.devices[usize::from(series.device)], ..series };
            self.add_series(series);
        }
        self.stacks.append(other.stacks, &numbers);
        for ((domain, name), count) in other.marks {
            *self.marks.entry((text(domain), text(name))).or_default() += count;
        }
        self.gpu_annotations += other.gpu_annotations;
        self.diagnostics.extend(other.diagnostics);
        self.sampling.add(other.sampling);
        self.unread.extend(other.unread);
        self.ranges_missing |= other.ranges_missing;
        self.cupti_trouble = self.cupti_trouble.or(other.cupti_trouble);
        self.recorders.extend(other.recorders);
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
        let on_the_host = self.ranges.times().chain(self.calls.times()).chain(self.syncs.times());
        let on_the_host = on_the_host.chain(self.graph_nodes.times()).chain(self.capture_ranges.times());
        let on_the_host = on_the_host.chain(self.graph_samples.times());
        let instantiated = self.instantiations.iter_mut().flat_map(|(_, begin, end)| [begin, end]);
        let on_the_host = on_the_host.chain(instantiated);
        let since = self.processes.iter_mut().filter_map(|process| process.stream_waits_since.as_mut());
        let sampled = self.series.iter_mut().flat_map(Series::times).chain(self.stacks.samples.times());
        let launched = self.launched.iter_mut();
        let on_the_host = on_the_host.chain(since).chain(sampled).chain(launched);
        on_the_host.chain(self.activities.times()).chain(self.operators.times())
    }
}

fn device_number(number: usize) -> u16 {
    number.min(usize::from(u16::MAX)) as u16
}
