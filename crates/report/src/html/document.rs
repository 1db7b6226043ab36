//! The page put together.

use serde_json::{Map, Value, json};

use super::script::{PAGE, SCRIPT, STYLE};
use super::texts::Texts;
use super::timeline::{Timeline, timeline};
use super::{advice, counted, digest, escape, provenance, regions, roofline, summary, tables};
use crate::page::Page;
use crate::units::{count, duration, percent};

/// The whole report as one file.
pub fn html(page: &Page<'_>) -> String {
    let mut texts = Texts::default();
    let shown = page.trace.map(|trace| timeline(trace, page.findings, &mut texts));
    let shown = shown.filter(|shown| !shown.is_empty());
    let tracks = shown.as_ref().map(tracks).unwrap_or_default();
    let label = shown.as_ref().map(label).unwrap_or_default();
    let no_timeline = shown.is_none().then(|| {
        let why = summary::missing(page, &["timeline", "rehearse"], "the trace of this run holds no event");
        absent(&format!("Not recorded, because {why}."))
    });
    let data = data(page, shown, texts);
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        digest::source(SCRIPT),
        digest::source(STYLE)
    );
    fill(PAGE, &[
        ("policy", &policy),
        ("style", STYLE),
        ("title", &escape::text(page.title)),
        ("workload", &escape::text(page.workload)),
        ("source", &escape::text(page.findings.map_or("", |findings| &findings.source))),
        ("summary", &summary::summary(page)),
        ("advice", &advice::advice(page)),
        ("timeline-label", &escape::text(&label)),
        ("timeline-absent", &no_timeline.unwrap_or_default()),
        ("timeline-tracks", &tracks),
        ("absent-regions", &no_regions(page)),
        ("absent-kernels", &no_kernels(page)),
        ("absent-idle", &no_idle(page)),
        ("absent-roofline", &no_roofline(page)),
        ("absent-counters", &no_counters(page)),
        ("unattributed", &unattributed(page)),
        ("environment", &provenance::environment(page)),
        ("commands", &provenance::commands(page)),
        ("warnings", &provenance::warnings(page)),
        ("data", &data),
        ("script", SCRIPT),
    ])
}

/// `{{name}}` by its text. What was put in is not looked at again: a kernel may be called so.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len() + values.iter().map(|(_, text)| text.len()).sum::<usize>());
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

fn data(page: &Page<'_>, shown: Option<Timeline>, mut texts: Texts) -> String {
    let mut all = Map::new();
    let mut add = |(name, table): (String, Value)| {
        if table["rows"] != 0 {
            all.insert(name, table);
        }
    };
    if let Some(findings) = page.findings {
        add(tables::kernels(page, findings, &mut texts));
        regions::regions(page, findings, &mut texts).into_iter().for_each(&mut add);
        add(tables::idle(findings, &mut texts));
        add(tables::stages(findings, &mut texts));
        add(tables::operators(findings, &mut texts));
        add(tables::copies(findings, &mut texts));
        add(tables::calls(findings, &mut texts));
    }
    if let Some(joined) = page.joined {
        add(tables::launches(joined, &mut texts));
    }
    if let Some(counters) = page.counters {
        add(counted::counters(counters, &mut texts));
        add(counted::whole_ranges(counters, &mut texts));
    }
    add(roofline::table(page.roofline, &mut texts));
    let plot = roofline::plot(page.roofline, &mut texts);
    let shown = shown.map(|shown| shown.into_json(&mut texts));
    escape::json(&json!({ "tables": all, "roofline": plot, "timeline": shown, "texts": texts.into_json() }))
}

fn absent(text: &str) -> String {
    format!("<p class=\"absent\">{}</p>\n", escape::text(text))
}

/// What one hears instead of seeing the timeline.
fn label(shown: &Timeline) -> String {
    format!(
        "Timeline of {}: {} events in {} groups. The table below it says what each track holds.",
        duration(shown.span_ns as f64),
        count(shown.events),
        shown.groups.len()
    )
}

/// Every track as a row, and what is not shown.
fn tracks(shown: &Timeline) -> String {
    let mut html: String =
        shown.notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", escape::text(note))).collect();
    html.push_str(
        "<details class=\"more\"><summary>The tracks as a table</summary>\n<div class=\"wide\" tabindex=\"0\" \
         role=\"region\" aria-label=\"tracks of the timeline\">\n<table class=\"plain\">\n<thead><tr>\
         <th scope=\"col\">track</th><th scope=\"col\" class=\"num\">events</th>\
         <th scope=\"col\" class=\"num\">time</th><th scope=\"col\" class=\"num\">of the span</th>\
         <th scope=\"col\" class=\"num\">left out</th><th scope=\"col\" class=\"num\">longest</th>\
         <th scope=\"col\">which is</th></tr></thead>\n",
    );
    for group in &shown.groups {
        html.push_str(&format!(
            "<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"7\">{}</th></tr>\n",
            escape::text(&group.title)
        ));
        for track in &group.tracks {
            let share = track.time_ns as f64 / shown.span_ns.max(1) as f64;
            let (name, longest) = track.longest.clone().unwrap_or_default();
            html.push_str(&format!(
                "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td>\
                 <td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>\
                 <td class=\"name\">{}</td></tr>\n",
                escape::text(&track.title),
                count(track.events),
                duration(track.time_ns as f64),
                percent(share),
                count(track.left_out),
                duration(longest as f64),
                escape::text(&name)
            ));
        }
        html.push_str("</tbody>\n");
    }
    html.push_str("</table>\n</div>\n</details>\n");
    html
}

fn no_findings(page: &Page<'_>) -> String {
    let why = summary::missing(page, &["analyse", "timeline"], "nothing was analysed");
    absent(&format!("Not measured, because {why}."))
}

fn no_regions(page: &Page<'_>) -> String {
    match page.findings {
        None => no_findings(page),
        Some(findings) if findings.regions.is_empty() => absent("The workload emitted no NVTX range."),
        Some(_) => String::new(),
    }
}

fn no_kernels(page: &Page<'_>) -> String {
    match page.findings {
        None => no_findings(page),
        Some(findings) if findings.kernels.is_empty() && findings.graphs == 0 => {
            absent("Not measured, because no kernel is in the trace.")
        }
        Some(findings) if findings.graphs > 0 => absent(&format!(
            "{} graph launches were recorded as a whole; nsys --cuda-graph-trace=node records their kernels.",
            count(findings.graphs)
        )),
        Some(_) => String::new(),
    }
}

fn no_idle(page: &Page<'_>) -> String {
    match page.findings {
        None => no_findings(page),
        Some(findings) if findings.idle.is_empty() => {
            absent("Not measured, because nothing ran on a GPU in the trace.")
        }
        Some(_) => String::new(),
    }
}

fn no_roofline(page: &Page<'_>) -> String {
    if !page.roofline.is_empty() {
        return String::new();
    }
    let otherwise = match page.counters {
        Some(_) => "the metrics that were taken count neither operations nor bytes",
        None => "no counters were taken",
    };
    absent(&format!("Not measured, because {}.", summary::missing(page, &["counters"], otherwise)))
}

fn no_counters(page: &Page<'_>) -> String {
    let measured = page.counters.is_some_and(|counters| {
        let ranges = counters.regions.iter().any(|region| !region.measured_on_the_whole_range.is_empty());
        counters.launches > 0 || ranges || !counters.measured_on_the_whole_range.is_empty()
    });
    if measured {
        return String::new();
    }
    let why = summary::missing(page, &["counters"], "no counters were taken");
    absent(&format!("Not measured, because {why}."))
}

fn unattributed(page: &Page<'_>) -> String {
    let Some(findings) = page.findings else { return String::new() };
    let outside = &findings.unattributed;
    if outside.kernels == 0 || findings.regions.is_empty() {
        return String::new();
    }
    let without_call = match outside.without_call {
        0 => String::new(),
        without => format!(", {} of them with no call that started them", count(without)),
    };
    format!(
        "<p class=\"note\">In no range: {} kernels, {}{without_call}.</p>\n",
        count(outside.kernels),
        duration(outside.gpu_ns as f64)
    )
}
