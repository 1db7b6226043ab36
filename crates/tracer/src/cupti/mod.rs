//! What the GPU does, by CUPTI: an activity client, without a subscription, so that there is
//! room for another.
//!
//! Safety, for all of it: CUPTI calls back with buffers that we gave it and pointers that
//! live until the callback returns.

mod abi;
mod aside;
mod at;
mod calls;
mod records;

use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use abi::{Cupti, FLUSH_FORCED, SUCCESS, THREAD_ID_OF_THE_SYSTEM, activity};
use tracefile::layout::stopped;

use crate::spin::Spin;

/// CUPTI fills one of these after the other.
const BUFFER: usize = 4 << 20;
/// More than this much memory is not taken: CUPTI drops records then, and counts them.
const MOST_BUFFERS: u64 = 64;
/// What is older than this is in the file, whatever becomes of the process.
const FLUSH_PERIOD: std::time::Duration = std::time::Duration::from_millis(500);
/// CUPTI has some hundreds of functions of each kind.
const MOST_CALLS: u32 = 2000;

static STATE: AtomicU32 = AtomicU32::new(OFF);
const OFF: u32 = 0;
const ON: u32 = 1;
/// The child of a fork: CUDA does not live on there.
const FORKED: u32 = 2;
/// The process ends, or somebody else needs CUPTI.
const DONE: u32 = 3;

/// Held while CUPTI is asked for what it has.
static FLUSHING: Spin = Spin::new();

static CUPTI: AtomicPtr<Cupti> = AtomicPtr::new(std::ptr::null_mut());

/// Buffers nobody uses: each begins with the address of the next.
static FREE: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static FREE_LOCK: Spin = Spin::new();
static BUFFERS: AtomicU64 = AtomicU64::new(0);

/// Starts recording, if a library is named. Called inside `cuInit`.
pub(crate) fn start() -> bool {
    let Some(path) = std::env::var_os("RANGEFINDER_CUPTI").filter(|path| !path.is_empty()) else {
        return false;
    };
    if STATE.compare_exchange(OFF, ON, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return false;
    }
    match attach(&path) {
        Ok(()) => true,
        Err(why) => {
            STATE.store(OFF, Ordering::Release);
            records::stop(why);
            false
        }
    }
}

fn attach(path: &std::ffi::OsStr) -> Result<(), u64> {
    let path = CString::new(path.as_encoded_bytes()).map_err(|_| stopped::NO_LIBRARY)?;
    // SAFETY: a C string.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(stopped::NO_LIBRARY);
    }
    // SAFETY: it is CUPTI, or has none of its functions.
    let cupti = unsafe { Cupti::of(library) }.ok_or(stopped::NO_LIBRARY)?;
    CUPTI.store(Box::leak(Box::new(cupti)), Ordering::Release);
    // SAFETY: CUPTI's own functions, called as its documentation says.
    unsafe {
        // Who cannot make room for another has no business here.
        if !aside::watch(cupti.subscribe.unwrap_or(std::ptr::null_mut())) {
            return Err(stopped::NO_WAY_OUT);
        }
        if let Some(set) = cupti.set_thread_id_type {
            set(THREAD_ID_OF_THE_SYSTEM);
        }
        if (cupti.register_callbacks)(request, complete) != SUCCESS {
            return Err(stopped::REFUSED);
        }
        let nodes = std::env::var_os("RANGEFINDER_GRAPH_NODES").is_some_and(|value| value == "1");
        let wanted = |kind: &u32| match *kind {
            activity::GRAPH_TRACE => !nodes,
            // Measured on an H200: each costs as much as kernels and launches together, or more.
            activity::SYNCHRONIZATION | activity::OVERHEAD => all_calls(),
            _ => true,
        };
        for kind in KINDS.into_iter().filter(wanted) {
            // Kernels matter most; without the rest there is less to see.
            if (cupti.enable)(kind) != SUCCESS && kind == activity::KERNEL {
                return Err(stopped::REFUSED);
            }
        }
        enable_calls(&cupti);
        libc::atexit(at_exit);
    }
    records::clock();
    start_flushing();
    Ok(())
}

const KINDS: [u32; 7] = [
    activity::KERNEL,
    activity::MEMCPY,
    activity::MEMCPY2,
    activity::MEMSET,
    activity::SYNCHRONIZATION,
    activity::OVERHEAD,
    activity::GRAPH_TRACE,
];

/// A thread of our own that asks CUPTI for what is complete; CUPTI itself waits for a
/// buffer to be full. It takes no signal that is meant for the program.
fn start_flushing() {
    // SAFETY: plain C; the mask is put back as it was.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let started =
            std::thread::Builder::new().name("rangefinder".to_owned()).stack_size(256 << 10).spawn(|| {
                while STATE.load(Ordering::Acquire) == ON {
                    std::thread::sleep(FLUSH_PERIOD);
                    flush(0);
                }
            });
        // Without it the end of the process flushes.
        drop(started);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
    }
}

fn flush(flags: u32) {
    FLUSHING.with(|| {
        if STATE.load(Ordering::Acquire) == ON
            && let Some(cupti) = cupti()
        {
            // SAFETY: CUPTI lives as long as the process.
            unsafe { (cupti.flush_all)(flags) };
        }
    });
}

/// Leaves CUPTI to somebody else.
fn step_aside() {
    flush(FLUSH_FORCED);
    FLUSHING.with(|| {
        if STATE.compare_exchange(ON, DONE, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        if let Some(cupti) = cupti() {
            // SAFETY: CUPTI's own functions.
            unsafe {
                for kind in KINDS.into_iter().chain([activity::RUNTIME, activity::DRIVER]) {
                    (cupti.disable)(kind);
                }
                if let Some(finalize) = cupti.finalize {
                    finalize();
                }
            }
        }
        records::stop(stopped::TAKEN);
    });
}

/// Everything, at its price.
fn all_calls() -> bool {
    std::env::var_os("RANGEFINDER_ALL_CALLS").is_some_and(|value| value == "1")
}

/// # Safety
/// CUPTI is loaded.
unsafe fn enable_calls(cupti: &Cupti) {
    let runtime = (activity::RUNTIME, abi::RUNTIME_CALLS, cupti.enable_runtime_call);
    let driver = (activity::DRIVER, abi::DRIVER_CALLS, cupti.enable_driver_call);
    for (kind, domain, enable) in [runtime, driver] {
        let matters = match domain {
            abi::RUNTIME_CALLS => calls::runtime_call_matters,
            _ => calls::driver_call_matters,
        };
        // SAFETY: as stated.
        unsafe {
            match enable.filter(|_| !all_calls()) {
                // An older CUPTI records all or none.
                None => {
                    (cupti.enable)(kind);
                }
                Some(enable) => {
                    for id in 1..MOST_CALLS {
                        if records::call_name(cupti, domain, id).is_some_and(|name| matters(&name)) {
                            enable(id, 1);
                        }
                    }
                }
            }
        }
    }
}

fn cupti() -> Option<&'static Cupti> {
    // SAFETY: leaked, so it lives for ever, or null.
    unsafe { CUPTI.load(Ordering::Acquire).as_ref() }
}

/// CUPTI wants a buffer.
unsafe extern "C" fn request(buffer: *mut *mut u8, size: *mut usize, most_records: *mut usize) {
    let given = take_buffer();
    // SAFETY: CUPTI's own places for the answer.
    unsafe {
        *buffer = given;
        *size = if given.is_null() { 0 } else { BUFFER };
        *most_records = 0;
    }
}

/// CUPTI has filled one.
unsafe extern "C" fn complete(context: *mut c_void, stream: u32, buffer: *mut u8, _: usize, valid: usize) {
    if STATE.load(Ordering::Acquire) == ON
        && let Some(cupti) = cupti()
    {
        // A panic must not cross into CUPTI.
        let _ = std::panic::catch_unwind(|| {
            // SAFETY: the buffer holds `valid` bytes of records.
            unsafe { records::write(cupti, context, stream, buffer, valid) };
        });
    }
    give_buffer(buffer);
}

fn take_buffer() -> *mut u8 {
    let free = FREE_LOCK.with(|| {
        let first = FREE.load(Ordering::Relaxed);
        if !first.is_null() {
            // SAFETY: a free buffer begins with the next one's address.
            FREE.store(unsafe { first.cast::<*mut u8>().read() }, Ordering::Relaxed);
        }
        first
    });
    if !free.is_null() {
        return free;
    }
    if BUFFERS.fetch_add(1, Ordering::Relaxed) >= MOST_BUFFERS {
        BUFFERS.fetch_sub(1, Ordering::Relaxed);
        return std::ptr::null_mut();
    }
    // SAFETY: plain C; malloc's memory is aligned for any record.
    unsafe { libc::malloc(BUFFER).cast() }
}

fn give_buffer(buffer: *mut u8) {
    if buffer.is_null() {
        return;
    }
    FREE_LOCK.with(|| {
        // SAFETY: it is ours, and at least a pointer long.
        unsafe { buffer.cast::<*mut u8>().write(FREE.load(Ordering::Relaxed)) };
        FREE.store(buffer, Ordering::Relaxed);
    });
}

/// In the child of a fork, whose parent's CUPTI thread does not exist.
pub(crate) fn forget() {
    if STATE.load(Ordering::Relaxed) == ON {
        STATE.store(FORKED, Ordering::Relaxed);
    }
    FREE_LOCK.unlock();
    FLUSHING.unlock();
    records::forget();
}

extern "C" fn at_exit() {
    flush(FLUSH_FORCED);
    FLUSHING.with(|| {
        if STATE.compare_exchange(ON, DONE, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            records::clock();
        }
    });
}
