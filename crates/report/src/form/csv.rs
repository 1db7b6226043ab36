//! Tables for other programs, written as they are made. Times are nanoseconds.
//!
//! A spreadsheet takes a cell that begins with `=` for a formula: text that a program chose is kept from that.

use std::io::{self, Write};

use analysis::{Families, GpuRegion, IdleRow, KernelRow, MoreRows, Overlap, every_idle_row, every_region};
use serde::Serialize;
use serde_json::{Value, json};

use crate::page::Page;
use crate::printable::printable;

type Writer<'p> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'p>;

/// A table that has rows.
pub struct CsvTable<'p> {
    pub name: &'static str,
    write: Writer<'p>,
}

impl std::fmt::Debug for CsvTable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CsvTable").field("name", &self.name).finish_non_exhaustive()
    }
}

impl CsvTable<'_> {
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        (self.write)(out)
    }
}

/// Every table of a run that has rows.
pub fn csv_tables<'p>(page: &'p Page<'_>) -> Vec<CsvTable<'p>> {
    let mut tables = Vec::new();
    let mut add = |name, has_rows: bool, write: Writer<'p>| {
        if has_rows {
            tables.push(CsvTable { name, write });
        }
    };
    if let Some(findings) = page.findings {
        let more = |name: &str, more: Option<MoreRows>| {
            more.map(
                |more| json!({ name: left_out(more.rows), "calls": more.calls, "total_ns": more.total_ns }),
            )
        };
        let stages = findings.more_stages.map(|more| {
            json!({ "region": left_out(more.rows), "times": { "count": more.calls, "total_ns": more.total_ns } })
        });
        let operators = findings.more_operators.map(|more| {
            let mut row = json!(more);
            row["name"] = left_out(more.operators).into();
            row
        });
        let api = more("name", findings.more_api);
        add("kernels.csv", !findings.kernels.is_empty(), Box::new(|out| kernels(page, out)));
        add("regions.csv", !findings.regions.is_empty(), Box::new(|out| regions(page, out)));
        add(
            "stages.csv",
            !findings.stages.is_empty(),
            Box::new(move |out| rows(&findings.stages, &stages, out)),
        );
        let has_operators = !findings.operators.is_empty();
        add("operators.csv", has_operators, Box::new(move |out| rows(&findings.operators, &operators, out)));
        add("idle.csv", !findings.idle.is_empty(), Box::new(|out| idle(page, out)));
        add("copies.csv", !findings.memcpy.is_empty(), Box::new(|out| rows(&findings.memcpy, &None, out)));
        add("calls.csv", !findings.api.is_empty(), Box::new(move |out| rows(&findings.api, &api, out)));
    }
    let insight = page.insight;
    if let Some(joined) = &insight.joined {
        add("bounds.csv", !joined.kernels.is_empty(), Box::new(|out| rows(&joined.kernels, &None, out)));
    }
    add("roofline.csv", !insight.roofline.is_empty(), Box::new(|out| rows(&insight.roofline, &None, out)));
    add(
        "efficiency.csv",
        !insight.efficiency.is_empty(),
        Box::new(|out| rows(&insight.efficiency, &None, out)),
    );
    let has_advice = !insight.recommendations.is_empty();
    add("recommendations.csv", has_advice, Box::new(|out| rows(&insight.recommendations, &None, out)));
    add("overhead.csv", !insight.overhead.is_empty(), Box::new(|out| rows(&insight.overhead, &None, out)));
    tables
}

/// What stands where the name of a row would.
fn left_out(rows: u64) -> String {
    format!("({rows} more)")
}

/// What a cell holds.
pub(crate) enum Cell {
    /// A name or a sentence: anything at all.
    Text(String),
    /// A number, or a list that is no text of a program's.
    Plain(String),
}

impl Cell {
    pub(crate) fn number(number: impl ToString) -> Self {
        Self::Plain(number.to_string())
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Empty where there is none; what is no finite number is none.
    pub(crate) fn float(number: f64) -> Self {
        Self::Plain(if number.is_finite() { number.to_string() } else { String::new() })
    }

    fn optional(number: Option<impl ToString>) -> Self {
        Self::Plain(number.map(|number| number.to_string()).unwrap_or_default())
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let text = match self {
            Self::Text(text) => &harmless(text),
            Self::Plain(text) => text,
        };
        match text.contains([',', '"', '\n', '\r']) {
            true => write!(out, "\"{}\"", text.replace('"', "\"\"")),
            false => out.write_all(text.as_bytes()),
        }
    }
}

/// Text that no spreadsheet takes for a formula and no terminal for a command.
fn harmless(text: &str) -> String {
    let starts_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = printable(text);
    if starts_formula { format!("'{text}") } else { text }
}

pub(crate) fn line(cells: &[Cell], out: &mut dyn Write) -> io::Result<()> {
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        cell.write(out)?;
    }
    out.write_all(b"\n")
}

fn heading(names: &[&str], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", names.join(","))
}

/// The columns of a table whose rows are flattened: what lies in a field has its name before its own
/// (`steady.p50_ns`), and a list is one cell of JSON.
struct Columns(Vec<String>);

impl Columns {
    /// In the order in which they first appear.
    fn of<T: Serialize>(rows: &[T]) -> Self {
        let mut columns: Vec<String> = Vec::new();
        for (name, _) in rows.iter().flat_map(cells) {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        // A field that is absent in one row and a group in another is told by the group.
        let groups: Vec<String> = columns
            .iter()
            .filter(|name| columns.iter().any(|other| is_within(other, name)))
            .cloned()
            .collect();
        columns.retain(|name| !groups.contains(name));
        Self(columns)
    }

    fn write<T: Serialize>(&self, row: &T, out: &mut dyn Write) -> io::Result<()> {
        let mut cells = cells(row);
        let take = |column: &String| {
            let at = cells.iter().position(|(name, _)| name == column);
            at.map_or(Cell::Plain(String::new()), |at| cells.swap_remove(at).1)
        };
        line(&self.0.iter().map(take).collect::<Vec<_>>(), out)
    }
}

fn rows<T: Serialize>(rows: &[T], more: &Option<Value>, out: &mut dyn Write) -> io::Result<()> {
    let columns = Columns::of(rows);
    heading(&columns.0.iter().map(String::as_str).collect::<Vec<_>>(), out)?;
    rows.iter().try_for_each(|row| columns.write(row, out))?;
    more.iter().try_for_each(|more| columns.write(more, out))
}

fn cells<T: Serialize>(row: &T) -> Vec<(String, Cell)> {
    let mut cells = Vec::new();
    flatten("", serde_json::to_value(row).unwrap_or_default(), &mut cells);
    cells
}

/// Whether a column is one of a group's.
fn is_within(column: &str, group: &str) -> bool {
    column.strip_prefix(group).is_some_and(|rest| rest.starts_with(GROUP))
}

const GROUP: char = '.';

fn flatten(name: &str, value: Value, cells: &mut Vec<(String, Cell)>) {
    let cell = match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = if name.is_empty() { field } else { format!("{name}{GROUP}{field}") };
                flatten(&name, value, cells);
            }
            return;
        }
        Value::Null => Cell::Plain(String::new()),
        Value::String(text) => Cell::Text(text),
        // Begins with a bracket, and JSON has no line breaks in its strings.
        Value::Array(_) => Cell::Text(value.to_string()),
        value => Cell::number(value),
    };
    cells.push((name.to_owned(), cell));
}

fn three(numbers: [u32; 3]) -> String {
    numbers.map(|number| number.to_string()).join("x")
}

const KERNEL_COLUMNS: [&str; 17] = [
    "name",
    "short_name",
    "family",
    "grid",
    "block",
    "process",
    "device",
    "calls",
    "total_ns",
    "mean_ns",
    "median_ns",
    "min_ns",
    "max_ns",
    "std_ns",
    "share",
    "rank",
    "recording",
];

fn kernels(page: &Page<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(findings) = page.findings else { return Ok(()) };
    heading(&KERNEL_COLUMNS, out)?;
    findings.kernels.iter().try_for_each(|row| line(&kernel_cells(row), out))?;
    let Some(more) = findings.more_kernels else { return Ok(()) };
    let all = findings.kernel_ns();
    let share = more.total_ns as f64 / all.max(1) as f64;
    let mut cells: Vec<Cell> = KERNEL_COLUMNS.iter().map(|_| Cell::Plain(String::new())).collect();
    (cells[0], cells[7], cells[8], cells[14]) = (
        Cell::Text(left_out(more.rows)),
        Cell::number(more.calls),
        Cell::number(more.total_ns),
        Cell::float(share),
    );
    line(&cells, out)
}

fn kernel_cells(row: &KernelRow) -> [Cell; 17] {
    let statistics = row.statistics;
    [
        Cell::text(&row.name),
        Cell::text(&row.short_name),
        Cell::text(&row.family),
        Cell::optional(row.shape.map(|shape| three(shape.grid))),
        Cell::optional(row.shape.map(|shape| three(shape.block))),
        Cell::optional(row.place.process),
        Cell::optional(row.place.device),
        Cell::number(statistics.calls),
        Cell::number(statistics.total_ns),
        Cell::float(statistics.mean_ns.round()),
        Cell::float(statistics.median_ns.round()),
        Cell::number(statistics.min_ns),
        Cell::number(statistics.max_ns),
        Cell::float(statistics.std_ns.round()),
        Cell::float(statistics.share),
        Cell::optional(row.place.origin.rank),
        Cell::optional(row.place.origin.recording),
    ]
}

const REGION_COLUMNS: [&str; 22] = [
    "path",
    "kind",
    "parent",
    "depth",
    "process",
    "device",
    "instances",
    "open",
    "wall_ns",
    "gpu_inclusive_ns",
    "gpu_exclusive_ns",
    "gpu_busy_ns",
    "gpu_span_ns",
    "kernels_inclusive",
    "kernels_exclusive",
    "launches",
    "copies",
    "copy_ns",
    "graphs",
    "graph_ns",
    "rank",
    "recording",
];

/// All of them, also those that other forms leave out: those are worked out again, since nothing holds them.
fn regions(page: &Page<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(findings) = page.findings else { return Ok(()) };
    heading(&REGION_COLUMNS, out)?;
    match page.trace.filter(|_| !findings.more_regions.is_empty()) {
        Some(trace) => every_region(trace, findings.scope, |row| line(&region_cells(&row), out)),
        None => findings.regions.iter().try_for_each(|row| line(&region_cells(row), out)),
    }
}

fn region_cells(row: &GpuRegion) -> [Cell; 22] {
    [
        Cell::text(&row.path),
        Cell::text(row.kind),
        Cell::text(row.parent.as_deref().unwrap_or_default()),
        Cell::number(row.depth),
        Cell::optional(row.place.process),
        Cell::optional(row.place.device),
        Cell::number(row.instances),
        Cell::number(row.open),
        Cell::number(row.wall_ns),
        Cell::number(row.gpu_inclusive_ns),
        Cell::number(row.gpu_exclusive_ns),
        Cell::number(row.gpu_busy_ns),
        Cell::optional(row.gpu_span_ns),
        Cell::number(row.kernels_inclusive),
        Cell::number(row.kernels_exclusive),
        Cell::number(row.launches),
        Cell::number(row.copies),
        Cell::number(row.copy_ns),
        Cell::number(row.graphs),
        Cell::number(row.graph_ns),
        Cell::optional(row.place.origin.rank),
        Cell::optional(row.place.origin.recording),
    ]
}

const IDLE_COLUMNS: [&str; 25] = [
    "device",
    "device_name",
    "region",
    "busy_ns",
    "idle_ns",
    "busy_share",
    "causes.host_ns",
    "causes.sync_ns",
    "causes.copy_ns",
    "causes.launch_ns",
    "causes.true_gap_ns",
    "causes.unknown_ns",
    "cause_shares",
    "queue_delay_mean_ns",
    "queue_delay_max_ns",
    "launch_ahead_mean",
    "launch_ahead_max",
    "concurrency",
    "overlap.copy_ns",
    "overlap.copy_beside_kernels_ns",
    "overlap.communication_ns",
    "overlap.communication_beside_kernels_ns",
    "in_ranges_ns",
    "rank",
    "recording",
];

/// The same of idle time.
fn idle(page: &Page<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(findings) = page.findings else { return Ok(()) };
    heading(&IDLE_COLUMNS, out)?;
    let Some(trace) = page.trace.filter(|_| findings.more_idle > 0) else {
        return findings.idle.iter().try_for_each(|row| line(&idle_cells(row), out));
    };
    let devices = findings.idle.iter().filter(|row| row.region.is_none());
    devices.clone().try_for_each(|row| line(&idle_cells(row), out))?;
    // Which kernels communicate tells of devices alone.
    every_idle_row(trace, &Families::default(), |row| match row.region {
        Some(_) => line(&idle_cells(&row), out),
        None => Ok(()),
    })
}

fn idle_cells(row: &IdleRow) -> Vec<Cell> {
    let overlap = |of: fn(&Overlap) -> i64| Cell::optional(row.overlap.as_ref().map(of));
    let shares: Vec<String> =
        row.cause_shares.iter().map(|(cause, share)| format!("[\"{cause}\",{share:?}]")).collect();
    let mut cells = vec![
        Cell::number(row.device),
        Cell::text(row.device_name.as_deref().unwrap_or_default()),
        Cell::text(row.region.as_deref().unwrap_or_default()),
        Cell::number(row.busy_ns),
        Cell::number(row.idle_ns),
        Cell::float(row.busy_share),
    ];
    cells.extend(row.causes.times().map(Cell::number));
    cells.extend([
        Cell::Plain(format!("[{}]", shares.join(","))),
        Cell::float(row.queue_delay_mean_ns.round()),
        Cell::number(row.queue_delay_max_ns),
        Cell::float(row.launch_ahead_mean),
        Cell::number(row.launch_ahead_max),
        Cell::optional(row.concurrency.filter(|number| number.is_finite())),
        overlap(|overlap| overlap.copy_ns),
        overlap(|overlap| overlap.copy_beside_kernels_ns),
        overlap(|overlap| overlap.communication_ns),
        overlap(|overlap| overlap.communication_beside_kernels_ns),
        Cell::optional(row.in_ranges_ns),
        Cell::optional(row.origin.rank),
        Cell::optional(row.origin.recording),
    ]);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(cells: &[Cell]) -> String {
        let mut out = Vec::new();
        line(cells, &mut out).unwrap_or_default();
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn no_text_is_a_formula() {
        for (text, cell) in [
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\\t=1"),
            ("\r=1", "'\\r=1"),
            ("a\u{1b}[2J", "a\\u{1b}[2J"),
            ("kernel<a, b>", "\"kernel<a, b>\""),
            ("'quoted", "'quoted"),
        ] {
            assert_eq!(written(&[Cell::text(text)]), format!("{cell}\n"));
        }
    }

    #[test]
    fn numbers_stay_numbers() {
        let cells = [Cell::number(-5), Cell::float(-0.25), Cell::float(f64::NAN), Cell::float(f64::INFINITY)];
        assert_eq!(written(&cells), "-5,-0.25,,\n");
    }
}
