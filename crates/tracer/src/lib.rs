//! Loaded into the workload through `NVTX_INJECTION64_PATH` and `CUDA_INJECTION64_PATH`;
//! records every NVTX range, and what the GPU does, in a file of the run.
//!
//! It is a guest in other people's programs. It installs no signal handler, writes to no
//! stream, keeps no file descriptor open, changes no call's result, and turns itself off rather
//! than fail. It records into a mapped file, so the records survive the process however it ends.
//!
//! What that takes:
//! - No C library and no Rust runtime ([`sys`], [`weak`]). System calls are made directly, so none
//!   of them is a point at which a thread can be cancelled. Memory comes from the kernel
//!   ([`memory`]), so a signal handler that interrupted `malloc` may open a range. And a static
//!   program can load the library.
//! - Nothing can panic. The panic handler calls a function that does not exist, so the library
//!   links only if the optimizer has proved that no path leads there.
//! - All mutable data is in memory that the kernel clears in the child of a fork ([`state`]). All
//!   zero is the fresh state, whichever way the process was forked.
//! - Locks are held with all signals blocked ([`lock`]).
//!
//! The code is unsafe throughout: it is called from C with C's pointers and writes into mapped
//! memory. Each file says what it relies on.
#![no_std]

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("the tracer is written for Linux on x86-64");

mod abi;
mod clock;
mod cupti;
mod environment;
mod file;
mod intrinsics;
mod lock;
mod memory;
mod names;
mod notes;
mod nvtx;
mod process;
mod state;
mod sys;
mod table;
mod text;
mod thread;
mod tls;
mod weak;

use core::ffi::c_int;

/// The entry point: NVTX calls it once for each shared object that uses NVTX,
/// from whichever thread makes the first call there.
///
/// # Safety
/// `get_export_table` is NVTX's own function, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(get_export_table: Option<abi::GetExportTable>) -> c_int {
    let Some(get_export_table) = get_export_table else { return 0 };
    // SAFETY: NVTX hands us its own table, whose layout `abi` states.
    c_int::from(file::start() && unsafe { nvtx::attach(get_export_table) })
}

/// The entry point for the CUDA driver, which calls it once, inside `cuInit`. It always returns 1,
/// so the driver goes on whether or not we record.
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjection() -> c_int {
    if file::start() {
        cupti::start();
    }
    1
}

/// For a program that is about to end without its exit handlers: what CUPTI knows is in the file when this returns, unless
/// that takes longer than a second. Returns 1 if it is.
#[unsafe(no_mangle)]
pub extern "C" fn rangefinder_leave() -> c_int {
    let whole = cupti::flush_now();
    if whole {
        file::note_end();
    }
    c_int::from(whole)
}

unsafe extern "C" {
    /// Not defined anywhere: see above.
    safe fn rangefinder_tracer_can_panic() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    rangefinder_tracer_can_panic()
}
