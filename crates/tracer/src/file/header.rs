//! The first page of the file: which process it is from, what was lost, and how it ended.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tracefile::layout::{self, flag, header};

use super::halt::Halt;
use super::write::{put, put_text};
use crate::state::{self, State, phase};
use crate::{clock, process, sys, weak};

/// Starts the clock and fills in the header, the magic number last.
///
/// # Safety
/// `page` is a fresh page of ours.
pub(super) unsafe fn fill(page: *mut u8, process: u32, name: &[u8], rank: Option<&[u8]>) {
    let base = clock::start();
    let mut flags = 0;
    if clock::in_nanoseconds() {
        flags |= flag::NANOSECONDS;
    }
    if process::forked_without_exec() {
        flags |= flag::FORKED;
    }
    // SAFETY: as stated.
    unsafe {
        put(page, header::FLAGS, flags);
        put(page, header::PID, process);
        put(page, header::PARENT, sys::parent_id());
        put(page, header::BASE_TICKS, base.ticks);
        put(page, header::BASE_MONOTONIC, base.monotonic);
        put(page, header::BASE_REALTIME, base.realtime);
        put(page, header::TICKS_PER_SECOND, base.rate);
        put_text(page, header::NAME, header::NAME_LENGTH, &[name]);
        if let Some(rank) = rank {
            put_text(page, header::LABEL, header::LABEL_LENGTH, &[b"rank ", rank]);
        }
        put(page, header::MAGIC, layout::MAGIC);
    }
}

/// Counts something that was lost, in a field of the header.
pub(crate) fn count(field: usize) {
    let Some(state) = state::state() else { return };
    let page = state.header.load(Ordering::Relaxed);
    if !page.is_null() {
        // SAFETY: the header page stays mapped; the counter is aligned.
        unsafe { AtomicU64::from_ptr(page.add(field).cast()) }.fetch_add(1, Ordering::Relaxed);
    }
}

/// Stops recording and writes the reason into the header. What was recorded stays true: it is
/// everything up to some moment, and nothing after it.
pub(super) fn halt_recording(state: &'static State, halt: &Halt) {
    state.phase.store(phase::OFF, Ordering::Release);
    let page = state.header.load(Ordering::Acquire);
    if !page.is_null() {
        // SAFETY: the header page stays mapped.
        unsafe {
            put(page, header::HALTED_ERRNO, halt.errno as u32);
            put(page, header::HALTED, halt.why);
        }
    }
}

/// Registers [`at_exit`] for a clean exit. Only once: a forked child inherits its parent's handlers.
pub(super) fn watch_for_exit() {
    static WATCHING: AtomicBool = AtomicBool::new(false);
    if !WATCHING.swap(true, Ordering::Relaxed)
        && let Some(register) = weak::cxa_atexit()
    {
        // SAFETY: the C library's own function; the library is never unloaded.
        unsafe { register(at_exit, core::ptr::null_mut(), core::ptr::null_mut()) };
    }
}

unsafe extern "C" fn at_exit(_: *mut c_void) {
    note_end();
}

/// The process ends now, with everything written.
pub(crate) fn note_end() {
    let Some(state) = state::state() else { return };
    let page = state.header.load(Ordering::Acquire);
    if !page.is_null() {
        let (ticks, monotonic) = clock::pair();
        // SAFETY: the header page stays mapped.
        unsafe {
            put(page, header::END_MONOTONIC, monotonic);
            put(page, header::END_TICKS, ticks.wrapping_sub(clock::base()));
        }
    }
}
