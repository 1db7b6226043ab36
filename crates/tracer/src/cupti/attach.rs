//! Starts recording with CUPTI.

use core::sync::atomic::Ordering;

use tracefile::layout::stopped;

use super::abi::{self, Cupti, KINDS, SUCCESS, THREAD_ID_OF_THE_SYSTEM, activity};
use super::{aside, buffers, calls, device, flush, graphs, library, records};
use crate::state::{Gpu, MOST_CALLS, gpu};
use crate::{environment, weak};

/// Starts recording, if the environment names a library. Called inside `cuInit`.
pub(crate) fn start() {
    let (Some(gpu), Some(path)) = (gpu(), environment::variable(b"RANGEFINDER_CUPTI")) else { return };
    if gpu.phase.compare_exchange(Gpu::OFF, Gpu::ON, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    if let Err(why) = attach(gpu, path) {
        if let Some(cupti) = library::loaded() {
            // SAFETY: CUPTI is loaded.
            unsafe { graphs::leave(cupti, gpu) };
        }
        gpu.phase.store(Gpu::OFF, Ordering::Release);
        records::stop(why);
    }
}

fn attach(gpu: &Gpu, path: &'static [u8]) -> Result<(), u64> {
    let cupti = library::load(path).ok_or(stopped::NO_LIBRARY)?;
    const GRAPH_NODES: &[u8] = b"RANGEFINDER_GRAPH_NODES";
    let all_nodes = environment::is_on(GRAPH_NODES);
    let some_nodes = environment::variable(GRAPH_NODES).is_some_and(|value| value == b"some");
    // SAFETY: CUPTI's own functions, called as its documentation says.
    unsafe {
        // Before there is a jump that takes us for another client.
        if (all_nodes || some_nodes) && !aside::is_watching() {
            graphs::watch(cupti, gpu);
        }
        // If we cannot make room for another client, we do not record.
        if !aside::watch([cupti.subscribe, cupti.subscribe_v2]) {
            return Err(stopped::NO_WAY_OUT);
        }
        if let Some(set) = cupti.set_thread_id_type {
            set(THREAD_ID_OF_THE_SYSTEM);
        }
        if (cupti.register_callbacks)(buffers::request, buffers::complete) != SUCCESS {
            return Err(stopped::REFUSED);
        }
        if some_nodes {
            gpu.graph_nodes.store(Gpu::WHOLE, Ordering::Release);
        }
        let wanted = |kind: &u32| match *kind {
            activity::GRAPH_TRACE => !all_nodes,
            // Measured on an H200: what it tells costs as much as kernels and launches together.
            activity::OVERHEAD => calls::all_calls(),
            // A tenth of the time of a loop that waits often: only where there is more than one stream.
            activity::CUDA_EVENT | activity::SYNCHRONIZATION => calls::all_calls(),
            _ => true,
        };
        for kind in KINDS.into_iter().filter(wanted) {
            // Kernels are needed; without the other kinds there is only less to see.
            if (cupti.enable)(kind) != SUCCESS && kind == activity::KERNEL {
                return Err(stopped::REFUSED);
            }
        }
        if calls::all_calls() {
            gpu.stream_waits.store(Gpu::ALL, Ordering::Release);
            records::stream_waits_since(cupti);
        }
        enable_calls(cupti);
        if let Some(register) = weak::cxa_atexit() {
            register(flush::at_exit, core::ptr::null_mut(), core::ptr::null_mut());
        }
    }
    device::find_driver();
    records::clock();
    flush::start_flushing();
    Ok(())
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
            match enable.filter(|_| !calls::all_calls()) {
                // An older CUPTI can only record all calls or none.
                None => {
                    (cupti.enable)(kind);
                }
                Some(enable) => {
                    for id in 1..MOST_CALLS {
                        if cupti.call_name(domain, id).is_some_and(|name| matters(name.to_bytes())) {
                            enable(id, 1);
                        }
                    }
                }
            }
        }
    }
}
