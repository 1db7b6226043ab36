//! Texts that have a number in the file, and handles that the program holds.

use core::sync::atomic::AtomicU32;

use tracefile::layout::string;

use super::space::Part;
use crate::table::{Hashed, Table};
use crate::text::{self, Given};

/// Behind the zero at a copy's end, for comparisons of whole words.
pub(crate) const PADDING: usize = 16;

/// What is known by number. Read by everyone, added to under the lock.
pub(crate) struct Names {
    pub(crate) entries: Table<Entry>,
    pub(crate) handles: Table<Handle>,
}

/// How far the writing has come. Only under the lock.
pub(crate) struct Writing {
    pub(crate) strings: Part,
    pub(crate) names: u32,
    pub(crate) domains: u32,
    pub(crate) labels: u32,
    pub(crate) bytes: usize,
}

/// What tells one text from another. Of a long one only the beginning is kept, and a hash of all.
#[derive(Clone, Copy)]
pub(crate) struct Key<'a> {
    pub(crate) hash: u64,
    /// Of the whole text.
    pub(crate) length: u32,
    pub(crate) flags: u32,
    pub(crate) kept: &'a [u8],
}

impl<'a> Key<'a> {
    #[inline(always)]
    pub(crate) fn of(given: Given<'a>) -> Self {
        let kept = given.bytes.get(..string::LONGEST).unwrap_or(given.bytes);
        Self { hash: text::hash(given), length: given.bytes.len() as u32, flags: given.flags, kept }
    }

    #[inline(always)]
    pub(crate) fn is(&self, kept: &Kept) -> bool {
        kept.length == self.length && kept.flags == self.flags && text::equal(self.kept, kept.bytes())
    }
}

/// A copy of a text: its bytes follow, and a zero.
#[repr(C)]
pub(crate) struct Kept {
    hash: u64,
    length: u32,
    flags: u32,
    size: u32,
}

impl Kept {
    pub(crate) const NOTHING: Self = Self { hash: 0, length: 0, flags: 0, size: 0 };

    /// # Safety
    /// There is room for [`Kept::room`] bytes of such a key behind `self`.
    pub(crate) unsafe fn put(place: *mut Self, key: Key<'_>) {
        // SAFETY: as stated; fresh memory is zero.
        unsafe {
            let size = key.kept.len() as u32;
            place.write(Self { hash: key.hash, length: key.length, flags: key.flags, size });
            core::ptr::copy_nonoverlapping(key.kept.as_ptr(), place.add(1).cast(), key.kept.len());
        }
    }

    pub(crate) fn room(key: Key<'_>) -> usize {
        size_of::<Self>() + key.kept.len() + PADDING
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        // SAFETY: they follow.
        unsafe { core::slice::from_raw_parts(self.text(), self.size as usize) }
    }

    #[inline(always)]
    fn text(&self) -> *const u8 {
        (&raw const *self).wrapping_add(1).cast()
    }

    pub(crate) fn key(&self) -> Key<'_> {
        Key { hash: self.hash, length: self.length, flags: self.flags, kept: self.bytes() }
    }
}

/// A text and its number in the file.
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) id: u32,
    pub(crate) kept: Kept,
}

impl Entry {
    #[inline(always)]
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// A copy as a C string with room behind it; None when it is not all of the text.
    #[inline(always)]
    pub(crate) fn whole_text(&self) -> Option<*const u8> {
        (self.kept.size == self.kept.length).then(|| self.kept.text())
    }
}

impl Hashed for Entry {
    #[inline(always)]
    fn hash(&self) -> u64 {
        self.kept.hash
    }
}

/// What is behind a handle that we gave out, of a registered string or a domain. Never freed, so
/// that a program may use a domain it has destroyed; and kept across a fork.
#[repr(C)]
pub(crate) struct Handle {
    /// Its number in the file of `epoch`.
    pub(crate) id: AtomicU32,
    pub(crate) epoch: AtomicU32,
    pub(crate) kept: Kept,
}

impl Hashed for Handle {
    fn hash(&self) -> u64 {
        self.kept.hash
    }
}
