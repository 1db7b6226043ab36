//! Threads and their places in the file.

use core::ffi::c_char;

use tracefile::layout;

use super::space::Part;

/// All zero is a thread that has recorded nothing in this process.
pub(crate) struct Thread {
    /// Inside an event.
    pub(crate) busy: bool,
    pub(crate) id: u32,
    /// The process it was first seen in; the child of a `vfork` is another one.
    pub(crate) process: u32,
    pub(crate) part: Part,
    /// How large the next chunk shall be.
    pub(crate) next_chunk: usize,
    /// Ids of start/end ranges: the thread in the high half, and which of those with its number.
    pub(crate) next_id: u64,
    /// The latest names by the address they were given at, which often repeats.
    pub(crate) recent: [Recent; RECENT],
    /// The next one of all threads, or of those that have ended.
    pub(crate) next: *mut Thread,
}

/// A name given at an address, and our copy. The text at the address may have changed since and
/// is compared every time.
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

/// Every thread there is, under the lock. That a thread has ended is not noticed when it does:
/// that would take a key of the program's, and memory of it. It is asked for when there are twice
/// as many as the last time.
pub(crate) struct Threads {
    pub(crate) first: *mut Thread,
    pub(crate) ended: *mut Thread,
    pub(crate) count: usize,
    pub(crate) ask_at: usize,
    /// How many there have been: the system gives the number of a thread again.
    pub(crate) serial: u64,
}
