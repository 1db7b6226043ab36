//! The timeline: spans in lanes, thinned where there are too many, as columns of digits.

mod aligned;
mod alternative;
mod build;
mod column;
mod curves;
mod envelope;
mod lanes;
mod legend;
mod pack;
mod span;
mod thin;
mod track;
mod write;

pub(super) use build::{Shown, family_times, ranked, timeline};
pub(super) use track::Timeline;
