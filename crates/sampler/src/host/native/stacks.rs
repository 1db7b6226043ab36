//! The stacks of a process that is not Python, thread by thread.

use super::super::memory::{Memory, ProcessMemory};
use super::super::names::{FrameId, Names, StackId};
use super::super::task::Blocked;
use super::modules::Modules;
use super::ring::{Moment, Refused, Ring};
use super::rings::{RATE, Rings};
use super::symbols::Symbols;
use super::unwind::Callers;

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
    rings: Rings,
    moment: Moment,
    chain: Vec<u64>,
    frames: Vec<FrameId>,
}

impl NativeStacks {
    pub(crate) fn of(pid: u32, rings: Rings) -> Self {
        Self {
            memory: ProcessMemory::of(pid),
            modules: Modules::of(pid),
            symbols: Symbols::default(),
            callers: Callers::new(),
            rings,
            moment: Moment::default(),
            chain: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// Why there are no stacks of threads that run.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.rings.refused()
    }

    /// Where the thread was when it ran last, if it ran since it was asked.
    pub(crate) fn running(&mut self, names: &mut Names, tid: u32, runs: bool) -> Option<StackId> {
        self.rings.latest(tid, runs, &mut self.moment).then(|| self.stack(names, &[]))
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
        for mapping in self.modules.refresh() {
            self.callers.forget(&mapping);
            self.symbols.forget(&mapping);
        }
        self.callers.find(&mut self.modules, &self.moment, &mut self.chain);
        self.frames.clear();
        self.frames.extend(inside);
        for address in &self.chain {
            self.frames.push(self.symbols.frame(&mut self.modules, names, *address));
        }
        names.stack_of(&self.frames)
    }
}
