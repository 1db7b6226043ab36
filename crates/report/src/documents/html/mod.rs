//! `report.html`: one file that opens from disk, asks nothing of the network and takes every
//! name for text.

mod absent;
mod digest;
mod document;
mod efficiency;
mod findings;
mod headline;
mod host_idle;
mod provenance;
mod regions;
mod roofline;
mod script;
mod summary;
mod timeline;

pub use document::html;
