//! Events of tracks into lanes that a page can hold.

use super::lanes::lanes;
use super::span::Span;
use super::thin::{MOST_EVENTS, Piece, bucket, longest_lane, thin};
use super::track::{Group, Rows, Track, TrackKind};
use crate::units::{count, counted};

/// Nobody scrolls through more; each has its own lanes.
const MOST_TRACKS: usize = 500;

/// Every event of a future track, as a row of the trace.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) title: String,
    pub(super) kind: TrackKind,
    pub(super) rows: Rows,
    pub(super) events: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct Packed {
    pub(super) groups: Vec<Group>,
    pub(super) events: u64,
    /// What is not shown.
    pub(super) notes: Vec<String>,
}

/// What is known of an event.
pub(super) trait Events {
    /// When it begins and ends.
    fn extent(&self, rows: Rows, event: u32) -> (i64, i64);
    /// What it is called.
    fn name(&self, rows: Rows, event: u32) -> String;
    /// All there is to show of it.
    fn span(&mut self, rows: Rows, event: u32) -> Span;
}

pub(super) fn pack(mut raw: Vec<(String, Vec<Raw>)>, of: &mut impl Events) -> Packed {
    let events = raw.iter().flat_map(|(_, tracks)| tracks).map(|track| track.events.len() as u64).sum();
    let left_out = leave_out(&mut raw);
    let mut full: Vec<(Rows, Vec<Vec<u32>>)> = Vec::new();
    let (mut groups, mut deep) = (Vec::new(), 0);
    for (title, tracks) in raw {
        let mut group = Group { title, tracks: Vec::new(), curves: Vec::new() };
        for raw in tracks {
            let rows = raw.rows;
            let (track, events) = measured(raw, of);
            let (lanes, too_deep) = lanes(events, |event| of.extent(rows, event));
            deep += too_deep;
            full.push((rows, lanes));
            group.tracks.push(track);
        }
        groups.push(group);
    }
    let lengths = || full.iter().flat_map(|(_, lanes)| lanes).map(Vec::len);
    let longest = longest_lane(lengths().collect(), MOST_EVENTS);
    let buckets: Vec<usize> =
        lengths().map(|length| bucket(length, longest)).filter(|bucket| *bucket > 1).collect();
    let mut shown = 0;
    let tracks = groups.iter_mut().flat_map(|group: &mut Group| &mut group.tracks);
    for (track, (rows, lanes)) in tracks.zip(full) {
        for lane in lanes {
            let pieces = thin(lane, longest, |event| of.extent(rows, event));
            let spans = pieces.into_iter().map(|piece| piece.map(|event| of.span(rows, event)));
            track.lanes.push(spans.collect());
        }
        let ones = track.lanes.iter().flatten().filter(|piece| matches!(piece, Piece::One(_))).count() as u64;
        shown += ones;
        track.left_out = track.events - ones;
    }
    let mut notes = Vec::new();
    if let Some(widest) = buckets.iter().max() {
        notes.push(format!(
            "{} events are too many for one page: {} are shown individually. In the fullest lanes ({}), only the \
             longest of up to {widest} events in a row is; the others are drawn as thin gray blocks that say how \
             many events they stand for.",
            count(events),
            count(shown),
            count(buckets.len() as u64)
        ));
    }
    if deep > 0 {
        notes.push(format!("Not shown, because they overlap too deeply: {}.", counted(deep, "event")));
    }
    notes.extend(left_out);
    Packed { groups, events, notes }
}

/// Leaves out the tracks with the fewest events where there are too many; returns what that leaves out, in words.
fn leave_out(raw: &mut Vec<(String, Vec<Raw>)>) -> Option<String> {
    let mut lengths: Vec<usize> =
        raw.iter().flat_map(|(_, tracks)| tracks).map(|track| track.events.len()).collect();
    let too_many = lengths.len().checked_sub(MOST_TRACKS).filter(|too_many| *too_many > 0)?;
    lengths.sort_unstable();
    let least = lengths[too_many];
    // Among tracks as long as the shortest one kept, keep the first.
    let mut room = MOST_TRACKS - lengths.iter().filter(|length| **length > least).count();
    let mut events = 0u64;
    for (_, tracks) in raw.iter_mut() {
        tracks.retain(|track| {
            let is_short = track.events.len() < least || track.events.len() == least && room == 0;
            room -= usize::from(!is_short && track.events.len() == least);
            events += if is_short { track.events.len() as u64 } else { 0 };
            !is_short
        });
    }
    raw.retain(|(_, tracks)| !tracks.is_empty());
    Some(format!(
        "The {} tracks with the most events are shown; {} more, with {}, are in `trace.perfetto`.",
        count(MOST_TRACKS as u64),
        count(too_many as u64),
        counted(events, "event")
    ))
}

/// A track without its lanes, and its events.
fn measured(Raw { title, kind, rows, events }: Raw, of: &impl Events) -> (Track, Vec<u32>) {
    let duration = |event: &u32| {
        let (begin, end) = of.extent(rows, *event);
        end - begin
    };
    let time_ns = events.iter().fold(0i64, |sum, event| sum.saturating_add(duration(event)));
    // The first of equals.
    let longest = events.iter().rev().max_by_key(|event| duration(event));
    let longest = longest.map(|event| (of.name(rows, *event), duration(event)));
    let count = events.len() as u64;
    (Track { title, kind, lanes: Vec::new(), events: count, time_ns, longest, left_out: 0 }, events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_tracks_stay() {
        let track = |events: u32| Raw {
            title: String::new(),
            kind: TrackKind::Gpu,
            rows: Rows::Activities,
            events: (0..events).collect(),
        };
        let mut raw = vec![("a".to_owned(), (0..400).map(track).collect()), ("b".to_owned(), vec![track(7)])];
        assert_eq!(leave_out(&mut raw), None);
        raw.push(("c".to_owned(), (0..300).map(|_| track(1)).collect()));
        let note = leave_out(&mut raw).unwrap_or_default();
        assert_eq!(raw.iter().map(|(_, tracks)| tracks.len()).sum::<usize>(), MOST_TRACKS);
        assert!(raw[0].1.iter().all(|track| !track.events.is_empty()), "the empty one is gone");
        assert!(note.contains("201 more, with 200 events"), "{note}");
    }
}
