//! Another client of CUPTI in the same process, such as PyTorch's profiler: there is room for
//! one. Measured with CUPTI 13: while we record, its `cuptiSubscribe` fails and its trace has no
//! kernels.
//!
//! The program comes first. `cuptiSubscribe` begins with a jump to us until somebody calls it;
//! then we write down what we have, leave CUPTI, put its own bytes back, and let the call go
//! on as if we had never been there.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// `movabs rax, ADDRESS; jmp rax`
const JUMP: usize = 12;

static SUBSCRIBE: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static TAKEN: AtomicU32 = AtomicU32::new(WATCHING);
const WATCHING: u32 = 0;
const LEAVING: u32 = 1;
const LEFT: u32 = 2;
/// The system let us write the jump, and not what was there before.
const STUCK: u32 = 3;
/// `CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED`
const NOT_SUPPORTED: i32 = 39;

struct Saved(std::cell::UnsafeCell<[u8; JUMP]>);
// SAFETY: written once before the jump is in place, read once after it was taken.
unsafe impl Sync for Saved {}
static SAVED: Saved = Saved(std::cell::UnsafeCell::new([0; JUMP]));

type Subscribe = unsafe extern "C" fn(usize, usize, usize, usize) -> i32;

/// Watches for whoever subscribes. False when that is not possible here.
///
/// # Safety
/// `subscribe` is `cuptiSubscribe` of a loaded libcupti.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn watch(subscribe: *mut u8) -> bool {
    if subscribe.is_null() {
        return false;
    }
    let mut jump = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0];
    jump[2..10].copy_from_slice(&(somebody_subscribes as *const () as u64).to_le_bytes());
    // SAFETY: a function is at least that long: CUPTI's are wrappers of some dozen bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(subscribe, SAVED.0.get().cast(), JUMP);
        SUBSCRIBE.store(subscribe, Ordering::Release);
        put(subscribe, &jump)
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn watch(_: *mut u8) -> bool {
    false
}

/// In place of `cuptiSubscribe`.
unsafe extern "C" fn somebody_subscribes(a: usize, b: usize, c: usize, d: usize) -> i32 {
    let subscribe = SUBSCRIBE.load(Ordering::Acquire);
    match TAKEN.compare_exchange(WATCHING, LEAVING, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            super::step_aside();
            // SAFETY: the bytes that were there before.
            let restored = unsafe { put(subscribe, &*SAVED.0.get()) };
            TAKEN.store(if restored { LEFT } else { STUCK }, Ordering::Release);
        }
        // Another thread is at it.
        Err(_) => {
            while TAKEN.load(Ordering::Acquire) == LEAVING {
                std::thread::yield_now();
            }
        }
    }
    if TAKEN.load(Ordering::Acquire) == STUCK {
        return NOT_SUPPORTED;
    }
    // SAFETY: the function as CUPTI wrote it; it takes three or four words.
    unsafe { std::mem::transmute::<*mut u8, Subscribe>(subscribe)(a, b, c, d) }
}

/// Writes into code. The pages are writable for that long only.
///
/// # Safety
/// `place` is code of a loaded library.
unsafe fn put(place: *mut u8, bytes: &[u8; JUMP]) -> bool {
    // SAFETY: as stated; the mapping is private, so the file is not written to.
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE).max(4096) as usize;
        let start = place as usize / page * page;
        let length = (place as usize + JUMP).next_multiple_of(page) - start;
        let writable = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        if libc::mprotect(start as *mut libc::c_void, length, writable) != 0 {
            return false;
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, JUMP);
        libc::mprotect(start as *mut libc::c_void, length, libc::PROT_READ | libc::PROT_EXEC);
        true
    }
}
