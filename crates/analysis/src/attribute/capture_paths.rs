//! Capture paths, as others see them.

use trace::{NONE, Trace};

use super::attribution::Attribution;
use super::captured::Captured;
use super::replays::replays;

/// The region in which each replayed node was captured.
#[derive(Debug, Default)]
pub struct CapturePaths {
    /// Paths of regions, parents before their children, each with the place of its parent.
    pub regions: Vec<(String, Option<u32>)>,
    /// By activity: the place of its region, or [`NONE`]; empty if none has any.
    pub of: Vec<u32>,
}

impl CapturePaths {
    /// The path of an activity.
    pub fn path(&self, activity: usize) -> Option<&str> {
        let region = *self.of.get(activity)?;
        self.regions.get(region as usize).map(|(path, _)| path.as_str())
    }
}

/// For every activity of a trace.
pub fn capture_paths(trace: &Trace, attribution: &Attribution) -> CapturePaths {
    let replays = replays(trace, attribution);
    let Some(captured) = Captured::of(trace, attribution, &replays) else { return CapturePaths::default() };
    let tree = &captured.tree;
    let mut of = vec![NONE; trace.activities.len()];
    for (at, replay) in replays.iter().enumerate() {
        let region = captured.node(at).and_then(|node| captured.region(node));
        if let (Some(activity), Some(region)) = (replay.activity, region) {
            of[activity as usize] = region;
        }
    }
    let region = |(at, node): (u32, &super::tree::Node)| (tree.path(trace, at).to_string(), node.parent);
    CapturePaths { regions: (0u32..).zip(&tree.nodes).map(region).collect(), of }
}
