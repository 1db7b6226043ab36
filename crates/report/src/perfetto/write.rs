//! A whole trace.

use std::io::{self, Write};

use trace::Trace;

use super::annotations::{Annotations, Key};
use super::arrows::Arrows;
use super::devices::Devices;
use super::lanes::Times;
use super::packets::{Look, Packets, PerfettoSummary};
use super::regions::Regions;
use super::samples::Samples;
use super::threads::Threads;
use super::tracks::{Place, Subject};

/// Writes a trace that ui.perfetto.dev and `trace_processor` open. Calls come before what
/// they started, which Perfetto needs where both begin at once.
pub fn write_perfetto(trace: &Trace, mut out: impl Write) -> io::Result<PerfettoSummary> {
    let times = Times::of(trace);
    let attribution = analysis::attribute(trace);
    let captured = analysis::capture_paths(trace, &attribution);
    let arrows = Arrows::of(trace, attribution.call);
    let regions = Regions::new(attribution.planes, attribution.tree);
    let began = trace.session_start.map(|start| start.saturating_add(times.begin));
    let began = began.and_then(|time| u64::try_from(time).ok());
    let mut packets = Packets::begin(&mut out, began)?;
    recording(&mut packets, trace, times)?;
    Threads::new(trace, times, &arrows).draw(&mut packets)?;
    Devices::new(&mut packets, trace, times, &arrows, regions, captured).draw(&mut packets)?;
    Samples::new(trace, times).draw(&mut packets)?;
    packets.written.arrows = arrows.drawn;
    packets.written.backwards = arrows.backwards;
    packets.finish()
}

/// One slice over all of it: what it was read from, when it was, and what its reader noted.
fn recording(packets: &mut Packets<'_>, trace: &Trace, times: Times) -> io::Result<()> {
    let mut annotations = Annotations::default();
    annotations.texts(Key::Source, &[packets.value(&trace.source)]);
    if let Some(start) = trace.session_start.and_then(|start| u64::try_from(start).ok()) {
        annotations.number(Key::SessionStart, start);
    }
    let notes: Vec<u64> = trace
        .distinct_diagnostics()
        .iter()
        .map(|distinct| {
            let kind = if distinct.diagnostic.lost { "lost" } else { "note" };
            packets.value(&format!("{kind}: {distinct}"))
        })
        .collect();
    let unread: Vec<u64> = trace.unread.iter().map(|one| packets.value(&format!("lost: {one}"))).collect();
    let notes = [unread, notes].concat();
    annotations.texts(Key::Notes, &notes);
    let look = Look {
        name: packets.name_text(&trace.source),
        category: packets.category_text("recording"),
        arrow: None,
    };
    let track = packets.track(Subject::Lane, Place { name: "recording", ..Place::default() })?;
    packets.slice_begins(track, 0, look, &annotations)?;
    packets.slice_ends(track, times.at(times.end))
}
