//! Reports the progress of a run: lines on stderr, or JSON on stdout.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use record::{PassName, StepName, StepStatus, Tool};
use report::{json_line, printable_lines};
use run::{Event, Exit, Observer, shell_word};

use crate::cli::{ExitCodeOf, Talk};
use crate::colours;
use crate::print::say;

/// A step shorter than this does not get a running clock.
const CLOCK_AFTER: Duration = Duration::from_millis(400);
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Progress {
    talk: Talk,
    here: PathBuf,
    terminal: bool,
    colour: bool,
    clock: Option<Clock>,
    whose: ExitCodeOf,
    /// How those that are over ended.
    steps: Vec<(StepName, StepStatus)>,
    /// Lines about those that were skipped, for a run without a summary.
    skipped: Vec<String>,
}

impl Progress {
    pub(crate) fn new(talk: Talk, here: PathBuf, whose: ExitCodeOf) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let colour = colours::wanted(&std::io::stderr());
        Self { talk, here, terminal, colour, clock: None, whose, steps: Vec::new(), skipped: Vec::new() }
    }

    fn say(&self, text: &str) {
        let text = printable_lines(text);
        self.say_painted(&if self.colour { colours::painted(&text) } else { text });
    }

    /// With our own colors: text from elsewhere is sanitized first.
    fn say_painted(&self, text: &str) {
        if !self.talk.quiet && !self.talk.json {
            // Nothing to do if stderr is closed.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    fn painted(&self, status: StepStatus) -> String {
        let (name, colour) = match status {
            StepStatus::Done => ("done", "32"),
            StepStatus::Skipped => ("skipped", "2"),
            StepStatus::Failed => ("failed", "31"),
            StepStatus::Interrupted => ("interrupted", "33"),
            StepStatus::Pending | StepStatus::Running => ("unfinished", "33"),
        };
        let name = format!("{name:11}");
        if self.colour { colours::in_colour(&name, colour) } else { name }
    }

    fn shown<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.here).unwrap_or(path).display()
    }

    fn ended(&self, step: StepName, status: StepStatus) -> bool {
        self.steps.contains(&(step, status))
    }

    fn finished(
        &mut self,
        step: StepName,
        status: StepStatus,
        asked_for: bool,
        duration_ms: u64,
        note: Option<&str>,
        missing: &[String],
    ) {
        self.clock = None;
        self.steps.push((step, status));
        // Printed even with --quiet.
        missing.iter().for_each(|missing| say(&format!("error: {}: {missing}", step.as_str())));
        if asked_for && missing.is_empty() || status == StepStatus::Failed {
            say(&format!("error: {}: {}", step.as_str(), note.unwrap_or("failed")));
            return;
        }
        let nothing_to_say = note.is_none() && duration_ms < 100 && status == StepStatus::Done
            // Most programs do not use PyTorch.
            || step == StepName::Stage1 && status == StepStatus::Skipped
            // Nothing is to be expected of a program that fails.
            || status == StepStatus::Skipped && self.ended(StepName::Rehearse, StepStatus::Failed);
        if nothing_to_say && step != StepName::Rehearse && !self.talk.verbose {
            return;
        }
        let took = match status {
            StepStatus::Skipped => String::new(),
            _ => format!("{:.2} s", duration_ms as f64 / 1e3),
        };
        let note = printable_lines(note.unwrap_or_default());
        // The summary says so.
        let is_told_later = status == StepStatus::Skipped && step.is_pass() && !self.talk.verbose;
        let line = format!("{:10} {} {took:>9}  {note}", step.as_str(), self.painted(status));
        match is_told_later {
            true => self.skipped.push(line.trim_end().to_owned()),
            false => self.say_painted(line.trim_end()),
        }
    }
}

impl Observer for Progress {
    fn see(&mut self, event: &Event) {
        if self.talk.json {
            let _ = writeln!(std::io::stdout(), "{}", json_line(event));
            return;
        }
        match event {
            Event::RunStarted { run, workload } => {
                self.say(&format!("run        {}", self.shown(run)));
                if self.talk.verbose {
                    self.say(&format!("workload   {workload}"));
                }
            }
            Event::StepStarted { step, program_ms } => {
                // While the workload runs the terminal is the workload's.
                if self.terminal && !self.talk.quiet && *step != StepName::Rehearse {
                    self.clock = Some(Clock::start(step.as_str(), *program_ms));
                } else if self.talk.verbose {
                    self.say(&format!("{:10} started", step.as_str()));
                }
            }
            Event::PassStarted { step, pass, program_ms } => {
                // What it prints comes again, and is not an error.
                let was_drawn = self.clock.take().is_some();
                self.say(&again(*step, pass, *program_ms));
                if was_drawn {
                    self.clock = Some(Clock::start(step.as_str(), *program_ms));
                }
            }
            Event::StepFinished { step, status, asked_for, duration_ms, note, missing } => {
                self.finished(*step, *status, *asked_for, *duration_ms, note.as_deref(), missing);
            }
            Event::Warning { text } => self.say(&format!("warning: {text}")),
            Event::Note { text } => self.say(&format!("note: {text}")),
            Event::Measuring { log, planned } => {
                if let Some(clock) = &self.clock {
                    clock.follow(log.clone(), *planned);
                }
            }
            Event::RunFinished { run, report, summary, workload, workload_code, exit_code } => {
                let screen = summary.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
                let is_nothing = self.ended(StepName::Rehearse, StepStatus::Failed)
                    && self.ended(StepName::Analyze, StepStatus::Skipped);
                match screen.filter(|_| !is_nothing || self.talk.verbose) {
                    Some(screen) => self.say(&format!("\n{screen}")),
                    None => self.skipped.iter().for_each(|line| self.say_painted(line)),
                }
                let run_word = shell_word(&self.shown(run).to_string());
                let interrupted = *exit_code == Exit::Interrupted.code();
                match report {
                    Some(report) => self.say(&format!("report     {}", self.shown(report))),
                    None if interrupted => {}
                    None => self.say(&format!("run        {} (no report requested)", self.shown(run))),
                }
                if interrupted {
                    let passes = self
                        .steps
                        .iter()
                        .filter(|(step, status)| *status == StepStatus::Done && step.is_pass());
                    let kept: Vec<&str> = passes.map(|(step, _)| step.as_str()).collect();
                    let kept = match kept.as_slice() {
                        [] => String::new(),
                        kept => format!(
                            "; what is done is kept ({}), and `rangefinder analyze {run_word}` shows it",
                            kept.join(", ")
                        ),
                    };
                    self.say(&format!("interrupted{kept}; to continue: rangefinder resume {run_word}"));
                }
                let pass = match interrupted && self.ended(StepName::Rehearse, StepStatus::Done) {
                    true => " in the rehearsal",
                    false => "",
                };
                let workload = workload.as_deref().unwrap_or("not run");
                let code = self.whose.code(*exit_code, *workload_code);
                let own = match code == *exit_code {
                    true => String::new(),
                    false => format!(" (the workload's, as requested; its own would be {exit_code})"),
                };
                self.say(&format!("workload: {workload}{pass}; rangefinder: exit code {code}{own}"));
            }
        }
    }
}

/// `stage1     the program runs again, under PyTorch's profiler (3.3 s without it)`
fn again(step: StepName, pass: &PassName, program_ms: Option<u64>) -> String {
    let under = match pass.kind.tool() {
        Tool::Torch => "PyTorch's profiler",
        Tool::Tracer => "the tracer",
        other => other.as_str(),
    };
    let alone = program_ms.map(|ms| format!(" ({:.2} s without it)", ms as f64 / 1e3)).unwrap_or_default();
    let instead = if step == StepName::Stage1 { "; `--quick` leaves this out" } else { "" };
    format!("{:10} the program runs again, under {under}{alone}{instead}", step.as_str())
}

/// A line on the terminal that counts the seconds of a step until dropped.
#[derive(Debug)]
struct Clock {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    followed: Followed,
}

/// ncu's log, and how many results it is expected to reach.
type Followed = Arc<Mutex<Option<(PathBuf, Option<u64>, Instant)>>>;

impl Clock {
    fn start(step: &'static str, program_ms: Option<u64>) -> Self {
        let (stop, stopped) = channel::<()>();
        let followed = Followed::default();
        let log = Arc::clone(&followed);
        let alone = program_ms.filter(|ms| *ms >= 1000);
        let alone = alone.map(|ms| format!(", {} s without a profiler", ms / 1000)).unwrap_or_default();
        let thread = std::thread::Builder::new().name("clock".to_owned()).spawn(move || {
            let started = Instant::now();
            let mut wait = CLOCK_AFTER;
            let mut drawn = false;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let seconds = started.elapsed().as_secs_f64();
                let _ = write!(
                    std::io::stderr(),
                    "\r{step:10} ... {seconds:.1} s{}\x1b[K",
                    how_far(&log, &alone)
                );
                drawn = true;
                wait = TICK;
            }
            if drawn {
                let _ = write!(std::io::stderr(), "\r\x1b[K");
            }
        });
        Self { stop: Some(stop), thread: thread.ok(), followed }
    }

    fn follow(&self, log: PathBuf, planned: Option<u64>) {
        if let Ok(mut followed) = self.followed.lock() {
            *followed = Some((log, planned, Instant::now()));
        }
    }
}

/// `, 7 of 36 measured, about 12 s left`; or the time the program takes `alone` if nothing is counted.
fn how_far(followed: &Followed, alone: &str) -> String {
    let Ok(mut followed) = followed.lock() else { return String::new() };
    let Some((log, planned, since)) = followed.as_mut() else { return alone.to_owned() };
    let counted = nsight::ncu::progress(&std::fs::read_to_string(log).unwrap_or_default());
    let (begun, done) = (counted.begun, counted.done);
    if begun == 0 {
        // The replays have their own clock.
        *since = Instant::now();
    }
    match planned {
        _ if begun == 0 => ", waiting for the first launch".to_owned(),
        _ if done == 0 => ", measuring the first launch".to_owned(),
        Some(planned) if *planned > done => {
            let left = since.elapsed().as_secs_f64() / done as f64 * (*planned - done) as f64;
            format!(", {done} of {planned} measured, about {left:.0} s left")
        }
        _ => format!(", {done} measured"),
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    /// What the program takes to come to its first launch is not the pace of the replays.
    #[test]
    fn how_far_ncu_is() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("run.log");
        let long_ago = Instant::now().checked_sub(Duration::from_secs(1000)).unwrap();
        let followed: Followed = Arc::new(Mutex::new(Some((log.clone(), Some(9), long_ago))));
        let mut text = "==PROF== Connected to process 9\n".to_owned();
        let mut told = |more: &str| {
            text.push_str(more);
            std::fs::write(&log, &text).unwrap();
            how_far(&followed, "")
        };
        assert_eq!(told(""), ", waiting for the first launch");
        assert_eq!(told("==PROF== Profiling \"gemm\" - 0: 0%...."), ", measuring the first launch");
        let far = told("50%....100% - 18 passes\n");
        let left: f64 = far
            .strip_prefix(", 1 of 9 measured, about ")
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        assert!(left < 1000.0, "{far}");
    }
}
