//! Samples of stacks → a file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use trace::{SampleWriter, ThreadState, Trouble};

use crate::host::{Counts, GilUse, Names, Sample, Sink, StackId, ThreadState as Doing, Unreadable, parent};

/// Writes what is sampled. Processes of our own are left out.
pub struct StackFile {
    file: SampleWriter<BufWriter<File>>,
    /// What a text may be written as.
    mask: Box<dyn Fn(&str) -> String + Send>,
    /// Texts, frames and nodes that the file has.
    written: (usize, usize, usize),
    own: Option<PathBuf>,
    /// Processes that are not our own.
    known: HashSet<u32>,
    failed: Option<io::Error>,
}

impl std::fmt::Debug for StackFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StackFile").field("written", &self.written).finish_non_exhaustive()
    }
}

impl StackFile {
    /// `rate`: samples a second.
    pub fn create(
        path: &Path,
        rate: f64,
        mask: impl Fn(&str) -> String + Send + 'static,
    ) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).open(path)?;
        let mut file = SampleWriter::new(BufWriter::new(file))?;
        file.rate((1e9 / rate) as u64)?;
        Ok(Self {
            file,
            mask: Box::new(mask),
            written: (0, 0, 0),
            own: std::fs::read_link("/proc/self/exe").ok(),
            known: HashSet::new(),
            failed: None,
        })
    }

    /// Writes the end.
    pub fn finish(mut self, counts: Counts, processor_ns: u64, wall_ns: u64) -> io::Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if counts.skipped > 0 {
            let said = format!("{} of {} ticks were left out", counts.skipped, counts.ticks + counts.skipped);
            self.file.trouble(Trouble::FewerStacks, None, &said)?;
        }
        self.file.cost(processor_ns, wall_ns)?;
        self.file.end()
    }

    /// Whether it is a process of our own program, which may still become the workload.
    fn is_ours(&mut self, pid: u32) -> bool {
        if self.known.contains(&pid) {
            return false;
        }
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        if program.is_some() && program == self.own {
            return true;
        }
        self.known.insert(pid);
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let (parent, name) = (parent(pid).unwrap_or(0), (self.mask)(name.trim_end()));
        let written = self.file.process(pid, parent, &name);
        self.note(written);
        false
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }

    fn write(&mut self, sample: &Sample, names: &Names) -> io::Result<()> {
        let (texts, frames, nodes) = self.written;
        for text in &names.texts()[texts..] {
            self.file.text(&(self.mask)(text))?;
        }
        for frame in &names.frames()[frames..] {
            self.file.frame(frame.function.0, frame.file.0, frame.line)?;
        }
        for node in &names.nodes()[nodes..] {
            let caller = (node.caller != StackId::EMPTY).then(|| node.caller.0 - 1);
            self.file.node(caller, node.frame.0)?;
        }
        self.written = (names.texts().len(), names.frames().len(), names.nodes().len());
        let thread = &sample.thread;
        let stack = (thread.stack != StackId::EMPTY && !thread.torn).then(|| thread.stack.0 - 1);
        let state = match (thread.gil, thread.state) {
            (GilUse::Waits { .. }, _) => ThreadState::WaitsForInterpreter,
            (_, Doing::Waiting(_) | Doing::Uninterruptible(_) | Doing::Stopped) => ThreadState::Blocked,
            (_, Doing::Running | Doing::Other(_) | Doing::Unknown) => ThreadState::Running,
        };
        self.file.stacks(sample.at, sample.pid, [(thread.tid, stack, state)])
    }
}

impl Sink for StackFile {
    fn sample(&mut self, sample: &Sample, names: &Names) {
        if self.failed.is_some() || self.is_ours(sample.pid) {
            return;
        }
        let written = self.write(sample, names);
        self.note(written);
    }

    fn wants(&mut self, pid: u32) -> bool {
        !self.is_ours(pid)
    }

    fn unreadable(&mut self, at: u64, pid: u32, why: &Unreadable) {
        if self.failed.is_none() && !self.is_ours(pid) {
            let why = why.to_string();
            let written = self.file.unreadable(at, pid, &why);
            self.note(written);
            let written = self.file.trouble(Trouble::NoStacks, None, &why);
            self.note(written);
        }
    }

    fn tick(&mut self, at: u64) {
        if self.failed.is_none() {
            let written = self.file.tick(at);
            self.note(written);
        }
    }

    fn paused(&mut self, begin: u64, end: u64) {
        if self.failed.is_none() {
            let written = self.file.paused(begin, end);
            self.note(written);
        }
    }

    fn ended(&mut self, pid: u32) {
        // The number may come again.
        self.known.remove(&pid);
    }
}
