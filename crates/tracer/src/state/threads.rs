//! Threads, and where each one writes.

use core::ffi::c_char;

use tracefile::layout;

use super::space::Part;

/// All zero is a thread that has recorded nothing in this process.
pub(crate) struct Thread {
    /// Inside an event.
    pub(crate) busy: bool,
    pub(crate) id: u32,
    /// The process it was first seen in. The child of a `vfork` shares this memory but is another process.
    pub(crate) process: u32,
    pub(crate) part: Part,
    /// How large the next chunk will be.
    pub(crate) next_chunk: usize,
    /// The last id of a start/end range. Its high half is the thread id and a serial number, because
    /// the system reuses thread ids.
    pub(crate) next_id: u64,
    /// The latest names, by the address they were given at: the same address often comes again.
    pub(crate) recent: [Recent; RECENT],
    /// The next thread in the list of all threads, or in the list of those that have ended.
    pub(crate) next: *mut Thread,
}

/// A name that was given at an address, and our copy of it. The text at the address may have
/// changed since, so it is compared every time.
#[derive(Clone, Copy)]
pub(crate) struct Recent {
    pub(crate) address: *const c_char,
    pub(crate) copy: *const u8,
    pub(crate) id: u32,
}

pub(crate) const RECENT: usize = 16;

impl Recent {
    pub(crate) const NONE: Self =
        Self { address: core::ptr::null(), copy: core::ptr::null(), id: layout::NO_NAME };
}

/// All threads; accessed only under the lock. We do not notice when a thread ends: that would take
/// one of the program's thread-specific keys, and memory from its allocator. Instead we ask the
/// kernel which threads are gone, whenever there are twice as many as the last time.
pub(crate) struct Threads {
    pub(crate) first: *mut Thread,
    pub(crate) ended: *mut Thread,
    pub(crate) count: usize,
    pub(crate) ask_at: usize,
    /// How many threads there have been. The system reuses thread ids, so an id alone is not unique.
    pub(crate) serial: u64,
}
