//! Samples in exports of nsys: stacks of a real one against SQLite's own count, and GPU metrics of a made one.
//! The scripts beside the data made them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use trace::{NONE, Quantity, SeriesSource, ThreadState, read_nsys};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

#[test]
fn stacks_of_a_real_export() {
    let trace = read_nsys(&data("cpu-samples-2023.4.4.sqlite")).unwrap();
    let stacks = &trace.stacks;
    assert_eq!((stacks.samples.len(), trace.threads.len(), trace.processes.len()), (108, 1, 1));
    assert_eq!((stacks.samples.at[0], trace.threads[0].id), (59_526_608, trace.processes[0].pid));
    assert!(stacks.samples.state.iter().all(|state| *state == ThreadState::Running));
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for stack in &stacks.samples.stack {
        assert_ne!(*stack, NONE);
        let text = |id| trace.strings.text(id);
        let mut frames: Vec<String> = stacks
            .frames_of(*stack)
            .map(|frame| format!("{}@{}", text(frame.function), text(frame.file)))
            .collect();
        frames.reverse();
        *found.entry(frames.join(" > ")).or_default() += 1;
    }
    let expected = std::fs::read_to_string(data("cpu-samples-2023.4.4.tsv")).unwrap();
    let expected: BTreeMap<String, u64> = expected
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(count, stack)| (stack.to_owned(), count.parse().unwrap()))
        .collect();
    assert_eq!(found, expected);
}

/// By the schema that nsys documents.
#[test]
fn gpu_metrics_of_the_gpu_that_was_used() {
    let trace = read_nsys(&data("gpu-metrics.sqlite")).unwrap();
    assert_eq!(trace.devices.len(), 1);
    let [series] = &trace.series[..] else { panic!("{:?}", trace.series) };
    assert_eq!((series.device, series.source, series.interval_ns), (0, SeriesSource::Nsys, 10_000));
    assert_eq!(trace.devices[0].identity.as_deref(), Some("GPU-bb"));
    assert_eq!(series.len(), 90);
    let active = series.values(Quantity::SmActive).unwrap();
    let clock = series.values(Quantity::SmClock).unwrap();
    let read = series.values(Quantity::DramRead).unwrap();
    for (row, sample) in (0..60).chain(70..100).enumerate() {
        let end = 900_000 + 10_000 * sample;
        assert_eq!((series.begin[row], series.end[row]), (end - 10_000, end));
        // The second GPU's values are higher by one.
        assert_eq!((active[row], read[row]), (sample as f32 + 1.0, 100.0 - sample as f32));
        assert!((clock[row] - 1_980.0).abs() < 0.01, "{}", clock[row]);
    }
    assert_eq!(series.columns.len(), 3);
    let notes: Vec<_> = trace.diagnostics.iter().map(|note| (note.text.as_str(), note.lost)).collect();
    let expected = "1 GPU metric in the export is not read: Rangefinder does not know what it counts";
    assert!(notes.contains(&(expected, false)), "{notes:?}");
}
