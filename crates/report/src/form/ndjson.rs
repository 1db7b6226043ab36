//! Tables for programs that read line by line: one JSON object per row, whose fields are the columns. Times are
//! nanoseconds, numbers are numbers, and missing values are `null`.

use std::io::{self, Write};

use serde_json::Number;

use crate::json::json_line;
use crate::tables::{Cell, Tabular, View};

pub(crate) fn write_ndjson(table: &dyn Tabular, out: &mut dyn Write) -> io::Result<()> {
    let (columns, heads) = (table.columns(View::Programs), table.heads());
    let names: Vec<String> = columns.iter().map(|at| json_line(&heads[*at].key)).collect();
    table.each(&columns, &mut |cells| {
        for (at, (name, cell)) in names.iter().zip(cells).enumerate() {
            write!(out, "{}{name}:{}", if at == 0 { "{" } else { "," }, value(cell))?;
        }
        out.write_all(b"}\n")
    })
}

fn value(cell: &Cell<'_>) -> String {
    let real = |number: f64| Number::from_f64(number).map_or("null".to_owned(), |number| number.to_string());
    match cell {
        Cell::None | Cell::Stack(_) => "null".to_owned(),
        Cell::Count(count) => count.to_string(),
        Cell::Whole(whole) => whole.to_string(),
        Cell::Truth(truth) => truth.to_string(),
        Cell::Nanoseconds(ns) if ns.is_finite() => (ns.round() as i64).to_string(),
        Cell::Nanoseconds(number) | Cell::Real(number) => real(*number),
        Cell::Text(text) | Cell::Name { whole: text, .. } => json_line(text),
        // JSON already.
        Cell::List(text) => text.clone(),
    }
}
