//! What `analyze` prints: the answer first, then the tables it comes from.

use analysis::{Findings, IdleRow, MoreRegions, MoreRows, Origin, Place, Shape};

use crate::form::terminal::Align::{Left, Right};
use crate::form::terminal::{shortened, table};
use crate::printable::printable;
use crate::units::{bytes, count, duration, fixed, percent};

const WIDEST_NAME: usize = 56;
/// So many names in a sentence.
const MOST_NAMED: usize = 8;

/// Every table, its first `top` rows.
pub fn terminal(findings: &Findings, top: usize) -> String {
    let mut text = format!("{}, {}\n", printable(&findings.source), duration(findings.span_ns as f64));
    recordings(&mut text, findings);
    for diagnostic in &findings.diagnostics {
        let kind = if diagnostic.lost { "lost" } else { "note" };
        text.push_str(&format!("{kind}: {}\n", printable(&diagnostic.text)));
    }
    where_the_time_goes(&mut text, findings, top);
    regions(&mut text, findings, top);
    kernels(&mut text, findings, top);
    graphs(&mut text, findings);
    stages(&mut text, findings, top);
    operators(&mut text, findings, top);
    copies(&mut text, findings);
    calls(&mut text, findings, top);
    unattributed(&mut text, findings);
    let nothing = findings.kernels.is_empty() && findings.regions.is_empty() && findings.operators.is_empty();
    if nothing && findings.idle.is_empty() {
        text.push_str("\nthere is no range, no kernel and no operator in it\n");
    }
    text
}

/// Which file is meant by a number, where there are several.
fn recordings(text: &mut String, findings: &Findings) {
    for row in &findings.recordings {
        let rank = row.rank.map(|rank| format!(" (rank {rank})")).unwrap_or_default();
        text.push_str(&format!("recording {}{rank}: {}\n", row.recording, printable(&row.file)));
    }
}

fn section(text: &mut String, title: &str, body: &str, shown: usize, all: u64) {
    text.push_str(&format!("\n{title}\n{body}"));
    let more = all.saturating_sub(shown as u64);
    if more > 0 {
        text.push_str(&format!("and {more} more\n"));
    }
}

/// Rows that a table has, with those that the findings leave out.
fn all_rows(told: usize, more: Option<MoreRows>) -> u64 {
    told as u64 + more.map_or(0, |more| more.rows)
}

fn where_the_time_goes(text: &mut String, findings: &Findings, top: usize) {
    if findings.idle.is_empty() {
        return;
    }
    // Every device, then the regions that took the most of its time.
    let (mut shown, mut regions): (Vec<&IdleRow>, Vec<&IdleRow>) =
        findings.idle.iter().partition(|row| row.region.is_none());
    regions.sort_by_key(|row| std::cmp::Reverse(row.busy_ns.saturating_add(row.idle_ns)));
    let all = (shown.len() + regions.len()) as u64 + findings.more_idle;
    shown.extend(regions.into_iter().take(top));
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|row| {
            vec![
                row.device_called(),
                shortened(row.region.as_deref().unwrap_or("all"), WIDEST_NAME),
                duration(row.busy_ns.saturating_add(row.idle_ns) as f64),
                percent(row.busy_share),
                causes(row),
                duration(row.queue_delay_mean_ns),
                fixed(row.launch_ahead_mean, 1),
                row.concurrency.map(|number| fixed(number, 2)).unwrap_or_default(),
            ]
        })
        .collect();
    let columns = [
        ("device", Left),
        ("region", Left),
        ("time", Right),
        ("busy", Right),
        ("idle: waiting for", Left),
        ("queued", Right),
        ("ahead", Right),
        ("at once", Right),
    ];
    section(text, "where the time goes", &table(&columns, &rows), rows.len(), all);
}

/// `host 91.0 %, launch 3.0 %`
fn causes(row: &IdleRow) -> String {
    let causes = row.cause_shares.iter().filter(|(_, share)| *share >= 0.005).take(3);
    let causes: Vec<String> = causes.map(|(cause, share)| format!("{cause} {}", percent(*share))).collect();
    causes.join(", ")
}

/// Process and device of a row, in columns of their own where rows differ in them.
fn places(place: &Place, split: bool) -> Vec<String> {
    if !split {
        return Vec::new();
    }
    let device = place.device.map(|number| number.to_string()).unwrap_or_default();
    vec![called(place.process, place.origin), device]
}

/// A process as a reader knows it: `rank 3`, `recording 1, 4711`, `4711`.
fn called(process: Option<u32>, origin: Origin) -> String {
    let process = process.map(|process| process.to_string());
    match (origin.called(), process) {
        (Some(rank), _) if origin.rank.is_some() => rank,
        (Some(recording), Some(process)) => format!("{recording}, {process}"),
        (origin, process) => origin.or(process).unwrap_or_default(),
    }
}

fn regions(text: &mut String, findings: &Findings, top: usize) {
    if findings.regions.is_empty() {
        return;
    }
    let split = findings.scope.by_process || findings.scope.by_device;
    let rows: Vec<Vec<String>> = findings
        .regions
        .iter()
        .take(top)
        .map(|row| {
            let path = format!("{}{}", "  ".repeat(row.depth), row.path);
            let mut cells = vec![shortened(&path, WIDEST_NAME)];
            cells.extend(places(&row.place, split));
            cells.extend([
                row.instances.to_string(),
                duration(row.wall_ns as f64),
                row.kernels_inclusive.to_string(),
                row.kernels_exclusive.to_string(),
                duration(row.gpu_inclusive_ns as f64),
                duration(row.gpu_exclusive_ns as f64),
                duration(row.gpu_busy_ns as f64),
            ]);
            cells
        })
        .collect();
    let mut columns = vec![("region", Left)];
    if split {
        columns.extend([("process", Right), ("GPU", Right)]);
    }
    columns.extend([
        ("instances", Right),
        ("host", Right),
        ("kernels", Right),
        ("own", Right),
        ("GPU time", Right),
        ("own", Right),
        ("GPU busy", Right),
    ]);
    section(text, "regions", &table(&columns, &rows), rows.len(), findings.region_count());
    findings.more_regions.iter().for_each(|more| text.push_str(&format!("{}\n", left_out(more))));
    let has_kernels = !findings.kernels.is_empty();
    let idle: Vec<&str> = findings
        .regions
        .iter()
        .filter(|row| has_kernels && row.launches == 0)
        .map(|row| row.path.as_str())
        .collect();
    if !idle.is_empty() {
        let more = if idle.len() > MOST_NAMED {
            format!(" and {} more", idle.len() - MOST_NAMED)
        } else {
            String::new()
        };
        let named = idle[..idle.len().min(MOST_NAMED)].join(", ");
        text.push_str(&format!("note: no GPU work was started in {}{more}\n", printable(&named)));
    }
}

/// `note: 3 regions with the least time are not told one by one: …`
fn left_out(more: &MoreRegions) -> String {
    let (regions, are) = if more.regions == 1 { ("region", "is") } else { ("regions", "are") };
    let domain =
        if more.domain.is_empty() { String::new() } else { format!(" of {}", printable(&more.domain)) };
    format!(
        "note: {} {} {regions}{domain} {are} left out: {} on the host and {} of kernels in all",
        count(more.regions),
        more.kind,
        duration(more.wall_ns as f64),
        duration(more.gpu_ns as f64)
    )
}

fn graphs(text: &mut String, findings: &Findings) {
    if findings.graphs > 0 {
        text.push_str(&format!(
            "\nnote: {} graph launches were recorded as a whole; nsys --cuda-graph-trace=node records their kernels\n",
            findings.graphs
        ));
    }
}

fn kernels(text: &mut String, findings: &Findings, top: usize) {
    if findings.kernels.is_empty() {
        return;
    }
    let split = findings.scope.by_process || findings.scope.by_device;
    let shaped = findings.kernels.iter().any(|row| row.shape.is_some());
    let rows: Vec<Vec<String>> = findings
        .kernels
        .iter()
        .take(top)
        .map(|row| {
            let statistics = row.statistics;
            let mut cells = vec![
                percent(statistics.share),
                duration(statistics.total_ns as f64),
                statistics.calls.to_string(),
                duration(statistics.mean_ns),
                duration(statistics.median_ns),
            ];
            cells.extend(places(&row.place, split));
            cells.extend(row.shape.map(|shape| shown_shape(&shape)));
            cells.extend([row.family.clone(), shortened(&row.name, WIDEST_NAME)]);
            cells
        })
        .collect();
    let mut columns =
        vec![("share", Right), ("total", Right), ("calls", Right), ("mean", Right), ("median", Right)];
    if split {
        columns.extend([("process", Right), ("GPU", Right)]);
    }
    if shaped {
        columns.push(("grid x block", Left));
    }
    columns.extend([("family", Left), ("kernel", Left)]);
    section(
        text,
        "kernels",
        &table(&columns, &rows),
        rows.len(),
        all_rows(findings.kernels.len(), findings.more_kernels),
    );
}

/// `(64,1,1) x (256,1,1)`
fn shown_shape(shape: &Shape) -> String {
    let three = |numbers: [u32; 3]| format!("({})", numbers.map(|number| number.to_string()).join(","));
    format!("{} x {}", three(shape.grid), three(shape.block))
}

/// The process of a row that has no device, in front, where rows differ in it.
fn process_of(process: Option<u32>, origin: Origin, findings: &Findings) -> Option<String> {
    findings.scope.by_process.then(|| called(process, origin))
}

fn stages(text: &mut String, findings: &Findings, top: usize) {
    let mut rows: Vec<Vec<String>> = findings
        .stages
        .iter()
        .filter_map(|stage| {
            let times = stage.times?;
            let steady = stage.steady.unwrap_or(times);
            let mut cells = vec![shortened(&stage.region, WIDEST_NAME)];
            cells.extend(process_of(stage.process, stage.origin, findings));
            cells.extend([
                times.count.to_string(),
                stage.first_ns.map(|first| duration(first as f64)).unwrap_or_default(),
                duration(steady.mean_ns as f64),
                duration(steady.std_ns as f64),
                duration(steady.p50_ns as f64),
                duration(steady.p95_ns as f64),
                stage.tokens_per_second.map(|rate| fixed(rate, 1)).unwrap_or_default(),
            ]);
            Some(cells)
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    let all = all_rows(rows.len(), findings.more_stages);
    rows.truncate(top);
    let mut columns = vec![("stage", Left)];
    columns.extend(findings.scope.by_process.then_some(("process", Right)));
    columns.extend([
        ("instances", Right),
        ("first", Right),
        ("then mean", Right),
        ("std", Right),
        ("p50", Right),
        ("p95", Right),
        ("tokens/s", Right),
    ]);
    section(text, "stages, host time", &table(&columns, &rows), rows.len(), all);
}

fn operators(text: &mut String, findings: &Findings, top: usize) {
    if findings.operators.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = findings
        .operators
        .iter()
        .take(top)
        .map(|row| {
            let mut cells = vec![shortened(&row.name, WIDEST_NAME)];
            cells.extend(process_of(row.process, row.origin, findings));
            cells.extend([
                row.calls.to_string(),
                duration(row.host_self_ns as f64),
                duration(row.host_total_ns as f64),
                duration(row.device_self_ns as f64),
                duration(row.device_total_ns as f64),
            ]);
            cells
        })
        .collect();
    let mut columns = vec![("operator", Left)];
    columns.extend(findings.scope.by_process.then_some(("process", Right)));
    columns.extend([
        ("calls", Right),
        ("host self", Right),
        ("host total", Right),
        ("device self", Right),
        ("device total", Right),
    ]);
    section(text, "operators", &table(&columns, &rows), rows.len(), findings.operator_count());
}

fn copies(text: &mut String, findings: &Findings) {
    if findings.memcpy.is_empty() {
        return;
    }
    let split = findings.scope.by_process || findings.scope.by_device;
    let rows: Vec<Vec<String>> = findings
        .memcpy
        .iter()
        .map(|row| {
            let rate = row.bytes_per_second.map(|rate| format!("{}/s", bytes(rate))).unwrap_or_default();
            let mut cells = vec![row.direction.to_owned()];
            cells.extend(places(&row.place, split));
            cells.extend([
                row.statistics.calls.to_string(),
                bytes(row.bytes as f64),
                duration(row.statistics.total_ns as f64),
                rate,
            ]);
            cells
        })
        .collect();
    let mut columns = vec![("copies", Left)];
    if split {
        columns.extend([("process", Right), ("GPU", Right)]);
    }
    columns.extend([("calls", Right), ("bytes", Right), ("total", Right), ("bandwidth", Right)]);
    section(text, "copies and fills", &table(&columns, &rows), rows.len(), rows.len() as u64);
}

fn calls(text: &mut String, findings: &Findings, top: usize) {
    if findings.api.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = findings
        .api
        .iter()
        .take(top)
        .map(|row| {
            let mut cells = vec![shortened(&row.name, WIDEST_NAME)];
            cells.extend(process_of(row.place.process, row.place.origin, findings));
            cells.extend([
                row.statistics.calls.to_string(),
                duration(row.statistics.total_ns as f64),
                duration(row.statistics.mean_ns),
                percent(row.statistics.share),
            ]);
            cells
        })
        .collect();
    let mut columns = vec![("call", Left)];
    columns.extend(findings.scope.by_process.then_some(("process", Right)));
    columns.extend([("calls", Right), ("total", Right), ("mean", Right), ("share", Right)]);
    section(
        text,
        "calls",
        &table(&columns, &rows),
        rows.len(),
        all_rows(findings.api.len(), findings.more_api),
    );
}

fn unattributed(text: &mut String, findings: &Findings) {
    let outside = &findings.unattributed;
    if outside.kernels == 0 || findings.regions.is_empty() {
        return;
    }
    text.push_str(&format!(
        "\nin no range: {} kernels, {}",
        outside.kernels,
        duration(outside.gpu_ns as f64)
    ));
    if outside.without_call > 0 {
        text.push_str(&format!(", {} of them with no call that started them", outside.without_call));
    }
    text.push('\n');
    for thread in &outside.threads {
        let name = thread.name.as_deref().map(|name| format!(" ({})", printable(name))).unwrap_or_default();
        text.push_str(&format!(
            "  process {} thread {}{name}: {} kernels, {}\n",
            called(Some(thread.process), thread.origin),
            thread.thread,
            thread.kernels,
            duration(thread.gpu_ns as f64)
        ));
    }
}
