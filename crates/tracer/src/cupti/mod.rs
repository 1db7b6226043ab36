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

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use abi::{Cupti, FLUSH_FORCED, SUCCESS, THREAD_ID_OF_THE_SYSTEM, activity};
use tracefile::layout::stopped;

use crate::memory::{self, AfterFork};
use crate::state::{Gpu, MOST_CALLS, gpu};
use crate::{environment, sys, weak};

/// CUPTI fills one of these after the other.
const BUFFER: usize = 4 << 20;
/// More than this much memory is not taken: CUPTI drops records then, and counts them.
const MOST_BUFFERS: u64 = 64;
/// What is older than this is in the file, whatever becomes of the process.
const FLUSH_PERIOD_NS: u64 = 500_000_000;
static CUPTI: AtomicPtr<Cupti> = AtomicPtr::new(core::ptr::null_mut());

/// The functions of the library that is loaded, found once.
struct Functions(core::cell::UnsafeCell<core::mem::MaybeUninit<Cupti>>);
// SAFETY: written once, before [`CUPTI`] says where they are.
unsafe impl Sync for Functions {}
static FUNCTIONS: Functions = Functions(core::cell::UnsafeCell::new(core::mem::MaybeUninit::uninit()));

/// Starts recording, if a library is named. Called inside `cuInit`.
pub(crate) fn start() {
    let (Some(gpu), Some(path)) = (gpu(), environment::variable(b"RANGEFINDER_CUPTI")) else { return };
    if gpu.phase.compare_exchange(Gpu::OFF, Gpu::ON, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    if let Err(why) = attach(path) {
        gpu.phase.store(Gpu::OFF, Ordering::Release);
        records::stop(why);
    }
}

fn attach(path: &'static [u8]) -> Result<(), u64> {
    const RTLD_NOW: i32 = 2;
    let dlopen = weak::dlopen().ok_or(stopped::NO_LIBRARY)?;
    // SAFETY: a value of the environment ends in a zero.
    let library = unsafe { dlopen(path.as_ptr().cast(), RTLD_NOW) };
    if library.is_null() {
        return Err(stopped::NO_LIBRARY);
    }
    // SAFETY: it is CUPTI, or has none of its functions.
    let cupti = unsafe { Cupti::of(library) }.ok_or(stopped::NO_LIBRARY)?;
    // SAFETY: only one thread of a process comes here; a forked child writes the same again.
    unsafe { FUNCTIONS.0.get().write(core::mem::MaybeUninit::new(cupti)) };
    CUPTI.store(FUNCTIONS.0.get().cast(), Ordering::Release);
    // SAFETY: CUPTI's own functions, called as its documentation says.
    unsafe {
        // Who cannot make room for another has no business here.
        if !aside::watch(cupti.subscribe.unwrap_or(core::ptr::null_mut())) {
            return Err(stopped::NO_WAY_OUT);
        }
        if let Some(set) = cupti.set_thread_id_type {
            set(THREAD_ID_OF_THE_SYSTEM);
        }
        if (cupti.register_callbacks)(request, complete) != SUCCESS {
            return Err(stopped::REFUSED);
        }
        let nodes = environment::is_on(b"RANGEFINDER_GRAPH_NODES");
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
        if let Some(register) = weak::cxa_atexit() {
            register(at_exit, core::ptr::null_mut(), core::ptr::null_mut());
        }
    }
    records::find_driver();
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
/// buffer to be full. It takes no signal that is meant for the program, and nobody can cancel it.
/// Without it the end of the process flushes.
fn start_flushing() {
    let Some(create) = weak::pthread_create() else { return };
    let signals = sys::block_signals_of_the_program();
    let mut thread = 0;
    // SAFETY: the C library's own functions.
    unsafe {
        if create(&mut thread, core::ptr::null(), keep_flushing, core::ptr::null_mut()) == 0
            && let Some(detach) = weak::pthread_detach()
        {
            detach(thread);
        }
    }
    sys::restore_signals(signals);
}

unsafe extern "C" fn keep_flushing(_: *mut c_void) -> *mut c_void {
    const PTHREAD_CANCEL_DISABLE: i32 = 1;
    if let Some(set) = weak::pthread_setcancelstate() {
        let mut before = 0;
        // SAFETY: the C library's own function.
        unsafe { set(PTHREAD_CANCEL_DISABLE, &mut before) };
    }
    sys::name_thread(c"rangefinder");
    while gpu().is_some_and(|gpu| gpu.phase.load(Ordering::Acquire) == Gpu::ON) {
        sys::sleep(FLUSH_PERIOD_NS);
        flush(0);
    }
    core::ptr::null_mut()
}

fn flush(flags: u32) {
    let Some(gpu) = gpu() else { return };
    gpu.flushing.with_signals(|| {
        if gpu.phase.load(Ordering::Acquire) == Gpu::ON
            && let Some(cupti) = cupti()
        {
            // SAFETY: CUPTI lives as long as the process.
            unsafe { (cupti.flush_all)(flags) };
        }
    });
}

/// Leaves CUPTI to somebody else.
fn step_aside() {
    let Some(gpu) = gpu() else { return };
    flush(FLUSH_FORCED);
    gpu.flushing.with_signals(|| {
        if gpu.phase.compare_exchange(Gpu::ON, Gpu::DONE, Ordering::AcqRel, Ordering::Relaxed).is_err() {
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
    environment::is_on(b"RANGEFINDER_ALL_CALLS")
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
                        if records::call_name(cupti, domain, id).is_some_and(|name| matters(name.to_bytes()))
                        {
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
    if gpu().is_some_and(|gpu| gpu.phase.load(Ordering::Acquire) == Gpu::ON)
        && let Some(cupti) = cupti()
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

unsafe extern "C" fn at_exit(_: *mut c_void) {
    let Some(gpu) = gpu() else { return };
    flush(FLUSH_FORCED);
    gpu.flushing.with_signals(|| {
        if gpu.phase.compare_exchange(Gpu::ON, Gpu::DONE, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            records::clock();
        }
    });
}
