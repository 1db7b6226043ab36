//! Asks CUPTI for its records: periodically, at exit, and before we leave CUPTI to another client.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use tracefile::layout::stopped;

use super::abi::{FLUSH_FORCED, KINDS, STREAM_WAITS, SUCCESS, activity};
use super::{graphs, library, records};
use crate::state::{Gpu, gpu};
use crate::{sys, weak};

/// Records older than this are in the file, whatever happens to the process.
const FLUSH_PERIOD_NS: u64 = 500_000_000;

/// Starts a thread of our own that asks CUPTI for complete records; CUPTI itself waits until a
/// buffer is full. The thread receives no signal meant for the program and cannot be cancelled. If
/// it cannot be started, records are flushed at exit.
pub(super) fn start_flushing() {
    let Some(create) = weak::pthread_create() else { return };
    let signals = sys::block_signals_of_the_program();
    let mut thread = 0;
    // SAFETY: the C library's own functions.
    unsafe {
        if create(&mut thread, core::ptr::null(), keep_flushing, core::ptr::null_mut()) == 0 {
            if let Some(gpu) = gpu() {
                gpu.flusher.store(1, Ordering::Release);
            }
            if let Some(detach) = weak::pthread_detach() {
                detach(thread);
            }
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
    let Some(gpu) = gpu() else { return core::ptr::null_mut() };
    while gpu.phase.load(Ordering::Acquire) == Gpu::ON {
        let done = gpu.flushes_done.load(Ordering::Relaxed);
        sys::wait_while_at_most(&gpu.flushes_asked, done, FLUSH_PERIOD_NS);
        let asked = gpu.flushes_asked.load(Ordering::Acquire);
        if asked != done {
            flush(FLUSH_FORCED);
            gpu.flushes_done.store(asked, Ordering::Release);
            sys::wake_one(&gpu.flushes_done);
            continue;
        }
        flush(0);
        record_stream_waits();
        graphs::change_kind();
    }
    core::ptr::null_mut()
}

/// With work on several streams, what one waits for is needed to say what would happen if another were faster.
fn record_stream_waits() {
    let Some(gpu) = gpu() else { return };
    if gpu
        .stream_waits
        .compare_exchange(Gpu::WANTED, Gpu::STARTED, Ordering::AcqRel, Ordering::Relaxed)
        .is_err()
    {
        return;
    }
    gpu.flushing.with_signals(|| {
        if gpu.phase.load(Ordering::Acquire) == Gpu::ON
            && let Some(cupti) = library::loaded()
        {
            // SAFETY: CUPTI lives as long as the process; a kind may be enabled at any time.
            let all = STREAM_WAITS.into_iter().all(|kind| unsafe { (cupti.enable)(kind) } == SUCCESS);
            if all {
                records::stream_waits_since(cupti);
            }
        }
    });
}

/// Has everything written that CUPTI knows, by our own thread, and waits for that, but never longer than a second: the
/// process may be ending because its GPU no longer answers. Whether all of it is written.
pub(crate) fn flush_now() -> bool {
    const CLOCK_MONOTONIC: i32 = 1;
    const LONGEST_NS: u64 = 1_000_000_000;
    const PERIOD_NS: u64 = 20_000_000;
    let Some(gpu) = gpu().filter(|gpu| gpu.phase.load(Ordering::Acquire) == Gpu::ON) else { return true };
    if gpu.flusher.load(Ordering::Acquire) == 0 {
        return false;
    }
    let asked = gpu.flushes_asked.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
    sys::wake_one(&gpu.flushes_asked);
    // A signal may end each wait.
    let until = sys::time(CLOCK_MONOTONIC).saturating_add(LONGEST_NS);
    while sys::time(CLOCK_MONOTONIC) < until {
        let done = gpu.flushes_done.load(Ordering::Acquire);
        // Others may have asked after us.
        if (done.wrapping_sub(asked) as i32) >= 0 || gpu.phase.load(Ordering::Acquire) != Gpu::ON {
            return true;
        }
        sys::wait_while_at_most(&gpu.flushes_done, done, PERIOD_NS);
    }
    false
}

fn flush(flags: u32) {
    let Some(gpu) = gpu() else { return };
    gpu.flushing.with_signals(|| {
        if gpu.phase.load(Ordering::Acquire) == Gpu::ON
            && let Some(cupti) = library::loaded()
        {
            // SAFETY: CUPTI lives as long as the process.
            unsafe { (cupti.flush_all)(flags) };
        }
    });
}

/// Leaves CUPTI to another client.
pub(super) fn step_aside() {
    let Some(gpu) = gpu() else { return };
    flush(FLUSH_FORCED);
    gpu.flushing.with_signals(|| {
        if gpu.phase.compare_exchange(Gpu::ON, Gpu::DONE, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        if let Some(cupti) = library::loaded() {
            // SAFETY: CUPTI's own functions.
            unsafe {
                graphs::leave(cupti, gpu);
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

pub(super) unsafe extern "C" fn at_exit(_: *mut c_void) {
    let Some(gpu) = gpu() else { return };
    flush(FLUSH_FORCED);
    gpu.flushing.with_signals(|| {
        if gpu.phase.compare_exchange(Gpu::ON, Gpu::DONE, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            records::clock();
        }
    });
}
