//! Real captures, against what ncu printed of them and what NVIDIA's own reader says.

use std::path::Path;

use counters::{Measured, NvtxRange, Report, Subject, Value, read_ncu_csv_bytes, read_ncu_report_bytes};

use crate::support::{CAPTURES, compare, data, ncu_report};

fn report(capture: &str) -> Report {
    let report = read_ncu_report_bytes(&data(&format!("{capture}.ncu-rep")), Path::new(capture)).unwrap();
    assert_eq!((&report.notes, &report.damage), (&Vec::new(), &None), "{capture} is whole");
    report
}

/// Cells as they stand, by a reader of CSV that knows nothing of ours.
fn cells(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let row = rows.last_mut().unwrap();
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                row.last_mut().unwrap().push('"');
                characters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => rows.push(vec![String::new()]),
            c => row.last_mut().unwrap().push(c),
        }
    }
    rows.retain(|row| row.len() > 1);
    rows
}

#[test]
fn every_cell_of_the_raw_page() {
    let (mut numbers, mut units) = (0, 0);
    for capture in CAPTURES {
        let report = report(capture);
        let text = String::from_utf8(data(&format!("{capture}.raw.csv"))).unwrap();
        let rows = cells(&text);
        let [header, unit_row, results @ ..] = rows.as_slice() else { panic!("{capture}") };
        assert_eq!(results.len(), report.results.len());
        for (at, name) in header.iter().enumerate() {
            if report.metric_names.id(name).is_some() {
                assert_eq!(report.unit(name), unit_row[at], "unit of {name}");
                units += 1;
            }
        }
        for (at, (row, result)) in results.iter().zip(&report.results).enumerate() {
            for (name, cell) in header.iter().zip(row) {
                match described(name, at, result) {
                    Some(ours) => assert_eq!(ours, *cell, "{name}"),
                    None => numbers += usize::from(printed(&report, result, name, cell)),
                }
            }
        }
    }
    assert_eq!((numbers, units), (31_764, 1_557));
}

/// A metric as ncu prints it; whether it is a number.
fn printed(report: &Report, result: &Measured, name: &str, cell: &str) -> bool {
    match report.value(result, name) {
        None => {
            assert!(matches!(cell, "no data" | "n/a"), "{name}: {cell}");
            return false;
        }
        Some(Value::Text(text)) => {
            assert_eq!(&**text, cell, "{name}");
            return false;
        }
        Some(Value::Integer(value)) => assert_eq!(value.to_string(), cell.replace(',', ""), "{name}"),
        Some(Value::Float(value)) => {
            let plain = cell.replace(',', "");
            let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            let theirs: f64 = plain.parse().unwrap();
            let step = 0.5 * 10f64.powi(-(decimals as i32));
            // A whole number is printed without decimals; others are cut to two.
            assert!(
                (value - theirs).abs() <= step * 1.000_001 + value.abs() * 1e-15,
                "{name}: {value} {cell}"
            );
        }
    }
    true
}

/// The columns that are no metrics, as ncu prints them.
fn described(column: &str, at: usize, result: &Measured) -> Option<String> {
    let number = |value: Option<u32>| value.map_or("n/a".to_owned(), |value| value.to_string());
    let size = |[x, y, z]: [u64; 3]| format!("({x}, {y}, {z})");
    let kernel = match &result.subject {
        Subject::Kernel(kernel) => Some(kernel),
        _ => None,
    };
    Some(match column {
        "ID" => at.to_string(),
        "Process ID" => result.process.id.to_string(),
        "Process Name" => result.process.name.clone(),
        "Host Name" => result.process.host.clone().unwrap(),
        "Kernel Name" => kernel.map_or("range".to_owned(), |kernel| kernel.name.clone()),
        "Context" => number(result.context),
        "Stream" => number(result.subject.stream()),
        "Block Size" => size(kernel.unwrap().block),
        "Grid Size" => size(kernel.unwrap().grid),
        "Device" => number(result.device),
        "CC" => result.compute_capability.map(|(major, minor)| format!("{major}.{minor}")).unwrap(),
        column if column.starts_with("thread Domain:") => pushed(result),
        column if column.starts_with("Id:Domain:") => started(result),
        _ => return None,
    })
}

fn pushed(result: &Measured) -> String {
    let threads = result.nvtx.threads.iter().filter(|thread| Some(thread.id) == result.thread);
    let stacks = threads.flat_map(|thread| &thread.stacks);
    let ranges = stacks.flat_map(|(domain, stack)| stack.iter().map(move |range| shown(domain, range)));
    let ranges: String = ranges.map(|range| format!(" \"{range}\" ")).collect();
    if ranges.is_empty() { ranges } else { format!("{} {ranges}", result.thread.unwrap()) }
}

fn started(result: &Measured) -> String {
    let ranges = result.nvtx.started.iter();
    ranges.map(|(domain, range)| format!(" \"{}:{}\" ", range.id.unwrap(), shown(domain, range))).collect()
}

/// None of the program's ranges has a payload or a colour.
fn shown(domain: &str, range: &NvtxRange) -> String {
    assert_eq!((&range.payload, range.color, range.category), (&None, None, None));
    let domain = if domain.is_empty() { "<default domain>" } else { domain };
    let name = &range.name;
    let message = if range.registered { format!("REGISTERED:{name}") } else { "none:none".to_owned() };
    format!("{domain}:{name}:none:none:none:none:{message}")
}

/// Also of reports of your own: `RANGEFINDER_NCU_REPORTS=FOLDER`, with `--nocapture` to see how many.
#[test]
#[allow(clippy::print_stderr, reason = "what was compared is what it is run for")]
fn every_metric_as_their_reader_says() {
    let mut compared = 0;
    for capture in CAPTURES {
        let bytes = data(&format!("{capture}.ncu-rep"));
        let Some(theirs) = ncu_report("every_metric_as_their_reader_says", &bytes) else { return };
        compared += compare::same(&report(capture), &theirs);
    }
    assert_eq!(compared, 36 * 573 + 12 * 510 + 12 * 498);
    let own = std::env::var_os("RANGEFINDER_NCU_REPORTS").map(|folder| std::fs::read_dir(folder).unwrap());
    for path in own.into_iter().flatten().map(|entry| entry.unwrap().path()) {
        let bytes = std::fs::read(&path).unwrap();
        let report = read_ncu_report_bytes(&bytes, &path).unwrap();
        assert_eq!((&report.notes, &report.damage), (&Vec::new(), &None), "{}", path.display());
        let compared = compare::same(&report, &ncu_report("reports of one's own", &bytes).unwrap());
        eprintln!("{}: {} results, {compared} metrics equal", path.display(), report.results.len());
    }
}

#[test]
fn the_csv_reads_like_the_report() {
    for capture in CAPTURES {
        let report = report(capture);
        let csv = read_ncu_csv_bytes(&data(&format!("{capture}.raw.csv")), Path::new(capture)).unwrap();
        assert_eq!((&csv.notes, &csv.damage), (&Vec::new(), &None));
        assert_eq!(csv.results.len(), report.results.len());
        for (at, (ours, read)) in report.results.iter().zip(&csv.results).enumerate() {
            assert_eq!(ours.region_paths(), read.region_paths(), "{capture} {at}");
            assert_eq!(ours.started_paths(), read.started_paths(), "{capture} {at}");
            for column in
                ["Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "CC"]
            {
                assert_eq!(
                    described(column, at, ours),
                    described(column, at, read),
                    "{capture} {at} {column}"
                );
            }
            assert_eq!(ours.subject.kind(), read.subject.kind());
            for metric in &read.metrics {
                let name = csv.metric_names.name(metric.name);
                let (theirs, ours) = (metric.value.as_ref(), report.value(ours, name));
                match (ours.and_then(Value::as_f64), theirs.and_then(Value::as_f64)) {
                    (Some(ours), Some(theirs)) => {
                        assert!((ours - theirs).abs() <= 0.005_000_1 + ours.abs() * 1e-15, "{name}");
                    }
                    _ => assert_eq!(ours, theirs, "{name}"),
                }
                assert_eq!(report.unit(name), csv.unit(name), "{name}");
            }
        }
    }
}

#[test]
fn what_a_report_says_of_its_session() {
    for (capture, mode) in CAPTURES.into_iter().zip(["kernel", "range", "app-range"]) {
        let session = report(capture).session;
        assert_eq!(session.replay_mode.as_deref(), Some(mode));
        assert_eq!(session.cuda_version.as_deref(), Some("13.0"));
        assert!(session.ncu_version.unwrap().starts_with("2025.3.1.0"));
        assert!(session.command.unwrap().contains("--nvtx-include"));
        assert!(session.created.unwrap() > 1_700_000_000);
        let device = &session.devices[0];
        assert_eq!((device.id, device.name.as_str()), (0, "NVIDIA H200"));
        let cores = ("device__attribute_multiprocessor_count".to_owned(), Value::Integer(132));
        assert!(device.attributes.contains(&cores));
    }
}
