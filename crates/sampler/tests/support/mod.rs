//! Interpreters to sample, programs to run in them, and what was seen.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test needs some of it, and one that cannot go on has failed"
)]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sampler::host::{Counts, GilUse, HostSampler, Names, Sample, Settings, Sink, ThreadState};

/// Records that a test, or a part of it, did not run.
pub(crate) fn skip(test: &str, why: &str) {
    eprintln!("skipped {test}: {why}");
    if let Some(folder) = std::env::var_os("RANGEFINDER_TEST_SKIPS") {
        std::fs::write(Path::new(&folder).join(test), why).unwrap();
    }
}

/// A CPython of this minor version: one that was fetched, one of pyenv, or the system's.
pub(crate) fn interpreter(minor: u8) -> Option<PathBuf> {
    let tools = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let tools = std::env::var_os("RANGEFINDER_TEST_TOOLS").map_or_else(tools, PathBuf::from);
    let mut places = vec![tools.join(format!("python-3.{minor}/python3"))];
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv"));
    if let Some(pyenv) = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or(home) {
        for entry in std::fs::read_dir(pyenv.join("versions")).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&format!("3.{minor}.")) {
                places.push(entry.path().join("bin/python3"));
            }
        }
    }
    places.push(PathBuf::from(format!("/usr/bin/python3.{minor}")));
    places.into_iter().find(|place| place.exists())
}

/// Every interpreter that is there; the others are recorded as skipped.
pub(crate) fn interpreters(test: &str) -> Vec<(u8, PathBuf)> {
    let mut found = Vec::new();
    for minor in 8..=15 {
        match interpreter(minor) {
            Some(path) => found.push((minor, path)),
            None => skip(&format!("{test}_3_{minor}"), &format!("there is no Python 3.{minor}")),
        }
    }
    found
}

pub(crate) fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/planted.py")
}

/// The line that is marked in the planted program.
pub(crate) fn marked(scenario: &str) -> u32 {
    let text = std::fs::read_to_string(program()).unwrap();
    let mark = format!("# hot: {scenario}");
    text.lines().position(|line| line.ends_with(&mark)).unwrap() as u32 + 1
}

/// A planted program that runs, and ends with the test.
pub(crate) struct Planted {
    pub child: Child,
    /// What it printed before it was ready, and the threads that it named.
    pub printed: Vec<String>,
    pub threads: Vec<u32>,
    output: BufReader<ChildStdout>,
}

impl Planted {
    pub(crate) fn start(python: &Path, scenario: &str) -> Self {
        Self::run(Command::new(python).arg(program()).arg(scenario))
    }

    pub(crate) fn run(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut planted = Self { child, printed: Vec::new(), threads: Vec::new(), output };
        planted.wait();
        planted
    }

    fn wait(&mut self) {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some(threads) = line.strip_prefix("ready") {
                self.threads = threads.split_whitespace().map(|word| word.parse().unwrap()).collect();
                return;
            }
            self.printed.push(line.trim_end().to_owned());
            line.clear();
        }
        panic!("the program ended before it was ready");
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        // Its own children end with it: they are in no other group.
        let _ = Command::new("pkill").args(["-KILL", "-P", &self.child.id().to_string()]).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `function`, `file`, line
pub(crate) type Line = (String, String, u32);

#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub pid: u32,
    pub tid: u32,
    pub frames: Vec<Line>,
    pub state: ThreadState,
    pub gil: GilUse,
    pub torn: bool,
}

impl Seen {
    pub(crate) fn leaf(&self) -> Option<(&str, u32)> {
        self.frames.first().map(|(function, _, line)| (function.as_str(), *line))
    }
}

#[derive(Default)]
struct Keep {
    seen: Vec<Seen>,
    number: Arc<AtomicUsize>,
}

impl Sink for Keep {
    fn sample(&mut self, sample: &Sample, names: &Names) {
        let frames = names
            .frames_of(sample.thread.stack)
            .map(|frame| {
                let text = |id| names.get_text(id).to_owned();
                (text(frame.function), text(frame.file), frame.line)
            })
            .collect();
        let thread = sample.thread;
        self.number.fetch_add(1, Ordering::Relaxed);
        self.seen.push(Seen {
            pid: sample.pid,
            tid: thread.tid,
            frames,
            state: thread.state,
            gil: thread.gil,
            torn: thread.torn,
        });
    }
}

/// Samples a process and its descendants for a while, and longer on a machine that has other things to do.
pub(crate) fn sampled(root: u32, time: Duration) -> (Vec<Seen>, Counts) {
    let settings = Settings { rate: 400.0, share: 1.0, ..Settings::below(root) };
    let number = Arc::new(AtomicUsize::new(0));
    let keep = Keep { seen: Vec::new(), number: Arc::clone(&number) };
    let sampler = HostSampler::start(settings, keep).unwrap();
    let begun = Instant::now();
    while begun.elapsed() < time || (number.load(Ordering::Relaxed) < 150 && begun.elapsed() < 20 * time) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let finished = sampler.stop().unwrap();
    // On a busy machine the program may still be on its way back from saying that it is ready.
    let mut seen = finished.sink.seen;
    seen.retain(|seen| !seen.frames.iter().any(|(function, ..)| function == "ready"));
    (seen, finished.counts)
}

/// The share of samples for which it holds.
pub(crate) fn share<'a>(samples: impl IntoIterator<Item = &'a Seen>, holds: impl Fn(&Seen) -> bool) -> f64 {
    let (mut all, mut good) = (0u32, 0u32);
    for sample in samples {
        all += 1;
        good += u32::from(holds(sample));
    }
    if all == 0 { 0.0 } else { f64::from(good) / f64::from(all) }
}
