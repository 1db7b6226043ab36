//! One interpreter in one process: what is known about it, and its stacks.

use std::collections::HashMap;

use super::super::memory::{Fault, Memory};
use super::super::names::{FrameId, Names, StackId};
use super::super::snapshot::Snapshot;
use super::code::Codes;
use super::find::Found;
use super::layout::{Layout, Version};
use super::published;
use super::runtime::{PythonThread, Runtime};
use super::tables;
use super::torn::Torn;
use super::walk::{RawFrame, confirm, walk};

/// A stack that changed is read again so often.
const ATTEMPTS: usize = 3;

/// So many pages of a stack are read ahead, and of the states of all threads.
const MOST_STACK_PAGES: usize = 512;
const MOST_LIST_PAGES: usize = 4096;

/// Why an interpreter cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Which version it is cannot be told (yet).
    NoVersion,
    Version(Version),
    Memory(Fault),
}

#[derive(Debug)]
pub struct Python<M> {
    layout: Layout,
    address: u64,
    snapshot: Snapshot<M>,
    runtime: Runtime,
    codes: Codes,
    /// The pages that the lists were on, and those of each thread's stack, by its state.
    list_pages: Vec<u64>,
    stack_pages: HashMap<u64, Vec<u64>>,
    raw: Vec<RawFrame>,
    frames: Vec<FrameId>,
}

impl<M: Memory> Python<M> {
    pub fn open(memory: M, found: &Found) -> Result<Self, Unknown> {
        let mut snapshot = Snapshot::new(memory);
        let mut start = vec![0; published::SIZE];
        snapshot.read(found.runtime, &mut start).map_err(Unknown::Memory)?;
        let layout = if let Some(version) = published::version(&start) {
            published::read(&start).ok_or(Unknown::Version(version))?
        } else {
            let hex = found.version_at.and_then(|at| snapshot.word(at).ok()).filter(|hex| *hex != 0);
            let version = hex.map(Version::from_hex).or(found.version).ok_or(Unknown::NoVersion)?;
            // One that publishes its layout, but not yet: its file is just being mapped.
            if version >= published::FIRST {
                return Err(Unknown::NoVersion);
            }
            tables::known(version).ok_or(Unknown::Version(version))?
        };
        Ok(Self {
            layout,
            address: found.runtime,
            snapshot,
            runtime: Runtime::default(),
            codes: Codes::default(),
            list_pages: Vec::new(),
            stack_pages: HashMap::new(),
            raw: Vec::new(),
            frames: Vec::new(),
        })
    }

    pub fn version(&self) -> Version {
        self.layout.version
    }

    pub fn free_threaded(&self) -> bool {
        self.layout.free_threaded
    }

    /// The threads and locks of this moment; none while the interpreter starts.
    pub fn list(&mut self, mut is_thread: impl FnMut(u32) -> bool) -> Result<&Runtime, Torn> {
        let mut result = Ok(());
        for _ in 0..ATTEMPTS {
            self.snapshot.clear();
            self.snapshot.prefetch(&self.list_pages);
            result = self.runtime.read(&mut self.snapshot, &self.layout, self.address, &mut is_thread);
            remember(&mut self.list_pages, self.snapshot.touched(), MOST_LIST_PAGES);
            if matches!(result, Ok(()) | Err(Torn::Stopped(_))) {
                break;
            }
        }
        // States of threads that have ended.
        if self.stack_pages.len() > 2 * self.runtime.threads.len() + 16 {
            let threads = &self.runtime.threads;
            self.stack_pages.retain(|address, _| threads.iter().any(|thread| thread.address == *address));
        }
        result.map(|()| &self.runtime)
    }

    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The Python frames of a thread.
    pub fn stack(&mut self, names: &mut Names, thread: &PythonThread) -> Result<StackId, Torn> {
        let mut result = Err(Torn::Moved);
        for _ in 0..ATTEMPTS {
            result = self.attempt(names, thread);
            if matches!(result, Ok(_) | Err(Torn::Stopped(_))) {
                break;
            }
        }
        result
    }

    fn attempt(&mut self, names: &mut Names, thread: &PythonThread) -> Result<StackId, Torn> {
        let pages = self.stack_pages.entry(thread.address).or_default();
        self.snapshot.clear();
        self.snapshot.prefetch(pages);
        self.frames.clear();
        let mut result = walk(&mut self.snapshot, &self.layout, thread.address, &mut self.raw);
        if result.is_ok() {
            result = confirm(&self.snapshot, &self.layout, thread.address, &self.raw);
        }
        if result.is_ok() {
            for frame in &self.raw {
                match self.codes.resolve(&mut self.snapshot, &self.layout, names, frame) {
                    Ok(frame) => self.frames.push(frame),
                    Err(torn) => {
                        result = Err(torn);
                        break;
                    }
                }
            }
        }
        remember(pages, self.snapshot.touched(), MOST_STACK_PAGES);
        result.map(|()| names.stack_of(&self.frames))
    }
}

/// Pages are worth reading ahead if the next stack is likely to need them; a damaged walk may have touched any.
fn remember(pages: &mut Vec<u64>, touched: &[u64], most: usize) {
    pages.clear();
    pages.extend(touched.iter().take(most));
}
