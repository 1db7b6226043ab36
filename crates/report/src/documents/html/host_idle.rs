//! What the host was executing while the devices were idle: bars, and the same as a table.

use std::collections::HashMap;

use analysis::{HostIdle, HostNode, HostPlace, WAITS_FOR_INTERPRETER, host_idle};
use serde_json::{Value, json};
use trace::{NONE, Trace};

use super::widest::Widest;
use crate::form::escape;
use crate::form::texts::Texts;
use crate::page::Page;
use crate::units::{count, counted, duration, percent};

/// A page shows the frames with the most samples.
const MOST_FRAMES: usize = 3_000;
const MOST_ROWS: usize = 20;

/// The part of the page, and what its script draws; nothing when nothing was sampled.
pub(super) fn flame(page: &Page<'_>, texts: &mut Texts) -> (String, Value) {
    let Some(trace) = page.trace else { return (String::new(), Value::Null) };
    let idle = host_idle(trace);
    if idle.samples == 0 {
        return (String::new(), Value::Null);
    }
    let title = match idle.idle_ns {
        Some(_) => "What the host was executing while no GPU had work",
        None => "What the host was executing",
    };
    let shown = Widest::of(idle.nodes.iter().map(|node| node.samples), MOST_FRAMES);
    let mut html = format!(
        "<h3 class=\"apart\">{title}</h3>\n<p class=\"note\">{}</p>\n<div data-flame data-label=\"{title}\"></div>\n",
        escape::text(&said(&idle, shown.len()))
    );
    html.push_str(&table(trace, &idle));
    (html, bars(trace, &idle, &shown, texts))
}

fn said(idle: &HostIdle, shown: usize) -> String {
    let threads = match (idle.of_callers, idle.threads) {
        (true, 1) => "the thread that calls CUDA".to_owned(),
        (true, many) => format!("the {} threads that call CUDA", count(many)),
        (false, many) => counted(many, "thread"),
    };
    let time = match idle.idle_ns {
        Some(time) => format!(
            "taken while no GPU had work: {} between the first and the last GPU work",
            duration(time as f64)
        ),
        None => "taken at any time: no GPU work was recorded".to_owned(),
    };
    let left_out = (idle.nodes.len() - shown) as u64;
    let left_out = if left_out == 0 {
        String::new()
    } else {
        format!(" {} with the fewest samples are not shown.", counted(left_out, "frame"))
    };
    format!("{} of {threads}, {time}.{left_out}", counted(idle.samples, "sample"))
}

fn bars(trace: &Trace, idle: &HostIdle, shown: &Widest, texts: &mut Texts) -> Value {
    let nodes = || shown.of_all(&idle.nodes);
    let caller = |node: &HostNode| shown.around((node.caller != NONE).then_some(node.caller as usize));
    let callers: Vec<i64> = nodes().map(caller).collect();
    let names: Vec<u32> = nodes().map(|node| texts.id(name(trace, node.place))).collect();
    let places: Vec<u32> = nodes().map(|node| texts.id(&source(trace, node.place))).collect();
    json!({
        "samples": idle.samples,
        "caller": callers,
        "name": names,
        "place": places,
        "kind": nodes().map(|node| kind(node.place)).collect::<Vec<_>>(),
        "own": nodes().map(|node| node.own).collect::<Vec<_>>(),
        "of": nodes().map(|node| node.samples).collect::<Vec<_>>(),
    })
}

fn name(trace: &Trace, place: HostPlace) -> &str {
    match place {
        HostPlace::At(frame) => trace.strings.text(frame.function),
        HostPlace::State(state) => state,
    }
}

/// `train.py:12`
fn source(trace: &Trace, place: HostPlace) -> String {
    let HostPlace::At(frame) = place else { return String::new() };
    match (trace.strings.text(frame.file), frame.line) {
        (file, 0) => file.to_owned(),
        (file, line) => format!("{file}:{line}"),
    }
}

/// Its color: frames of one file have the same.
fn kind(place: HostPlace) -> String {
    match place {
        HostPlace::State(WAITS_FOR_INTERPRETER) => "lock".to_owned(),
        HostPlace::State(_) => "blocked".to_owned(),
        HostPlace::At(frame) => (frame.file.index() % 4).to_string(),
    }
}

/// The innermost frames, wherever they were called from: those with the most samples.
fn table(trace: &Trace, idle: &HostIdle) -> String {
    let mut sums: HashMap<(HostPlace, HostPlace), u64> = HashMap::new();
    for node in idle.nodes.iter().filter(|node| node.own > 0) {
        // A state is told with the frame that waits.
        let caller = idle.nodes.get(node.caller as usize).map_or(node.place, |caller| caller.place);
        let frame = if matches!(node.place, HostPlace::State(_)) { caller } else { node.place };
        *sums.entry((frame, node.place)).or_default() += node.own;
    }
    let text = |(frame, state): &(HostPlace, HostPlace)| {
        let waits = if frame == state { String::new() } else { format!(" {}", name(trace, *state)) };
        (format!("{}{waits}", name(trace, *frame)), source(trace, *frame))
    };
    let mut rows: Vec<(u64, (String, String))> =
        sums.iter().map(|(place, samples)| (*samples, text(place))).collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let more = rows.len().saturating_sub(MOST_ROWS) as u64;
    let mut html = "<details class=\"more\"><summary>Innermost frames as a table</summary>\n<div class=\"wide\" \
         tabindex=\"0\" role=\"region\" aria-label=\"innermost frames\">\n<table class=\"plain\">\n<thead><tr>\
         <th scope=\"col\">frame</th><th scope=\"col\">source</th><th scope=\"col\" class=\"num\">share</th>\
         <th scope=\"col\" class=\"num\">samples</th></tr></thead>\n<tbody>\n"
        .to_owned();
    for (samples, (name, source)) in rows.iter().take(MOST_ROWS) {
        html.push_str(&format!(
            "<tr><th scope=\"row\" class=\"name\">{}</th><td>{}</td><td class=\"num\">{}</td>\
             <td class=\"num\">{}</td></tr>\n",
            escape::text(name),
            escape::text(source),
            escape::unsplit(&percent(*samples as f64 / idle.samples.max(1) as f64)),
            count(*samples)
        ));
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
    if more > 0 {
        html.push_str(&format!("<p class=\"note\">And {}.</p>\n", counted(more, "more frame")));
    }
    html.push_str("</details>\n");
    html
}
