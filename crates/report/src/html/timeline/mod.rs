//! The timeline: spans in lanes, thinned where there are too many, as columns of digits.

mod build;
mod column;
mod lanes;
mod legend;
mod paths;
mod thin;
mod track;
mod write;

pub(super) use build::timeline;
pub(super) use track::Timeline;
