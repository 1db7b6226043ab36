//! Loaded into the workload through `NVTX_INJECTION64_PATH` and `CUDA_INJECTION64_PATH`;
//! records every NVTX range, and what the GPU does, into a file of the run.
//!
//! It is a guest in other people's programs. It writes to no stream but one line
//! on stderr when it gives up, installs no signal handler, changes no result of a
//! call, and turns itself off rather than fail. What it records lies in a mapped
//! file, so that it survives the process however that ends.
//!
//! Unsafe throughout, by nature: it is called from C with C's pointers and writes
//! into mapped memory. Each file says what it relies on.
#![allow(unsafe_code)]

mod abi;
mod clock;
mod cupti;
mod file;
mod names;
mod nvtx;
mod spin;
mod thread;

use std::ffi::c_int;

/// The entry point: NVTX calls it once for each shared object that uses NVTX,
/// from whichever thread makes the first call there.
///
/// # Safety
/// `get_export_table` is NVTX's own function, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(get_export_table: Option<abi::GetExportTable>) -> c_int {
    let attached = std::panic::catch_unwind(|| {
        let Some(get_export_table) = get_export_table else { return false };
        // SAFETY: NVTX hands us its own table, whose layout `abi` states.
        file::start() && unsafe { nvtx::attach(get_export_table) }
    });
    c_int::from(attached.unwrap_or(false))
}

/// The entry point of the CUDA driver: called once, inside `cuInit`.
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjection() -> c_int {
    // Whatever becomes of us, the driver goes on.
    let _ = std::panic::catch_unwind(|| file::start() && cupti::start());
    1
}
