//! Devices and their streams: kernels, copies, fills and graphs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use analysis::{CapturePaths, CaptureRegion};
use trace::{ActivityKind, Launch, NONE, Trace};

use super::annotations::{Annotations, Key};
use super::arrows::Arrows;
use super::counters;
use super::draw::{Onto, draw};
use super::lanes::{Span, Times};
use super::packets::{Look, Packets};
use super::regions::Regions;
use super::series;
use super::tracks::{Place, Subject};

/// What is the same for every launch of a kernel in one shape.
struct Kernel {
    name: u64,
    annotations: Annotations,
}

/// The categories of what a device does.
struct Categories {
    kernel: u64,
    copy: u64,
    fill: u64,
    graph: u64,
    captured: u64,
}

pub(crate) struct Devices<'a> {
    trace: &'a Trace,
    times: Times,
    arrows: &'a Arrows,
    regions: Regions,
    captured: CapturePaths,
    categories: Categories,
    /// By launch.
    kernels: Vec<Option<Kernel>>,
    paths: Vec<u64>,
}

impl<'a> Devices<'a> {
    pub(crate) fn new(
        packets: &mut Packets<'_>,
        trace: &'a Trace,
        times: Times,
        arrows: &'a Arrows,
        regions: Regions,
        captured: CapturePaths,
    ) -> Self {
        let mut category = |text| packets.category_text(text);
        let categories = Categories {
            kernel: category("kernel"),
            copy: category("copy"),
            fill: category("fill"),
            graph: category("graph"),
            captured: category("captured"),
        };
        let mut kernels = Vec::new();
        kernels.resize_with(trace.activities.launches.len(), || None);
        Self { trace, times, arrows, regions, captured, categories, kernels, paths: Vec::new() }
    }

    pub(crate) fn draw(mut self, packets: &mut Packets<'_>) -> io::Result<()> {
        let activities = &self.trace.activities;
        let mut captured: BTreeMap<(u16, u32, u32), Vec<Span>> = BTreeMap::new();
        for (at, span) in (0u32..).zip(&self.captured.spans) {
            let stream = captured.entry((span.device, span.process, span.stream)).or_default();
            stream.push(self.times.span(at, span.begin, span.end));
        }
        let mut streams: BTreeMap<(u16, u32, u32), Vec<u32>> = BTreeMap::new();
        // Of a stream there may be nothing but that.
        captured.keys().for_each(|stream| streams.entry(*stream).or_default().clear());
        for activity in 0..activities.len() {
            let stream =
                (activities.device[activity], activities.process[activity], activities.stream[activity]);
            streams.entry(stream).or_default().push(activity as u32);
        }
        for (number, device) in self.trace.devices.iter().enumerate() {
            let number = number as u16;
            let name = match &device.name {
                Some(name) => format!("GPU {} ({name})", device.id),
                None => format!("GPU {}", device.id),
            };
            let group = packets.track(Subject::Group, Place { name: &name, ..Place::default() })?;
            let mut of_device: Vec<_> =
                streams.range_mut((number, 0, 0)..=(number, u32::MAX, u32::MAX)).collect();
            counters::draw(
                packets,
                self.trace,
                self.times,
                group,
                of_device.iter().map(|(_, rows)| rows.as_slice()),
            )?;
            series::draw(packets, self.trace, self.times, group, number)?;
            let first = series::next_rank(self.trace, number);
            let alone = of_device.iter().all(|((_, process, _), _)| *process == of_device[0].0.1);
            for (rank, ((_, process, stream), rows)) in of_device.iter_mut().enumerate() {
                let name = self.stream_name(*process, *stream, alone);
                let rank = first + 2 * rank as u64;
                self.draw_stream(packets, Place { name: &name, parent: Some(group), rank }, rows)?;
                if let Some(spans) = captured.remove(&(number, *process, *stream)) {
                    let name = format!("{name}, captured in");
                    self.draw_captured(
                        packets,
                        Place { name: &name, parent: Some(group), rank: rank + 1 },
                        spans,
                    )?;
                }
            }
        }
        Ok(())
    }

    /// The process only where there are several: names tell tracks apart.
    fn stream_name(&self, process: u32, stream: u32, alone: bool) -> String {
        if alone {
            return format!("stream {stream}");
        }
        let process = &self.trace.processes[process as usize];
        match process.label.as_str() {
            "" => format!("stream {stream}, process {}", process.pid),
            label => format!("stream {stream}, process {}, {label}", process.pid),
        }
    }

    fn draw_stream(
        &mut self,
        packets: &mut Packets<'_>,
        lanes: Place<'_>,
        rows: &mut [u32],
    ) -> io::Result<()> {
        let activities = &self.trace.activities;
        let spans = self.times.spans(rows, &activities.begin, &activities.end);
        let onto = Onto { first: None, lanes, nested: false };
        draw(packets, onto, spans, |packets, span, annotations| self.look(packets, span, annotations))
    }

    fn draw_captured(
        &self,
        packets: &mut Packets<'_>,
        lanes: Place<'_>,
        mut spans: Vec<Span>,
    ) -> io::Result<()> {
        spans.sort_by_key(|span| (span.begin, Reverse(span.end)));
        let onto = Onto { first: None, lanes, nested: true };
        draw(packets, onto, spans.into_iter(), |packets, span, annotations| {
            let region = self.captured.spans[span.row as usize].region as usize;
            let CaptureRegion { name, path } = &self.captured.regions[region];
            annotations.texts(Key::CapturedIn, &[packets.value(path)]);
            Look { name: packets.name_text(name), category: self.categories.captured, arrow: None }
        })
    }

    fn look(&mut self, packets: &mut Packets<'_>, span: &Span, annotations: &mut Annotations) -> Look {
        let (activities, row) = (&self.trace.activities, span.row as usize);
        let detail = activities.detail[row] as usize;
        let (name, category) = match activities.kind[row] {
            ActivityKind::Kernel => {
                let launch = &activities.launches[detail];
                let kernel = self.kernels[detail].get_or_insert_with(|| kernel(packets, self.trace, launch));
                annotations.append(&kernel.annotations);
                (kernel.name, self.categories.kernel)
            }
            ActivityKind::Copy => {
                let direction = activities.transfers[detail].direction.as_str();
                annotations.texts(Key::Direction, &[packets.value(direction)]);
                self.moved(span, annotations);
                (packets.name_text(&format!("copy, {direction}")), self.categories.copy)
            }
            ActivityKind::Migration => {
                let direction = activities.transfers[detail].direction.as_str();
                self.moved(span, annotations);
                (packets.name_text(&format!("unified memory, {direction}")), self.categories.copy)
            }
            ActivityKind::Fill => {
                self.moved(span, annotations);
                (packets.name_text("fill"), self.categories.fill)
            }
            ActivityKind::Graph => (packets.name_text(&format!("graph {detail}")), self.categories.graph),
        };
        if activities.in_graph[row] {
            annotations.holds(Key::InGraph);
        }
        if let Some(path) = self.captured.path(row) {
            annotations.texts(Key::CapturedIn, &[packets.value(path)]);
        }
        if activities.correlation[row] != NONE {
            annotations.number(Key::Correlation, u64::from(activities.correlation[row]));
        }
        self.regions.of(packets, self.trace, span.row, &mut self.paths);
        annotations.texts(Key::Region, &self.paths);
        Look { name, category, arrow: self.arrows.at_activity(self.trace, span.row) }
    }

    fn moved(&self, span: &Span, annotations: &mut Annotations) {
        let activities = &self.trace.activities;
        let bytes = activities.transfers[activities.detail[span.row as usize] as usize].bytes;
        annotations.number(Key::Bytes, bytes);
        if span.end > span.begin {
            // Bytes in a nanosecond are gigabytes in a second.
            annotations.real(Key::Rate, bytes as f64 / (span.end - span.begin) as f64);
        }
    }
}

fn kernel(packets: &mut Packets<'_>, trace: &Trace, launch: &Launch) -> Kernel {
    let full = trace.strings.text(launch.name);
    let short = trace.strings.text(launch.short_name);
    let three = |numbers: [u32; 3]| numbers.map(|number| number.to_string()).join("x");
    let mut annotations = Annotations::default();
    annotations.texts(Key::FullName, &[packets.value(full)]);
    annotations.texts(Key::Grid, &[packets.value(&three(launch.grid))]);
    annotations.texts(Key::Block, &[packets.value(&three(launch.block))]);
    annotations.number(Key::Registers, u64::from(launch.registers));
    annotations.number(Key::StaticShared, u64::from(launch.static_shared));
    annotations.number(Key::DynamicShared, u64::from(launch.dynamic_shared));
    Kernel { name: packets.name_text(if short.is_empty() { full } else { short }), annotations }
}
