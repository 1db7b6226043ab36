//! Tables for other programs, written as they are made. Times are nanoseconds.
//!
//! A spreadsheet takes a cell that begins with `=` for a formula: text that a program chose is kept from that.

use std::io::{self, Write};

use crate::printable::printable;
use crate::tables::{Cell, Tabular, View};

/// A heading, then one row after another.
pub(crate) fn write_csv(table: &dyn Tabular, out: &mut dyn Write) -> io::Result<()> {
    let (columns, heads) = (table.columns(View::Programs), table.heads());
    let names: Vec<Cell<'_>> = columns.iter().map(|at| heads[*at].key.as_ref().into()).collect();
    line(&names, out)?;
    table.each(&columns, &mut |cells| line(cells, out))
}

pub(crate) fn line(cells: &[Cell<'_>], out: &mut dyn Write) -> io::Result<()> {
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        write(cell, out)?;
    }
    out.write_all(b"\n")
}

fn write(cell: &Cell<'_>, out: &mut dyn Write) -> io::Result<()> {
    match cell {
        Cell::None | Cell::Stack(_) => Ok(()),
        Cell::Count(count) => write!(out, "{count}"),
        Cell::Whole(whole) => write!(out, "{whole}"),
        Cell::Truth(truth) => write!(out, "{truth}"),
        Cell::Nanoseconds(ns) if ns.is_finite() => write!(out, "{}", ns.round() as i64),
        Cell::Real(number) if number.is_finite() => write!(out, "{number}"),
        // Not a finite number: empty.
        Cell::Nanoseconds(_) | Cell::Real(_) => Ok(()),
        Cell::Text(text) | Cell::Name { whole: text, .. } => quoted(&harmless(text), out),
        // Begins with a bracket.
        Cell::List(text) => quoted(text, out),
    }
}

fn quoted(text: &str, out: &mut dyn Write) -> io::Result<()> {
    match text.contains([',', '"', '\n', '\r']) {
        true => write!(out, "\"{}\"", text.replace('"', "\"\"")),
        false => out.write_all(text.as_bytes()),
    }
}

/// Text that no spreadsheet takes for a formula and no terminal for a command.
fn harmless(text: &str) -> String {
    let starts_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = printable(text);
    if starts_formula { format!("'{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(cells: &[Cell<'_>]) -> String {
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
            assert_eq!(written(&[text.into()]), format!("{cell}\n"));
        }
    }

    #[test]
    fn numbers_stay_numbers() {
        let reals = [-0.25, f64::NAN, f64::INFINITY].map(Cell::Real);
        let cells = [[Cell::Whole(-5), Cell::Nanoseconds(1.5)].as_slice(), &reals].concat();
        assert_eq!(written(&cells), "-5,2,-0.25,,\n");
    }
}
