//! Buffers that CUPTI fills with records.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use super::{library, records};
use crate::memory::{self, AfterFork};
use crate::state::{Gpu, gpu};

/// CUPTI fills one of these after the other.
const BUFFER: usize = 4 << 20;
/// If all of these are in use, CUPTI drops records, and counts them.
const MOST_BUFFERS: u64 = 64;

/// Called when CUPTI needs a buffer.
pub(super) unsafe extern "C" fn request(buffer: *mut *mut u8, size: *mut usize, most_records: *mut usize) {
    let given = take_buffer();
    // SAFETY: CUPTI passes the addresses for the answer.
    unsafe {
        *buffer = given;
        *size = if given.is_null() { 0 } else { BUFFER };
        *most_records = 0;
    }
}

/// Called when CUPTI returns a buffer with records.
pub(super) unsafe extern "C" fn complete(
    context: *mut c_void,
    stream: u32,
    buffer: *mut u8,
    _: usize,
    valid: usize,
) {
    if gpu().is_some_and(|gpu| gpu.phase.load(Ordering::Acquire) == Gpu::ON)
        && let Some(cupti) = library::loaded()
    {
        // SAFETY: the buffer holds `valid` bytes of records.
        unsafe { records::write(cupti, context, stream, buffer, valid) };
    }
    give_buffer(buffer);
}

fn take_buffer() -> *mut u8 {
    let Some(gpu) = gpu() else { return core::ptr::null_mut() };
    let free = gpu.free_lock.with(|| {
        let first = gpu.free.load(Ordering::Relaxed);
        if !first.is_null() {
            // SAFETY: a free buffer begins with the next one's address.
            gpu.free.store(unsafe { first.cast::<*mut u8>().read() }, Ordering::Relaxed);
        }
        first
    });
    if !free.is_null() {
        return free;
    }
    if gpu.buffers.fetch_add(1, Ordering::Relaxed) >= MOST_BUFFERS {
        gpu.buffers.fetch_sub(1, Ordering::Relaxed);
        return core::ptr::null_mut();
    }
    memory::map(BUFFER, AfterFork::Kept).unwrap_or(core::ptr::null_mut())
}

fn give_buffer(buffer: *mut u8) {
    let Some(gpu) = gpu().filter(|_| !buffer.is_null()) else { return };
    gpu.free_lock.with(|| {
        // SAFETY: it is ours, and at least a pointer long.
        unsafe { buffer.cast::<*mut u8>().write(gpu.free.load(Ordering::Relaxed)) };
        gpu.free.store(buffer, Ordering::Relaxed);
    });
}
