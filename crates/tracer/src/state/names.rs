//! Texts that have a number in the file, and what the handles that a program holds point to.

use core::sync::atomic::AtomicU32;

use tracefile::layout::string;

use super::space::Part;
use crate::table::{Hashed, Table};
use crate::text::{self, Given};

/// Space after the zero that ends a copy, so that whole words can be compared.
pub(crate) const PADDING: usize = 16;

/// All texts that have a number. Read without a lock, added to under the lock.
pub(crate) struct Names {
    pub(crate) entries: Table<Entry>,
    pub(crate) handles: Table<Handle>,
}

/// How much has been written. Accessed only under the lock.
pub(crate) struct Writing {
    pub(crate) strings: Part,
    pub(crate) names: u32,
    pub(crate) domains: u32,
    pub(crate) labels: u32,
    pub(crate) bytes: usize,
}

/// Tells one text from another. Of a long text, only the beginning and a hash of the whole are kept.
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

/// The header of a copy of a text. The bytes of the text follow it, then a zero.
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
    /// `place` begins [`Kept::room`] bytes of fresh memory for this key.
    pub(crate) unsafe fn put(place: *mut Self, key: Key<'_>) {
        // SAFETY: as stated; fresh memory is zero, so the text ends in a zero.
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
        // SAFETY: the bytes follow the header.
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

    /// The copy, as a C string followed by padding; None if it is not the whole text.
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

/// What a handle that we gave out points to: a registered string or a domain. It is never freed,
/// because a program may use a domain that it has destroyed, and it is kept across a fork.
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
