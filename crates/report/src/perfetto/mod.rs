//! A trace as Perfetto reads it: `Trace`, a stream of `TracePacket`, all of one sequence.
//!
//! Perfetto sorts by time what it reads and keeps the order of what happens at once. So
//! track after track is written, each in order, and nothing has to be merged or kept.

mod annotations;
mod arrows;
mod counters;
mod devices;
mod draw;
mod fields;
mod lanes;
mod packets;
mod proto;
mod regions;
mod samples;
mod series;
mod texts;
mod threads;
mod tracks;
mod write;

pub use packets::PerfettoSummary;
pub use write::write_perfetto;
