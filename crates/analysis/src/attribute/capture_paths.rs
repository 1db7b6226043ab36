//! Capture paths, for whoever shows them.

use std::collections::BTreeMap;

use trace::{NONE, Trace};

use super::attribution::Attribution;
use super::captured::Captured;
use super::replays::{Replay, replays};
use super::tree::Tree;

/// Of all paths together; beyond it a region is shown by its name alone.
const MOST_TEXT: usize = 8 << 20;
/// More than a timeline can show.
const MOST_SPANS: usize = 1 << 22;

/// The regions in which replayed nodes were captured.
#[derive(Debug, Default)]
pub struct CapturePaths {
    pub regions: Vec<CaptureRegion>,
    /// By activity: the place of its region, or [`NONE`]; empty if none has any.
    of: Vec<u32>,
    /// When devices were at them, outer regions before inner ones.
    pub spans: Vec<CaptureSpan>,
}

#[derive(Debug)]
pub struct CaptureRegion {
    pub name: String,
    pub path: String,
}

/// The time from the first to the last node of a region in one launch of a graph, on one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureSpan {
    pub device: u16,
    /// Index into [`Trace::processes`].
    pub process: u32,
    pub stream: u32,
    /// Index into [`CapturePaths::regions`].
    pub region: u32,
    pub begin: i64,
    pub end: i64,
}

impl CapturePaths {
    /// The path of an activity.
    pub fn path(&self, activity: usize) -> Option<&str> {
        let region = *self.of.get(activity)?;
        self.regions.get(region as usize).map(|region| region.path.as_str())
    }
}

/// For every activity of a trace.
pub fn capture_paths(trace: &Trace, attribution: &Attribution) -> CapturePaths {
    if trace.graph_nodes.is_empty() {
        return CapturePaths::default();
    }
    let replays = replays(trace, attribution);
    let Some(captured) = Captured::of(trace, attribution, &replays) else { return CapturePaths::default() };
    let tree = &captured.tree;
    let mut of = vec![NONE; trace.activities.len()];
    // By launch, device and stream.
    let mut launches: BTreeMap<(_, u16, u32), Vec<(&Replay, u32)>> = BTreeMap::new();
    for (at, replay) in replays.iter().enumerate() {
        let Some(region) = captured.node(at).and_then(|node| captured.region(node)) else { continue };
        if let Some(activity) = replay.activity {
            of[activity as usize] = region;
        }
        // Where nothing tells launches apart, there is no knowing where one ends.
        if let Some(launch) = replay.launch {
            launches.entry((launch, replay.device, replay.stream)).or_default().push((replay, region));
        }
    }
    let mut spans = Vec::new();
    for nodes in launches.values() {
        if spans.len() < MOST_SPANS {
            nested_spans(tree, nodes, &mut spans);
        }
    }
    let mut bytes = 0usize;
    let region = |(at, node): (u32, &super::tree::Node)| {
        let name = trace.strings.text(node.name);
        bytes = bytes.saturating_add(tree.path_bytes(trace, at));
        let path = if bytes > MOST_TEXT { name.to_owned() } else { tree.path(trace, at).to_string() };
        CaptureRegion { name: name.to_owned(), path }
    };
    CapturePaths { regions: (0u32..).zip(&tree.nodes).map(region).collect(), of, spans }
}

/// One after the other, nodes go from region to region: each is left when the next node is not in it.
fn nested_spans(tree: &Tree, nodes: &[(&Replay, u32)], spans: &mut Vec<CaptureSpan>) {
    let mut open: Vec<usize> = Vec::new();
    for (replay, region) in nodes {
        while let Some(last) = open.last()
            && !tree.is_within(*region, spans[*last].region)
        {
            open.pop();
        }
        let inside = open.last().map(|last| spans[*last].region);
        let above = |at: &u32| tree.nodes[*at as usize].parent;
        let mut new: Vec<u32> =
            std::iter::successors(Some(*region), above).take_while(|at| Some(*at) != inside).collect();
        while let Some(region) = new.pop() {
            open.push(spans.len());
            let Replay { device, process, stream, begin, end, .. } = **replay;
            spans.push(CaptureSpan { device, process, stream, region, begin, end });
        }
        open.iter().for_each(|at| spans[*at].end = spans[*at].end.max(replay.end));
    }
}
