//! A table as the page reads it: columns that say how they are shown. `tables.js` knows the
//! kinds, and nothing about kernels or regions.

use serde_json::{Value, json};

use super::texts::Texts;
use crate::tables::{Cell, Head, Kind, Tabular, View};
use crate::units::{count, counted};

/// More rows make a page slow to open; the other files have them all.
const MOST_ROWS: usize = 10_000;

pub(crate) fn page_table(table: &dyn Tabular, texts: &mut Texts) -> Value {
    let (shown, heads, about) = (table.columns(View::Page), table.heads(), table.about());
    let rows = table.len().min(MOST_ROWS);
    let columns: Vec<Value> =
        shown.iter().map(|at| column(heads[*at], texts, (0..rows).map(|row| table.cell(row, *at)))).collect();
    let sorted = about.sorted.and_then(|key| shown.iter().position(|at| heads[*at].key == key));
    json!({
        "caption": about.caption,
        "rows": rows,
        "columns": columns,
        "sorted": sorted,
        "absent": about.absent,
        "notes": notes(table, rows),
    })
}

fn notes(table: &dyn Tabular, rows: usize) -> Vec<String> {
    let about = table.about();
    let more = about.more.as_ref().filter(|more| !more.told.is_empty());
    let more = more.map(|more| format!("Left out: {}{}.", counted(more.rows, "more row"), more.told));
    let said: Vec<String> = about.notes.iter().cloned().chain(more).collect();
    let mut notes: Vec<String> = (!said.is_empty()).then(|| said.join(" ")).into_iter().collect();
    if table.len() > rows {
        notes.push(format!(
            "The first {} of {} rows are shown; `analysis.json` has more.",
            count(rows as u64),
            count(table.len() as u64)
        ));
    }
    notes
}

fn column<'r>(head: &Head, texts: &mut Texts, cells: impl Iterator<Item = Cell<'r>>) -> Value {
    let absent = head.absent.unwrap_or_default();
    let mut column = json!({ "title": head.title, "kind": name(head.kind) });
    match head.kind {
        Kind::Name | Kind::Prose => {
            let (values, full): (Vec<u32>, Vec<u32>) =
                cells.map(|cell| name_ids(&cell, absent, texts)).unzip();
            column["values"] = values.clone().into();
            if full != values {
                column["full"] = full.into();
            }
            if head.found {
                column["find"] = true.into();
            }
        }
        Kind::Text | Kind::List => {
            let ids: Vec<u32> = cells.map(|cell| texts.id(cell.text().unwrap_or(absent))).collect();
            column["values"] = ids.into();
        }
        Kind::Stack => {
            let stacks =
                cells.map(|cell| if let Cell::Stack(stack) = cell { json!(stack) } else { Value::Null });
            column["values"] = stacks.collect();
        }
        kind => {
            let finite = |cell: Cell<'_>| cell.number().filter(|number| number.is_finite());
            column["values"] =
                cells.map(|cell| finite(cell).map_or(Value::Null, |n| rounded(kind, n))).collect();
        }
    }
    if !head.help.is_empty() {
        column["help"] = head.help.as_ref().into();
    }
    column
}

/// The name and the whole of it.
fn name_ids(cell: &Cell<'_>, absent: &str, texts: &mut Texts) -> (u32, u32) {
    match cell {
        Cell::Name { short, whole } => (texts.id(short), texts.id(whole)),
        cell => {
            let id = texts.id(cell.text().unwrap_or(absent));
            (id, id)
        }
    }
}

/// As `tables.js` calls it.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Count => "count",
        Kind::Time => "time",
        Kind::Share => "share",
        Kind::Part => "part",
        Kind::Percent => "percent",
        Kind::Bytes => "bytes",
        Kind::Rate => "rate",
        Kind::Speed | Kind::Operations => "speed",
        Kind::Number(_) | Kind::Id => "number",
        Kind::Times => "times",
        Kind::Text | Kind::List => "text",
        Kind::Name | Kind::Prose => "name",
        Kind::Stack => "stack",
    }
}

/// As many digits as are ever shown.
fn rounded(kind: Kind, number: f64) -> Value {
    let places = match kind {
        Kind::Share | Kind::Part => 1e6,
        Kind::Percent | Kind::Number(_) | Kind::Id | Kind::Times => 1e4,
        _ => 1.0,
    };
    let rounded = (number * places).round() / places;
    // A whole number without its `.0`; JSON has no others than finite ones.
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 {
        Value::from(rounded as i64)
    } else {
        Value::from(rounded)
    }
}
