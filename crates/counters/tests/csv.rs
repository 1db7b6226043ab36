//! The long form of the CSV, rows of JSON, and telling files apart.

use std::path::Path;

use counters::{
    CountersError, MessageKind, Subject, Value, open, read_ncu_csv_bytes, read_ncu_report_bytes, rows,
};

use crate::support::{CAPTURES, data};

/// Labels of the details page with the metrics they stand for.
const LABELS: [(&str, &str); 6] = [
    ("Duration", "gpu__time_duration.sum"),
    ("DRAM Frequency", "dram__cycles_elapsed.avg.per_second"),
    ("Memory Throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"),
    ("Elapsed Cycles", "gpc__cycles_elapsed.max"),
    ("Registers Per Thread", "launch__registers_per_thread"),
    ("Shared Memory Configuration Size", "launch__shared_mem_config_size"),
];

#[test]
fn details_page() {
    let csv = read_ncu_csv_bytes(&data("toy-kernel.details.csv"), Path::new("details.csv")).unwrap();
    let report = read_ncu_report_bytes(&data("toy-kernel.ncu-rep"), Path::new("toy")).unwrap();
    assert_eq!(csv.notes, Vec::<String>::new());
    assert_eq!(csv.results.len(), 36);
    for (printed, ours) in csv.results.iter().zip(&report.results) {
        assert_eq!(printed.subject.name(), ours.subject.name());
        assert_eq!(printed.region_paths(), ours.region_paths());
        assert_eq!((printed.device, printed.compute_capability), (Some(0), Some((9, 0))));
        for (label, name) in LABELS {
            let (printed, ours) = (csv.value(printed, label).unwrap(), report.value(ours, name).unwrap());
            let (printed, ours) = (printed.as_f64().unwrap(), ours.as_f64().unwrap());
            assert!((printed - ours).abs() <= ours.abs() * 0.005 + 0.005, "{label}: {printed} {ours}");
            assert_eq!(csv.unit(label), report.unit(name), "{label}");
        }
        assert!(printed.metrics.iter().all(|metric| metric.value.is_some() || metric.instances == 0));
        assert!(csv.value(printed, "Preferred Cluster Size").is_none(), "n/a is absent");
        let sections: Vec<&str> = printed.sections.iter().map(|section| section.name.as_str()).collect();
        assert_eq!(sections.len(), 3, "{sections:?}");
        assert_eq!(printed.rules.len(), ours.rules.len());
        for rule in &ours.rules {
            let said = printed.rules.iter().find(|other| other.identifier == rule.identifier).unwrap();
            assert_eq!(said.messages[0].kind, rule.messages[0].kind);
            match (said.speedup, rule.speedup) {
                (Some(said), Some(rule)) => {
                    assert_eq!(said.kind, rule.kind);
                    assert!((said.percent - rule.percent).abs() <= 0.0051);
                }
                (said, rule) => assert_eq!(said, rule),
            }
        }
    }
    assert_eq!(csv.results[1].rules[0].messages[0].kind, MessageKind::Optimization);
}

#[test]
fn rows_of_json() {
    for capture in CAPTURES {
        let report = read_ncu_report_bytes(&data(&format!("{capture}.ncu-rep")), Path::new(capture)).unwrap();
        let rows = serde_json::to_value(rows(&report)).unwrap();
        for (row, result) in rows.as_array().unwrap().iter().zip(&report.results) {
            assert_eq!(row["metrics"].as_object().unwrap().len(), result.metrics.len());
            for metric in &result.metrics {
                let name = report.metric_names.name(metric.name);
                let cell = &row["metrics"][name];
                match &metric.value {
                    None => assert!(cell["value"].is_null()),
                    Some(Value::Text(text)) => assert_eq!(cell["value"], **text),
                    Some(Value::Integer(value)) => assert_eq!(cell["value"], *value),
                    Some(Value::Float(value)) => assert_eq!(cell["value"].as_f64(), Some(*value)),
                }
                assert_eq!(cell["unit"].as_str().unwrap_or_default(), report.unit(name));
            }
        }
        let kernel = matches!(report.results[0].subject, Subject::Kernel(_));
        let first = &rows[0];
        assert_eq!(first["kind"], if kernel { "kernel" } else { "range" });
        assert_eq!(first["region_path"], ":A");
        assert_eq!(first["process_name"], "toy");
        assert_eq!(first["metrics"]["gpu__time_duration.sum"]["unit"], "ns");
        assert_eq!(first["grid"].is_array(), kernel);
        assert_eq!(first["nvtx"]["threads"][0]["stacks"][0]["ranges"][0]["name"], "A");
    }
}

#[test]
fn told_by_what_is_in_it() {
    let folder = tempfile::Builder::new().prefix("rf-").tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let report = data("toy-range.ncu-rep");
    let csv = [b"the program said this\n".as_slice(), &data("toy-range.raw.csv")].concat();
    // Names are of no account.
    assert_eq!(open(&write("a.csv", &report)).unwrap().results.len(), 12);
    assert_eq!(open(&write("b.ncu-rep", &csv)).unwrap().results.len(), 12);
    assert!(matches!(open(&write("c", b"")), Err(CountersError::Empty { .. })));
    assert!(matches!(open(&write("d", b"SQLite format 3\0")), Err(CountersError::Unknown { .. })));
    assert!(matches!(open(&folder.path().join("none")), Err(CountersError::Input(_))));
    assert!(matches!(open(folder.path()), Err(CountersError::Input(_))));
}
