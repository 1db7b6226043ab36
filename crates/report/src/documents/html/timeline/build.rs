//! From a trace to groups, tracks and lanes.

use std::collections::{BTreeMap, HashMap};

use analysis::{
    Analysis, Attribution, CapturePaths, CaptureRegion, Families, Family, Node, attribute, capture_paths,
};
use nvtx::Kind;
use trace::{ActivityKind, NONE, OPEN, StringId, Trace};

use super::aligned::{Aligned, ranks_of, recording_of};
use super::curves::curves;
use super::legend::{FAMILIES, Legend, graph_name};
use super::pack::{Events, Packed, Raw, pack};
use super::span::Span;
use super::track::{Group, Rows, Timeline, TrackKind};
use crate::form::texts::Texts;

/// What a timeline shows of a trace.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::documents::html) struct Shown<'s> {
    /// Families come from the findings if they know a kernel.
    pub(in crate::documents::html) analysis: Option<&'s Analysis>,
    /// What lies outside is left out; what reaches beyond is cut.
    pub(in crate::documents::html) part: Option<(i64, i64)>,
    /// Families that have their own colors, for pictures that are to be compared.
    pub(in crate::documents::html) families: Option<&'s [Family]>,
}

pub(in crate::documents::html) fn timeline(trace: &Trace, shown: Shown<'_>, texts: &mut Texts) -> Timeline {
    let attribution = attribute(trace);
    let ranks = shown.analysis.and_then(|analysis| analysis.ranks.as_ref()).filter(|_| shown.part.is_none());
    let aligned = Aligned::of(trace, ranks);
    let (begin, end) = shown.part.unwrap_or((trace.begin, aligned.end));
    let mut build = Build {
        trace,
        begin,
        end: end.max(begin),
        is_part: shown.part.is_some(),
        aligned,
        planes: Planes::of(trace, &attribution),
        attribution: &attribution,
        captured: capture_paths(trace, &attribution),
        legend: Legend::default(),
        families: Vec::new(),
        regions: vec![NONE; attribution.tree.nodes.len()],
        capture_regions: HashMap::new(),
        launches: vec![NONE; trace.activities.launches.len()],
        named: HashMap::new(),
        texts,
    };
    build.families(shown);
    // Devices first: below many threads, they would be out of view.
    let mut raw = build.devices();
    raw.extend(build.threads());
    let Packed { mut groups, events, mut notes } = pack(raw, &mut build);
    let (curves, left_out) = if build.is_part { Default::default() } else { curves(trace, &build.aligned) };
    notes.extend(left_out);
    for (place, (device, curves)) in curves.into_iter().enumerate() {
        let title = device_title(trace, device);
        match groups.iter_mut().find(|group| group.title == title && group.curves.is_empty()) {
            Some(group) => group.curves = curves,
            None => groups.insert(place, Group { title, tracks: Vec::new(), curves }),
        }
    }
    if build.texts.is_full() {
        notes.push(
            "There are too many different names for one page: some events are shown without a name."
                .to_owned(),
        );
    }
    if build.aligned.is_moved() {
        notes.push("The ranks are on one clock, from the ends of their collectives.".to_owned());
    }
    let windows = trace.windows.iter().map(|(begin, end)| (build.since(*begin), build.since(*end)));
    let windows = windows.collect();
    let span_ns = build.end.saturating_sub(build.begin);
    // On one clock for several ranks, none of them has its own times.
    let steady = shown.analysis.and_then(|analysis| analysis.steady.as_ref());
    let steady = steady.filter(|_| !build.is_part && !build.aligned.is_moved()).map(|steady| {
        let since = |ns: i64| build.since(trace.begin.saturating_add(ns));
        (since(steady.begin_ns), since(steady.end_ns))
    });
    Timeline { legend: build.legend, groups, span_ns, windows, steady, events, notes }
}

struct Build<'a, 't> {
    trace: &'a Trace,
    /// What is shown.
    begin: i64,
    end: i64,
    is_part: bool,
    aligned: Aligned,
    attribution: &'a Attribution,
    captured: CapturePaths,
    planes: Planes<'a>,
    legend: Legend,
    /// By launch.
    families: Vec<Family>,
    /// By region and by launch: its number in the legend, or [`NONE`] while nothing of it is shown.
    regions: Vec<u32>,
    launches: Vec<u32>,
    /// The same, by region in which nodes of graphs were captured.
    capture_regions: HashMap<u32, u32>,
    /// Operators and calls by name.
    named: HashMap<(StringId, TrackKind), u32>,
    texts: &'t mut Texts,
}

impl Events for Build<'_, '_> {
    fn extent(&self, rows: Rows, event: u32) -> (i64, i64) {
        let (begin, end) = self.times(rows, event as usize);
        let begin = self.since(begin);
        (begin, self.since(end).max(begin))
    }

    fn name(&self, rows: Rows, event: u32) -> String {
        let (trace, at) = (self.trace, event as usize);
        let text = |name: StringId| trace.strings.text(name).to_owned();
        match rows {
            Rows::Ranges => self.path(self.attribution.tree.node_of[at]),
            Rows::Operators => text(trace.operators.name[at]),
            Rows::Calls => text(trace.calls.name[at]),
            Rows::Captured => self.captured.regions[self.captured.spans[at].region as usize].path.clone(),
            Rows::Activities => match (trace.activities.kind[at], trace.activities.detail[at]) {
                (ActivityKind::Kernel, launch) => text(trace.activities.launches[launch as usize].name),
                (ActivityKind::Graph, id) => graph_name(id),
                (_, transfer) => trace.activities.transfers[transfer as usize].direction.as_str().to_owned(),
            },
        }
    }

    fn span(&mut self, rows: Rows, event: u32) -> Span {
        let (trace, at) = (self.trace, event as usize);
        let (begin, end) = self.extent(rows, event);
        let cut = self.is_cut(rows, at);
        let span = |what| Span { begin, end, what, region: None, lead: None, open: false, cut };
        match rows {
            Rows::Activities => self.activity(at, span(0)),
            Rows::Ranges => Span {
                open: trace.ranges.end[at] == OPEN,
                ..span(self.region(self.attribution.tree.node_of[at]))
            },
            Rows::Operators => span(self.named(trace.operators.name[at], TrackKind::Operators)),
            Rows::Calls => span(self.named(trace.calls.name[at], TrackKind::Calls)),
            Rows::Captured => span(self.capture_region(self.captured.spans[at].region)),
        }
    }
}

impl Build<'_, '_> {
    fn since(&self, time: i64) -> i64 {
        let last = if self.is_part { self.end } else { i64::MAX };
        time.min(last).saturating_sub(self.begin).max(0)
    }

    /// When it begins and ends, in the times of the trace.
    fn times(&self, rows: Rows, at: usize) -> (i64, i64) {
        let trace = self.trace;
        let (begin, end) = match rows {
            Rows::Activities => (trace.activities.begin[at], trace.activities.end[at]),
            Rows::Ranges => (trace.ranges.begin[at], trace.ranges.end[at]),
            Rows::Operators => (trace.operators.begin[at], trace.operators.end[at]),
            Rows::Calls => (trace.calls.begin[at], trace.calls.end[at]),
            Rows::Captured => (self.captured.spans[at].begin, self.captured.spans[at].end),
        };
        let end = if end == OPEN { trace.end } else { end };
        if !self.aligned.is_moved() {
            return (begin, end);
        }
        let process = match rows {
            Rows::Activities => trace.activities.process[at],
            Rows::Ranges => trace.process_of(trace.ranges.thread[at]),
            Rows::Operators => trace.process_of(trace.operators.thread[at]),
            Rows::Calls => trace.process_of(trace.calls.thread[at]),
            Rows::Captured => self.captured.spans[at].process,
        };
        (self.aligned.at(process, begin), self.aligned.at(process, end))
    }

    fn is_shown(&self, rows: Rows, at: usize) -> bool {
        let (begin, end) = self.times(rows, at);
        !self.is_part || begin < self.end && end > self.begin
    }

    /// Whether a part of it is not shown.
    fn is_cut(&self, rows: Rows, at: usize) -> bool {
        let (begin, end) = self.times(rows, at);
        self.is_part && (begin < self.begin || end > self.end)
    }

    fn path(&self, node: u32) -> String {
        self.attribution.tree.path(self.trace, node).to_string()
    }

    /// A region's number in the legend.
    fn region(&mut self, node: u32) -> u32 {
        if self.regions[node as usize] == NONE {
            let trace = self.trace;
            let Node { name, kind, .. } = self.attribution.tree.nodes[node as usize];
            let detail = if kind == Kind::StartEnd { "start/end range" } else { "" };
            let path = self.path(node);
            self.regions[node as usize] =
                self.legend.region(self.texts, trace.strings.text(name), &path, detail);
        }
        self.regions[node as usize]
    }

    /// The same for a region in which nodes of graphs were captured.
    fn capture_region(&mut self, region: u32) -> u32 {
        let (legend, texts) = (&mut self.legend, &mut self.texts);
        let CaptureRegion { name, path } = &self.captured.regions[region as usize];
        let number = || legend.region(texts, name, path, "captured in it, as a part of a CUDA graph");
        *self.capture_regions.entry(region).or_insert_with(number)
    }

    /// The number of a kernel and its shape.
    fn launch(&mut self, number: u32) -> u32 {
        let known = &mut self.launches[number as usize];
        if *known == NONE {
            let launch = &self.trace.activities.launches[number as usize];
            *known =
                self.legend.kernel(self.texts, self.trace, launch, self.families[number as usize].as_str());
        }
        *known
    }

    /// The number of an operator or a call.
    fn named(&mut self, name: StringId, kind: TrackKind) -> u32 {
        *self.named.entry((name, kind)).or_insert_with(|| {
            let name = self.trace.strings.text(name);
            match kind {
                TrackKind::Operators => self.legend.operator(self.texts, name),
                _ => self.legend.call(self.texts, name),
            }
        })
    }

    /// What a device did, for whom, and how long after its call.
    fn activity(&mut self, at: usize, span: Span) -> Span {
        let (trace, activities) = (self.trace, &self.trace.activities);
        let detail = activities.detail[at];
        let what = match activities.kind[at] {
            ActivityKind::Kernel => self.launch(detail),
            ActivityKind::Graph => self.legend.graph(self.texts, &graph_name(detail)),
            kind => self.legend.transfer(self.texts, &activities.transfers[detail as usize], kind),
        };
        let lead = match self.attribution.call[at] {
            NONE => None,
            call => u64::try_from(activities.begin[at].saturating_sub(trace.calls.begin[call as usize])).ok(),
        };
        let range = self.planes.range(at);
        let region = range.map(|range| self.region(self.attribution.tree.node_of[range as usize]));
        Span { what, region, lead, ..span }
    }

    /// By launch. The families with the most time get their own colors.
    fn families(&mut self, shown: Shown<'_>) {
        let (families, times) = family_times(self.trace, shown.analysis);
        let ranked = ranked(times);
        let ranked = shown.families.unwrap_or(&ranked);
        self.legend.families =
            ranked.iter().take(FAMILIES).map(|family| self.texts.id(family.as_str())).collect();
        self.families = families;
    }

    fn devices(&self) -> Vec<(String, Vec<Raw>)> {
        let (trace, activities) = (self.trace, &self.trace.activities);
        let mut streams: BTreeMap<(u16, u32, u32), [Vec<u32>; 2]> = BTreeMap::new();
        for at in (0..activities.len()).filter(|at| self.is_shown(Rows::Activities, *at)) {
            let place = (activities.device[at], activities.process[at], activities.stream[at]);
            streams.entry(place).or_default()[0].push(at as u32);
        }
        let spans = self.captured.spans.iter().enumerate();
        for (at, span) in spans.filter(|(at, _)| self.is_shown(Rows::Captured, *at)) {
            streams.entry((span.device, span.process, span.stream)).or_default()[1].push(at as u32);
        }
        let several = trace.processes.len() > 1;
        let mut groups: Vec<(String, Vec<Raw>)> = Vec::new();
        let mut last = None;
        for ((device, process, stream), [events, captured]) in streams {
            if last != Some(device) {
                groups.push((device_title(trace, device), Vec::new()));
            }
            last = Some(device);
            let pid = trace.processes.get(process as usize).filter(|_| several);
            let title = format!(
                "{}stream {stream}",
                pid.map(|process| format!("process {}, ", process.pid)).unwrap_or_default()
            );
            if let Some((_, tracks)) = groups.last_mut() {
                tracks.push(Raw { title, kind: TrackKind::Gpu, rows: Rows::Activities, events });
                let (kind, rows) = (TrackKind::Regions, Rows::Captured);
                tracks.push(Raw { title: "captured in".to_owned(), kind, rows, events: captured });
                tracks.retain(|track| !track.events.is_empty());
            }
        }
        groups
    }

    /// Threads of one process together, in each the one that did most first.
    fn threads(&self) -> Vec<(String, Vec<Raw>)> {
        let trace = self.trace;
        // By thread and row: each domain, then the other rows.
        let mut tracks: BTreeMap<(u32, Row), Vec<u32>> = BTreeMap::new();
        let ranges = &trace.ranges;
        for range in (0..ranges.len()).filter(|range| self.is_shown(Rows::Ranges, *range)) {
            let row = match ranges.kind[range] {
                Kind::StartEnd => Row::StartEnd,
                Kind::PushPop => Row::Domain(ranges.domain[range]),
            };
            tracks.entry((ranges.thread[range], row)).or_default().push(range as u32);
        }
        let (operators, calls) = (&trace.operators.thread, &trace.calls.thread);
        for (row, rows, threads) in
            [(Row::Operators, Rows::Operators, operators), (Row::Calls, Rows::Calls, calls)]
        {
            for (event, thread) in threads.iter().enumerate().filter(|(at, _)| self.is_shown(rows, *at)) {
                tracks.entry((*thread, row)).or_default().push(event as u32);
            }
        }
        let mut threads: BTreeMap<u32, (usize, Vec<Raw>)> = BTreeMap::new();
        for ((thread, row), events) in tracks {
            let (title, kind, rows) = match row {
                Row::Domain(domain) => {
                    (domain_title(trace.strings.text(domain)), TrackKind::Regions, Rows::Ranges)
                }
                Row::StartEnd => ("start/end ranges".to_owned(), TrackKind::Regions, Rows::Ranges),
                Row::Operators => ("operators".to_owned(), TrackKind::Operators, Rows::Operators),
                Row::Calls => ("CUDA calls".to_owned(), TrackKind::Calls, Rows::Calls),
            };
            let (all, list) = threads.entry(thread).or_default();
            *all += events.len();
            list.push(Raw { title, kind, rows, events });
        }
        let mut threads: Vec<(u32, (usize, Vec<Raw>))> = threads.into_iter().collect();
        threads.sort_by_key(|(thread, (events, _))| (trace.process_of(*thread), std::cmp::Reverse(*events)));
        threads.into_iter().map(|(thread, (_, tracks))| (self.thread_title(thread), tracks)).collect()
    }

    fn thread_title(&self, thread: u32) -> String {
        let thread = &self.trace.threads[thread as usize];
        let process = &self.trace.processes[thread.process as usize];
        let base = process.name.rsplit('/').next().unwrap_or(&process.name);
        let label = [&process.label, base].into_iter().find(|text| !text.is_empty()).unwrap_or("process");
        // Some tools put the number into the name.
        let number = thread.id.to_string();
        let name = match thread.name.as_deref().unwrap_or_default() {
            name if name.contains(&number) => name.to_owned(),
            name => format!("thread {number} {name}"),
        };
        format!("{label} {}, {}", process.pid, name.trim_end())
    }
}

/// The family of each launch, and the time of each family.
pub(in crate::documents::html) fn family_times(
    trace: &Trace,
    analysis: Option<&Analysis>,
) -> (Vec<Family>, BTreeMap<Family, i64>) {
    let activities = &trace.activities;
    let known: HashMap<&str, &Family> = analysis
        .into_iter()
        .flat_map(|analysis| &analysis.kernels)
        .map(|row| (row.name.as_str(), &row.family))
        .collect();
    let ours = Families::default();
    let mut of_names: HashMap<StringId, &Family> = HashMap::new();
    let mut of = |name: StringId| {
        *of_names.entry(name).or_insert_with(|| {
            let name = trace.strings.text(name);
            known.get(name).copied().unwrap_or_else(|| ours.family_of(name))
        })
    };
    let families: Vec<Family> = activities.launches.iter().map(|launch| of(launch.name).clone()).collect();
    let mut of_launches = vec![0i64; families.len()];
    for activity in (0..activities.len()).filter(|at| activities.kind[*at] == ActivityKind::Kernel) {
        let time = &mut of_launches[activities.detail[activity] as usize];
        *time = time.saturating_add(activities.duration(activity));
    }
    let mut times: BTreeMap<Family, i64> = BTreeMap::new();
    for (family, launch) in families.iter().zip(of_launches) {
        let time = times.entry(family.clone()).or_default();
        *time = time.saturating_add(launch);
    }
    (families, times)
}

/// Those with the most time first.
pub(in crate::documents::html) fn ranked(times: BTreeMap<Family, i64>) -> Vec<Family> {
    let mut ranked: Vec<(Family, i64)> =
        times.into_iter().filter(|(family, time)| *family != Family::Other && *time > 0).collect();
    ranked.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    ranked.into_iter().map(|(family, _)| family).collect()
}

/// The tracks of a thread from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Domain(StringId),
    StartEnd,
    Operators,
    Calls,
}

fn device_title(trace: &Trace, device: u16) -> String {
    let recording = recording_of(trace, device);
    // Of several ranks in one recording it is not known whose it is.
    let mut ranks = recording.into_iter().flat_map(|recording| ranks_of(trace, recording));
    let rank = ranks.next().filter(|first| ranks.all(|rank| rank == *first));
    let device = &trace.devices[usize::from(device)];
    let name = device.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
    let of_rank = rank.map(|rank| format!(" of rank {rank}")).unwrap_or_default();
    format!("GPU {}{name}{of_rank}", device.id)
}

fn domain_title(domain: &str) -> String {
    if domain.is_empty() { "regions".to_owned() } else { format!("regions of {domain}") }
}

/// The region that counts for an activity: of the default domain, or else of the first that
/// has one.
struct Planes<'a>(Vec<&'a [u32]>);

impl<'a> Planes<'a> {
    fn of(trace: &Trace, attribution: &'a Attribution) -> Self {
        let mut planes: Vec<_> = attribution.planes.iter().collect();
        planes.sort_by_key(|plane| !trace.strings.text(plane.domain).is_empty());
        Self(planes.into_iter().map(|plane| plane.range.as_slice()).collect())
    }

    fn range(&self, activity: usize) -> Option<u32> {
        self.0.iter().map(|plane| plane[activity]).find(|range| *range != NONE)
    }
}
