//! One screen, one page and tables of the same run.

use crate::browser::pages::{self, Told};
fn toy() -> Told {
    pages::real("toy-2025.3.1.sqlite", Some("toy-kernel.ncu-rep.gz"))
}

#[test]
fn one_screen() {
    let told = toy();
    let files = ["report.html             everything, for a browser".to_owned()];
    let text = report::summary(&told.page(), &files);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    assert!(text.lines().count() <= 50, "{text}");
    insta::assert_snapshot!(text);
    insta::assert_snapshot!("nothing_at_all", report::summary(&Told::default().page(), &[]));
}

#[test]
fn one_page() {
    insta::assert_snapshot!(report::stakeholder_markdown(&toy().page()));
}

/// Every table is rectangular, and has the rows of what it is made from.
#[test]
fn tables() {
    let told = toy();
    let page = told.page();
    let documents = report::documents(&page, &[report::Format::Csv]);
    let tables: Vec<(&str, String)> = documents
        .iter()
        .filter_map(|document| Some((document.name.strip_prefix("csv/")?, written(document))))
        .collect();
    let analysis = told.analysis.as_ref().unwrap();
    let rows = |name: &str| {
        let (_, text) =
            tables.iter().find(|(other, _)| *other == name).unwrap_or_else(|| panic!("no {name}"));
        let mut reader = csv_rows(text);
        let header = reader.remove(0);
        assert!(reader.iter().all(|row| row.len() == header.len()), "{name}");
        (header, reader.len())
    };
    assert_eq!(rows("kernels.csv").1, analysis.kernels.len());
    assert_eq!(rows("regions.csv").1, analysis.regions.len());
    assert_eq!(rows("idle.csv").1, analysis.idle.len());
    assert_eq!(rows("calls.csv").1, analysis.api.len());
    assert_eq!(rows("bounds.csv").1, told.insight.joined.as_ref().unwrap().kernels.len());
    assert_eq!(rows("roofline.csv").1, told.insight.roofline.len());
    assert_eq!(
        rows("overhead.csv"),
        (["region", "instances", "rehearsed_ns", "profiled_ns", "ratio"].map(str::to_owned).to_vec(), 1)
    );
    assert!(!tables.iter().any(|(name, _)| *name == "operators.csv"), "a table without rows is no file");
    let headers: Vec<String> =
        tables.iter().map(|(name, text)| format!("{name}: {}", text.lines().next().unwrap())).collect();
    insta::assert_snapshot!("headers", headers.join("\n"));
}

/// A row of NDJSON says what the row of the CSV says: the same columns, numbers as numbers, and null where the cell
/// is empty.
#[test]
fn rows_as_objects() {
    for told in [toy(), pages::hostile(), pages::of_trace("unlike", pages::unlike(6_000))] {
        let page = told.page();
        let tables = report::documents(&page, &[report::Format::Csv]);
        let objects = report::documents(&page, &[report::Format::Ndjson]);
        let is_table = |document: &&report::Document<'_>| document.name.contains('/');
        let (tables, objects): (Vec<_>, Vec<_>) =
            (tables.iter().filter(is_table).collect(), objects.iter().filter(is_table).collect());
        assert!(tables.len() > 4 && tables.len() == objects.len());
        for (table, document) in tables.into_iter().zip(objects) {
            let name = table.name.replace("csv", "ndjson");
            assert_eq!(document.name, name);
            let mut rows = csv_rows(&written(table));
            let header = rows.remove(0);
            let text = written(document);
            assert_eq!(text.lines().count(), rows.len(), "{name}");
            for (row, line) in rows.iter().zip(text.lines()) {
                let object: serde_json::Value = serde_json::from_str(line).unwrap();
                let object = object.as_object().unwrap();
                assert_eq!(object.keys().collect::<Vec<_>>(), header.iter().collect::<Vec<_>>(), "{name}");
                for (cell, (key, value)) in row.iter().zip(object) {
                    assert!(is_same(cell, value), "{name}: {key}: {cell} is not {value}");
                }
            }
        }
    }
}

fn is_same(cell: &str, value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Null => cell.is_empty(),
        // The reader of JSON is right but for the last bit.
        serde_json::Value::Number(number) => {
            let (cell, number) = (cell.parse::<f64>().unwrap(), number.as_f64().unwrap());
            (cell - number).abs() <= cell.abs() * f64::EPSILON
        }
        // No formula to a spreadsheet, no command to a terminal.
        serde_json::Value::String(text) => cell.strip_prefix('\'').unwrap_or(cell) == report::printable(text),
        serde_json::Value::Bool(truth) => cell == truth.to_string(),
        list => serde_json::from_str::<serde_json::Value>(cell).ok().as_ref() == Some(list),
    }
}

fn written(document: &report::Document<'_>) -> String {
    let mut out = Vec::new();
    let report::Body::Stream(write) = &document.body else { panic!("{document:?} is no table") };
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// docs/report-json.md has a section for each of these, with every field.
#[test]
fn every_field_is_documented() {
    let told = toy();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report-json.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (shared, sections) = text.split_once("\n## ").unwrap();
    let shared = shared.rsplit_once("**times**").unwrap().1;
    let mut missing = Vec::new();
    for (part, value) in [
        ("analysis", serde_json::to_value(told.analysis.as_ref().unwrap()).unwrap()),
        ("insight", serde_json::to_value(&told.insight).unwrap()),
    ] {
        let mut fields = std::collections::BTreeSet::new();
        collect(part, &value, &mut fields);
        for (object, field) in fields {
            let is_of = |section: &&str| {
                section.lines().next().is_some_and(|title| title.contains(&format!("`{object}`")))
            };
            let section = sections.split("\n## ").find(is_of);
            let said = |text: &str| text.contains(&format!("`{field}`"));
            let found =
                section.is_some_and(|section| said(section) || section.contains("**times**") && said(shared));
            missing.extend((!found).then(|| format!("{object} {field}")));
        }
    }
    assert!(missing.is_empty(), "not in docs/report-json.md:\n{}", missing.join("\n"));
}

#[test]
fn every_cause_is_documented() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/analysis.md");
    let text = std::fs::read_to_string(path).unwrap();
    let section = text.split_once("\n## Findings\n").unwrap().1.split("\n## ").next().unwrap();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let missing: Vec<&str> = analysis::Cause::ALL
        .iter()
        .map(|cause| cause.as_str())
        .filter(|cause| {
            !rows.iter().any(|row| row.split(" | ").next().unwrap().contains(&format!("`{cause}`")))
        })
        .collect();
    assert!(missing.is_empty(), "not in docs/analysis.md: {missing:?}");
}

/// Objects, `analysis.kernels[]`, and their fields.
fn collect(path: &str, value: &serde_json::Value, fields: &mut std::collections::BTreeSet<(String, String)>) {
    match value {
        // Its fields are names of the program's.
        serde_json::Value::Object(_) if path.ends_with(".domains") => {}
        serde_json::Value::Object(object) => {
            for (name, value) in object {
                fields.insert((path.to_owned(), name.clone()));
                collect(&format!("{path}.{name}"), value, fields);
            }
        }
        serde_json::Value::Array(values) => {
            values.iter().for_each(|value| collect(&format!("{path}[]"), value, fields));
        }
        _ => {}
    }
}

/// A reader of CSV that knows nothing of the writer.
fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => cell.push(characters.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    rows
}
