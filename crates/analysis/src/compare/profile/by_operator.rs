//! The work of devices in an iteration by the framework's operator that started it.

use trace::{StringId, Trace};

use super::tally::{Iterations, Tally};
use super::{Part, What, merged, usual_ns};
use crate::attribute::Attribution;
use crate::loop_::Loop;
use crate::time::running_operators;

/// By the innermost operator. Nothing if the trace has no operators.
pub(super) fn parts(trace: &Trace, attribution: &Attribution, main: &Loop) -> Vec<Part> {
    if trace.operators.begin.is_empty() {
        return Vec::new();
    }
    let usual = usual_ns(main);
    let mut tally: Tally<'_, StringId> =
        Tally::new(Iterations::new(&main.steady.on_device, main.steady.end, usual));
    let Some((begin, end)) = tally.span() else { return Vec::new() };
    let running = running_operators(trace);
    let activities = &trace.activities;
    let is_inside = |at: &usize| {
        activities.process[*at] == main.steady.process && (begin..end).contains(&activities.begin[*at])
    };
    let mut order: Vec<usize> = (0..activities.len()).filter(is_inside).collect();
    order.sort_by_key(|at| activities.begin[*at]);
    for at in order {
        let operator = running.get(attribution.call[at] as usize).copied().flatten();
        let Some(name) = operator.map(|operator| trace.operators.name[operator as usize]) else { continue };
        tally.count(name, activities.begin[at]);
        tally.spend(name, activities.begin[at], activities.end[at].min(end));
    }
    merged(tally.rows().into_iter().map(|(name, ns, often)| Part {
        place: None,
        what: What::Operator { name: trace.strings.text(name).to_owned() },
        ns,
        often,
    }))
}
