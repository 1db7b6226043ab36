//! The stacks of a process that is not Python, thread by thread.

use std::collections::HashMap;

use super::super::names::{FrameId, Names, StackId};
use super::ring::{Refused, Ring};
use super::symbols::Symbols;

/// Each thread needs memory of the kernel, which is not much.
const MOST_THREADS: usize = 16;

/// More often than samples are asked for, so that there is one each time.
const RATE: u64 = 499;

#[derive(Debug)]
pub(crate) struct NativeStacks {
    symbols: Symbols,
    rings: HashMap<u32, Ring>,
    chain: Vec<u64>,
    frames: Vec<FrameId>,
    refused: Option<Refused>,
}

impl NativeStacks {
    pub(crate) fn of(pid: u32) -> Self {
        Self {
            symbols: Symbols::of(pid),
            rings: HashMap::new(),
            chain: Vec::new(),
            frames: Vec::new(),
            refused: None,
        }
    }

    /// Why there are no stacks.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// Where the thread was when it ran last, if it ran since it was asked.
    pub(crate) fn stack(&mut self, names: &mut Names, tid: u32) -> Option<StackId> {
        if self.refused.is_some() {
            return None;
        }
        if !self.rings.contains_key(&tid) {
            if self.rings.len() >= MOST_THREADS {
                self.rings.clear();
            }
            match Ring::open(tid, RATE) {
                Ok(ring) => drop(self.rings.insert(tid, ring)),
                // The thread may have ended; all else is the same for every thread.
                Err(Refused { errno: nix::libc::ESRCH }) => {}
                Err(refused) => self.refused = Some(refused),
            }
        }
        let ring = self.rings.get_mut(&tid)?;
        if !ring.latest(&mut self.chain) || self.chain.is_empty() {
            return None;
        }
        self.frames.clear();
        for (at, address) in self.chain.iter().enumerate() {
            // A caller is where its call is, one before where it goes on.
            let address = if at == 0 { *address } else { address - 1 };
            self.frames.push(self.symbols.frame(names, address));
        }
        Some(names.stack_of(&self.frames))
    }
}
