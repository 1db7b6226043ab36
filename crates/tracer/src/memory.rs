//! Memory of our own, directly from the kernel, cut into pieces that are never freed. The program's
//! `malloc` is never called: we may be in a signal handler that interrupted it.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::sys;

/// How much is taken from the kernel at once.
const BLOCK: usize = 64 << 10;
const LARGEST_BLOCK: usize = 1 << 20;
const ALIGNMENT: usize = 16;

/// What happens to memory in the child of a fork.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterFork {
    /// All zero.
    Cleared,
    /// Unchanged, for the handles that the program holds.
    Kept,
}

/// Memory that pieces are cut from. All zero is empty.
pub(crate) struct Pool {
    next: usize,
    end: usize,
    taken: usize,
}

impl Pool {
    /// A piece of that size, all zero; None if there is no memory.
    pub(crate) fn take(&mut self, bytes: usize, after_fork: AfterFork) -> Option<*mut u8> {
        let bytes = bytes.checked_next_multiple_of(ALIGNMENT)?;
        if self.end - self.next < bytes {
            let block =
                (self.taken / 2).clamp(BLOCK, LARGEST_BLOCK).max(bytes.checked_next_multiple_of(4096)?);
            let start = map(block, after_fork)? as usize;
            self.next = start;
            self.end = start + block;
            self.taken += block;
        }
        let piece = self.next as *mut u8;
        self.next += bytes;
        Some(piece)
    }
}

/// Fresh memory.
pub(crate) fn map(size: usize, after_fork: AfterFork) -> Option<*mut u8> {
    let address = sys::map_memory(size).ok()?;
    if after_fork == AfterFork::Cleared {
        // SAFETY: a mapping of our own, all zero.
        let cleared = unsafe { sys::advise(address, size, sys::MADV_WIPEONFORK) };
        if cleared.is_err() && !remember(address, size) {
            // SAFETY: nobody has seen it yet.
            unsafe { unmap(address, size) };
            return None;
        }
    }
    Some(address)
}

/// # Safety
/// From [`map`], and nobody uses it any more.
pub(crate) unsafe fn unmap(address: *mut u8, size: usize) {
    for (place, _) in &BLOCKS {
        let _ = place.compare_exchange(address as usize, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
    // SAFETY: as stated.
    unsafe { sys::unmap(address, size) };
}

/// Blocks that we must clear in the child of a fork, because the kernel is older than 4.14 and cannot.
const MOST_BLOCKS: usize = 256;
static BLOCKS: [(AtomicUsize, AtomicUsize); MOST_BLOCKS] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; MOST_BLOCKS];
static REMEMBERED: AtomicUsize = AtomicUsize::new(0);
/// Whether [`clear_in_child`] is registered.
static WATCHED: AtomicBool = AtomicBool::new(false);

fn remember(address: *mut u8, size: usize) -> bool {
    let at = REMEMBERED.fetch_add(1, Ordering::AcqRel);
    let Some((place, length)) = BLOCKS.get(at) else { return false };
    length.store(size, Ordering::Relaxed);
    place.store(address as usize, Ordering::Release);
    // With the first block, register the handler that clears them.
    if at == 0 {
        let registered = crate::weak::register_atfork().is_some_and(|register| {
            // SAFETY: the C library's own function; the handler lives as long as the library.
            unsafe {
                register(core::ptr::null(), core::ptr::null(), clear_in_child, core::ptr::null_mut()) == 0
            }
        });
        WATCHED.store(registered, Ordering::Release);
    }
    WATCHED.load(Ordering::Acquire)
}

/// Runs in the child of a fork, where only the forking thread exists.
unsafe extern "C" fn clear_in_child() {
    for (place, length) in &BLOCKS {
        let address = place.load(Ordering::Acquire) as *mut u8;
        if !address.is_null() {
            // SAFETY: a mapping of ours, of that length; its contents mean nothing in the child.
            unsafe { core::ptr::write_bytes(address, 0, length.load(Ordering::Relaxed)) };
        }
    }
}
