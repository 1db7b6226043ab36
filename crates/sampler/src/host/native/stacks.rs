//! The stacks of a process that is not Python, thread by thread.

use std::collections::HashMap;

use super::super::memory::{Memory, ProcessMemory};
use super::super::names::{FrameId, Names, StackId};
use super::super::task::Blocked;
use super::modules::Modules;
use super::ring::{Moment, Refused, Ring};
use super::symbols::Symbols;
use super::unwind::Callers;

/// Each thread needs memory of the kernel, which is not much.
pub(crate) const MOST_THREADS: usize = 16;

/// More often than samples are asked for, so that there is one each time.
const RATE: u64 = 499;

/// Of the stack of a thread that waits; read as far as there is any.
const WAITING_BYTES: [usize; 3] = [16 << 10, 2 << 10, 256];

/// Whether threads can be sampled here, tried on this one.
pub(crate) fn may_sample() -> Result<(), Refused> {
    // Whoever asks is number 0.
    Ring::open(0, RATE).map(drop)
}

#[derive(Debug)]
pub(crate) struct NativeStacks {
    memory: ProcessMemory,
    modules: Modules,
    symbols: Symbols,
    callers: Callers,
    /// None for a thread that there was no memory left for.
    rings: HashMap<u32, Option<Ring>>,
    moment: Moment,
    chain: Vec<u64>,
    frames: Vec<FrameId>,
    refused: Option<Refused>,
}

impl NativeStacks {
    pub(crate) fn of(pid: u32) -> Self {
        Self {
            memory: ProcessMemory::of(pid),
            modules: Modules::of(pid),
            symbols: Symbols::default(),
            callers: Callers::new(),
            rings: HashMap::new(),
            moment: Moment::default(),
            chain: Vec::new(),
            frames: Vec::new(),
            refused: None,
        }
    }

    /// Why there are no stacks of threads that run.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// The kernel stops to sample, until a thread is asked for again.
    pub(crate) fn rest(&mut self) {
        self.rings.clear();
    }

    /// Where the thread was when it ran last, if it ran since it was asked.
    pub(crate) fn running(&mut self, names: &mut Names, tid: u32) -> Option<StackId> {
        if self.refused.is_some() {
            return None;
        }
        if !self.rings.contains_key(&tid) {
            if self.rings.len() >= MOST_THREADS {
                self.rings.clear();
            }
            match Ring::open(tid, RATE) {
                Ok(ring) => drop(self.rings.insert(tid, Some(ring))),
                // The thread may have ended.
                Err(Refused { errno: nix::libc::ESRCH }) => {}
                // Others are sampled: there is not enough memory for one more.
                Err(_) if self.rings.values().any(Option::is_some) => drop(self.rings.insert(tid, None)),
                Err(refused) => self.refused = Some(refused),
            }
        }
        let ring = self.rings.get_mut(&tid)?.as_mut()?;
        ring.latest(&mut self.moment).then(|| self.stack(names, &[]))
    }

    /// Where a thread waits: its system call, and who called it as far as that can be told.
    pub(crate) fn waiting(&mut self, names: &mut Names, blocked: Blocked, call: &[FrameId]) -> StackId {
        self.moment.code = blocked.code;
        self.moment.stack_pointer = blocked.stack_pointer;
        self.moment.frame_pointer = 0;
        self.moment.stack.clear();
        let mut bytes = [0; WAITING_BYTES[0]];
        let read = |length: &&usize| self.memory.read(blocked.stack_pointer, &mut bytes[..**length]).is_ok();
        if let Some(length) = WAITING_BYTES.iter().find(read) {
            let words = bytes[..*length].as_chunks::<8>().0;
            self.moment.stack.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        }
        self.stack(names, call)
    }

    /// The stack of `moment`, with these frames inside it.
    fn stack(&mut self, names: &mut Names, inside: &[FrameId]) -> StackId {
        self.callers.find(&mut self.modules, &self.moment, &mut self.chain);
        self.frames.clear();
        self.frames.extend(inside);
        for address in &self.chain {
            self.frames.push(self.symbols.frame(&mut self.modules, names, *address));
        }
        names.stack_of(&self.frames)
    }
}
