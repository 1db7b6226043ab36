//! The timeline as the page reads it.

use serde_json::{Value, json};

use super::column::Column;
use super::curves::Curve;
use super::thin::Piece;
use super::track::{Timeline, Track};
use crate::form::texts::Texts;

impl Timeline {
    pub(in crate::documents::html) fn is_empty(&self) -> bool {
        self.events == 0
    }

    pub(in crate::documents::html) fn into_json(self, texts: &mut Texts) -> Value {
        let groups: Vec<Value> = self
            .groups
            .iter()
            .map(|group| {
                let tracks: Vec<Value> = group.tracks.iter().map(|track| track_json(track, texts)).collect();
                let curves: Vec<Value> = group.curves.iter().map(|curve| curve_json(curve, texts)).collect();
                json!({ "title": texts.id(&group.title), "tracks": tracks, "curves": curves })
            })
            .collect();
        json!({
            "span": self.span_ns,
            "events": self.events,
            "windows": self.windows,
            "steady": self.steady,
            "families": self.legend.families,
            "others": self.legend.others,
            "what": {
                "label": self.legend.label,
                "full": self.legend.full,
                "detail": self.legend.detail,
                "colour": self.legend.colour,
            },
            "groups": groups,
        })
    }
}

fn track_json(track: &Track, texts: &mut Texts) -> Value {
    let lanes: Vec<Value> = track.lanes.iter().map(|lane| lane_json(lane)).collect();
    json!({ "title": texts.id(&track.title), "kind": track.kind.as_str(), "events": track.events, "lanes": lanes })
}

/// Values in steps of a ten-thousandth of the highest: `mean`, and how far `low` and `high` are from it.
fn curve_json(curve: &Curve, texts: &mut Texts) -> Value {
    let [mut gap, mut long, mut mean, mut low, mut high] = std::array::from_fn(|_| Column::default());
    let step = if curve.high > 0.0 { curve.high / 10_000.0 } else { 1.0 };
    let steps = |value: f64| (value.max(0.0) / step).round() as u64;
    let positive = |number: i64| u64::try_from(number).unwrap_or(0);
    let mut until = 0;
    for point in &curve.points {
        gap.push(positive(point.begin.saturating_sub(until)));
        long.push(positive(point.end.saturating_sub(point.begin.max(until))));
        until = point.end.max(until);
        mean.push(steps(point.mean));
        low.push(steps(point.mean).saturating_sub(steps(point.low)));
        high.push(steps(point.high).saturating_sub(steps(point.mean)));
    }
    let mut json = json!({
        "title": texts.id(&curve.title),
        "unit": curve.unit,
        "first": curve.first,
        "step": step,
        "n": curve.points.len(),
        "gap": gap.into_text(),
        "long": long.into_text(),
        "mean": mean.into_text(),
        "lost": curve.lost,
    });
    if (curve.points.len() as u64) < curve.samples {
        json["low"] = low.into_text().into();
        json["high"] = high.into_text().into();
    }
    json
}

/// A piece begins `gap` behind the end of the one before it. A `what` of 0 is a piece that
/// stands for many, others count from 1; so do regions and leads, where 0 is none.
fn lane_json(lane: &[Piece]) -> Value {
    let [mut gap, mut long, mut what, mut region, mut lead, mut count, mut busy] =
        std::array::from_fn(|_| Column::default());
    let (mut until, mut open, mut cut) = (0, Vec::new(), Vec::new());
    let positive = |number: i64| u64::try_from(number).unwrap_or(0);
    for (at, piece) in lane.iter().enumerate() {
        let (begin, end) = piece.extent();
        gap.push(positive(begin.saturating_sub(until)));
        long.push(positive(end.saturating_sub(begin)));
        until = end;
        match piece {
            Piece::One(span) => {
                what.push(u64::from(span.what) + 1);
                region.push(span.region.map_or(0, |region| u64::from(region) + 1));
                lead.push(span.lead.map_or(0, |lead| lead + 1));
                if span.open {
                    open.push(at);
                }
                if span.cut {
                    cut.push(at);
                }
            }
            Piece::Many(many) => {
                what.push(0);
                count.push(many.count);
                busy.push(positive(many.busy_ns));
            }
        }
    }
    let mut json = json!({
        "n": lane.len(),
        "gap": gap.into_text(),
        "long": long.into_text(),
        "what": what.into_text(),
    });
    let ones =
        || lane.iter().filter_map(|piece| if let Piece::One(span) = piece { Some(span) } else { None });
    for (name, column, wanted) in [
        ("region", region, ones().any(|span| span.region.is_some())),
        ("lead", lead, ones().any(|span| span.lead.is_some())),
        ("count", count, ones().count() < lane.len()),
        ("busy", busy, ones().count() < lane.len()),
    ] {
        if wanted {
            json[name] = column.into_text().into();
        }
    }
    for (name, pieces) in [("open", open), ("cut", cut)] {
        if !pieces.is_empty() {
            json[name] = pieces.into();
        }
    }
    json
}
