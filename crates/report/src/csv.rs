//! Tables for other programs. Times are nanoseconds.

use analysis::Findings;
use serde::Serialize;
use serde_json::Value;

use crate::page::Page;

/// Every table of a run that has rows: its file's name and its text.
pub fn csv_tables(page: &Page<'_>) -> Vec<(&'static str, String)> {
    let mut tables = Vec::new();
    if let Some(findings) = page.findings {
        tables.extend([
            ("kernels.csv", kernels_csv(findings)),
            ("regions.csv", regions_csv(findings)),
            ("stages.csv", rows(&findings.stages)),
            ("operators.csv", rows(&findings.operators)),
            ("idle.csv", rows(&findings.idle)),
            ("copies.csv", rows(&findings.memcpy)),
            ("calls.csv", rows(&findings.api)),
        ]);
    }
    if let Some(joined) = &page.insight.joined {
        tables.push(("bounds.csv", rows(&joined.kernels)));
    }
    tables.extend([
        ("roofline.csv", rows(&page.insight.roofline)),
        ("efficiency.csv", rows(&page.insight.efficiency)),
        ("recommendations.csv", rows(&page.insight.recommendations)),
        ("overhead.csv", rows(&page.insight.overhead)),
    ]);
    tables.retain(|(_, text)| text.lines().nth(1).is_some());
    tables
}

/// A column for each field, in the order in which they first appear; what lies in a field has its
/// name before its own (`steady.p50_ns`), and a list is one cell of JSON.
fn rows<T: Serialize>(rows: &[T]) -> String {
    let rows: Vec<Vec<(String, String)>> = rows
        .iter()
        .map(|row| {
            let mut cells = Vec::new();
            flatten("", serde_json::to_value(row).unwrap_or_default(), &mut cells);
            cells
        })
        .collect();
    let mut columns: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flatten() {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    // A field that is absent in one row and a group in another is told by the group.
    columns.retain(|name| !rows.iter().flatten().any(|(other, _)| is_within(other, name)));
    let mut text = line(&columns.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    for row in &rows {
        let cell =
            |column: &&str| row.iter().find(|(name, _)| name == column).map(|(_, value)| value.clone());
        text.push_str(&line(
            &columns.iter().map(|column| cell(column).unwrap_or_default()).collect::<Vec<_>>(),
        ));
    }
    text
}

/// Whether a column is one of a group's.
fn is_within(column: &str, group: &str) -> bool {
    column.strip_prefix(group).is_some_and(|rest| rest.starts_with(GROUP))
}

const GROUP: char = '.';

fn flatten(name: &str, value: Value, cells: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = if name.is_empty() { field } else { format!("{name}{GROUP}{field}") };
                flatten(&name, value, cells);
            }
        }
        Value::Null => cells.push((name.to_owned(), String::new())),
        Value::String(text) => cells.push((name.to_owned(), text)),
        value => cells.push((name.to_owned(), value.to_string())),
    }
}

pub(crate) fn line(fields: &[String]) -> String {
    let quoted: Vec<String> = fields
        .iter()
        .map(|field| {
            if field.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", field.replace('"', "\"\""))
            } else {
                field.clone()
            }
        })
        .collect();
    format!("{}\n", quoted.join(","))
}

fn optional(number: Option<u32>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

fn three(numbers: [u32; 3]) -> String {
    numbers.map(|number| number.to_string()).join("x")
}

fn kernels_csv(findings: &Findings) -> String {
    let mut text =
        "name,short_name,family,grid,block,process,device,calls,total_ns,mean_ns,median_ns,min_ns,max_ns,std_ns,share,rank,recording\n"
            .to_owned();
    for row in &findings.kernels {
        let statistics = row.statistics;
        text.push_str(&line(&[
            row.name.clone(),
            row.short_name.clone(),
            row.family.clone(),
            row.shape.map(|shape| three(shape.grid)).unwrap_or_default(),
            row.shape.map(|shape| three(shape.block)).unwrap_or_default(),
            optional(row.place.process),
            optional(row.place.device),
            statistics.calls.to_string(),
            statistics.total_ns.to_string(),
            statistics.mean_ns.round().to_string(),
            statistics.median_ns.round().to_string(),
            statistics.min_ns.to_string(),
            statistics.max_ns.to_string(),
            statistics.std_ns.round().to_string(),
            statistics.share.to_string(),
            optional(row.place.origin.rank),
            optional(row.place.origin.recording),
        ]));
    }
    text
}

fn regions_csv(findings: &Findings) -> String {
    let mut text = "path,kind,parent,depth,process,device,instances,open,wall_ns,gpu_inclusive_ns,gpu_exclusive_ns,\
                    gpu_busy_ns,gpu_span_ns,kernels_inclusive,kernels_exclusive,launches,copies,copy_ns,graphs,graph_ns,rank,recording\n"
        .to_owned();
    for row in &findings.regions {
        text.push_str(&line(&[
            row.path.clone(),
            row.kind.to_owned(),
            row.parent.clone().unwrap_or_default(),
            row.depth.to_string(),
            optional(row.place.process),
            optional(row.place.device),
            row.instances.to_string(),
            row.open.to_string(),
            row.wall_ns.to_string(),
            row.gpu_inclusive_ns.to_string(),
            row.gpu_exclusive_ns.to_string(),
            row.gpu_busy_ns.to_string(),
            row.gpu_span_ns.map(|span| span.to_string()).unwrap_or_default(),
            row.kernels_inclusive.to_string(),
            row.kernels_exclusive.to_string(),
            row.launches.to_string(),
            row.copies.to_string(),
            row.copy_ns.to_string(),
            row.graphs.to_string(),
            row.graph_ns.to_string(),
            optional(row.place.origin.rank),
            optional(row.place.origin.recording),
        ]));
    }
    text
}
