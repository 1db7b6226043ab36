//! The devices of a loop work or wait, and nothing else: of every recording that lies with the tests.

use std::io::Read;
use std::path::{Path, PathBuf};

use analysis::{Loop, Options, analyze};
use trace::{ActivityKind, Trace};

/// Everything below the folders of test data, of all crates.
fn files() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<PathBuf> =
        crates.read_dir().unwrap().map(|entry| entry.unwrap().path().join("tests/data")).collect();
    folders.retain(|folder| folder.is_dir());
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// None if it is no recording.
fn opened(path: &Path) -> Option<Trace> {
    if !path.to_string_lossy().ends_with(".rft.gz") {
        return trace::open(&[path.to_owned()]).ok();
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    Some(trace::read_tracer_bytes(&bytes, path).unwrap())
}

/// Recounted: the part of a stretch of time in which work of a process goes on.
fn busy(trace: &Trace, process: usize, from: i64, to: i64) -> f64 {
    let rows = &trace.activities;
    let mut work: Vec<(i64, i64)> = (0..rows.len())
        .filter(|at| rows.process[*at] as usize == process && rows.kind[*at] != ActivityKind::Migration)
        .map(|at| (rows.begin[at].max(from), rows.end[at].min(to)))
        .filter(|(begin, end)| begin < end)
        .collect();
    work.sort_unstable();
    let (mut until, mut sum) = (from, 0);
    for (begin, end) in work {
        sum += (end - begin.max(until)).max(0);
        until = until.max(end);
    }
    sum as f64 / (to - from).max(1) as f64
}

/// Checks each loop with work, and says how many those are.
fn check(trace: &Trace, name: &str) -> usize {
    let loops = analyze(trace, &Options::default()).loops;
    let shares =
        |found: &Loop| Some((found.busy_share?, found.idle.iter().map(|(_, share)| share).sum::<f64>()));
    for (found, (busy_share, idle)) in loops.iter().filter_map(|found| Some((found, shares(found)?))) {
        let told = format!("{name}: {:?}, busy {busy_share}, idle {:?}", found.region, found.idle);
        assert!((busy_share + idle - 1.0).abs() <= 0.01, "{told}");
        let same = |at: &usize| trace.processes[*at].pid == found.process;
        let processes: Vec<usize> = (0..trace.processes.len()).filter(same).collect();
        if let (&[process], true) = (processes.as_slice(), trace.windows.is_empty()) {
            let counted = busy(trace, process, trace.begin + found.begin_ns, trace.begin + found.end_ns);
            assert!((busy_share - counted).abs() <= 0.001, "{told}, counted {counted}");
        }
    }
    loops.iter().filter(|found| found.busy_share.is_some()).count()
}

#[test]
fn busy_and_idle_are_all_of_a_loop() {
    let (mut recordings, mut loops) = (0, 0);
    for path in files() {
        let Some(mut trace) = opened(&path) else { continue };
        trace.fold_names();
        recordings += 1;
        loops += check(&trace, &path.display().to_string());
    }
    assert!(recordings >= 80 && loops >= 80, "{loops} loops of {recordings} recordings");
}

/// Iterations of 1 ms: a kernel of 0.4 ms, then one of 0.3 ms whose launch was not recorded.
fn made() -> Trace {
    let mut trace = Trace::default();
    trace.processes.push(trace::Process { pid: 1, ..trace::Process::default() });
    trace.threads.push(trace::Thread { process: 0, id: 1, name: None });
    trace.devices.push(trace::Device::default());
    let [launch, step, kernel] =
        ["cudaLaunchKernel", "step", "kernel"].map(|name| trace.strings.intern(name));
    trace.activities.launches.push(trace::Launch {
        name: kernel,
        short_name: kernel,
        ..trace::Launch::default()
    });
    for at in 0..20 {
        let (begin, correlation) = (at * 1_000_000, at as u32 + 1);
        let end = begin + 900_000;
        trace.ranges.push(trace::Range { name: step, begin, end, ..trace::Range::default() });
        let end = begin + 4_000;
        trace.calls.push(trace::Call { begin, end, name: launch, correlation, ..trace::Call::default() });
        let (begin, end) = (begin + 10_000, begin + 410_000);
        trace.activities.push(trace::Activity { begin, end, correlation, ..trace::Activity::default() });
        let (begin, end, correlation) = (end, end + 300_000, trace::NONE);
        trace.activities.push(trace::Activity { begin, end, correlation, ..trace::Activity::default() });
    }
    trace.finish();
    trace
}

#[test]
fn work_without_a_recorded_launch_is_work() {
    let trace = made();
    assert_eq!(check(&trace, "made"), 1);
    let found = &analyze(&trace, &Options::default()).loops[0];
    assert!((found.busy_share.unwrap() - 0.7).abs() < 0.01, "{found:?}");
}
