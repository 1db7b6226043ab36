//! The page put together.

use serde_json::{Map, Value, json};

use super::script::{PAGE, SCRIPT, STYLE};
use super::timeline::{Timeline, timeline};
use super::{absent, advice, counted, digest, efficiency, provenance, regions, roofline, summary, tables};
use crate::form::escape;
use crate::form::texts::Texts;
use crate::page::Page;

/// The whole report as one file.
pub fn html(page: &Page<'_>) -> String {
    let mut texts = Texts::default();
    // Before the timeline: where names are too many for a page, the tables have theirs.
    let tables = tables(page, &mut texts);
    let shown = page.trace.map(|trace| timeline(trace, page.findings, &mut texts));
    let shown = shown.filter(|shown| !shown.is_empty());
    let (label, tracks, no_timeline) = match &shown {
        Some(shown) => (shown.label(), shown.tracks(), String::new()),
        None => (String::new(), String::new(), absent::timeline(page)),
    };
    let data = data(tables, shown, texts);
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        digest::source(SCRIPT),
        digest::source(STYLE)
    );
    fill(
        PAGE,
        &[
            ("policy", &policy),
            ("style", STYLE),
            ("title", &escape::text(page.title)),
            ("workload", &escape::text(page.workload)),
            ("source", &escape::text(page.findings.map_or("", |findings| &findings.source))),
            ("summary", &summary::summary(page)),
            ("advice", &advice::advice(page)),
            ("timeline-label", &escape::text(&label)),
            ("timeline-absent", &no_timeline),
            ("timeline-tracks", &tracks),
            ("absent-regions", &absent::regions(page)),
            ("absent-kernels", &absent::kernels(page)),
            ("absent-idle", &absent::idle(page)),
            ("absent-roofline", &absent::roofline(page)),
            ("absent-counters", &absent::counters(page)),
            ("efficiency", &efficiency::efficiency(page)),
            ("unattributed", &absent::unattributed(page)),
            ("environment", &provenance::environment(page)),
            ("commands", &provenance::commands(page)),
            ("warnings", &provenance::warnings(page)),
            ("data", &data),
            ("script", SCRIPT),
        ],
    )
}

/// `{{name}}` by its text. What was put in is not looked at again: a kernel may be called so.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled =
        String::with_capacity(template.len() + values.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut parts = template.split("{{");
    filled.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        let value = values.iter().find(|(other, _)| *other == name);
        filled.push_str(value.map_or("", |(_, text)| text));
        filled.push_str(rest);
    }
    filled
}

/// What the page draws: tables by their names, and the points of the roofline.
fn tables(page: &Page<'_>, texts: &mut Texts) -> (Map<String, Value>, Value) {
    let mut all = Map::new();
    let mut add = |(name, table): (String, Value)| {
        if table["rows"] != 0 {
            all.insert(name, table);
        }
    };
    if let Some(findings) = page.findings {
        add(tables::kernels(page, findings, texts));
        regions::regions(page, findings, texts).into_iter().for_each(&mut add);
        add(tables::idle(findings, texts));
        add(tables::stages(findings, texts));
        add(tables::operators(findings, texts));
        add(tables::copies(findings, texts));
        add(tables::calls(findings, texts));
    }
    if let Some(joined) = &page.insight.joined {
        add(tables::launches(joined, texts));
    }
    if let Some(counters) = page.counters {
        add(counted::counters(counters, texts));
        add(counted::whole_ranges(counters, texts));
    }
    add(roofline::table(&page.insight.roofline, texts));
    let plot = roofline::plot(&page.insight.roofline, texts);
    (all, plot)
}

fn data((tables, plot): (Map<String, Value>, Value), shown: Option<Timeline>, mut texts: Texts) -> String {
    let shown = shown.map(|shown| shown.into_json(&mut texts));
    escape::json(
        &json!({ "tables": tables, "roofline": plot, "timeline": shown, "texts": texts.into_json() }),
    )
}
