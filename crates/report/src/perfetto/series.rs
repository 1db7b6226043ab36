//! What was measured of a device over time, as counters.

use std::io;

use trace::{Series, Trace};

use super::annotations::Annotations;
use super::counters::KINDS;
use super::lanes::Times;
use super::packets::{Count, Look, Packets};
use super::tracks::{Place, Subject};
use crate::sampled::{holds_until, title, unbroken};

/// The first place behind these of a device.
pub(crate) fn next_rank(trace: &Trace, device: u16) -> u64 {
    let columns = of(trace, device).map(|series| series.columns.len() + 1).sum::<usize>();
    (KINDS.len() + columns) as u64
}

fn of(trace: &Trace, device: u16) -> impl Iterator<Item = &Series> {
    trace.series.iter().filter(move |series| series.device == device)
}

/// Draws every quantity that has a value. Perfetto holds a value until the next, so where samples are missing the
/// counter drops to zero; a slice on a lane of its own marks the stretches whose samples were lost.
pub(crate) fn draw(
    packets: &mut Packets<'_>,
    trace: &Trace,
    times: Times,
    group: u64,
    device: u16,
) -> io::Result<()> {
    let mut rank = KINDS.len() as u64;
    for series in of(trace, device) {
        for (quantity, values) in &series.columns {
            rank += 1;
            if !values.iter().any(|value| value.is_finite()) {
                continue;
            }
            let name = title(&trace.series, series, *quantity);
            let unit = Some(quantity.unit()).filter(|unit| !unit.is_empty());
            let place = Place { name: &name, parent: Some(group), rank: rank - 1 };
            let track = packets.track(Subject::Counter { unit }, place)?;
            draw_values(packets, times, track, series, values)?;
        }
        rank += 1;
        draw_lost(
            packets,
            times,
            series,
            Place { name: "samples lost", parent: Some(group), rank: rank - 1 },
        )?;
    }
    Ok(())
}

fn draw_values(
    packets: &mut Packets<'_>,
    times: Times,
    track: u64,
    series: &Series,
    values: &[f32],
) -> io::Result<()> {
    for stretch in unbroken(series, values) {
        let mut told = None;
        for row in stretch.clone() {
            if told != Some(values[row]) {
                told = Some(values[row]);
                packets.count(track, times.at(series.begin[row]), Count::Real(f64::from(values[row])))?;
            }
        }
        // Nothing is known behind it, even if the next stretch begins at once.
        packets.count(track, times.at(holds_until(series, &stretch, stretch.end - 1)), Count::Real(0.0))?;
    }
    Ok(())
}

fn draw_lost(packets: &mut Packets<'_>, times: Times, series: &Series, place: Place<'_>) -> io::Result<()> {
    if series.lost.is_empty() {
        return Ok(());
    }
    let track = packets.track(Subject::Lane, place)?;
    let look = Look {
        name: packets.name_text("samples lost"),
        category: packets.category_text("samples"),
        arrow: None,
    };
    let mut until = 0;
    for (begin, end) in &series.lost {
        let (begin, end) = (times.at(*begin).max(until), times.at(*end));
        if begin < end {
            packets.written.slices += 1;
            packets.slice_begins(track, begin, look, &Annotations::default())?;
            packets.slice_ends(track, end)?;
            until = end;
        }
    }
    Ok(())
}
