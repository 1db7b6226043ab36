//! Chunks: pieces of an arena, each written by one owner.

use tracefile::layout::{self, chunk};

use super::arena::new_arena;
use super::header::halt_recording;
use super::write::put;
use crate::state::{Guarded, Part, Space, State};
use crate::{clock, sys};

const LARGEST_CHUNK_UNDER_LIMIT: usize = (32 << 10) - chunk::LENGTH;

/// A chunk for a thread's events.
pub(crate) fn take_event_chunk(
    state: &'static State,
    guarded: &mut Guarded,
    thread: u32,
    wanted: usize,
) -> Option<Part> {
    new_chunk(state, &mut guarded.space, chunk::EVENTS, thread, wanted)
}

/// A chunk for strings.
pub(crate) fn take_string_chunk(state: &'static State, guarded: &mut Guarded, bytes: usize) -> Option<Part> {
    new_chunk(state, &mut guarded.space, chunk::STRINGS, 0, bytes.max(16 << 10))
}

/// A chunk for records from CUPTI.
pub(crate) fn take_gpu_chunk(state: &'static State, guarded: &mut Guarded, bytes: usize) -> Option<Part> {
    let bytes = bytes.min(largest_chunk(guarded));
    new_chunk(state, &mut guarded.space, chunk::GPU, 0, bytes)
}

pub(crate) fn largest_chunk(guarded: &Guarded) -> usize {
    if guarded.space.under_limit { LARGEST_CHUNK_UNDER_LIMIT } else { usize::MAX }
}

/// Unmaps a chunk that nobody writes to any more. What is in it stays in the file.
pub(crate) fn retire(part: Part) {
    if !part.chunk.is_null() {
        // SAFETY: a whole number of pages, which only the owner knew about.
        unsafe { sys::unmap(part.chunk, part.end as usize - part.chunk as usize) };
    }
}

fn new_chunk(
    state: &'static State,
    space: &mut Space,
    kind: u32,
    thread: u32,
    wanted: usize,
) -> Option<Part> {
    let size = wanted.checked_add(chunk::LENGTH)?.checked_next_multiple_of(layout::PAGE)?;
    if (space.free_end as usize - space.free as usize) < size
        && let Err(halt) = new_arena(space, size)
    {
        halt_recording(state, &halt);
        return None;
    }
    let chunk = space.free;
    // SAFETY: the arena has `size` bytes left from here, all zero, and nobody else uses them.
    unsafe {
        // Populating all pages at once is much cheaper than a page fault for each. An older
        // kernel cannot do it; then there are page faults.
        let _ = sys::advise(chunk, size, sys::MADV_POPULATE_WRITE);
        space.free = chunk.add(size);
        let (ticks, monotonic) = clock::pair();
        put(chunk, chunk::KIND, kind);
        put(chunk, chunk::SIZE, size as u32);
        put(chunk, chunk::THREAD, thread);
        put(chunk, chunk::TICKS, ticks.wrapping_sub(clock::base()));
        put(chunk, chunk::MONOTONIC, monotonic);
        put(chunk, chunk::USED, chunk::LENGTH as u64);
        put(chunk, chunk::MAGIC, layout::CHUNK_MAGIC);
        Some(Part { chunk, cursor: chunk.add(chunk::LENGTH), end: chunk.add(size) })
    }
}
