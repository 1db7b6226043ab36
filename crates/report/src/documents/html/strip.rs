//! The time of every run as a point, one row for each side.

use crate::units::{counted, duration};

const WIDE: f64 = 480.0;
const ROW: f64 = 34.0;
const LEFT: f64 = 60.0;
const ROOM: f64 = 40.0;
/// Points that are drawn for a side.
const MOST_POINTS: usize = 500;

/// Nothing unless both sides have times, and one of them several.
pub(super) fn strip(times: [&[f64]; 2]) -> String {
    let all = || times.iter().flat_map(|side| side.iter().copied()).filter(|time| time.is_finite());
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let are_single = times.iter().all(|side| side.len() < 2);
    if are_single || times.iter().any(|side| side.is_empty()) || !low.is_finite() || high <= 0.0 {
        return String::new();
    }
    // At least a tenth of the time: a hundredth must not look like the world.
    let span = (high - low).max(0.1 * high);
    let from = (low + high - span) / 2.0;
    let place = |time: f64| LEFT + (time - from) / span * (WIDE - LEFT - ROOM);
    let told: Vec<String> = ["before", "after"]
        .iter()
        .zip(times)
        .map(|(name, side)| {
            let (least, most) = (
                side.iter().copied().fold(f64::INFINITY, f64::min),
                side.iter().copied().fold(0.0, f64::max),
            );
            let runs = counted(side.len() as u64, "run");
            format!("{name}: {runs}, {} to {}", duration(least), duration(most))
        })
        .collect();
    let mut svg = format!(
        "<h3 class=\"apart\">The time of each run</h3>\n<svg class=\"strip\" role=\"img\" viewBox=\"0 0 {WIDE} {}\" aria-label=\"The time of each run. {}\">\n",
        2.0 * ROW + 22.0,
        told.join("; ")
    );
    for (row, (name, side)) in ["before", "after"].iter().zip(times).enumerate() {
        let y = ROW * (row as f64 + 0.5);
        svg.push_str(&format!(
            "<text x=\"0\" y=\"{:.1}\">{name}</text><line x1=\"{LEFT}\" x2=\"{WIDE}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\n",
            y + 4.0
        ));
        for time in side.iter().filter(|time| time.is_finite()).take(MOST_POINTS) {
            svg.push_str(&format!(
                "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\"><title>{}</title></circle>",
                place(*time),
                duration(*time)
            ));
        }
        svg.push('\n');
    }
    let y = 2.0 * ROW + 14.0;
    for (time, anchor) in [(from, "start"), (from + span, "end")] {
        svg.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            place(time),
            duration(time)
        ));
    }
    svg.push_str("\n</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_a_point_inside_the_picture() {
        let svg = strip([&[1e6, 1.01e6], &[1.2e6]]);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(
            svg.contains("before: 2 runs, 1.00 ms to 1.01 ms; after: 1 run, 1.20 ms to 1.20 ms"),
            "{svg}"
        );
        for part in svg.split("cx=\"").skip(1) {
            let x: f64 = part.split('"').next().and_then(|text| text.parse().ok()).unwrap_or(-1.0);
            assert!((LEFT..=WIDE).contains(&x), "{x}");
        }
        assert_eq!(strip([&[], &[1.0]]), "");
        assert_eq!(strip([&[1.0], &[1.0]]), "");
        assert_eq!(strip([&[f64::NAN, f64::NAN], &[f64::INFINITY]]), "");
    }
}
