//! The state as a whole, its lock, and its address.
//!
//! It is in memory that is cleared in the child of a fork, and all zero is the fresh state. So a
//! child never writes into its parent's file, whichever way it was forked, and never finds a lock
//! held, or a table half changed, by a thread that does not exist in the child.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::gpu::Gpu;
use super::names::{Names, Writing};
use super::space::Space;
use super::threads::Threads;
use crate::lock::Lock;
use crate::memory::{self, AfterFork, Pool};

pub(crate) struct State {
    pub(crate) lock: Lock,
    /// See [`phase`].
    pub(crate) phase: AtomicU32,
    /// Identifies the file that numbers of names and domains belong to; 0 if there is none yet.
    pub(crate) epoch: AtomicU32,
    /// The mapped header of the file, where losses are counted.
    pub(crate) header: AtomicPtr<u8>,
    pub(crate) names: Names,
    pub(crate) gpu: Gpu,
    guarded: UnsafeCell<Guarded>,
}

/// Accessed only under the lock.
pub(crate) struct Guarded {
    pub(crate) cleared: Pool,
    pub(crate) kept: Pool,
    pub(crate) space: Space,
    pub(crate) threads: Threads,
    pub(crate) writing: Writing,
}

pub(crate) mod phase {
    pub(crate) const FRESH: u32 = 0;
    pub(crate) const ON: u32 = 1;
    pub(crate) const OFF: u32 = 2;
}

// SAFETY: `guarded` is accessed only under the lock; everything else is atomic or has its own lock.
unsafe impl Sync for State {}

static STATE: AtomicPtr<State> = AtomicPtr::new(core::ptr::null_mut());

/// The state that [`make`] made; None only before that.
#[inline(always)]
pub(crate) fn state() -> Option<&'static State> {
    // SAFETY: null, or mapped forever; all zero is a valid state.
    unsafe { STATE.load(Ordering::Acquire).as_ref() }
}

pub(crate) fn gpu() -> Option<&'static Gpu> {
    state().map(|state| &state.gpu)
}

/// Makes the state, once for a process and its forked children together.
pub(crate) fn make() -> Option<&'static State> {
    if let Some(state) = state() {
        return Some(state);
    }
    let size = size_of::<State>().next_multiple_of(4096);
    let fresh = memory::map(size, AfterFork::Cleared)?.cast::<State>();
    // Two threads may get here at once; the one that loses gives its memory back.
    let ours = STATE.compare_exchange(core::ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire);
    if ours.is_err() {
        // SAFETY: nobody else has seen it.
        unsafe { memory::unmap(fresh.cast(), size) };
    }
    state()
}

impl State {
    /// Does `work` under the lock.
    pub(crate) fn alone<T>(&'static self, work: impl FnOnce(&'static Self, &mut Guarded) -> T) -> T {
        self.lock.with(|| {
            // SAFETY: we hold the lock.
            let guarded = unsafe { &mut *self.guarded.get() };
            work(self, guarded)
        })
    }
}
