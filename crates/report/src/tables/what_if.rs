//! What the user's changes would do to the main loop, a line each.

use analysis::{Analysis, ChangeOf, Changed, WhatIf};

use super::findings::iteration_then;
use crate::units::{duration, number, percent};

/// One for each, then what they rest on; none if nothing was asked.
pub(crate) fn what_if_lines(analysis: &Analysis) -> Vec<String> {
    let mut lines: Vec<String> = analysis.what_if.iter().map(line).collect();
    let predicted = analysis.what_if.iter().find_map(|one| one.prediction);
    if let Some((prediction, main)) = predicted.zip(analysis.loops.first()) {
        let name = main.region.as_ref().map(|region| format!(" `{region}`")).unwrap_or_default();
        lines.push(format!(
            "predicted by a replay of the steady iterations of the loop{name}, on the streams that were recorded; \
             unchanged, it is off by {}",
            percent(prediction.replay_error.abs())
        ));
    }
    lines
}

/// ``` `host:log=0`: on average 4.20 ms → 1.04 ms an iteration, 4.04x as fast (1 stretch of …) ```
fn line(one: &WhatIf) -> String {
    let (name, matched) = match &one.changes[..] {
        [change] => (format!("`{}`", change.change), matched(change)),
        [_, _] => ("both together".to_owned(), None),
        several => (format!("all {} together", several.len()), None),
    };
    let matched = matched.map(|matched| format!(" ({matched})")).unwrap_or_default();
    match (one.prediction, &one.unknown) {
        (Some(then), _) => {
            let then = iteration_then(then.measured_ns, then.predicted_ns, then.factor);
            format!("{name}: {then}{matched}")
        }
        (None, why) => format!("{name}: no prediction: {}{matched}", why.as_deref().unwrap_or("unknown")),
    }
}

/// `12 kernels an iteration, 1.01 ms`
fn matched(changed: &Changed) -> Option<String> {
    let matched = changed.matched.filter(|matched| matched.times > 0.0)?;
    let (one, several) = match changed.of {
        ChangeOf::Kernel => ("kernel", "kernels"),
        ChangeOf::Copy => ("copy or fill", "copies and fills"),
        ChangeOf::Call => ("call", "calls"),
        ChangeOf::Host => ("stretch between calls", "stretches between calls"),
    };
    let times = number(matched.times);
    let mut text = format!(
        "{times} {} an iteration, {}",
        if times == "1" { one } else { several },
        duration(matched.time_ns as f64)
    );
    if matched.waited_ns > 0 {
        text.push_str(&format!(", {} of it waiting for the GPU", duration(matched.waited_ns as f64)));
    }
    Some(text)
}
