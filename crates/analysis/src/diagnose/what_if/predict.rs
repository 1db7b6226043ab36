//! An iteration of the main loop with changes, by replay.

use serde::Serialize;
use trace::Trace;

use super::super::case::Case;
use super::super::open_ranges::OpenRanges;
use super::change::{Change, ChangeOf};
use super::parts::{Factors, Part, Parts, Sum};
use crate::attribute::Attribution;
use crate::kernels::Families;
use crate::loop_::Loop;
use crate::replay::{Graph, Index};
use crate::time::Devices;

/// Longer times cannot be added up: those of a damaged file, or of many changes of the same thing.
const LONGEST: f64 = (1u64 << 60) as f64;

/// What an iteration of the main loop would take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhatIf {
    /// What is changed; several of them at once.
    pub changes: Vec<Changed>,
    pub prediction: Option<Prediction>,
    /// Why there is none.
    pub unknown: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changed {
    /// As it was typed.
    pub change: String,
    pub of: ChangeOf,
    /// None if there is no loop to look at.
    pub matched: Option<Matched>,
}

/// What has the name that was typed, in an iteration on average.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Matched {
    /// Kernels, copies, calls, or stretches of the host's time between calls.
    pub times: f64,
    pub time_ns: i64,
    /// Of that, what calls wait for the device.
    pub waited_ns: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prediction {
    pub measured_ns: i64,
    pub predicted_ns: i64,
    /// How many times as fast.
    pub factor: f64,
    /// How far the replay of the unchanged loop is off, as a part of what was measured.
    pub replay_error: f64,
}

/// For each change alone, then for all of them together.
pub(crate) fn what_if(
    trace: &Trace,
    attribution: &Attribution,
    families: &Families,
    main: Option<&Loop>,
    changes: &[Change],
) -> Vec<WhatIf> {
    if changes.is_empty() {
        return Vec::new();
    }
    let together = Some(changes).filter(|all| all.len() > 1);
    let asked: Vec<&[Change]> = changes.chunks(1).chain(together).collect();
    let index = Index::of(trace, attribution);
    let Some(steady) = main.map(|main| &main.steady) else {
        let why = match trace.activities.len() {
            0 => "no GPU work was recorded, so there is nothing to replay",
            _ => {
                "no loop was found in the recording, so there is no iteration to replay; a range around each \
                 iteration marks them"
            }
        };
        return asked.into_iter().map(|changes| unknown(changes, why)).collect();
    };
    let open = OpenRanges::of(trace, attribution, steady.process);
    let time = Devices::of(trace, attribution).in_loop(steady).unwrap_or_default();
    match Case::of(trace, attribution, families, (&index, &open), steady, time, false) {
        Some(case) => {
            let parts = Parts::of(&case);
            asked.into_iter().map(|changes| answer(&case, &parts, changes)).collect()
        }
        None => {
            let why = match trace.calls.is_empty() {
                true => "no CUDA calls were recorded, and a loop is replayed by them",
                false => "the loop has too few calls or iterations to replay",
            };
            asked.into_iter().map(|changes| unknown(changes, why)).collect()
        }
    }
}

fn unknown(changes: &[Change], why: &str) -> WhatIf {
    let changes = changes
        .iter()
        .map(|change| Changed { change: change.to_string(), of: change.of, matched: None })
        .collect();
    WhatIf { changes, prediction: None, unknown: Some(why.to_owned()) }
}

fn answer(case: &Case<'_>, parts: &Parts<'_, '_>, changes: &[Change]) -> WhatIf {
    let meant: Vec<Vec<(Part, Sum)>> = changes.iter().map(|change| parts.meant(change)).collect();
    let changed = |(change, meant): (&Change, &Vec<(Part, Sum)>)| Changed {
        change: change.to_string(),
        of: change.of,
        matched: Some(matched(case, meant)),
    };
    let prediction = changes
        .iter()
        .zip(&meant)
        .find(|(_, meant)| meant.is_empty())
        .map_or(Ok(()), |(change, _)| Err(nothing_matches(parts, change)))
        .and_then(|()| case.doubt().map_or(Ok(()), Err))
        .and_then(|()| predicted(case, parts, &factors(changes, &meant)));
    let (prediction, unknown) = match prediction {
        Ok(prediction) => (Some(prediction), None),
        Err(why) => (None, Some(why)),
    };
    WhatIf { changes: changes.iter().zip(&meant).map(changed).collect(), prediction, unknown }
}

fn matched(case: &Case<'_>, meant: &[(Part, Sum)]) -> Matched {
    let mut sum = Sum::default();
    meant.iter().for_each(|(_, one)| sum.add(*one));
    let each = |ns: i64| (ns as f64 / case.iterations()) as i64;
    Matched {
        times: sum.times as f64 / case.iterations(),
        time_ns: each(sum.time_ns),
        waited_ns: each(sum.waited_ns),
    }
}

/// What several changes are about is changed by each of them.
fn factors(changes: &[Change], meant: &[Vec<(Part, Sum)>]) -> Factors {
    let mut factors = Factors::new();
    for (change, meant) in changes.iter().zip(meant) {
        meant.iter().for_each(|(part, _)| *factors.entry(*part).or_insert(1.0) *= change.factor);
    }
    factors
}

fn predicted(case: &Case<'_>, parts: &Parts<'_, '_>, factors: &Factors) -> Result<Prediction, String> {
    let mut changed = case.graph.clone();
    parts.change(&mut changed, factors);
    let is_finite = factors.values().all(|factor| factor.is_finite());
    if !is_finite || whole(&changed) > LONGEST {
        return Err("the changed iteration takes too long to be worked out".to_owned());
    }
    let (factor, measured) = (case.factor(case.replayed(&changed)), case.graph.measured);
    Ok(Prediction {
        measured_ns: measured as i64,
        predicted_ns: (measured / factor) as i64,
        factor,
        replay_error: case.error,
    })
}

/// More than a replay ever adds up.
fn whole(graph: &Graph) -> f64 {
    let calls = graph.calls.iter().flat_map(|call| [call.gap, call.own, call.tail]);
    let works = graph.works.iter().flat_map(|work| [work.lag, work.gap, work.duration]);
    calls.chain(works).map(|time| time.max(0) as f64).sum()
}

/// With what there is instead.
fn nothing_matches(parts: &Parts<'_, '_>, change: &Change) -> String {
    let what = match change.of {
        ChangeOf::Kernel => "kernel",
        ChangeOf::Copy => "copy or fill",
        ChangeOf::Call => "CUDA call",
        ChangeOf::Host => "region with host time between CUDA calls",
    };
    let has = parts.names(change).unwrap_or_else(|| "none at all".to_owned());
    let unseen = change.of == ChangeOf::Kernel && parts.has_whole_graphs();
    let unseen = if unseen { "; kernels of CUDA graphs were not recorded one by one" } else { "" };
    format!("no {what} in the loop matches `{}`; it has {has}{unseen}", change.name)
}
