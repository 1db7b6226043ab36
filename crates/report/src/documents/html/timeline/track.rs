//! What the timeline is made of.

use super::curves::Curve;
use super::thin::Piece;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TrackKind {
    Gpu,
    Regions,
    Operators,
    Calls,
}

impl TrackKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Regions => "regions",
            Self::Operators => "operators",
            Self::Calls => "calls",
        }
    }
}

/// Which rows of a trace the events of a track are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Activities,
    Ranges,
    Operators,
    Calls,
    /// [`analysis::CaptureSpan`]s.
    Captured,
}

/// A stream, or what a thread did of one kind.
#[derive(Debug)]
pub(in crate::documents::html) struct Track {
    pub(in crate::documents::html) title: String,
    pub(super) kind: TrackKind,
    /// No two pieces of a lane overlap.
    pub(super) lanes: Vec<Vec<Piece>>,
    pub(in crate::documents::html) events: u64,
    /// The sum over all events; what nests counts once for each.
    pub(in crate::documents::html) time_ns: i64,
    pub(in crate::documents::html) longest: Option<(String, i64)>,
    /// Events that are only counted.
    pub(in crate::documents::html) left_out: u64,
}

/// A device or a thread.
#[derive(Debug)]
pub(in crate::documents::html) struct Group {
    pub(in crate::documents::html) title: String,
    pub(in crate::documents::html) tracks: Vec<Track>,
    /// What was measured of a device over time.
    pub(in crate::documents::html) curves: Vec<Curve>,
}

/// Everything the timeline shows.
#[derive(Debug)]
pub(in crate::documents::html) struct Timeline {
    pub(super) legend: super::legend::Legend,
    pub(in crate::documents::html) groups: Vec<Group>,
    pub(in crate::documents::html) span_ns: i64,
    pub(super) windows: Vec<(i64, i64)>,
    /// The steady iterations of the main loop: where a reader begins to look.
    pub(super) steady: Option<(i64, i64)>,
    pub(in crate::documents::html) events: u64,
    /// What it does not show.
    pub(in crate::documents::html) notes: Vec<String>,
}
