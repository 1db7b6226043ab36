//! Slices onto tracks, one track a lane.

use std::io;

use super::annotations::Annotations;
use super::lanes::{Span, Step, lanes};
use super::packets::{Look, Packets};
use super::tracks::{Place, Subject};

/// Where slices are drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Onto<'a> {
    /// The first lane, where that is a track already.
    pub(crate) first: Option<u64>,
    /// The other lanes, which are made as they are needed.
    pub(crate) lanes: Place<'a>,
    /// Whether slices may lie in each other.
    pub(crate) nested: bool,
}

/// Draws spans, in the order of their begins; `look` says how each looks, and annotates it.
pub(crate) fn draw(
    packets: &mut Packets<'_>,
    onto: Onto<'_>,
    spans: impl Iterator<Item = Span>,
    mut look: impl FnMut(&mut Packets<'_>, &Span, &mut Annotations) -> Look,
) -> io::Result<()> {
    let mut tracks: Vec<u64> = onto.first.into_iter().collect();
    let mut marks = None;
    let mut annotations = Annotations::default();
    lanes(spans, onto.nested, |step| match step {
        Step::Begin { lane, span } => {
            while tracks.len() <= lane {
                tracks.push(packets.track(Subject::Lane, onto.lanes)?);
            }
            packets.written.slices += 1;
            annotations.clear();
            let look = look(packets, &span, &mut annotations);
            packets.slice_begins(tracks[lane], span.begin, look, &annotations)
        }
        Step::End { lane, time } => packets.slice_ends(tracks[lane], time),
        Step::Mark { span } => {
            let track = match marks {
                Some(track) => track,
                None => *marks.insert(packets.track(Subject::Lane, onto.lanes)?),
            };
            packets.written.slices += 1;
            annotations.clear();
            let look = look(packets, &span, &mut annotations);
            packets.instant(track, span.begin, look, &annotations)
        }
    })
}
