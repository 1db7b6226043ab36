//! Another client of CUPTI in the same process, such as PyTorch's profiler: there is room for
//! one. Measured with CUPTI 13: while we record, its `cuptiSubscribe` fails and its trace has no
//! kernels.
//!
//! The program comes first. `cuptiSubscribe` begins with a jump to us until somebody calls it;
//! then we write down what we have, leave CUPTI, put its own bytes back, and let the call go
//! on as if we had never been there.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::flush;
use crate::sys;

/// `movabs rax, ADDRESS; jmp rax`
const JUMP: usize = 12;

static SUBSCRIBE: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static TAKEN: AtomicU32 = AtomicU32::new(WATCHING);
const WATCHING: u32 = 0;
const LEAVING: u32 = 1;
const LEFT: u32 = 2;
/// The system let us write the jump, and not what was there before.
const STUCK: u32 = 3;
/// `CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED`
const NOT_SUPPORTED: i32 = 39;

struct Saved(core::cell::UnsafeCell<[u8; JUMP]>);
// SAFETY: written once before the jump is in place, read once after it was taken.
unsafe impl Sync for Saved {}
static SAVED: Saved = Saved(core::cell::UnsafeCell::new([0; JUMP]));

type Subscribe = unsafe extern "C" fn(usize, usize, usize, usize) -> i32;

/// Watches for whoever subscribes. False when that is not possible here.
///
/// # Safety
/// `subscribe` is `cuptiSubscribe` of a loaded libcupti.
pub(super) unsafe fn watch(subscribe: *mut u8) -> bool {
    if subscribe.is_null() {
        return false;
    }
    // In place already, before a fork or a first try: our own jump must not be what is saved.
    if !SUBSCRIBE.load(Ordering::Acquire).is_null() {
        return TAKEN.load(Ordering::Acquire) == WATCHING;
    }
    let [a, b, c, d, e, f, g, h] = (somebody_subscribes as *const () as u64).to_le_bytes();
    let jump = [0x48, 0xb8, a, b, c, d, e, f, g, h, 0xff, 0xe0];
    // SAFETY: a function is at least that long: CUPTI's are wrappers of some dozen bytes.
    unsafe {
        core::ptr::copy_nonoverlapping(subscribe, SAVED.0.get().cast(), JUMP);
        SUBSCRIBE.store(subscribe, Ordering::Release);
        put(subscribe, &jump)
    }
}

/// In place of `cuptiSubscribe`.
unsafe extern "C" fn somebody_subscribes(a: usize, b: usize, c: usize, d: usize) -> i32 {
    let subscribe = SUBSCRIBE.load(Ordering::Acquire);
    match TAKEN.compare_exchange(WATCHING, LEAVING, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            flush::step_aside();
            // SAFETY: the bytes that were there before.
            let restored = unsafe { put(subscribe, &*SAVED.0.get()) };
            TAKEN.store(if restored { LEFT } else { STUCK }, Ordering::Release);
        }
        // Another thread is at it.
        Err(_) => {
            while TAKEN.load(Ordering::Acquire) == LEAVING {
                sys::yield_now();
            }
        }
    }
    if TAKEN.load(Ordering::Acquire) == STUCK {
        return NOT_SUPPORTED;
    }
    // SAFETY: the function as CUPTI wrote it; it takes three or four words.
    unsafe { core::mem::transmute::<*mut u8, Subscribe>(subscribe)(a, b, c, d) }
}

/// Writes into code. The pages are writable for that long only.
///
/// # Safety
/// `place` is code of a loaded library.
unsafe fn put(place: *mut u8, bytes: &[u8; JUMP]) -> bool {
    // SAFETY: as stated; the mapping is private, so the file is not written to.
    unsafe {
        const PAGE: usize = 4096;
        let start = place as usize / PAGE * PAGE;
        let length = (place as usize + JUMP).next_multiple_of(PAGE) - start;
        if sys::protect(start, length, sys::PROT_READ | sys::PROT_WRITE | sys::PROT_EXEC).is_err() {
            return false;
        }
        place.cast::<[u8; JUMP]>().write_unaligned(*bytes);
        let _ = sys::protect(start, length, sys::PROT_READ | sys::PROT_EXEC);
        true
    }
}
