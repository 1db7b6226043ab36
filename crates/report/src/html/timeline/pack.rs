//! Spans of tracks into lanes that a page can hold.

use super::lanes::lanes;
use super::thin::{MOST_EVENTS, Piece, bucket, longest_lane, thin};
use super::track::{Group, Span, Track, TrackKind};
use crate::units::count;

/// Every span of a track to be.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) title: String,
    pub(super) kind: TrackKind,
    pub(super) spans: Vec<Span>,
}

#[derive(Debug)]
pub(super) struct Packed {
    pub(super) groups: Vec<Group>,
    pub(super) events: u64,
    /// What is not shown.
    pub(super) notes: Vec<String>,
}

/// `name` tells what a span is called.
pub(super) fn pack(raw: Vec<(String, Vec<Raw>)>, name: impl Fn(u32) -> String) -> Packed {
    let mut full: Vec<Vec<Vec<Span>>> = Vec::new();
    let (mut groups, mut events, mut deep) = (Vec::new(), 0, 0);
    for (title, tracks) in raw {
        let mut group = Group { title, tracks: Vec::new() };
        for raw in tracks {
            let (track, spans) = measured(raw, &name);
            events += track.events;
            let (lanes, too_deep) = lanes(spans);
            deep += too_deep;
            full.push(lanes);
            group.tracks.push(track);
        }
        groups.push(group);
    }
    let longest = longest_lane(full.iter().flatten().map(Vec::len).collect(), MOST_EVENTS);
    let buckets: Vec<usize> =
        full.iter().flatten().map(|lane| bucket(lane.len(), longest)).filter(|bucket| *bucket > 1).collect();
    let mut shown = 0;
    let tracks = groups.iter_mut().flat_map(|group: &mut Group| &mut group.tracks);
    for (track, lanes) in tracks.zip(full) {
        track.lanes = lanes.into_iter().map(|lane| thin(lane, longest)).collect();
        let ones = track.lanes.iter().flatten().filter(|piece| matches!(piece, Piece::One(_))).count() as u64;
        shown += ones;
        track.left_out = track.events - ones;
    }
    let mut notes = Vec::new();
    if let Some(widest) = buckets.iter().max() {
        notes.push(format!(
            "{} events are too many for one page: {} are shown one by one. In the {} fullest lanes these are the \
             longest of up to {widest} in a row, and the others are drawn as thin grey blocks that say how many \
             they stand for.",
            count(events),
            count(shown),
            count(buckets.len() as u64)
        ));
    }
    if deep > 0 {
        notes.push(format!("{} events overlap too deep to be shown.", count(deep)));
    }
    Packed { groups, events, notes }
}

/// A track without its lanes, and its spans.
fn measured(Raw { title, kind, spans }: Raw, name: &impl Fn(u32) -> String) -> (Track, Vec<Span>) {
    let duration = |span: &Span| span.end - span.begin;
    let time_ns = spans.iter().fold(0i64, |sum, span| sum.saturating_add(duration(span)));
    // Of equals the first.
    let longest = spans.iter().rev().max_by_key(|span| duration(span));
    let longest = longest.map(|span| (name(span.what), duration(span)));
    let events = spans.len() as u64;
    (Track { title, kind, lanes: Vec::new(), events, time_ns, longest, left_out: 0 }, spans)
}
