//! What `analyze` prints: the answer to what was asked, the tables of the timeline and the counters, then the conclusions.

use std::collections::HashSet;

use analysis::{Analysis, MoreRegions};
use record::PassKind;
use trace::Recorder;

use super::counters_screen::counters_terminal;
use super::insight::{bounds_text, findings_text, roofline_text, what_if_text};
use crate::form::terminal::{Names, Terminal};
use crate::page::Page;
use crate::printable::printable;
use crate::tables::{
    Tabular, View, balance, calls, captured, collectives, copies, cuda_graphs, ended_stages,
    hardware_kernels, hardware_regions, headline_kernels, idle, not_captured, operators, phases,
    process_called, rank_verdict_lines, ranks, regions, request_times, requests_line, unread_lines,
    whole_time,
};
use crate::units::{count, counted, duration};

const WIDEST_NAME: usize = 56;
/// Of kernels that are not the same on all ranks.
const UNEVEN: usize = 3;
/// At most this many names in a sentence.
const MOST_NAMED: usize = 8;

/// What was asked, what limits the program, then the timeline, then the counters, as far as there is any.
pub fn screen(page: &Page<'_>, top: usize) -> String {
    let mut screens = unread_screen(page);
    if page.ranks.is_some() {
        let lines = rank_verdict_lines(page);
        screens.extend(lines.split_first().map(|(first, rest)| {
            let rest: String = rest.iter().map(|line| format!("  {}\n", printable(line))).collect();
            format!("ranks: {first}\n{rest}")
        }));
    }
    let what_if = what_if_text(page.analysis);
    if !what_if.is_empty() {
        screens.push(format!("what if\n{what_if}"));
    }
    let limits = findings_text(page.analysis, &page.insight.findings);
    if !limits.is_empty() {
        screens.push(format!("what limits it\n{limits}"));
    }
    screens.extend(page.analysis.map(|_| terminal(page, top)));
    if let Some(counters) = page.counters {
        let version = page.measured.and_then(|report| report.session.ncu_version.as_deref());
        let source = version.map_or("ncu".to_owned(), |version| format!("ncu {version}"));
        screens.push(counters_terminal(page, &source, counters, top));
    }
    let insight = page.insight;
    if let Some(joined) = &insight.joined {
        screens.push(format!("what limits the kernels: {}", bounds_text(joined, top)));
    }
    if !insight.roofline.is_empty() {
        screens.push(format!("roofline\n{}", roofline_text(&insight.roofline, top)));
    }
    screens.join("\n")
}

/// Before everything that follows from the rest.
fn unread_screen(page: &Page<'_>) -> Vec<String> {
    let lines = unread_lines(page);
    let text: String = lines.iter().map(|line| format!("read in part: {}\n", printable(line))).collect();
    (!text.is_empty()).then_some(text).into_iter().collect()
}

/// Every table of the timeline, its first `top` rows; nothing where there are no findings.
pub(crate) fn terminal(page: &Page<'_>, top: usize) -> String {
    let Some(analysis) = page.analysis else { return String::new() };
    let span = duration(analysis.span_ns as f64);
    let longest = if analysis.recordings.len() > 1 { " (the longest recording)" } else { "" };
    let mut text = format!("{}, {span}{longest}\n", printable(&analysis.source));
    recordings(&mut text, analysis);
    for diagnostic in &analysis.diagnostics {
        let kind = if diagnostic.lost { "lost" } else { "note" };
        text.push_str(&format!("{kind}: {}\n", printable(&diagnostic.text)));
    }
    let devices = analysis.idle.iter().filter(|row| row.region.is_none()).count();
    section(&mut text, whole_time(analysis), &idle(page, analysis), devices + top);
    section(&mut text, "regions", &regions(page, analysis), top);
    beside_regions(&mut text, analysis);
    let (kernels, of) = headline_kernels(page, analysis);
    section(&mut text, format!("kernels {of}").trim_end(), &kernels, top);
    graphs(&mut text, analysis, top);
    section(&mut text, "hardware while the work of regions runs", &hardware_regions(analysis), top);
    section(&mut text, "hardware while kernels run", &hardware_kernels(analysis), top);
    section(&mut text, "ranks", &ranks(analysis), top);
    section(&mut text, "collectives", &collectives(analysis), top);
    section(&mut text, "kernels across ranks", &balance(analysis), UNEVEN);
    served(&mut text, analysis);
    section(&mut text, "stages, host time", &ended_stages(analysis), top);
    let of = operators_pass(page).map(|pass| format!(", {pass}")).unwrap_or_default();
    section(&mut text, &format!("operators{of}"), &operators(analysis), top);
    section(&mut text, "copies and fills", &copies(analysis), usize::MAX);
    section(&mut text, "calls", &calls(analysis), top);
    unattributed(&mut text, analysis);
    let nothing = analysis.kernels.is_empty() && analysis.regions.is_empty() && analysis.operators.is_empty();
    if nothing && analysis.idle.is_empty() {
        text.push_str("\nit has no ranges, kernels or operators\n");
    }
    text
}

/// Times of operators are those of the pass in which they were recorded, which takes longer than the others.
pub(in crate::documents) fn operators_pass(page: &Page<'_>) -> Option<String> {
    page.operators_source?;
    let wall =
        |kind: PassKind| page.passes.iter().find(|pass| pass.name.kind == kind).map(|pass| pass.wall_ms);
    let times = wall(PassKind::Stage1).zip(wall(PassKind::Rehearsal)).map(|(here, rehearsal)| {
        let [here, rehearsal] = [here, rehearsal].map(|ms| duration(ms as f64 * 1e6));
        format!(", which took {here} instead of {rehearsal}")
    });
    Some(format!("in the pass under PyTorch's profiler{}", times.unwrap_or_default()))
}

/// Requests of a server.
fn served(text: &mut String, analysis: &Analysis) {
    let title = requests_line(analysis).unwrap_or_default();
    section(text, &title, &request_times(analysis), usize::MAX);
    section(text, "batches by what is in them", &phases(analysis), usize::MAX);
}

/// Which file is meant by a number, where there are several.
fn recordings(text: &mut String, analysis: &Analysis) {
    for row in &analysis.recordings {
        let rank = row.rank.map(|rank| format!(" (rank {rank})")).unwrap_or_default();
        text.push_str(&format!("recording {}{rank}: {}\n", row.recording, printable(&row.file)));
    }
}

fn section(text: &mut String, title: &str, table: &dyn Tabular, rows: usize) {
    let form =
        Terminal { view: View::Screen, rows, widest_name: WIDEST_NAME, names: Names::Whole, absent: None };
    if table.len() > 0 {
        text.push_str(&format!("\n{title}\n{}", form.text(table)));
    }
}

/// What is theirs by the work of other threads, what the table of regions leaves out, and regions without GPU work.
fn beside_regions(text: &mut String, analysis: &Analysis) {
    if analysis.regions.iter().any(|region| region.other_thread_gpu_ns > 0) {
        text.push_str(
            "note: work of other threads is counted by inference: they have no range of their own (autograd's, for \
             example), and only one thread had a range open when they launched it\n",
        );
    }
    analysis.more_regions.iter().for_each(|more| text.push_str(&format!("{}\n", left_out(more))));
    let open: Vec<String> = analysis
        .regions
        .iter()
        .filter(|row| row.open > 0)
        .map(|row| format!("{} ({} of {})", row.path, row.open, counted(row.instances, "instance")))
        .collect();
    if !open.is_empty() {
        let named = printable(&open[..open.len().min(MOST_NAMED)].join(", "));
        let more = and_more(open.len());
        text.push_str(&format!(
            "note: still open at the end of the recording, and without a time: {named}{more}\n"
        ));
    }
    let has_kernels = !analysis.kernels.is_empty();
    let idle = analysis.regions.iter().filter(|row| has_kernels && row.launches == 0);
    // Of several kinds, processes or recordings, a name is enough, if none of them has work.
    let busy: HashSet<&str> =
        analysis.regions.iter().filter(|row| row.launches > 0).map(|row| row.path.as_str()).collect();
    let captured = analysis.cuda_graphs.iter().flat_map(|graphs| &graphs.captured);
    let captured: HashSet<&str> = captured.map(|row| row.path.as_str()).collect();
    let mut named = HashSet::new();
    let idle: Vec<&str> = idle
        .map(|row| row.path.as_str())
        .filter(|path| !busy.contains(path) && !captured.contains(path) && named.insert(*path))
        .collect();
    if !idle.is_empty() {
        let more = and_more(idle.len());
        let named = idle[..idle.len().min(MOST_NAMED)].join(", ");
        text.push_str(&format!("note: no GPU work was recorded in {}{more}\n", printable(&named)));
    }
}

/// Of names that are too many for a sentence.
fn and_more(names: usize) -> String {
    match names.saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

/// `note: 3 push/pop regions are left out: …`
fn left_out(more: &MoreRegions) -> String {
    let are = if more.regions == 1 { "is" } else { "are" };
    let domain =
        if more.domain.is_empty() { String::new() } else { format!(" of {}", printable(&more.domain)) };
    format!(
        "note: {}{domain} {are} left out, in total {} on the host and {} of kernels",
        counted(more.regions, &format!("{} region", more.kind.as_str())),
        duration(more.wall_ns as f64),
        duration(more.gpu_ns as f64)
    )
}

fn graphs(text: &mut String, analysis: &Analysis, top: usize) {
    section(text, "inside CUDA graphs, by the region in which it was captured", &captured(analysis), top);
    not_captured(analysis).iter().for_each(|sentence| text.push_str(&format!("note: {sentence}\n")));
    section(text, "CUDA graphs", &cuda_graphs(analysis), top);
    if analysis.graphs > 0 {
        text.push_str(&format!("\nnote: {}\n", whole_graphs(analysis)));
    }
}

/// Why there are none.
pub(in crate::documents) fn no_kernels(analysis: &Analysis) -> String {
    match (analysis.graphs, analysis.idle.is_empty()) {
        (0, true) => "No kernels: no GPU work was recorded".to_owned(),
        (0, false) => "No kernels were recorded, or all of them were filtered out".to_owned(),
        _ => format!("No kernels: {}", whole_graphs(analysis)),
    }
}

/// Why the kernels of CUDA graphs are missing.
pub(in crate::documents) fn whole_graphs(analysis: &Analysis) -> String {
    let recorded = match analysis.graphs {
        1 => "1 graph launch was recorded as a whole".to_owned(),
        launches => format!("{} graph launches were recorded as a whole", count(launches)),
    };
    let remedies: Vec<&str> = analysis
        .recorders
        .iter()
        .filter_map(|recorder| match recorder {
            Recorder::Tracer => Some("`rehearsal.graph_nodes=true`"),
            Recorder::Nsys => Some("`nsys profile --cuda-graph-trace=node`"),
            Recorder::Kineto => None,
        })
        .collect();
    let remedy = match remedies.as_slice() {
        [] => String::new(),
        [one] => format!("; {one} records their kernels"),
        several => format!("; {} record their kernels", several.join(" and ")),
    };
    let wholes =
        analysis.cuda_graphs.iter().flat_map(|graphs| &graphs.graphs).filter_map(|row| row.whole.as_ref());
    let beside = match wholes.map(|whole| whole.total_ns).sum::<i64>() {
        time @ 1.. if !analysis.kernels.is_empty() => {
            format!(" and took {}, which is in no share of the kernels", duration(time as f64))
        }
        _ => String::new(),
    };
    format!("{recorded}{beside}{remedy}")
}

fn unattributed(text: &mut String, analysis: &Analysis) {
    let outside = &analysis.unattributed;
    if outside.kernels == 0 || analysis.regions.is_empty() {
        return;
    }
    text.push_str(&format!(
        "\noutside all ranges: {}, {}",
        counted(outside.kernels, "kernel"),
        duration(outside.gpu_ns as f64)
    ));
    if outside.without_call > 0 {
        text.push_str(&format!(", {} of them without a recorded launch", outside.without_call));
    }
    text.push('\n');
    for thread in &outside.threads {
        let name = thread.name.as_deref().map(|name| format!(" ({})", printable(name))).unwrap_or_default();
        text.push_str(&format!(
            "  process {} thread {}{name}: {}, {}\n",
            process_called(Some(thread.process), thread.origin).unwrap_or_default(),
            thread.thread,
            counted(thread.kernels, "kernel"),
            duration(thread.gpu_ns as f64)
        ));
    }
}
