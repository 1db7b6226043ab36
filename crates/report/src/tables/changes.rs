//! What an iteration is made of, before and after.

use analysis::compare::{Change, Comparison, Fate, Often, PartChange, Verdict, What};

use super::cell::Cell;
use super::column::{Column, Kind};
use super::place::OUTSIDE;
use super::table::{Keys, Table, View};
use crate::units::{bytes, duration, number, percent};

/// Of an iteration: what its parts may lack without a word.
const APART: f64 = 0.01;
/// Of the change of an iteration.
const APART_OF_CHANGE: f64 = 0.002;
/// Of a change: it would be shown as more than 100.0 %, or as less than -0.0 %.
const SHOWN: f64 = 0.0005;

/// A part of an iteration, or what is left of its change.
#[derive(Debug)]
pub(crate) struct ChangeRow {
    what: String,
    /// The whole name of a kernel, as the timeline knows it.
    whole: Option<String>,
    place: Option<String>,
    ns: [f64; 2],
    share: Option<f64>,
    often: Option<String>,
    verdict: &'static str,
}

/// The parts that change the most, all others together, what none of them explains, and the whole.
pub(crate) fn changes(comparison: &Comparison, top: usize) -> Table<'_, ChangeRow> {
    let whole = comparison.iteration_ns[1] - comparison.iteration_ns[0];
    // Parts of next to nothing say nothing.
    let matters = whole.abs() > comparison.margin * comparison.iteration_ns[0];
    let share = |more: f64| matters.then(|| more / whole);
    let is_worth = |part: &&PartChange| part.change.more_ns() != 0.0 || part.change.fate != Fate::Kept;
    let (shown, others): (Vec<_>, Vec<_>) =
        comparison.changes.iter().enumerate().partition(|(at, row)| *at < top && is_worth(row));
    let mut rows: Vec<ChangeRow> = shown
        .into_iter()
        .map(|(_, PartChange { change, decision })| ChangeRow {
            what: part_name(change),
            whole: match change.shown() {
                Some(What::Kernel(kernel)) => Some(kernel.name.clone()),
                _ => None,
            },
            place: match change.shown() {
                Some(What::Host) if change.place.is_none() => Some(OUTSIDE.to_owned()),
                _ => change.place.clone(),
            },
            ns: change.ns,
            share: share(change.more_ns()),
            often: often(change.often),
            verdict: decision.as_ref().map_or("", |decision| decision.verdict.as_str()),
        })
        .collect();
    let row = |what: &str, ns: [f64; 2]| ChangeRow {
        what: what.to_owned(),
        whole: None,
        place: None,
        ns,
        share: share(ns[1] - ns[0]),
        often: None,
        verdict: "",
    };
    if !others.is_empty() {
        let sum = |side: usize| others.iter().map(|(_, part)| part.change.ns[side]).sum();
        rows.push(row(&format!("{} other parts", others.len()), [sum(0), sum(1)]));
    }
    let parts = |side: usize| comparison.changes.iter().map(|part| part.change.ns[side]).sum::<f64>();
    let [before, after] = comparison.iteration_ns;
    // The parts add up to a mean, and the whole is a median: that is no news where both are about the same.
    let apart = [before - parts(0), after - parts(1)];
    let is_of_one = (0..2).any(|side| apart[side].abs() > APART * comparison.iteration_ns[side]);
    if is_of_one || matters && (apart[1] - apart[0]).abs() > APART_OF_CHANGE * whole.abs() {
        rows.push(row("median instead of mean", apart));
    }
    rows.push(row("an iteration", [before, after]));
    let columns = vec![
        Column::new(Kind::Name, "what", "what", |row: &ChangeRow| {
            Cell::name(&row.what, row.whole.as_ref().unwrap_or(&row.what))
        })
        .found(),
        Column::new(Kind::Name, "place", "region", |row: &ChangeRow| {
            row.place.as_ref().map_or(Cell::None, Into::into)
        })
        .found(),
        Column::new(Kind::Text, "often", "how often", |row: &ChangeRow| {
            row.often.as_ref().map_or(Cell::None, |often| often.clone().into())
        })
        .help("in an iteration"),
        Column::new(Kind::Time, "before_ns", "before", |row: &ChangeRow| Cell::Nanoseconds(row.ns[0])),
        Column::new(Kind::Time, "after_ns", "after", |row: &ChangeRow| Cell::Nanoseconds(row.ns[1])),
        Column::new(Kind::Text, "more_ns", "change", |row: &ChangeRow| signed(row.ns[1] - row.ns[0]).into()),
        Column::new(Kind::Text, "share", "of the change", |row: &ChangeRow| {
            row.share.map_or(Cell::None, |share| percent(share).into())
        })
        .help("more than 100 % where others changed the other way"),
        Column::new(Kind::Time, "difference_ns", "change", |row: &ChangeRow| {
            Cell::Nanoseconds(row.ns[1] - row.ns[0])
        }),
        Column::new(Kind::Part, "part", "of the change", |row: &ChangeRow| {
            row.share.map_or(Cell::None, Cell::Real)
        }),
        Column::new(Kind::Text, "verdict", "verdict", |row: &ChangeRow| row.verdict.into()),
    ];
    let decided = comparison.changes.iter().filter_map(|part| part.decision.as_ref());
    let any_verdict = decided.clone().any(|decision| decision.verdict != Verdict::Undecided);
    let shown = Keys::of(["what", "place", "often", "before_ns", "after_ns", "more_ns"])
        .when(matters, ["share"])
        .when(any_verdict, ["verdict"]);
    let in_page = Keys::of(["what", "place", "often", "before_ns", "after_ns", "difference_ns"])
        .when(matters, ["part"])
        .when(any_verdict, ["verdict"]);
    Table::new("changes", "Parts of an iteration", rows, columns)
        .view(View::Page, in_page)
        .view(View::Screen, shown.clone())
        .view(View::Sheet, shown)
}

/// Why a part changes by more than the whole, if one does.
pub(crate) fn beyond_the_whole(comparison: &Comparison) -> Option<&'static str> {
    let whole = comparison.iteration_ns[1] - comparison.iteration_ns[0];
    let matters = whole.abs() > comparison.margin * comparison.iteration_ns[0];
    let parts = || comparison.changes.iter().map(|part| part.change.more_ns() / whole);
    let is_beyond = parts().any(|part| part > 1.0 + SHOWN) && parts().any(|part| part < -SHOWN);
    (matters && is_beyond).then_some("more than 100 % of the change: other parts changed the other way")
}

/// `+12.00 us`
pub(crate) fn signed(ns: f64) -> String {
    match duration(ns) {
        zero if zero == "-0 ns" => "0 ns".to_owned(),
        more if ns > 0.0 => format!("+{more}"),
        less => less,
    }
}

/// What it is, and what became of it.
pub(crate) fn part_name(change: &Change) -> String {
    let name = change.shown().map(called).unwrap_or_default();
    let before = change.what[0].as_ref();
    match (change.fate, before, change.what[1].as_ref()) {
        (Fate::New, ..) => format!("{name} (new)"),
        (Fate::Vanished, ..) => format!("{name} (gone)"),
        (Fate::Renamed | Fate::Replaced, Some(before), _) => format!("{name} (was {})", called(before)),
        (Fate::Reshaped, Some(What::Kernel(before)), Some(What::Kernel(after))) => {
            format!("{name} (grid {} instead of {})", shape(after.grid), shape(before.grid))
        }
        _ => name,
    }
}

/// `64x1x1`
pub(crate) fn shape([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

fn called(what: &What) -> String {
    match what {
        What::Kernel(kernel) => kernel.short_name.clone(),
        What::Copy { direction, bytes: size } => format!("copy {direction}, {}", bytes(*size as f64)),
        What::Graph => "CUDA graph".to_owned(),
        What::Idle { cause } => format!("idle: {cause}"),
        What::Host => "host".to_owned(),
        What::Call { name } | What::Operator { name } => name.clone(),
    }
}

/// `8`, or `8 → 9`; about, where it varies.
pub(super) fn often(often: [Option<Often>; 2]) -> Option<String> {
    if often == [None, None] {
        return None;
    }
    let shown = |often: Option<Often>| match often {
        None => "0".to_owned(),
        Some(often) if often.varies => format!("~{}", number(often.mean)),
        Some(often) => often.usual.to_string(),
    };
    let (before, after) = (shown(often[0]), shown(often[1]));
    Some(if before == after { after } else { format!("{before} → {after}") })
}
