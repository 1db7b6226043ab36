//! Threads of a process, as the kernel shows them: whether they run, and what they wait for.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

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

/// Open files are not many, so only so many of them are kept.
const MOST_FILES: usize = 64;

/// Below `/proc/PID/task/TID`.
#[derive(Debug)]
struct Files {
    syscall: File,
    schedstat: Option<File>,
}

#[derive(Debug)]
pub(super) struct Tasks {
    pid: u32,
    /// Kept open: opening them takes longer than reading them.
    files: HashMap<u32, Files>,
    /// In another PID namespace: numbers there, and here.
    inner: Option<HashMap<u32, u32>>,
}

impl Tasks {
    pub(super) fn of(pid: u32) -> Self {
        let inner = inner_number(&format!("/proc/{pid}/status")).filter(|(_, depth)| *depth > 1);
        Self { pid, files: HashMap::new(), inner: inner.map(|_| HashMap::new()) }
    }

    /// Our number of a thread that the process itself knows as `native`.
    pub(super) fn number(&mut self, native: u32) -> Option<u32> {
        let Some(inner) = &mut self.inner else {
            let known = self.files.contains_key(&native);
            let there = || Path::new(&format!("/proc/{}/task/{native}", self.pid)).exists();
            return (known || there()).then_some(native);
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
        match self.syscall(tid, &mut buffer) {
            Some("running") => Some(Doing { state: ThreadState::Running, argument: None, blocked: None }),
            // The number of the call, its arguments, the stack pointer and where it returns to.
            Some(text) => {
                let mut words = text.split_ascii_whitespace();
                let number: Option<i64> = words.next().and_then(|number| number.parse().ok());
                let call = number.and_then(SystemCall::new);
                let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
                let argument = words.clone().next().and_then(hex);
                let code = words.next_back().and_then(hex);
                let stack_pointer = words.next_back().and_then(hex);
                let blocked = code.zip(stack_pointer).filter(|_| call.is_some());
                let blocked = blocked.map(|(code, stack_pointer)| Blocked { stack_pointer, code });
                let state = if call.is_some_and(SystemCall::sleeps) {
                    ThreadState::Waiting(call)
                } else {
                    self.state(tid, call)?
                };
                Some(Doing { state, argument: argument.filter(|_| call.is_some()), blocked })
            }
            None => Some(Doing { state: self.state(tid, None)?, argument: None, blocked: None }),
        }
    }

    /// How often the thread has had a processor, if the kernel counts it.
    pub(super) fn turns(&mut self, tid: u32) -> Option<u64> {
        let mut buffer = [0; 128];
        let length = self.files(tid)?.schedstat.as_ref()?.read_at(&mut buffer, 0).ok()?;
        let text = std::str::from_utf8(&buffer[..length]).ok()?;
        // Nanoseconds on a processor, nanoseconds ready for one, turns.
        text.split_ascii_whitespace().nth(2)?.parse().ok().filter(|turns| *turns > 0)
    }

    fn files(&mut self, tid: u32) -> Option<&Files> {
        if !self.files.contains_key(&tid) {
            if self.files.len() >= MOST_FILES {
                self.files.clear();
            }
            let open = |name: &str| File::open(format!("/proc/{}/task/{tid}/{name}", self.pid)).ok();
            self.files.insert(tid, Files { syscall: open("syscall")?, schedstat: open("schedstat") });
        }
        self.files.get(&tid)
    }

    fn syscall<'a>(&mut self, tid: u32, buffer: &'a mut [u8; 256]) -> Option<&'a str> {
        match self.files(tid)?.syscall.read_at(buffer, 0) {
            Ok(length) if length > 0 => std::str::from_utf8(&buffer[..length]).ok().map(str::trim_end),
            _ => {
                self.files.remove(&tid);
                None
            }
        }
    }

    fn state(&self, tid: u32, call: Option<SystemCall>) -> Option<ThreadState> {
        let stat = std::fs::read(format!("/proc/{}/task/{tid}/stat", self.pid)).ok()?;
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

/// The numbers of all threads of a process.
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
