//! Writing into the mapped file.

use core::sync::atomic::{AtomicU64, Ordering};

use tracefile::layout::chunk;

use crate::state::Part;

/// Writes a record and makes it visible to a reader.
///
/// # Safety
/// `part` has room for `words`.
#[inline(always)]
pub(crate) unsafe fn write_words<const N: usize>(part: &mut Part, words: &[u64; N]) {
    // SAFETY: the caller has made sure of the room; cursors are multiples of 8.
    unsafe {
        part.cursor.cast::<[u64; N]>().write(*words);
        part.cursor = part.cursor.add(N * 8);
        publish(part);
    }
}

/// Makes everything before the cursor visible to a reader.
///
/// # Safety
/// `part.chunk` is a mapped chunk.
#[inline(always)]
pub(crate) unsafe fn publish(part: &Part) {
    let used = part.cursor as u64 - part.chunk as u64;
    // SAFETY: chunks begin at multiples of 8, and so does the field.
    unsafe { AtomicU64::from_ptr(part.chunk.add(chunk::USED).cast()) }.store(used, Ordering::Release);
}

/// # Safety
/// `at + size_of::<T>()` lies inside the mapping that begins at `base`.
pub(super) unsafe fn put<T>(base: *mut u8, at: usize, value: T) {
    // SAFETY: as stated.
    unsafe { base.add(at).cast::<T>().write_unaligned(value) };
}

/// # Safety
/// A fresh header, with `length` bytes for the text at `at`.
pub(super) unsafe fn put_text(base: *mut u8, at: usize, length: usize, parts: &[&[u8]]) {
    let bytes = parts.iter().flat_map(|part| part.iter());
    for (offset, byte) in bytes.take(length - 1).enumerate() {
        // SAFETY: as stated.
        unsafe { base.add(at + offset).write(*byte) };
    }
}
