//! What repeats, in a line.

use analysis::{Analysis, Loop};
use trace::Selection;

use crate::units::{count, counted, duration, percent};

/// As many are shown to people; all are in the document for programs.
pub(crate) const LOOPS: usize = 4;
/// If more than this part of the time lies between two of them, it is called the time from one to the next.
const APART: f64 = 1.0 / 6.0;
/// A larger part of the time than this, between two of them, is told.
const BETWEEN: f64 = 0.03;
/// A smaller part of the time is not shown.
const WORTH_A_WORD: f64 = 0.01;

/// ``loop `:step`: 60 iterations, 1 of them warm-up; median 3.05 ms when steady; in its steady iterations, GPU busy 99 %``
pub(crate) fn loop_line(found: &Loop, loops: &[Loop]) -> String {
    let origin = found.called(loops).or_else(|| found.origin.called());
    let origin = origin.map(|origin| format!(" of {origin}")).unwrap_or_default();
    let name = match &found.region {
        Some(region) => format!("loop `{region}`{origin}"),
        None => format!("loop{origin}, found by its launches"),
    };
    let warm_up = match found.warm_up {
        0 => String::new(),
        some => format!(", {some} of them warm-up"),
    };
    let mut line = format!("{name}: {}{warm_up}", counted(found.iterations, "iteration"));
    if let Some(period) = found.period_ns {
        // Other things may happen between two of them, and the median is not what one takes.
        let between = found.instance_ns.map_or(0.0, |own| 1.0 - own as f64 / period.p50.max(1) as f64);
        let when = if between > APART { "from one to the next" } else { "when steady" };
        let outside = match between > BETWEEN {
            true => format!(", {} of it outside the range, before the next", percent(between)),
            false => String::new(),
        };
        line.push_str(&format!("; median {} {when}{outside}", duration(period.p50 as f64)));
        if period.p95 as f64 > 1.1 * period.p50 as f64 {
            line.push_str(&format!(" (95 % under {})", duration(period.p95 as f64)));
        }
    }
    if let Some(slow) = found.slow.filter(|slow| slow.share >= WORTH_A_WORD) {
        let (take, median) = if slow.iterations == 1 { ("takes", "") } else { ("take", "median ") };
        let (share, slow_ns) = (percent(slow.share), duration(slow.p50_ns as f64));
        line.push_str(&format!(
            "; {} of them {take} more than twice as long ({median}{slow_ns}, {share} of the loop's time)",
            count(slow.iterations)
        ));
    }
    if let Some(growth) = found.growth_ns {
        let [first, last] = growth.map(|ns| duration(ns as f64));
        line.push_str(&format!("; they grow: {first} in the first quarter, {last} in the last"));
    }
    if found.without_work {
        line.push_str("; no GPU work was recorded in its steady iterations");
    }
    if let Some(busy) = found.busy_share {
        line.push_str(&format!("; in its steady iterations, GPU busy {}", percent(busy)));
    }
    for (cause, share) in found.idle.iter().filter(|(_, share)| *share >= WORTH_A_WORD) {
        line.push_str(&format!(", {cause} {}", percent(*share)));
    }
    line
}

/// The heading of what is not about the steady iterations.
pub(crate) fn whole_time(analysis: &Analysis) -> &'static str {
    match (analysis.selected, analysis.loops.is_empty()) {
        (Some(Selection::Ranges), _) => "where the time goes, inside the selected ranges",
        (Some(Selection::Load), _) => "where the time goes, while the load ran",
        (None, true) => "where the time goes",
        (None, false) => "where the time goes, in the whole recording",
    }
}
