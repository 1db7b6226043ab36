//! The nodes of CUDA graphs, at the moment they are made: a node that is captured lies in the ranges that are
//! open on its thread then, so its event is among those of the thread. A node that is cloned, as all are
//! when a graph is instantiated, says which it is a copy of. Which copies belong to one instance is told by the two
//! events around them: times of calls are CUPTI's, which may be microseconds off.
//!
//! This takes CUPTI's only subscriber. Whoever else wants it gets it (`aside`); if somebody has it already,
//! nodes are not recorded.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use tracefile::layout::{first_word, kind};

use super::abi::{Callback, Cupti, RESOURCES, SUCCESS, Subscriber, activity, resource};
use super::{at, library, records};
use crate::state::{Gpu, gpu};
use crate::thread;

type Subscribe = unsafe extern "C" fn(*mut Subscriber, Callback, *mut c_void) -> i32;

/// Starts recording nodes, if this CUPTI can and nobody else is subscribed.
///
/// # Safety
/// CUPTI is loaded, and `cuptiSubscribe` is as it was loaded.
pub(super) unsafe fn watch(cupti: &Cupti, gpu: &Gpu) {
    let (Some(subscribe), Some(enable), Some(_)) =
        (cupti.subscribe, cupti.enable_callback, cupti.graph_node_id)
    else {
        return;
    };
    let mut subscriber = core::ptr::null_mut();
    // SAFETY: CUPTI's own functions, with the types of its headers.
    unsafe {
        let subscribe = core::mem::transmute::<*mut u8, Subscribe>(subscribe);
        if subscribe(&mut subscriber, node_made, core::ptr::null_mut()) != SUCCESS {
            return;
        }
        gpu.subscriber.store(subscriber, Ordering::Release);
        for callback in [
            resource::GRAPH_NODE_CREATED,
            resource::GRAPH_NODE_CLONED,
            resource::GRAPH_INSTANTIATION_STARTING,
            resource::GRAPH_INSTANTIATED,
        ] {
            enable(1, subscriber, RESOURCES, callback);
        }
    }
}

/// Gives the place of the subscriber back.
///
/// # Safety
/// CUPTI is loaded.
pub(super) unsafe fn leave(cupti: &Cupti, gpu: &Gpu) {
    let subscriber = gpu.subscriber.swap(core::ptr::null_mut(), Ordering::AcqRel);
    if !subscriber.is_null()
        && let Some(unsubscribe) = cupti.unsubscribe
    {
        // SAFETY: a subscriber of ours, once.
        unsafe { unsubscribe(subscriber) };
    }
}

/// Records graphs as a whole when enough of them were recorded node by node, and the other way round: a launch takes
/// up to twice as long when each of its nodes is recorded.
pub(super) fn change_kind() {
    let Some(gpu) = gpu() else { return };
    let (now, next) = match gpu.graph_nodes.load(Ordering::Acquire) {
        now @ Gpu::SOME_NODES if records::enough_nodes() => (now, Gpu::WHOLE),
        now @ Gpu::NODES_WANTED => (now, Gpu::SOME_NODES),
        _ => return,
    };
    gpu.flushing.with_signals(|| {
        if gpu.phase.load(Ordering::Acquire) == Gpu::ON
            && let Some(cupti) = library::loaded()
        {
            let change = if next == Gpu::WHOLE { cupti.enable } else { cupti.disable };
            // SAFETY: CUPTI lives as long as the process; a kind may be changed at any time.
            if unsafe { change(activity::GRAPH_TRACE) } == SUCCESS {
                records::count_nodes_anew();
                let _ = gpu.graph_nodes.compare_exchange(now, next, Ordering::AcqRel, Ordering::Relaxed);
            }
        }
    });
}

/// Called by CUPTI on the thread that makes a node or instantiates a graph.
unsafe extern "C" fn node_made(_: *mut c_void, domain: u32, callback: u32, data: *const c_void) {
    if domain != RESOURCES
        || data.is_null()
        || gpu().is_none_or(|gpu| gpu.phase.load(Ordering::Acquire) != Gpu::ON)
    {
        return;
    }
    if let resource::GRAPH_INSTANTIATION_STARTING | resource::GRAPH_INSTANTIATED = callback {
        let begins = u64::from(callback == resource::GRAPH_INSTANTIATION_STARTING);
        if let Some(thread) = thread::begin_event().or_else(thread::begin_event_anyway) {
            thread.record([first_word(kind::INSTANTIATION, thread.now()), begins]);
        }
        return;
    }
    // SAFETY: what CUPTI passes to callbacks about graphs.
    let graph = unsafe { data.cast::<u8>().add(at::resource::DESCRIPTOR).cast::<*const u8>().read() };
    if graph.is_null() {
        return;
    }
    // SAFETY: as above.
    let address = |field: usize| unsafe { graph.add(field).cast::<*mut c_void>().read() };
    let node = address(at::graph_data::NODE);
    // To ask for an id takes longer than all else: only of copies, which is what runs.
    let copy = match callback {
        // SAFETY: as above.
        resource::GRAPH_NODE_CLONED => match unsafe { node_id(node) } {
            None => return,
            Some(id) => Some((id, address(at::graph_data::ORIGINAL_NODE))),
        },
        _ => None,
    };
    let Some(thread) = thread::begin_event().or_else(thread::begin_event_anyway) else { return };
    let now = thread.now();
    let node = node as u64;
    match copy {
        None => thread.record([first_word(kind::NODE_AT, now), node]),
        Some((id, original)) => {
            thread.record([first_word(kind::COPY_AT, now), id, node, original as u64]);
        }
    }
}

/// # Safety
/// `node` is null or a node of a graph.
unsafe fn node_id(node: *mut c_void) -> Option<u64> {
    let id_of = library::loaded()?.graph_node_id.filter(|_| !node.is_null())?;
    let mut id = 0;
    // SAFETY: CUPTI writes one number.
    (unsafe { id_of(node, &mut id) } == SUCCESS).then_some(id)
}
