//! The runtime of an interpreter: its threads, and who has the GIL.

use super::super::memory::Memory;
use super::super::snapshot::Snapshot;
use super::layout::{GIL_SIZE, GilPlace, Layout};
use super::torn::Torn;

/// More interpreters or threads than these are a list that leads in circles.
const MOST_INTERPRETERS: usize = 64;
const MOST_THREADS: usize = 1 << 16;

/// `tid` in glibc's `struct pthread` and in musl's, on 64-bit x86.
const PTHREAD_TID: [u64; 2] = [0x2d0, 0x30];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PythonThread {
    /// Where its state is.
    pub address: u64,
    /// The kernel's number of it, as the process itself sees it.
    pub native: u32,
    /// Which of the locks it needs to run, if there is one.
    pub gil: Option<usize>,
}

/// A global interpreter lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gil {
    pub address: u64,
    /// The state of the thread that has it.
    pub holder: Option<u64>,
}

impl Gil {
    /// Whether a thread that waits on this address waits for the lock.
    pub fn contains(&self, address: u64) -> bool {
        (self.address..self.address.saturating_add(GIL_SIZE)).contains(&address)
    }
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Runtime {
    pub threads: Vec<PythonThread>,
    pub gils: Vec<Gil>,
}

impl Runtime {
    /// Reads the lists anew. `is_thread` says which numbers are threads of the process, for versions that do not
    /// keep them.
    pub fn read<M: Memory>(
        &mut self,
        memory: &mut Snapshot<M>,
        layout: &Layout,
        runtime: u64,
        mut is_thread: impl FnMut(u32) -> bool,
    ) -> Result<(), Torn> {
        self.threads.clear();
        self.gils.clear();
        let mut left = MOST_THREADS;
        let mut interpreter = memory.word(runtime.wrapping_add(layout.interpreters_head))?;
        for _ in 0..MOST_INTERPRETERS {
            if interpreter == 0 {
                return Ok(());
            }
            let gil = gil(memory, layout, runtime, interpreter)?.map(|gil| self.number(gil));
            self.read_threads(memory, layout, (interpreter, gil), &mut left, &mut is_thread)?;
            interpreter = memory.word(interpreter.wrapping_add(layout.interpreter.next))?;
        }
        Err(Torn::Nonsense)
    }

    /// Interpreters may share a lock.
    fn number(&mut self, gil: Gil) -> usize {
        let known = self.gils.iter().position(|known| known.address == gil.address);
        known.unwrap_or_else(|| {
            self.gils.push(gil);
            self.gils.len() - 1
        })
    }

    fn read_threads<M: Memory>(
        &mut self,
        memory: &mut Snapshot<M>,
        layout: &Layout,
        (interpreter, gil): (u64, Option<usize>),
        left: &mut usize,
        is_thread: &mut impl FnMut(u32) -> bool,
    ) -> Result<(), Torn> {
        let mut address = memory.word(interpreter.wrapping_add(layout.interpreter.threads_head))?;
        while address != 0 {
            *left = left.checked_sub(1).ok_or(Torn::Nonsense)?;
            // A thread's state leads back to its interpreter, or is none.
            if memory.word(address.wrapping_add(layout.thread.interpreter))? != interpreter {
                return Err(Torn::Nonsense);
            }
            let native = match layout.thread.native {
                Some(at) => u32::try_from(memory.word(address.wrapping_add(at))?).unwrap_or(0),
                None => by_pthread(memory, layout, address, is_thread).unwrap_or(0),
            };
            // A state without a thread is about to get one, or has just lost it.
            if native != 0 {
                self.threads.push(PythonThread { address, native, gil });
            }
            address = memory.word(address.wrapping_add(layout.thread.next))?;
        }
        Ok(())
    }
}

/// Before 3.11: the C library keeps the number at a known place.
fn by_pthread<M: Memory>(
    memory: &mut Snapshot<M>,
    layout: &Layout,
    thread: u64,
    is_thread: &mut impl FnMut(u32) -> bool,
) -> Option<u32> {
    let pthread = memory.word(thread.wrapping_add(layout.thread.pthread)).ok()?;
    PTHREAD_TID.iter().find_map(|offset| {
        let native = memory.half(pthread.wrapping_add(*offset)).ok()?;
        (native != 0 && is_thread(native)).then_some(native)
    })
}

fn gil<M: Memory>(
    memory: &mut Snapshot<M>,
    layout: &Layout,
    runtime: u64,
    interpreter: u64,
) -> Result<Option<Gil>, Torn> {
    match layout.gil {
        GilPlace::Runtime { current, gil } => {
            let holder = memory.word(runtime.wrapping_add(current))?;
            let address = runtime.wrapping_add(gil);
            Ok(Some(Gil { address, holder: (holder != 0).then_some(holder) }))
        }
        GilPlace::Interpreter { pointer, locked, holder, enabled } => {
            let address = memory.word(interpreter.wrapping_add(pointer))?;
            if address == 0 {
                return Ok(None);
            }
            if let Some(enabled) = enabled
                && memory.half(address.wrapping_add(enabled))? == 0
            {
                return Ok(None);
            }
            let locked = memory.half(address.wrapping_add(locked))? == 1;
            let holder = memory.word(address.wrapping_add(holder))?;
            Ok(Some(Gil { address, holder: (locked && holder != 0).then_some(holder) }))
        }
    }
}
