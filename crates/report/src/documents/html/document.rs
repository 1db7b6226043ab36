//! The page put together.

use serde_json::{Map, Value, json};

use super::script::{PAGE, SCRIPT};
use super::sheet::{Sheet, fill};
use super::timeline::{Shown, Timeline, timeline};
use super::{
    absent, efficiency, findings, host_idle, icicle, lateness, provenance, regions, roofline, summary,
};
use crate::form::escape;
use crate::form::page::page_table;
use crate::form::texts::Texts;
use crate::page::Page;
use crate::tables::{self, Tabular};

const SECTIONS: [(&str, &str); 12] = [
    ("summary", "Summary"),
    ("findings", "What limits it"),
    ("timeline", "Timeline"),
    ("regions", "Regions"),
    ("kernels", "Kernels"),
    ("idle", "Idle causes"),
    ("roofline", "Roofline"),
    ("counters", "Counters"),
    ("others", "Other tables"),
    ("environment", "Environment"),
    ("commands", "Commands"),
    ("warnings", "Warnings"),
];

/// The whole report as one file.
pub fn html(page: &Page<'_>) -> String {
    let mut texts = Texts::default();
    // Before the timeline: if a page has too many names, the tables keep theirs.
    let tables = tables(page, &mut texts);
    let shown = page
        .trace
        .map(|trace| timeline(trace, Shown { analysis: page.analysis, ..Shown::default() }, &mut texts));
    let shown = shown.filter(|shown| !shown.is_empty());
    let (label, tracks, no_timeline) = match &shown {
        Some(shown) => (shown.label(), shown.tracks(), String::new()),
        None => (String::new(), String::new(), absent::timeline(page)),
    };
    let (host, flame) = host_idle::flame(page, &mut texts);
    let (icicles, domain_note) = icicle::icicles(page, &mut texts);
    let data = data(tables, shown, (flame, icicles), texts);
    let steady = page.analysis.and_then(|analysis| analysis.steady.as_ref()).map(tables::steady_of);
    let steady = escape::prose(&steady.unwrap_or_default());
    let head = format!(
        "<p class=\"brand\">Rangefinder</p>\n<h1>{}</h1>\n<p class=\"workload\"><code>{}</code></p>\n\
         <p class=\"source\">{}</p>\n",
        escape::text(page.title),
        escape::text(page.workload),
        escape::text(page.analysis.map_or("", |analysis| &analysis.source))
    );
    let main = fill(
        PAGE,
        &[
            ("summary", &summary::summary(page)),
            ("findings", &findings::findings(page)),
            ("timeline-label", &escape::text(&label)),
            ("timeline-absent", &no_timeline),
            ("timeline-tracks", &tracks),
            ("absent-regions", &absent::regions(page)),
            ("absent-kernels", &absent::kernels(page)),
            ("steady", &steady),
            ("domain-note", &domain_note),
            ("absent-idle", &absent::idle(page)),
            ("host-idle", &host),
            ("absent-roofline", &absent::roofline(page)),
            ("absent-counters", &absent::counters(page)),
            ("efficiency", &efficiency::efficiency(page)),
            ("unattributed", &absent::unattributed(page)),
            ("lateness", &lateness::lateness(page.analysis.and_then(|analysis| analysis.ranks.as_ref()))),
            ("environment", &provenance::environment(page)),
            ("commands", &provenance::commands(page)),
            ("warnings", &provenance::warnings(page)),
        ],
    );
    let without_script = "the summary, the findings and the commands; the timeline, the tables and the plot";
    Sheet { title: page.title, head, sections: &SECTIONS, without_script, main, data, script: SCRIPT }.html()
}

/// What the page draws: tables by their places in it, and the points of the roofline.
fn tables(page: &Page<'_>, texts: &mut Texts) -> (Map<String, Value>, Value) {
    let mut drawn = Drawn { all: Map::new(), texts };
    if let Some(analysis) = page.analysis {
        let no_counters = absent::beside_timeline(page);
        let left_out = regions::left_out(analysis);
        drawn.add("kernels", &tables::kernels(page, analysis).note(no_counters.clone()));
        if let Some(table) = tables::steady_kernels(page, analysis).filter(|_| !page.whole) {
            drawn.add("steady_kernels", &table.note(no_counters.clone()));
        }
        let tree = regions::tree(&tables::region_rows(page, analysis), left_out.as_deref(), drawn.texts);
        drawn.add("regions", &tables::regions(page, analysis).note(left_out).note(no_counters));
        drawn.all.insert("tree".to_owned(), tree);
        let captured = tables::not_captured(analysis).into_iter();
        let captured = captured.fold(tables::captured(analysis), |table, note| table.note(Some(note)));
        drawn.add("captured", &captured);
        drawn.add("cuda_graphs", &tables::cuda_graphs(analysis));
        drawn.add("idle", &tables::idle(page, analysis));
        drawn.add("stages", &tables::stages(analysis));
        drawn.add("ranks", &tables::ranks(analysis));
        drawn.add("collectives", &tables::collectives(analysis));
        drawn.add("rank_kernels", &tables::balance(analysis));
        drawn.add("request_times", &tables::request_times(analysis));
        drawn.add("phases", &tables::phases(analysis));
        drawn.add("requests", &tables::requests(analysis));
        drawn.add("batches", &tables::batches(analysis));
        drawn.add("operators", &tables::operators(analysis));
        drawn.add("copies", &tables::copies(analysis));
        drawn.add("hardware-regions", &tables::hardware_regions(analysis));
        drawn.add("hardware-kernels", &tables::hardware_kernels(analysis));
        drawn.add("calls", &tables::calls(analysis));
    }
    if let Some(joined) = &page.insight.joined {
        drawn.add("launches", &tables::bounds(joined));
    }
    if let Some(counters) = page.counters {
        drawn.add("counters", &tables::counted_regions(counters, true));
        drawn.add("ranges", &tables::counter_ranges(counters));
    }
    drawn.add("rank_verdicts", &tables::rank_verdict_table(page));
    drawn.add("processes", &tables::processes(page));
    drawn.add("roofline", &tables::roofline(&page.insight.roofline));
    let plot = roofline::plot(&page.insight.roofline, drawn.texts);
    (drawn.all, plot)
}

struct Drawn<'t> {
    all: Map<String, Value>,
    texts: &'t mut Texts,
}

impl Drawn<'_> {
    fn add(&mut self, place: &str, table: &dyn Tabular) {
        if table.len() > 0 {
            self.all.insert(place.to_owned(), page_table(table, self.texts));
        }
    }
}

fn data(
    (tables, plot): (Map<String, Value>, Value),
    shown: Option<Timeline>,
    (flame, icicles): (Value, Value),
    mut texts: Texts,
) -> String {
    let shown = shown.map(|shown| shown.into_json(&mut texts));
    escape::json(&json!({
        "tables": tables, "roofline": plot, "timeline": shown, "flame": flame, "icicles": icicles,
        "texts": texts.into_json(),
    }))
}
