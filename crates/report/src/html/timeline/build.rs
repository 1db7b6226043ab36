//! From a trace to groups, tracks and lanes.

use std::collections::{BTreeMap, HashMap};

use analysis::{Attribution, Families, Findings, OTHER_FAMILY, Tree, attribute};
use nvtx::Kind;
use trace::{ActivityKind, NONE, OPEN, StringId, Trace};

use super::legend::{FAMILIES, Legend};
use super::pack::{Packed, Raw, pack};
use super::track::{Span, Timeline, TrackKind};
use crate::html::texts::Texts;

/// Families are the findings' where they know a kernel.
pub(in crate::html) fn timeline(trace: &Trace, findings: Option<&Findings>, texts: &mut Texts) -> Timeline {
    let mut build = Build { trace, legend: Legend::default(), texts, from: trace.begin };
    let families = build.families(findings);
    let attribution = attribute(trace);
    let region_of = build.regions(&attribution.tree);
    // Devices first: below many threads they would be out of sight.
    let mut raw = build.devices(&families, &attribution, &region_of);
    drop(attribution);
    raw.extend(build.threads(&region_of));
    let legend = &build.legend;
    let Packed { groups, events, notes } =
        pack(raw, |what| build.texts.text(legend.full[what as usize]).to_owned());
    let windows = trace.windows.iter().map(|(begin, end)| (build.since(*begin), build.since(*end)));
    let windows = windows.collect();
    let span_ns = trace.end.saturating_sub(trace.begin);
    Timeline { legend: build.legend, groups, span_ns, windows, events, notes }
}

struct Build<'a, 't> {
    trace: &'a Trace,
    legend: Legend,
    texts: &'t mut Texts,
    from: i64,
}

impl Build<'_, '_> {
    fn since(&self, time: i64) -> i64 {
        time.saturating_sub(self.from).max(0)
    }

    fn span(&self, begin: i64, end: i64, what: u32) -> Span {
        let open = end == OPEN;
        let begin = self.since(begin);
        let end = self.since(if open { self.trace.end } else { end }).max(begin);
        Span { begin, end, what, region: None, lead: None, open }
    }

    /// By launch. The families with the most time get a colour of their own.
    fn families(&mut self, findings: Option<&Findings>) -> Vec<String> {
        let activities = &self.trace.activities;
        let known: HashMap<&str, &str> = findings
            .into_iter()
            .flat_map(|findings| &findings.kernels)
            .map(|row| (row.name.as_str(), row.family.as_str()))
            .collect();
        let ours = Families::default();
        let mut of_names: HashMap<StringId, &str> = HashMap::new();
        let mut of = |name: StringId| {
            *of_names.entry(name).or_insert_with(|| {
                let name = self.trace.strings.text(name);
                known.get(name).copied().unwrap_or_else(|| ours.of(name))
            })
        };
        let families: Vec<String> =
            activities.launches.iter().map(|launch| of(launch.name).to_owned()).collect();
        let mut times: BTreeMap<&str, i64> = BTreeMap::new();
        for activity in 0..activities.len() {
            if activities.kind[activity] == ActivityKind::Kernel {
                let time = times.entry(&families[activities.detail[activity] as usize]).or_default();
                *time = time.saturating_add(activities.duration(activity));
            }
        }
        let mut ranked: Vec<(&str, i64)> =
            times.into_iter().filter(|(name, _)| *name != OTHER_FAMILY).collect();
        ranked.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        self.legend.families = ranked.iter().take(FAMILIES).map(|(name, _)| self.texts.id(name)).collect();
        families
    }

    /// By range: the number of its region in the legend.
    fn regions(&mut self, tree: &Tree) -> Vec<u32> {
        let strings = &self.trace.strings;
        let mut ids = Vec::with_capacity(tree.nodes.len());
        for (number, node) in tree.nodes.iter().enumerate() {
            let path = tree.path(self.trace, number as u32).to_string();
            let detail = if node.kind == Kind::StartEnd { "start/end range" } else { "" };
            ids.push(self.legend.region(self.texts, strings.text(node.name), &path, detail));
        }
        tree.node_of.iter().map(|node| ids[*node as usize]).collect()
    }

    fn devices(
        &mut self,
        families: &[String],
        attribution: &Attribution,
        region_of: &[u32],
    ) -> Vec<(String, Vec<Raw>)> {
        let (trace, activities) = (self.trace, &self.trace.activities);
        let planes = Planes::of(trace, attribution);
        let kernels: Vec<u32> = activities
            .launches
            .iter()
            .zip(families)
            .map(|(launch, family)| self.legend.kernel(self.texts, trace, launch, family))
            .collect();
        let mut streams: BTreeMap<(u16, u32, u32), Vec<Span>> = BTreeMap::new();
        for activity in 0..activities.len() {
            let detail = activities.detail[activity];
            let what = match activities.kind[activity] {
                ActivityKind::Kernel => kernels[detail as usize],
                ActivityKind::Graph => self.legend.graph(self.texts, detail),
                kind => self.legend.transfer(self.texts, &activities.transfers[detail as usize], kind),
            };
            let lead = match attribution.call[activity] {
                NONE => None,
                call => {
                    u64::try_from(activities.begin[activity].saturating_sub(trace.calls.begin[call as usize]))
                        .ok()
                }
            };
            let region = planes.range(activity).map(|range| region_of[range as usize]);
            let span = Span {
                region,
                lead,
                ..self.span(activities.begin[activity], activities.end[activity], what)
            };
            let place =
                (activities.device[activity], activities.process[activity], activities.stream[activity]);
            streams.entry(place).or_default().push(span);
        }
        let several = trace.processes.len() > 1;
        let mut groups: Vec<(String, Vec<Raw>)> = Vec::new();
        let mut last = None;
        for ((device, process, stream), spans) in streams {
            if last != Some(device) {
                let device = &trace.devices[usize::from(device)];
                let name = device.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
                groups.push((format!("GPU {}{name}", device.id), Vec::new()));
            }
            last = Some(device);
            let pid = trace.processes.get(process as usize).filter(|_| several);
            let title = format!(
                "{}stream {stream}",
                pid.map(|process| format!("process {}, ", process.pid)).unwrap_or_default()
            );
            if let Some((_, tracks)) = groups.last_mut() {
                tracks.push(Raw { title, kind: TrackKind::Gpu, spans });
            }
        }
        groups
    }

    /// Threads of one process together, in each the one that did most first.
    fn threads(&mut self, region_of: &[u32]) -> Vec<(String, Vec<Raw>)> {
        let trace = self.trace;
        // What of a thread: the domain's place, or behind all domains.
        let mut tracks: BTreeMap<(u32, Row), Vec<Span>> = BTreeMap::new();
        let ranges = &trace.ranges;
        for (range, region) in region_of.iter().enumerate() {
            let row = match ranges.kind[range] {
                Kind::StartEnd => Row::StartEnd,
                Kind::PushPop => Row::Domain(ranges.domain[range]),
            };
            let span = self.span(ranges.begin[range], ranges.end[range], *region);
            tracks.entry((ranges.thread[range], row)).or_default().push(span);
        }
        let mut known: HashMap<StringId, u32> = HashMap::new();
        let operators = &trace.operators;
        for operator in 0..operators.begin.len() {
            let name = operators.name[operator];
            let what = *known
                .entry(name)
                .or_insert_with(|| self.legend.operator(self.texts, trace.strings.text(name)));
            let span = self.span(operators.begin[operator], operators.end[operator], what);
            tracks.entry((operators.thread[operator], Row::Operators)).or_default().push(span);
        }
        known.clear();
        for call in 0..trace.calls.len() {
            let name = trace.calls.name[call];
            let what =
                *known.entry(name).or_insert_with(|| self.legend.call(self.texts, trace.strings.text(name)));
            let span = self.span(trace.calls.begin[call], trace.calls.end[call], what);
            tracks.entry((trace.calls.thread[call], Row::Calls)).or_default().push(span);
        }
        let mut threads: BTreeMap<u32, (usize, Vec<Raw>)> = BTreeMap::new();
        for ((thread, row), spans) in tracks {
            let (title, kind) = match row {
                Row::Domain(domain) => (domain_title(trace.strings.text(domain)), TrackKind::Regions),
                Row::StartEnd => ("start/end ranges".to_owned(), TrackKind::Regions),
                Row::Operators => ("operators".to_owned(), TrackKind::Operators),
                Row::Calls => ("CUDA calls".to_owned(), TrackKind::Calls),
            };
            let (events, list) = threads.entry(thread).or_default();
            *events += spans.len();
            list.push(Raw { title, kind, spans });
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

/// The tracks of a thread from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Domain(StringId),
    StartEnd,
    Operators,
    Calls,
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
