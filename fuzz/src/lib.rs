//! What is done with hostile input, one function a target. A target fails by
//! panicking, by taking too long or by taking too much memory.
//!
//! `cargo xtask fuzz` drives them with libFuzzer; `tests/corpus.rs` replays the
//! committed corpus with a plain build.

use std::path::{Component, Path};

use analysis::Options;
use nsight::Question;
use nsight::nsys::{RangeEnd, Rehearsed};
use nvtx::{
    Begins, Kind, NamePattern, NcuGate, NsysDialect, NsysGate, OpenRanges, RangeSeen, RegionPath,
    RegionPattern,
};
use run::config::Request;
use sampler::host::{LineFormat, Lines, Names, Python, RecordedMemory};
use tracefile::layout;

pub type Target = fn(&[u8]);

/// Every target by its name, which is also the folder of its corpus.
pub const TARGETS: [(&str, Target); 15] = [
    ("trace", trace),
    ("records", records),
    ("names", names),
    ("gates", gates),
    ("config", config),
    ("nsys", nsys),
    ("kineto", kineto),
    ("ncu_rep", ncu_rep),
    ("ncu_csv", ncu_csv),
    ("samples", samples),
    ("python_memory", python_memory),
    ("unwind", unwind),
    ("baseline", baseline),
    ("parts", parts),
    ("set", set),
];

/// A file of the tracer, all the way to regions, proofs and predictions.
pub fn trace(input: &[u8]) {
    let Ok(trace) = ::trace::read_tracer_bytes(input, Path::new("fuzz.rft")) else { return };
    let regions = analysis::regions(&trace);
    let instances: u64 = regions.iter().map(|region| region.instances).sum();
    assert_eq!(instances, trace.ranges.len() as u64, "every range belongs to one region");
    for region in analysis::region_calls(&trace) {
        nsight::ncu::range_replay(&region, 1.0);
    }
    for region in regions.iter().take(4) {
        nsight::prove(&Question {
            wish: region.path.name(),
            regions: &regions,
            rehearsed: Rehearsed { trace: &trace, exit_code: 0 },
            dialect: NsysDialect::NEWEST,
            range_end: RangeEnd::Repeat(None),
        });
    }
}

/// The same, past the headers: the first byte says where strings end and events begin. What the
/// GPU did is read from the events as well.
pub fn records(input: &[u8]) {
    let Some((split, records)) = input.split_first() else { return };
    let (strings, events) = records.split_at(records.len() * usize::from(*split) / 255);
    let mut file = vec![0; layout::PAGE];
    file[..layout::MAGIC.len()].copy_from_slice(&layout::MAGIC);
    for (kind, records) in
        [(layout::chunk::STRINGS, strings), (layout::chunk::EVENTS, events), (layout::chunk::GPU, events)]
    {
        let used = layout::chunk::LENGTH + records.len();
        let mut chunk = vec![0; used.next_multiple_of(layout::PAGE)];
        let size = chunk.len() as u32;
        for (at, value) in [
            (layout::chunk::MAGIC, layout::CHUNK_MAGIC),
            (layout::chunk::KIND, kind),
            (layout::chunk::SIZE, size),
            (layout::chunk::THREAD, 1),
            (layout::chunk::USED, used as u32),
        ] {
            chunk[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        chunk[layout::chunk::LENGTH..used].copy_from_slice(records);
        file.extend(chunk);
    }
    trace(&file);
}

/// The name of a range, folded: alone, and as part of one of up to a megabyte, which takes no longer for each byte.
pub fn names(input: &[u8]) {
    let Some((length, name)) = input.split_first() else { return };
    let name = String::from_utf8_lossy(name);
    let times = (1usize << (length % 21)) / name.len().max(1);
    for name in [name.to_string(), name.repeat(times)] {
        let Some(pattern) = nvtx::folded(&name) else { continue };
        let kept = |text: &str| text.bytes().filter(|byte| !byte.is_ascii()).collect::<Vec<_>>();
        assert_eq!(kept(&pattern), kept(&name), "only ASCII is folded");
        assert!(pattern.contains(nvtx::FOLDED));
    }
}

/// An SQLite export of nsys, all the way to findings.
pub fn nsys(input: &[u8]) {
    if let Ok(trace) = ::trace::read_nsys_bytes(input.to_vec(), Path::new("fuzz.sqlite")) {
        conserved(&trace);
    }
}

/// A Chrome trace, likewise.
pub fn kineto(input: &[u8]) {
    if let Ok(trace) = ::trace::read_kineto_from(input, Path::new("fuzz.json")) {
        conserved(&trace);
    }
}

/// However damaged a trace is, every kernel is somewhere once.
fn conserved(trace: &::trace::Trace) {
    let profile = analysis::profile(trace, &Options::default());
    let parts = profile.main.iter().flat_map(|main| &main.parts);
    parts.for_each(|part| assert!(part.ns >= 0.0 && part.ns.is_finite(), "{part:?}"));
    let findings = analysis::analyze(trace, &Options { stages: vec!["a".to_owned()], ..Options::default() });
    let kernels: u64 = findings.kernels.iter().map(|row| row.statistics.calls).sum();
    for (domain, outside) in &findings.unattributed.domains {
        let roots = findings
            .regions
            .iter()
            .filter(|row| row.domain == *domain && row.parent.is_none() && row.kind == Kind::PushPop);
        let inside: u64 = roots.map(|row| row.kernels_inclusive).sum();
        assert_eq!(inside + outside.kernels, kernels, "domain {domain}");
    }
}

/// A file of the sampler beside a small trace, all the way to Perfetto and the tree of stacks.
pub fn samples(input: &[u8]) {
    let mut trace = traced();
    if ::trace::read_sampled_bytes(input, &mut trace).is_err() {
        return;
    }
    for series in &trace.series {
        assert!(usize::from(series.device) < trace.devices.len());
        assert!(series.begin.iter().zip(&series.end).all(|(begin, end)| begin <= end));
        assert!(series.end.iter().zip(&series.begin[1.min(series.len())..]).all(|(end, next)| end <= next));
        assert!(series.columns.iter().all(|(_, values)| values.len() == series.len()));
    }
    let idle = analysis::host_idle(&trace);
    let own: u64 = idle.nodes.iter().map(|node| node.own).sum();
    assert_eq!(own, idle.samples, "every sample is somewhere once");
    assert!(idle.samples <= trace.stacks.samples.len() as u64);
    let written = report::write_perfetto(&trace, std::io::sink());
    assert!(written.is_ok_and(|written| written.stack_samples <= trace.stacks.samples.len() as u64));
    conserved(&trace);
}

/// A process whose only thread has launched a kernel.
fn traced() -> ::trace::Trace {
    let mut trace = ::trace::Trace::default();
    trace.processes.push(::trace::Process { pid: 7, ..Default::default() });
    trace.threads.push(::trace::Thread { process: 0, id: 7, name: None });
    trace.devices.push(::trace::Device::default());
    trace.calls.push(::trace::Call { begin: 1_000, end: 1_100, correlation: 1, ..Default::default() });
    let kind = ::trace::ActivityKind::Graph;
    for (begin, end) in [(2_000, 3_000), (5_000, 6_000)] {
        let row = ::trace::Activity { begin, end, kind, correlation: 1, ..Default::default() };
        trace.activities.push(row);
    }
    trace.finish();
    trace
}

/// A report of ncu, all the way to rows of JSON.
pub fn ncu_rep(input: &[u8]) {
    if let Ok(report) = counters::read_ncu_report_bytes(input, Path::new("fuzz.ncu-rep")) {
        in_order(&report);
    }
}

/// What `ncu --csv` prints, likewise.
pub fn ncu_csv(input: &[u8]) {
    if let Ok(report) = counters::read_ncu_csv_bytes(input, Path::new("fuzz.csv")) {
        in_order(&report);
    }
}

/// However damaged a report is, each metric has a name and is there once, and damage is said.
fn in_order(report: &counters::Report) {
    assert!(report.damage.as_ref().is_none_or(|damage| !damage.what.is_empty()));
    for result in &report.results {
        assert!(result.metrics.is_sorted_by(|before, after| before.name < after.name));
        assert!(result.metrics.iter().all(|metric| (metric.name.0 as usize) < report.metric_names.len()));
        for path in result.region_paths() {
            assert_eq!(path.to_string().parse::<RegionPath>().as_ref(), Ok(&path));
        }
    }
    assert_eq!(counters::rows(report).len(), report.results.len());
}

/// Gates of both tools and region paths: what can be read is printed and read again.
pub fn gates(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (gate, name) = text.split_once('\n').unwrap_or((text, "decode"));
    let open = OpenRanges {
        stack: name.split('/').map(|name| (String::new(), name.to_owned())).collect(),
        started: vec![(name.to_owned(), gate.to_owned())],
    };
    if let Ok(gate) = NcuGate::parse(gate) {
        gate.includes(&open);
    }
    for escapes in [false, true] {
        if let Ok(gate) = NsysGate::parse(gate, NsysDialect { escapes }) {
            let seen = RangeSeen {
                domain: String::new(),
                name: name.to_owned(),
                kind: Kind::PushPop,
                registered: true,
                wide: false,
            };
            gate.opens_for(&seen, true);
        }
    }
    if let Ok(path) = gate.parse::<RegionPath>() {
        assert_eq!(path.to_string().parse::<RegionPath>().as_ref(), Ok(&path), "{gate}");
        nvtx::nsys_expression(&path, false, NsysDialect::NEWEST);
        for begins in [Begins::Anywhere, Begins::Outermost] {
            nvtx::ncu_expression(&path, Kind::PushPop, begins);
        }
    }
    if let Some(pattern) = RegionPattern::parse(gate) {
        assert_eq!(RegionPattern::parse(&pattern.to_string()).as_ref(), Some(&pattern), "{gate}");
        // ncu is given an expression that lets in what the pattern matches; its dot is no line break.
        let one = RegionPath::new("", [name.lines().next().unwrap_or_default()]);
        for begins in [Begins::Anywhere, Begins::Outermost] {
            let domain = NamePattern::exactly("");
            let include = nvtx::ncu_pattern(&domain, pattern.names(), Kind::PushPop, begins);
            if let Ok(gate) = NcuGate::parse(&include)
                && pattern.matches(&one)
            {
                let stack = vec![(String::new(), one.name().to_owned())];
                assert!(gate.includes(&OpenRanges { stack, started: Vec::new() }), "{include}");
            }
        }
    }
}

/// A configuration file; lines that begin with `=` are overrides.
pub fn config(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (overrides, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('='));
    let file = std::env::temp_dir().join(format!("rangefinder-fuzz-{}.yaml", std::process::id()));
    if std::fs::write(&file, lines.join("\n")).is_err() {
        return;
    }
    let request = Request {
        file: Some(file),
        overrides: overrides.into_iter().map(|line| line[1..].to_owned()).collect(),
        ..Request::default()
    };
    match run::config::resolve(&request) {
        Ok(resolved) => drop(resolved.shown("workload.timeout")),
        Err(error) => drop(error.to_string()),
    }
}

/// A program's file: symbols, and callers by its unwind tables.
pub fn unwind(input: &[u8]) {
    // The stack is what comes last in the file.
    let words = input.as_chunks::<8>().0;
    let last: Vec<u64> = words.iter().rev().take(256).map(|word| u64::from_le_bytes(*word)).collect();
    let found = sampler::host::callers_in(input, &last);
    assert!(found <= 64 * 128, "call chains have a limit");
}

/// Memory of a Python: threads, frames, names and line tables.
pub fn python_memory(input: &[u8]) {
    for format in [LineFormat::Steps, LineFormat::Ranges, LineFormat::Locations] {
        let lines = Lines::read(format, &input[input.len() / 2..], input.len() as u32);
        assert!((0..64).all(|byte| lines.at(byte) != Some(0)), "a line is at least 1");
    }
    let Some((memory, found)) = RecordedMemory::parse(input) else { return };
    let Ok(mut python) = Python::open(memory, &found) else { return };
    let Ok(runtime) = python.list(|_| true) else { return };
    let threads = runtime.threads.clone();
    let mut names = Names::default();
    for thread in threads.iter().take(8) {
        if let Ok(stack) = python.stack(&mut names, thread) {
            assert!(names.frames_of(stack).count() <= 512, "stacks have a limit");
        }
    }
    assert!(names.texts().iter().all(|text| text.len() <= 4096), "names have a limit");
}

/// A baseline: read, compared with itself and with an empty one, checked, and told in every form.
pub fn baseline(input: &[u8]) {
    let Ok(baseline) = run::baseline::Baseline::parse(input, "fuzz.json") else { return };
    let profiles = &baseline.profiles;
    let half = &profiles[..profiles.len() / 2];
    for (a, b) in [(profiles.as_slice(), profiles.as_slice()), (half, profiles), (profiles, half)] {
        let comparison = analysis::compare::compare(a, b, 0.01);
        let diff = report::Diff::new(["a", "b"], &comparison, &[], &[]);
        let _ = [diff.screen(5), diff.markdown(5)];
        let limits: Vec<_> =
            ["loop", "process", "decode.p95", "energy", "launches", "bytes", "waits", "allocations"]
                .iter()
                .filter_map(|metric| Some((metric.parse().ok()?, "+2%".parse().ok()?)))
                .collect();
        let checked = analysis::compare::check(&limits, a, b, true);
        let document = report::CheckDocument::new("a", "b", [1, 2], &checked, &[]);
        let _ = [document.screen(), document.markdown(), document.junit(), document.annotations()];
    }
}

/// The files of a job, each behind a line of `---`: that of the job, then of each rank its place, what it says that it wrote, and a
/// recording. Judged, completed from a recording, and told.
pub fn parts(input: &[u8]) {
    let job = std::env::temp_dir().join(format!("rangefinder-fuzz-{}-job", std::process::id()));
    let _ = std::fs::remove_dir_all(&job);
    if written(&job, input).is_ok() && run::job::is_job(&job) {
        run::job::is_under_way(&job);
        told(&job);
    }
    let _ = std::fs::remove_dir_all(&job);
}

fn written(job: &Path, input: &[u8]) -> std::io::Result<()> {
    const RANKS: usize = 4;
    std::fs::create_dir_all(job)?;
    let mut files = Vec::new();
    let mut rest = input;
    while let Some(at) = rest.windows(5).position(|bytes| bytes == b"\n---\n") {
        files.push(&rest[..at]);
        rest = &rest[at + 5..];
    }
    files.push(rest);
    let mut files = files.into_iter();
    std::fs::write(job.join("job.json"), files.next().unwrap_or_default())?;
    for rank in 0..RANKS {
        let folder = job.join(format!("rank-{rank:04}"));
        for name in ["rank.json", "run.json", "rehearsal/1.rft"] {
            let Some(bytes) = files.next() else { return Ok(()) };
            std::fs::create_dir_all(folder.join("rehearsal"))?;
            std::fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}

fn told(job: &Path) {
    let Some(parts) = run::job::parts(job) else { return };
    let (runs, processes) = (parts.runs.len(), parts.seen.processes.len());
    assert!(parts.seen.world as usize >= runs && processes >= runs, "no rank is lost");
    let mut parts = parts.judged();
    parts.complete(&traced());
    assert_eq!(parts.seen.processes.len(), processes);
    let insight = analysis::Insight::default();
    let page = report::Page {
        title: "fuzz",
        workload: "",
        verdicts: &[],
        steps: &[],
        analysis: None,
        operators_source: None,
        trace: None,
        measured: None,
        counters: None,
        counters_at: "",
        insight: &insight,
        environment: &[],
        passes: &[],
        ranks: Some(&parts.seen),
        commands: &[],
        rehearsal: None,
        warnings: &[],
        top: 5,
        whole: false,
    };
    let _ = report::screen(&page, 5);
}

/// The record of several runs: whatever it says, the run that warmed up lies inside of it.
pub fn set(input: &[u8]) {
    let Some(set) = run::repeat::KeptSet::parse(input) else { return };
    for side in [0, 1, 2, usize::MAX] {
        let run = set.warm_up(side).map(|run| Path::new("set").join(run));
        let is_inside = |run: &Path| {
            run.starts_with("set") && run.components().all(|part| matches!(part, Component::Normal(_)))
        };
        assert!(run.as_deref().is_none_or(is_inside), "{run:?}");
    }
    drop(set.made());
}
