//! Makes room for another client of CUPTI in the same process, such as PyTorch's profiler. CUPTI
//! supports only one: measured with CUPTI 13, while we record, the other's `cuptiSubscribe` fails
//! and its trace has no kernels.
//!
//! The program comes first. We put a jump to our code at the beginning of `cuptiSubscribe`, and of
//! `cuptiSubscribe_v2` where there is one. When somebody calls one of them, we write what we have, leave
//! CUPTI, put the original bytes back, and let the call go on as if we had never been there.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::flush;
use crate::sys;

/// `movabs rax, ADDRESS; jmp rax`
const JUMP: usize = 12;

/// The functions that have a jump.
static SUBSCRIBE: [AtomicPtr<u8>; 2] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 2];
static TAKEN: AtomicU32 = AtomicU32::new(WATCHING);
const WATCHING: u32 = 0;
const LEAVING: u32 = 1;
const LEFT: u32 = 2;
/// The system let us write the jump, but not restore what was there before.
const STUCK: u32 = 3;
/// `CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED`
const NOT_SUPPORTED: i32 = 39;

struct Saved(core::cell::UnsafeCell<[u8; JUMP]>);
// SAFETY: written once, before the jump is in place; read once, after a jump was taken.
unsafe impl Sync for Saved {}
static SAVED: [Saved; 2] = [const { Saved(core::cell::UnsafeCell::new([0; JUMP])) }; 2];

type Subscribe = unsafe extern "C" fn(usize, usize, usize, usize) -> i32;

/// Whether the jumps are in place, since before a fork or since an earlier attempt.
pub(super) fn is_watching() -> bool {
    !SUBSCRIBE[0].load(Ordering::Acquire).is_null()
}

/// Watches for another subscriber. False if that is not possible here.
///
/// # Safety
/// `subscribe` are `cuptiSubscribe` of a loaded libcupti, and `cuptiSubscribe_v2` if it has one.
pub(super) unsafe fn watch(subscribe: [Option<*mut u8>; 2]) -> bool {
    // Saving again would save our own jump.
    if is_watching() {
        return TAKEN.load(Ordering::Acquire) == WATCHING;
    }
    let [Some(first), second] = subscribe else { return false };
    // SAFETY: as stated.
    unsafe {
        // The first says that both are in place.
        let second = second.is_none_or(|second| watch_one(1, second, somebody_subscribes::<1>));
        second && watch_one(0, first, somebody_subscribes::<0>)
    }
}

/// # Safety
/// As above.
unsafe fn watch_one(which: usize, subscribe: *mut u8, instead: Subscribe) -> bool {
    let [a, b, c, d, e, f, g, h] = (instead as *const () as u64).to_le_bytes();
    let jump = [0x48, 0xb8, a, b, c, d, e, f, g, h, 0xff, 0xe0];
    // SAFETY: the function is at least that long: CUPTI's are wrappers of some dozens of bytes.
    unsafe {
        core::ptr::copy_nonoverlapping(subscribe, SAVED[which].0.get().cast(), JUMP);
        SUBSCRIBE[which].store(subscribe, Ordering::Release);
        put(subscribe, &jump)
    }
}

/// Called in place of `cuptiSubscribe` (0) or `cuptiSubscribe_v2` (1).
unsafe extern "C" fn somebody_subscribes<const WHICH: usize>(a: usize, b: usize, c: usize, d: usize) -> i32 {
    match TAKEN.compare_exchange(WATCHING, LEAVING, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            flush::step_aside();
            TAKEN.store(if restored() { LEFT } else { STUCK }, Ordering::Release);
        }
        // Another thread is doing it, or has done it.
        Err(_) => {
            while TAKEN.load(Ordering::Acquire) == LEAVING {
                sys::yield_now();
            }
        }
    }
    if TAKEN.load(Ordering::Acquire) == STUCK {
        return NOT_SUPPORTED;
    }
    let subscribe = SUBSCRIBE[WHICH].load(Ordering::Acquire);
    // SAFETY: the original function; it takes three or four words.
    unsafe { core::mem::transmute::<*mut u8, Subscribe>(subscribe)(a, b, c, d) }
}

/// Puts the bytes back that were there before the jumps.
fn restored() -> bool {
    SUBSCRIBE.iter().zip(&SAVED).all(|(subscribe, saved)| {
        let subscribe = subscribe.load(Ordering::Acquire);
        // SAFETY: the bytes that were there before.
        subscribe.is_null() || unsafe { put(subscribe, &*saved.0.get()) }
    })
}

/// Writes into code. The pages are writable only for that moment.
///
/// # Safety
/// `place` is code of a loaded library.
unsafe fn put(place: *mut u8, bytes: &[u8; JUMP]) -> bool {
    // SAFETY: as stated; the mapping is private, so the file does not change.
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
