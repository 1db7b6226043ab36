//! Attribution: which range launched which device work, and which ranges, regions and launches there are.

mod at_once;
mod attribution;
mod call_kinds;
mod capture_paths;
mod captured;
mod launch_groups;
mod libraries;
mod only_thread;
mod originals;
mod region_calls;
mod region_label;
mod regions;
mod replays;
mod start_end;
mod sweep;
mod tree;
mod unattributed;
mod within;

pub use at_once::{launches_at_once, times_at_once};
pub use attribution::{Attribution, Plane, attribute, attribute_as_gates_do};
pub(crate) use call_kinds::{copies, synchronises};
pub use capture_paths::{CapturePaths, CaptureRegion, CaptureSpan, capture_paths};
pub(crate) use captured::Captured;
pub(crate) use launch_groups::region_of;
pub use launch_groups::{LaunchGroup, LaunchGroups, launch_groups, launches_in};
pub use region_calls::{RegionCalls, region_calls};
pub use region_label::{label as region_label, labels as region_labels};
pub use regions::{Region, Registered, Times, regions};
pub(crate) use replays::{Replay, Replayed, replays};
pub(crate) use start_end::Started;
pub(crate) use sweep::{by_thread, innermost};
pub use tree::{Node, Tree};
pub use unattributed::Unattributed;
pub(crate) use unattributed::unattributed;
pub use within::{keep_within, windows_within};
