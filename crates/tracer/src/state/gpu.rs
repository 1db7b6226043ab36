//! What is known about CUPTI and its records.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use super::space::Part;
use crate::lock::Lock;
use crate::memory::Pool;
use crate::table::{Hashed, Table};
use crate::text::mixed;

/// More than the number of functions of either API; CUPTI knows some hundreds.
pub(crate) const MOST_CALLS: u32 = 2000;
const MOST_DEVICES: u32 = 1024;

/// Cleared in the child of a fork, like the rest of the state: CUDA does not survive a fork, and a
/// program that first uses CUDA in the child starts from the beginning. All zero is off.
pub(crate) struct Gpu {
    pub(crate) phase: AtomicU32,
    /// Whether it is recorded which stream waits for which.
    pub(crate) stream_waits: AtomicU32,
    /// Whether graphs are recorded node by node.
    pub(crate) graph_nodes: AtomicU32,
    /// CUPTI's subscriber, if it is us.
    pub(crate) subscriber: AtomicPtr<c_void>,
    /// Held while CUPTI is asked for what it has.
    pub(crate) flushing: Lock,
    /// Whether there is a thread that asks, how often it was told to do so at once, and up to which time it has.
    pub(crate) flusher: AtomicU32,
    pub(crate) flushes_asked: AtomicU32,
    pub(crate) flushes_done: AtomicU32,
    /// Unused buffers: each begins with the address of the next.
    pub(crate) free: AtomicPtr<u8>,
    pub(crate) free_lock: Lock,
    pub(crate) buffers: AtomicU64,
    writer: Shared,
}

/// Values of `phase`.
impl Gpu {
    pub(crate) const OFF: u32 = 0;
    pub(crate) const ON: u32 = 1;
    /// The process is ending, or another client needs CUPTI.
    pub(crate) const DONE: u32 = 2;
}

/// Values of `stream_waits`; zero as long as there is only one stream.
impl Gpu {
    pub(crate) const WANTED: u32 = 1;
    pub(crate) const STARTED: u32 = 2;
    /// All waits are, from the beginning.
    pub(crate) const ALL: u32 = 3;
}

/// Values of `graph_nodes`; zero if graphs are recorded always as a whole, or always node by node.
impl Gpu {
    /// As a whole, for now.
    pub(crate) const WHOLE: u32 = 1;
    /// As a whole, but a graph was seen whose nodes are not known.
    pub(crate) const NODES_WANTED: u32 = 2;
    /// Node by node, until there is enough of each.
    pub(crate) const SOME_NODES: u32 = 3;
}

/// The writer and its lock. All zero is a writer that has written nothing.
struct Shared {
    lock: Lock,
    writer: UnsafeCell<Writer>,
}
// SAFETY: the writer is only accessed under its lock.
unsafe impl Sync for Shared {}

impl Gpu {
    pub(crate) fn with_writer(&self, work: impl FnOnce(&mut Writer)) {
        self.writer.lock.with(|| {
            // SAFETY: we hold the lock.
            work(unsafe { &mut *self.writer.writer.get() });
        });
    }
}

pub(crate) struct Writer {
    pub(crate) pool: Pool,
    pub(crate) part: Part,
    pub(crate) launches: Table<KnownLaunch>,
    pub(crate) next_launch: u32,
    /// By the address at which CUPTI keeps the name, which never changes.
    pub(crate) names: Table<KnownName>,
    /// The numbers of the names of driver and runtime functions; 0 means not looked up yet.
    pub(crate) calls: [[u32; MOST_CALLS as usize]; 2],
    /// One bit for each device that was seen.
    pub(crate) devices: [u64; MOST_DEVICES as usize / 64],
    /// The stream of the last work, and how often it was another than the one before.
    pub(crate) stream: u32,
    pub(crate) changes: u32,
    pub(crate) graphs: SeenGraphs,
}

/// More graphs than a program has in use at once; the nodes of others may not be recorded.
const MOST_GRAPHS: usize = 256;

/// Graphs that were seen, and how often node by node.
pub(crate) struct SeenGraphs {
    seen: [SeenGraph; MOST_GRAPHS],
    count: u32,
    /// Since graphs were last recorded in another way: launches that were recorded node by node, the last of them,
    /// and how often it was asked whether they are enough.
    launches: u32,
    last: u32,
    asked: u32,
}

struct SeenGraph {
    graph: u32,
    launches: u32,
    /// The last of them.
    correlation: u32,
}

impl SeenGraphs {
    /// So many launches tell how long the nodes of a graph take.
    const ENOUGH: u32 = 5;
    /// So many are recorded at most, before graphs are recorded as a whole again: a graph that is launched all the
    /// time does not wait for one that is not.
    const MOST: u32 = 500;
    /// And for so many times half a second.
    const LONGEST: u32 = 8;

    /// A node of a launch.
    pub(crate) fn node(&mut self, graph: u32, correlation: u32) {
        if self.last != correlation {
            self.last = correlation;
            self.launches = self.launches.saturating_add(1);
        }
        if let Some(seen) = self.seen(graph)
            && seen.correlation != correlation
        {
            seen.correlation = correlation;
            seen.launches = seen.launches.saturating_add(1);
        }
    }

    /// From now on graphs are recorded in another way. Nobody has to ask again for those that were seen.
    pub(crate) fn begin(&mut self) {
        (self.launches, self.asked) = (0, 0);
        for seen in self.seen.iter_mut().take(self.count as usize) {
            seen.launches = seen.launches.max(1);
        }
    }

    /// A launch as a whole. Whether its nodes are not known yet.
    pub(crate) fn whole(&mut self, graph: u32) -> bool {
        self.seen(graph).is_some_and(|seen| seen.launches == 0)
    }

    /// Whether enough was recorded node by node. Asked twice a second.
    pub(crate) fn is_enough(&mut self) -> bool {
        self.asked = self.asked.saturating_add(1);
        let known = self.seen.get(..self.count as usize).unwrap_or_default();
        let all = known.iter().all(|seen| seen.launches >= Self::ENOUGH);
        self.asked >= Self::LONGEST || self.launches >= Self::MOST || self.launches > 0 && all
    }

    fn seen(&mut self, graph: u32) -> Option<&mut SeenGraph> {
        let count = self.count as usize;
        let known = self.seen.get(..count)?.iter().position(|seen| seen.graph == graph);
        if known.is_none() {
            *self.seen.get_mut(count)? = SeenGraph { graph, launches: 0, correlation: 0 };
            self.count += 1;
        }
        self.seen.get_mut(known.unwrap_or(count))
    }
}

/// A kernel and its shape.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) name: u32,
    pub(crate) shape: [u32; 9],
}

pub(crate) struct KnownLaunch {
    pub(crate) launch: Launch,
    pub(crate) number: u32,
}

impl Launch {
    pub(crate) fn hash(&self) -> u64 {
        let hash =
            self.shape.iter().fold(u64::from(self.name), |hash, number| mixed(hash, u64::from(*number)));
        hash ^ hash >> 32
    }
}

impl Hashed for KnownLaunch {
    fn hash(&self) -> u64 {
        self.launch.hash()
    }
}

pub(crate) struct KnownName {
    pub(crate) address: usize,
    pub(crate) id: u32,
}

pub(crate) fn hash_of_address(address: usize) -> u64 {
    let hash = mixed(0, address as u64);
    hash ^ hash >> 32
}

impl Hashed for KnownName {
    fn hash(&self) -> u64 {
        hash_of_address(self.address)
    }
}
