//! Two traces as one: every number of the second is moved behind those of the first.

use crate::model::{ActivityKind, OPEN, StringId, Trace};

impl Trace {
    /// Processes, threads and devices of the other trace stay apart, also when they have
    /// the same ids: it is another recording, maybe of another machine, with another clock.
    /// Its times are moved so that both begin together.
    pub fn append(&mut self, mut other: Trace) {
        other.shift(self.begin.saturating_sub(other.begin));
        let strings = &mut self.strings;
        let texts: Vec<StringId> = other.strings.iter().map(|text| strings.intern(text)).collect();
        let text = |id: &StringId| texts[id.index()];
        let (processes, threads) = (self.processes.len() as u32, self.threads.len() as u32);
        self.processes.extend(other.processes);
        self.threads.extend(other.threads.into_iter().map(|mut thread| {
            thread.process += processes;
            thread
        }));
        let devices = self.devices.len();
        self.devices.extend(other.devices);
        let first_range = self.ranges.begin.len() as u32;
        let ranges = &mut self.ranges;
        ranges.thread.extend(other.ranges.thread.iter().map(|thread| thread + threads));
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
        calls.thread.extend(other.calls.thread.iter().map(|thread| thread + threads));
        calls.name.extend(other.calls.name.iter().map(text));
        calls.correlation.extend(other.calls.correlation);
        let activities = &mut self.activities;
        let (launches, transfers) = (activities.launches.len() as u32, activities.transfers.len() as u32);
        activities.launches.extend(other.activities.launches.iter().map(|launch| {
            let mut launch = *launch;
            (launch.name, launch.short_name) = (text(&launch.name), text(&launch.short_name));
            launch
        }));
        activities.transfers.extend(other.activities.transfers);
        activities.detail.extend(other.activities.detail.iter().zip(&other.activities.kind).map(
            |(detail, kind)| match kind {
                ActivityKind::Kernel => detail + launches,
                ActivityKind::Copy | ActivityKind::Fill => detail + transfers,
                ActivityKind::Graph => *detail,
            },
        ));
        activities.kind.extend(other.activities.kind);
        activities.begin.extend(other.activities.begin);
        activities.end.extend(other.activities.end);
        activities.process.extend(other.activities.process.iter().map(|process| process + processes));
        let device = |device: &u16| (usize::from(*device) + devices).min(usize::from(u16::MAX)) as u16;
        activities.device.extend(other.activities.device.iter().map(device));
        activities.stream.extend(other.activities.stream);
        activities.correlation.extend(other.activities.correlation);
        activities.in_graph.extend(other.activities.in_graph);
        let syncs = &mut self.syncs;
        syncs.begin.extend(other.syncs.begin);
        syncs.end.extend(other.syncs.end);
        syncs.process.extend(other.syncs.process.iter().map(|process| process + processes));
        syncs.correlation.extend(other.syncs.correlation);
        let operators = &mut self.operators;
        operators.begin.extend(other.operators.begin);
        operators.end.extend(other.operators.end);
        operators.thread.extend(other.operators.thread.iter().map(|thread| thread + threads));
        operators.name.extend(other.operators.name.iter().map(text));
        for ((domain, name), count) in other.marks {
            *self.marks.entry((text(&domain), text(&name))).or_default() += count;
        }
        self.gpu_annotations += other.gpu_annotations;
        self.diagnostics.extend(other.diagnostics);
        if !self.source.contains(&other.source) {
            self.source = format!("{}; {}", self.source, other.source);
        }
        self.finish();
    }
    /// Moves every time.
    fn shift(&mut self, by: i64) {
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
        for time in columns.into_iter().flatten().filter(|time| **time != OPEN) {
            *time = time.saturating_add(by);
        }
    }
}
