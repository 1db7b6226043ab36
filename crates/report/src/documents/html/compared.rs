//! A comparison as one file.

use std::collections::BTreeMap;

use analysis::compare::What;
use analysis::{Family, Loop};
use serde_json::{Map, Value, json};
use trace::Trace;

use super::difference::Bars;
use super::iterations::Iterations;
use super::script::{COMPARED, COMPARED_SCRIPT};
use super::sheet::{Sheet, fill};
use super::strip::strip;
use super::timeline::{Shown, Timeline, family_times, ranked, timeline};
use crate::documents::comparison::{Around, Diff, of_side};
use crate::form::escape;
use crate::form::page::page_table;
use crate::form::texts::Texts;
use crate::tables::{Tabular, changes, counter_changes, operator_changes};

/// Their names; that of the device is another one if no device has work in an iteration.
fn sections(device: &str) -> [(&'static str, &str); 6] {
    [
        ("summary", "Summary"),
        ("timelines", "Timelines"),
        ("device", device),
        ("host", "An iteration on the host"),
        ("parts", "Parts"),
        ("counters", "Counters"),
    ]
}

/// The run that stands for a side: its trace, and the loop in it.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'r> {
    /// What it was read from.
    pub name: &'r str,
    pub trace: &'r Trace,
    pub main: Option<&'r Loop>,
}

/// What a page about a comparison shows.
#[derive(Debug)]
pub struct Compared<'c> {
    pub diff: &'c Diff<'c>,
    /// None if a side has no trace.
    pub recorded: [Option<Recorded<'c>>; 2],
}

/// The whole comparison as one file.
pub fn compared_html(page: &Compared<'_>) -> String {
    let Diff { conclusion, comparison, sides, .. } = page.diff;
    let mut texts = Texts::default();
    let mut tables = Map::new();
    let parts = changes(comparison, usize::MAX);
    if !comparison.changes.is_empty() && parts.len() > 0 {
        tables.insert("parts".to_owned(), page_table(&parts, &mut texts));
    }
    let operators = operator_changes(comparison, usize::MAX);
    if operators.len() > 0 {
        tables.insert("operators".to_owned(), page_table(&operators, &mut texts));
    }
    if !comparison.counters.is_empty() {
        let table = counter_changes(comparison, usize::MAX);
        tables.insert("counters".to_owned(), page_table(&table, &mut texts));
    }
    let mut differences = Map::new();
    let changes = || comparison.changes.iter().map(|part| &part.change);
    let is_of_host = changes().all(|change| matches!(change.shown(), Some(What::Host) | None));
    let (device_title, told) = match is_of_host && changes().next().is_some() {
        true => (
            "An iteration by region",
            "Regions of the thread that runs the loop, as means of the iterations of about the median length of all \
             runs. The table of parts has the same.",
        ),
        false => (
            "An iteration on the GPU",
            "Regions, and in each what the GPU does and what it waits for, as means of the iterations of about the \
             median length of all runs. The table of parts has the same.",
        ),
    };
    let device = bars(&mut differences, "device", &Bars::of_changes(changes()), told, &mut texts);
    let stacks = Bars::of_stacks(&comparison.stacks);
    let told = if stacks.is_empty() {
        "Regions, and in each the CUDA calls, of the thread that runs the loop. A thread that is ahead of the GPU goes \
         through an iteration in less time than the GPU does. Where the stacks of both sides were sampled \
         (`rangefinder run --quick`), its functions are shown instead."
    } else {
        "Functions of the thread that runs the loop, by samples of its stack in the steady iterations. A thread that \
         is ahead of the GPU goes through an iteration in less time than the GPU does."
    };
    let host = if stacks.is_empty() { Bars::of_changes(&comparison.host) } else { stacks };
    let host = bars(&mut differences, "host", &host, told, &mut texts);
    let (timelines, drawn) = timelines(page, &mut texts);
    let data = escape::json(&json!({
        "tables": tables, "differences": differences, "timelines": drawn, "texts": texts.into_json(),
    }));
    let head = format!(
        "<p class=\"brand\">Rangefinder, a comparison</p>\n<h1>{}</h1>\n<p class=\"source\">before: <code>{}</code></p>\n\
         <p class=\"source\">after: <code>{}</code></p>\n",
        escape::prose(conclusion),
        escape::text(sides[0]),
        escape::text(sides[1])
    );
    let main = fill(
        COMPARED,
        &[
            ("summary", &summary(page)),
            ("timelines", &timelines),
            ("device-title", device_title),
            ("device", &device),
            ("host", &host),
        ],
    );
    Sheet {
        title: conclusion.split(':').next().unwrap_or_default(),
        head,
        sections: &sections(device_title),
        without_script: "the summary; the timelines, the bars and the tables",
        main,
        data,
        script: COMPARED_SCRIPT,
    }
    .html()
}

/// The times behind the first line, the other reasons, and what else changed.
fn summary(page: &Compared<'_>) -> String {
    let lines = page.diff.evidence();
    let item = |line: &String| format!("<li>{}</li>\n", escape::prose(line));
    let mut html = match lines.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"lines\">\n{}</ul>\n", lines.iter().map(item).collect::<String>()),
    };
    let [before, after] = &page.diff.comparison.times_ns;
    html.push_str(&strip([before, after]));
    if !page.diff.around.is_empty() {
        html.push_str(
            "<h3 class=\"apart\">Changed around it</h3>\n<div class=\"wide fit\" tabindex=\"0\" role=\"region\" \
             aria-label=\"changed around it\">\n<table class=\"plain\">\n<thead><tr><th scope=\"col\">what</th>\
             <th scope=\"col\">before</th><th scope=\"col\">after</th></tr></thead>\n<tbody>\n",
        );
        for Around { name, before, after } in page.diff.around {
            html.push_str(&format!(
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n",
                escape::text(name),
                escape::text(of_side(before)),
                escape::text(of_side(after))
            ));
        }
        html.push_str("</tbody>\n</table>\n</div>\n");
    }
    let counts = page.diff.counts();
    if !counts.is_empty() {
        html.push_str(&format!(
            "<h3 class=\"apart\">Changed numbers</h3>\n<ul class=\"lines\">\n{}</ul>\n",
            counts.iter().map(item).collect::<String>()
        ));
    }
    for note in page.diff.notes {
        html.push_str(&format!("<p class=\"note\">note: {}</p>\n", escape::prose(note)));
    }
    html
}

fn bars(
    all: &mut Map<String, Value>,
    place: &'static str,
    bars: &Bars,
    told: &str,
    texts: &mut Texts,
) -> String {
    if bars.is_empty() {
        return "<p class=\"absent\">Not known: no loop was found on both sides. A range around each iteration makes it known.</p>\n"
            .to_owned();
    }
    all.insert(place.to_owned(), bars.json(texts));
    format!(
        "<p class=\"note\">{}</p>\n<div data-difference=\"{place}\" \
         data-label=\"an iteration before and after\"></div>\n",
        escape::prose(told)
    )
}

/// Both sides, and what the script draws.
fn timelines(page: &Compared<'_>, texts: &mut Texts) -> (String, Value) {
    let absent = |why: &str| (format!("<p class=\"absent\">{why}</p>\n"), Value::Null);
    let [Some(before), Some(after)] = page.recorded else {
        return absent("Not recorded: there is a trace on one side at most.");
    };
    let mut times: BTreeMap<Family, i64> = BTreeMap::new();
    for side in [before, after] {
        for (family, time) in family_times(side.trace, None).1 {
            let sum = times.entry(family).or_default();
            *sum = sum.saturating_add(time);
        }
    }
    let families = ranked(times);
    let sides = [before, after].map(|side| {
        let iterations = side.main.and_then(|main| Iterations::of(side.trace, main));
        let part = iterations.as_ref().map(|iterations| (iterations.begin, iterations.end));
        let shown = Shown { analysis: None, part, families: Some(&families) };
        (side, iterations, timeline(side.trace, shown, texts))
    });
    if sides.iter().any(|(_, _, timeline)| timeline.is_empty()) {
        return absent("Not recorded: the trace of one side has no events.");
    }
    let are_aligned = sides.iter().all(|(_, iterations, _)| iterations.is_some());
    let mut html = match are_aligned {
        true => "<p class=\"note\">Both begin with an iteration of the usual length, at 0, and have the same scale: \
                 what is done to one is done to the other. Lines are drawn where iterations begin; the keys n and p \
                 go to the next and to the previous iteration of both.</p>\n<div class=\"tools\" data-pair></div>\n"
            .to_owned(),
        false => "<p class=\"note\">Both begin with the recording, and have the same scale: there is no loop on \
                  both sides that they could be aligned at.</p>\n<div class=\"tools\" data-pair></div>\n"
            .to_owned(),
    };
    let mut drawn = Vec::new();
    for (name, (side, iterations, timeline)) in ["Before", "After"].into_iter().zip(sides) {
        html.push_str(&one(name, side, iterations.as_ref(), &timeline));
        let mut json = timeline.into_json(texts);
        if let Some(iterations) = iterations.as_ref().filter(|_| are_aligned) {
            iterations.add_to(&mut json);
        }
        drawn.push(json);
    }
    (html, drawn.into())
}

fn one(name: &str, side: Recorded<'_>, iterations: Option<&Iterations>, timeline: &Timeline) -> String {
    let shown = iterations.map(|iterations| format!(", {}", iterations.told())).unwrap_or_default();
    format!(
        "<h3 class=\"apart\">{name}</h3>\n<p class=\"note\"><code>{}</code>{shown}</p>\n\
         <div class=\"timeline\" data-timeline data-label=\"{name}: {}\"></div>\n{}",
        escape::text(side.name),
        escape::text(&timeline.label()),
        timeline.tracks()
    )
}
