//! The mapped file, and the parts of it that are given out.

use crate::sys::Identity;

pub(crate) const LONGEST_PATH: usize = 4096;

/// The file and the arena that chunks come from. All zero is no file.
pub(crate) struct Space {
    /// Where the next arena begins in the file.
    pub(crate) file_end: usize,
    pub(crate) arena_size: usize,
    pub(crate) free: *mut u8,
    pub(crate) free_end: *mut u8,
    pub(crate) identity: Option<Identity>,
    pub(crate) under_limit: bool,
    pub(crate) path: [u8; LONGEST_PATH],
}

/// A part of a chunk: its header, the next free byte, the end. All zero is nowhere.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) chunk: *mut u8,
    pub(crate) cursor: *mut u8,
    pub(crate) end: *mut u8,
}

impl Part {
    pub(crate) const NOWHERE: Self =
        Self { chunk: core::ptr::null_mut(), cursor: core::ptr::null_mut(), end: core::ptr::null_mut() };

    #[inline(always)]
    pub(crate) fn room(&self) -> usize {
        (self.end as usize).wrapping_sub(self.cursor as usize)
    }
}
