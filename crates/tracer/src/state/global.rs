//! The state as a whole, its lock, and where it lies.
//!
//! It lies in memory that is cleared in the child of a fork, and all zero is the fresh state. So
//! a child never writes into its parent's file, whichever way it was forked, and never finds a
//! lock held or a table half changed by a thread that does not exist there.

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
    /// Which file numbers of names and domains belong to; 0 when there is none yet.
    pub(crate) epoch: AtomicU32,
    /// The mapped header of the file, for what is counted there.
    pub(crate) header: AtomicPtr<u8>,
    pub(crate) names: Names,
    pub(crate) gpu: Gpu,
    guarded: UnsafeCell<Guarded>,
}

/// Only under the lock.
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

// SAFETY: what is guarded is touched under the lock only, the rest is atomic.
unsafe impl Sync for State {}

static STATE: AtomicPtr<State> = AtomicPtr::new(core::ptr::null_mut());

/// The state, made by [`make`]: nothing of ours is called before.
#[inline(always)]
pub(crate) fn state() -> Option<&'static State> {
    // SAFETY: null, or mapped for ever and valid at all zero.
    unsafe { STATE.load(Ordering::Acquire).as_ref() }
}

pub(crate) fn gpu() -> Option<&'static Gpu> {
    state().map(|state| &state.gpu)
}

/// Makes the state, once in a process and its forked children.
pub(crate) fn make() -> Option<&'static State> {
    if let Some(state) = state() {
        return Some(state);
    }
    let size = size_of::<State>().next_multiple_of(4096);
    let fresh = memory::map(size, AfterFork::Cleared)?.cast::<State>();
    // Two threads may come here at once; the one that loses gives its memory back.
    let ours = STATE.compare_exchange(core::ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire);
    if ours.is_err() {
        // SAFETY: nobody else has seen it.
        unsafe { memory::unmap(fresh.cast(), size) };
    }
    state()
}

impl State {
    /// Does `work` alone.
    pub(crate) fn alone<T>(&'static self, work: impl FnOnce(&'static Self, &mut Guarded) -> T) -> T {
        self.lock.with(|| {
            // SAFETY: we hold the lock.
            let guarded = unsafe { &mut *self.guarded.get() };
            work(self, guarded)
        })
    }
}
