//! Threads of a process, as the kernel shows them: whether they run, and what they wait for.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use nix::libc::{EMFILE, ENFILE};

use super::descriptors::{Descriptors, Kept};
use super::syscalls::SystemCall;

/// The kernel's letter for what a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThreadState {
    /// On a processor, or ready for one.
    Running,
    /// Waits in this system call, if it is known.
    Waiting(Option<SystemCall>),
    /// Waits for a disk or for memory, and cannot be interrupted.
    Uninterruptible(Option<SystemCall>),
    Stopped,
    Other(char),
    /// It could not be asked for lack of descriptors.
    Unknown,
}

impl ThreadState {
    pub fn call(self) -> Option<SystemCall> {
        match self {
            Self::Waiting(call) | Self::Uninterruptible(call) => call,
            _ => None,
        }
    }

    pub fn runs(self) -> bool {
        self == Self::Running
    }

    /// Whether it runs as far as is known.
    pub(super) fn may_run(self) -> bool {
        matches!(self, Self::Running | Self::Other(_) | Self::Unknown)
    }
}

/// What a thread does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Doing {
    pub(super) state: ThreadState,
    /// The first argument of the system call: for a futex, what it waits for.
    pub(super) argument: Option<u64>,
    /// Where it is, while it waits.
    pub(super) blocked: Option<Blocked>,
}

/// Where a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blocked {
    pub(crate) stack_pointer: u64,
    pub(crate) code: u64,
}

/// Numbers of threads that are remembered to be there.
const MOST_KNOWN: usize = 1 << 16;

/// Below `/proc/PID/task/TID`.
#[derive(Debug)]
struct Files {
    syscall: File,
    schedstat: File,
    _kept: Kept,
}

#[derive(Debug)]
pub(super) struct Tasks {
    pid: u32,
    /// Kept open, as long as there are descriptors: opening them takes longer than reading them.
    files: HashMap<u32, Files>,
    descriptors: Descriptors,
    /// Threads that were there when they were asked for last.
    known: HashSet<u32>,
    /// In another PID namespace: numbers there, and here.
    inner: Option<HashMap<u32, u32>>,
}

impl Tasks {
    pub(super) fn of(pid: u32, descriptors: Descriptors) -> Self {
        let inner = inner_number(&format!("/proc/{pid}/status")).filter(|(_, depth)| *depth > 1);
        Self {
            pid,
            files: HashMap::new(),
            descriptors,
            known: HashSet::new(),
            inner: inner.map(|_| HashMap::new()),
        }
    }

    fn path(&self, tid: u32, name: &str) -> String {
        format!("/proc/{}/task/{tid}/{name}", self.pid)
    }

    /// Our number of a thread that the process itself knows as `native`.
    pub(super) fn number(&mut self, native: u32) -> Option<u32> {
        let Some(inner) = &mut self.inner else {
            if !self.known.contains(&native) {
                Path::new(&format!("/proc/{}/task/{native}", self.pid)).exists().then_some(())?;
                if self.known.len() >= MOST_KNOWN {
                    self.known.clear();
                }
                self.known.insert(native);
            }
            return Some(native);
        };
        if !inner.contains_key(&native) {
            inner.clear();
            for tid in threads(self.pid) {
                let path = format!("/proc/{}/task/{tid}/status", self.pid);
                if let Some((number, _)) = inner_number(&path) {
                    inner.insert(number, tid);
                }
            }
        }
        inner.get(&native).copied()
    }

    /// None if the thread has ended.
    pub(super) fn doing(&mut self, tid: u32) -> Option<Doing> {
        let mut buffer = [0; 256];
        let doing = match self.syscall(tid, &mut buffer) {
            Some("running") => Some(Doing { state: ThreadState::Running, argument: None, blocked: None }),
            // The number of the call, its arguments, the stack pointer and where it returns to.
            Some(text) => self.in_a_call(tid, text),
            // Of a process that may not be read, the state is still known.
            None => self.state(tid, None).map(|state| Doing { state, argument: None, blocked: None }),
        };
        if doing.is_none() {
            self.files.remove(&tid);
            self.known.remove(&tid);
        }
        doing
    }

    fn in_a_call(&self, tid: u32, text: &str) -> Option<Doing> {
        let mut words = text.split_ascii_whitespace();
        let number: Option<i64> = words.next().and_then(|number| number.parse().ok());
        let call = number.and_then(SystemCall::new);
        let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let argument = words.clone().next().and_then(hex);
        let code = words.next_back().and_then(hex);
        let stack_pointer = words.next_back().and_then(hex);
        let blocked = code.zip(stack_pointer).filter(|_| call.is_some());
        let blocked = blocked.map(|(code, stack_pointer)| Blocked { stack_pointer, code });
        let state = match call {
            Some(call) if call.sleeps() => ThreadState::Waiting(Some(call)),
            call => self.state(tid, call)?,
        };
        Some(Doing { state, argument: argument.filter(|_| call.is_some()), blocked })
    }

    /// How often the thread has had a processor, if the kernel counts it.
    pub(super) fn turns(&mut self, tid: u32) -> Option<u64> {
        self.schedule(tid).map(|(_, turns)| turns)
    }

    /// For how many nanoseconds the thread has had a processor, if the kernel counts it.
    pub(super) fn processor_ns(&mut self, tid: u32) -> Option<u64> {
        self.schedule(tid).map(|(time, _)| time)
    }

    fn schedule(&mut self, tid: u32) -> Option<(u64, u64)> {
        let mut buffer = [0; 128];
        let length = match self.files(tid) {
            Some(files) => files.schedstat.read_at(&mut buffer, 0).ok()?,
            None => read_once(&self.path(tid, "schedstat"), &mut buffer).ok()?,
        };
        let text = std::str::from_utf8(&buffer[..length]).ok()?;
        // Nanoseconds on a processor, nanoseconds ready for one, turns.
        let mut numbers = text.split_ascii_whitespace().map(|word| word.parse().ok());
        let (time, turns) = (numbers.next()??, numbers.nth(1)??);
        (turns > 0).then_some((time, turns))
    }

    /// None if they cannot be kept open.
    fn files(&mut self, tid: u32) -> Option<&Files> {
        if !self.files.contains_key(&tid) {
            let kept = self.descriptors.keep(2)?;
            let open = |name: &str| File::open(self.path(tid, name)).ok();
            let (syscall, schedstat) = (open("syscall")?, open("schedstat")?);
            self.files.insert(tid, Files { syscall, schedstat, _kept: kept });
        }
        self.files.get(&tid)
    }

    fn syscall<'a>(&mut self, tid: u32, buffer: &'a mut [u8; 256]) -> Option<&'a str> {
        let length = match self.files(tid) {
            Some(files) => files.syscall.read_at(buffer, 0).ok()?,
            None => read_once(&self.path(tid, "syscall"), buffer).ok()?,
        };
        std::str::from_utf8(&buffer[..length]).ok().map(str::trim_end).filter(|text| !text.is_empty())
    }

    fn state(&self, tid: u32, call: Option<SystemCall>) -> Option<ThreadState> {
        let mut buffer = [0; 512];
        let length = match read_once(&self.path(tid, "stat"), &mut buffer) {
            Ok(length) => length,
            // It may be running: nothing is known for lack of descriptors.
            Err(error) if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => {
                return Some(ThreadState::Unknown);
            }
            Err(_) => return None,
        };
        let stat = &buffer[..length];
        // The name may contain anything, brackets as well.
        let after = stat.iter().rposition(|byte| *byte == b')')?;
        match char::from(*stat.get(after + 2)?) {
            'R' => Some(ThreadState::Running),
            'S' | 'I' => Some(ThreadState::Waiting(call)),
            'D' => Some(ThreadState::Uninterruptible(call)),
            'T' | 't' => Some(ThreadState::Stopped),
            'Z' | 'X' => None,
            other => Some(ThreadState::Other(other)),
        }
    }
}

/// As much of a file as there is room for.
fn read_once(path: &str, into: &mut [u8]) -> io::Result<usize> {
    File::open(path)?.read_at(into, 0)
}

/// The numbers of all threads of a process; none if they cannot be listed.
pub fn threads(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The number in the innermost PID namespace, and how many namespaces there are.
fn inner_number(status: &str) -> Option<(u32, usize)> {
    let text = std::fs::read_to_string(status).ok()?;
    let numbers = text.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    let numbers = numbers.split_ascii_whitespace();
    Some((numbers.clone().last()?.parse().ok()?, numbers.count()))
}
