//! `report.html`: one file that opens from disk, asks nothing of the network and takes every
//! name for text.

mod absent;
mod compared;
mod difference;
mod digest;
mod document;
mod efficiency;
mod findings;
mod headline;
mod host_idle;
mod icicle;
mod iterations;
mod lateness;
mod provenance;
mod regions;
mod roofline;
mod script;
mod sheet;
mod strip;
mod summary;
mod timeline;
mod widest;

pub use compared::{Compared, Recorded, compared_html};
pub use document::html;
