//! One process, read from outside while it runs.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use super::gil::{GilUse, gil_use};
use super::image::{Image, check_class};
use super::maps::mappings;
use super::memory::{Fault, Memory, ProcessMemory};
use super::names::{FrameId, FrameKind, Names, StackId};
use super::native::NativeStacks;
use super::python::{Python, PythonThread, Torn, Unknown, Version, find_in, other_python};
use super::shared::Shared;
use super::syscalls::SystemCall;
use super::task::{Doing, Tasks, ThreadState, threads};
use super::unreadable::{Unreadable, perf_paranoid, yama_scope};

/// One thread at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSample {
    pub tid: u32,
    pub state: ThreadState,
    pub stack: StackId,
    pub gil: GilUse,
    /// The stack could not be read, or changed while it was read, and is left out.
    pub torn: bool,
}

#[derive(Debug)]
enum Language {
    /// Looked at `looks` times and no interpreter seen; look again at `next`.
    Native {
        looks: u32,
        next: Instant,
    },
    Python(Box<Python<ProcessMemory>>),
    /// It cannot be read, or its interpreter: only what its threads do is known.
    Unknown(Unreadable),
}

#[derive(Debug)]
pub struct HostProcess {
    pid: u32,
    image: Image,
    language: Language,
    tasks: Tasks,
    /// Lists of threads that made no sense, since one that did.
    nonsense: u32,
    /// Threads that did not run when they were sampled last.
    asleep: HashMap<u32, Asleep>,
    native: Option<NativeStacks>,
    /// Where threads were that the kernel has sampled, and their processor time then.
    ran: HashMap<u32, (u64, StackId)>,
    shared: Shared,
    /// Where among its threads a round begins: not always at the same ones, if not all can be sampled.
    first: usize,
    /// The last sample of all threads, and when the threads were listed for it.
    last: Vec<ThreadSample>,
    listed: Instant,
}

/// A thread that waits. As long as it gets no turn on a processor, nothing about it changes.
#[derive(Debug, Clone, Copy)]
struct Asleep {
    turns: u64,
    /// The address of its state, if it is one of Python's.
    thread: Option<u64>,
    doing: Doing,
    stack: StackId,
}

/// So many lists in a row that make no sense are not chance: things are not where they should be.
const MUCH_NONSENSE: u32 = 200;

/// A program that has been looked at so often without an interpreter has none.
const STARTING: u32 = 1;

/// From one round to the next, among the threads of a process: a number that has no divisor in common with most.
const FURTHER: usize = 7919;

/// A thread that has run for longer is sampled again, or it was in the kernel.
const FAR_NS: u64 = 5_000_000;

/// A process in which nothing runs is asked for new threads after this time.
const LIST_AGAIN: Duration = Duration::from_millis(50);

impl HostProcess {
    pub fn open(pid: u32) -> Result<Self, Unreadable> {
        Self::with(pid, Shared::new())
    }

    pub(super) fn with(pid: u32, shared: Shared) -> Result<Self, Unreadable> {
        check_class(pid)?;
        let mut process = Self::of(pid, Language::Native { looks: 0, next: Instant::now() }, shared)?;
        process.look()?;
        Ok(process)
    }

    /// One that cannot be read: its samples have no stacks.
    pub(super) fn unread(pid: u32, why: Unreadable, shared: Shared) -> Result<Self, Unreadable> {
        Self::of(pid, Language::Unknown(why), shared)
    }

    fn of(pid: u32, language: Language, shared: Shared) -> Result<Self, Unreadable> {
        Ok(Self {
            pid,
            image: Image::of(pid)?,
            language,
            tasks: Tasks::of(pid, shared.descriptors.clone()),
            nonsense: 0,
            asleep: HashMap::new(),
            native: None,
            ran: HashMap::new(),
            shared,
            first: 0,
            last: Vec::new(),
            listed: Instant::now(),
        })
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The version of its interpreter, if it has one that can be read.
    pub fn python(&self) -> Option<Version> {
        match &self.language {
            Language::Python(python) => Some(python.version()),
            _ => None,
        }
    }

    /// Whether it may be readable another time.
    pub(super) fn may_become_readable(&self) -> bool {
        matches!(
            self.language,
            Language::Unknown(Unreadable::NotPermitted { .. } | Unreadable::Unavailable { .. })
        )
    }

    /// Why its stacks cannot be read: it cannot be, an unknown Python, or native code that may not be sampled.
    pub fn trouble(&self) -> Option<Unreadable> {
        match &self.language {
            Language::Unknown(why) => Some(why.clone()),
            Language::Python(_) => None,
            Language::Native { .. } => {
                let refused = self.native.as_ref().and_then(NativeStacks::refused)?;
                Some(Unreadable::NoNativeStacks { errno: refused.errno, paranoid: perf_paranoid() })
            }
        }
    }

    /// Notices an exec, and an interpreter that was loaded since. To be called some times a second.
    pub fn refresh(&mut self) -> Result<(), Unreadable> {
        let image = match Image::of(self.pid) {
            // Without a descriptor it is not known whether it is another program.
            Err(Unreadable::Unavailable { .. }) => return Ok(()),
            image => image?,
        };
        if image != self.image {
            self.image = image;
            self.nonsense = 0;
            self.asleep.clear();
            self.ran.clear();
            self.last.clear();
            self.native = None;
            self.tasks = Tasks::of(self.pid, self.shared.descriptors.clone());
            self.language = Language::Native { looks: 0, next: Instant::now() };
            check_class(self.pid)?;
        }
        match self.language {
            Language::Native { next, .. } if next <= Instant::now() => self.look(),
            _ => Ok(()),
        }
    }

    fn look(&mut self) -> Result<(), Unreadable> {
        let mappings = mappings(self.pid).map_err(|error| self.refused(&error))?;
        // A program that is starting has few files mapped; one that loads an interpreter late is rare.
        let looks = match self.language {
            Language::Native { looks, .. } => looks + 1,
            _ => 1,
        };
        let wait = Duration::from_millis((10 << looks.min(9)).min(5000));
        self.language = Language::Native { looks, next: Instant::now() + wait };
        let memory = ProcessMemory::of(self.pid);
        if let Some(first) = mappings.first() {
            match memory.read(first.start, &mut [0; 4]) {
                Err(Fault::Gone) => return Err(Unreadable::Gone),
                Err(Fault::Denied(errno)) => return Err(not_permitted(errno)),
                _ => {}
            }
        }
        if let Some(name) = other_python(&mappings) {
            self.language = Language::Unknown(Unreadable::OtherPython(name));
            return Ok(());
        }
        if let Some(found) = find_in(self.pid, &mappings) {
            match Python::open(memory, &found) {
                Ok(python) => self.language = Language::Python(Box::new(python)),
                Err(Unknown::Version(version)) => {
                    self.language = Language::Unknown(Unreadable::UnknownVersion(version));
                }
                Err(Unknown::Memory(Fault::Denied(errno))) => return Err(not_permitted(errno)),
                Err(Unknown::Memory(Fault::Gone)) => return Err(Unreadable::Gone),
                // Just being mapped: the next look will tell.
                Err(Unknown::Memory(_) | Unknown::NoVersion) => {}
            }
        }
        Ok(())
    }

    /// Samples the given threads, or the main thread and all that have Python states, and adds them to `out`.
    pub fn sample(
        &mut self,
        threads: Option<&[u32]>,
        names: &mut Names,
        out: &mut Vec<ThreadSample>,
    ) -> Result<(), Unreadable> {
        let first = out.len();
        if threads.is_none() && self.nothing_ran() {
            out.extend(&self.last);
            return Ok(());
        }
        let mut sampled = HashSet::new();
        let is_listed = self.list()?;
        if is_listed {
            let count = self.python_threads().len();
            for at in 0..count {
                let Some(thread) = self.python_threads().get(at).copied() else { break };
                let Some(tid) = self.tasks.number(thread.native) else { continue };
                let wanted = threads.is_none_or(|threads| threads.contains(&tid));
                // A thread with several states (subinterpreters) is sampled once.
                if wanted && sampled.insert(tid) {
                    out.extend(self.sample_python(tid, &thread, names)?);
                }
            }
        }
        let others = match threads {
            Some(threads) => threads,
            None => &self.other_threads(is_listed),
        };
        for tid in others {
            if sampled.insert(*tid) {
                out.extend(self.sample_native(*tid, names));
            }
        }
        self.last.clear();
        if threads.is_none() {
            self.last.extend(&out[first..]);
            self.listed = Instant::now();
            // Threads that have ended.
            if self.asleep.len().max(self.ran.len()) > 2 * sampled.len() {
                self.asleep.retain(|tid, _| sampled.contains(tid));
                self.ran.retain(|tid, _| sampled.contains(tid));
            }
        }
        Ok(())
    }

    /// Whether all threads that were sampled last are still asleep. A thread that is new shows itself soon enough.
    fn nothing_ran(&mut self) -> bool {
        let slept = |sample: &ThreadSample| self.asleep.contains_key(&sample.tid);
        // To ask each of many threads takes long.
        if self.last.is_empty() || self.listed.elapsed() >= LIST_AGAIN || !self.last.iter().all(slept) {
            return false;
        }
        self.last.iter().all(|sample| {
            let turns = self.tasks.turns(sample.tid);
            turns.is_some() && self.asleep.get(&sample.tid).map(|asleep| asleep.turns) == turns
        })
    }

    /// The main thread; and all others in a program that is not Python, or of which Python does not tell which threads it has.
    fn other_threads(&mut self, is_listed: bool) -> Vec<u32> {
        let is_starting = matches!(self.language, Language::Native { .. }) && self.native.is_none();
        if is_listed || is_starting {
            return vec![self.pid];
        }
        let mut found = threads(self.pid);
        found.retain(|tid| *tid != self.pid);
        self.first = self.first.wrapping_add(FURTHER);
        let first = self.first % found.len().max(1);
        found.rotate_left(first);
        found.insert(0, self.pid);
        found
    }

    /// A thread without Python. None if it has ended.
    fn sample_native(&mut self, tid: u32, names: &mut Names) -> Option<ThreadSample> {
        // A program that is just starting may still become Python.
        if self.native.is_none()
            && matches!(self.language, Language::Native { looks, .. } if looks > STARTING)
        {
            self.native = Some(NativeStacks::of(self.pid, self.shared.rings.clone()));
            // What they wait for was read without their callers.
            self.asleep.clear();
        }
        let asleep = self.asleep.get(&tid).filter(|asleep| asleep.thread.is_none()).copied();
        let turns = asleep.and_then(|_| self.tasks.turns(tid));
        let (doing, stack) = match asleep {
            Some(asleep) if Some(asleep.turns) == turns => (asleep.doing, asleep.stack),
            _ => {
                let doing = self.tasks.doing(tid)?;
                let turns = if doing.state.runs() { None } else { self.tasks.turns(tid) };
                let runs = doing.state.runs();
                let ran = self.native.as_mut().and_then(|native| native.running(names, tid, runs));
                let stack = match runs {
                    true => self.running_at(tid, ran).unwrap_or(StackId::EMPTY),
                    false => self.waiting_in(tid, &doing, names),
                };
                self.asleep.remove(&tid);
                if let Some(turns) = turns {
                    self.asleep.insert(tid, Asleep { turns, thread: None, doing, stack });
                }
                (doing, stack)
            }
        };
        // What runs is somewhere, whether that can be read or not.
        let torn = stack == StackId::EMPTY && doing.state.may_run();
        Some(ThreadSample { tid, state: doing.state, stack, gil: GilUse::None, torn })
    }

    /// Where a thread is that runs, or is ready to: where it has just been sampled, or, as long as it has had next to no processor
    /// since, where it was sampled last.
    fn running_at(&mut self, tid: u32, sampled: Option<StackId>) -> Option<StackId> {
        let Some(stack) = sampled else {
            let (then, stack) = *self.ran.get(&tid)?;
            let since = self.tasks.processor_ns(tid)?.checked_sub(then)?;
            return (since <= FAR_NS).then_some(stack);
        };
        match self.tasks.processor_ns(tid) {
            Some(now) => self.ran.insert(tid, (now, stack)),
            None => self.ran.remove(&tid),
        };
        Some(stack)
    }

    /// The system call that a thread waits in, and in a program without Python who called it.
    fn waiting_in(&mut self, tid: u32, doing: &Doing, names: &mut Names) -> StackId {
        let call: Option<FrameId> = doing.state.call().and_then(SystemCall::name).map(|name| {
            let (function, file) = (names.text(name), names.text("kernel"));
            names.frame(function, file, 0, FrameKind::Kernel)
        });
        if let (Some(native), Some(blocked)) = (&mut self.native, doing.blocked) {
            let stack = native.waiting(names, blocked, call.as_slice());
            // If it went on meanwhile, what was read is of no one moment.
            if self.tasks.doing(tid).as_ref() == Some(doing) {
                return stack;
            }
        }
        names.stack_of(call.as_slice())
    }

    fn python_threads(&self) -> &[PythonThread] {
        match &self.language {
            Language::Python(python) => &python.runtime().threads,
            _ => &[],
        }
    }

    /// Lists the threads of the interpreter. False if there is none, or if its list changed while it was read.
    fn list(&mut self) -> Result<bool, Unreadable> {
        let Language::Python(python) = &mut self.language else { return Ok(false) };
        let tasks = &mut self.tasks;
        match python.list(|native| tasks.number(native).is_some()) {
            Ok(_) => {
                self.nonsense = 0;
                return Ok(true);
            }
            Err(Torn::Stopped(Fault::Gone)) => return Err(Unreadable::Gone),
            Err(Torn::Stopped(Fault::Denied(errno))) => return Err(not_permitted(errno)),
            Err(_) => self.nonsense += 1,
        }
        if self.nonsense > MUCH_NONSENSE {
            self.language = Language::Unknown(Unreadable::UnknownLayout(python.version()));
        }
        Ok(false)
    }

    /// None if the thread has ended.
    fn sample_python(
        &mut self,
        tid: u32,
        thread: &PythonThread,
        names: &mut Names,
    ) -> Result<Option<ThreadSample>, Unreadable> {
        let Language::Python(python) = &mut self.language else { return Ok(None) };
        let asleep = self.asleep.get(&tid).copied();
        let turns = asleep.and_then(|_| self.tasks.turns(tid));
        let (doing, stack) = match asleep {
            // It has not run since: what it does and where it is are the same.
            Some(asleep) if Some(asleep.turns) == turns && asleep.thread == Some(thread.address) => {
                (asleep.doing, Ok(asleep.stack))
            }
            _ => {
                let Some(doing) = self.tasks.doing(tid) else { return Ok(None) };
                let turns = if doing.state.runs() { None } else { self.tasks.turns(tid) };
                let stack = python.stack(names, thread);
                self.asleep.remove(&tid);
                if let (Some(turns), Ok(stack)) = (turns, stack) {
                    self.asleep.insert(tid, Asleep { turns, thread: Some(thread.address), doing, stack });
                }
                (doing, stack)
            }
        };
        match stack {
            Err(Torn::Stopped(Fault::Gone)) => return Err(Unreadable::Gone),
            Err(Torn::Stopped(Fault::Denied(errno))) => return Err(not_permitted(errno)),
            _ => {}
        }
        let gil = match stack {
            Ok(StackId::EMPTY) => GilUse::None,
            _ => gil_use(python.runtime(), thread, &doing, |native| self.tasks.number(native)),
        };
        let torn = stack.is_err();
        let stack = stack.unwrap_or(StackId::EMPTY);
        Ok(Some(ThreadSample { tid, state: doing.state, stack, gil, torn }))
    }

    fn refused(&self, error: &std::io::Error) -> Unreadable {
        match error.raw_os_error() {
            Some(errno @ (nix::libc::EPERM | nix::libc::EACCES)) => not_permitted(errno),
            Some(nix::libc::ESRCH | nix::libc::ENOENT) => Unreadable::Gone,
            _ => Unreadable::Unavailable {
                path: format!("/proc/{}/maps", self.pid),
                problem: error.to_string(),
            },
        }
    }
}

fn not_permitted(errno: i32) -> Unreadable {
    Unreadable::NotPermitted { errno, yama_scope: yama_scope() }
}
