//! A hash table whose entries are never removed. Any thread and any signal handler may read it
//! without a lock; one thread at a time may add to it. All zero is empty.

use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::memory::{AfterFork, Pool};

const FIRST_SIZE: usize = 64;

pub(crate) trait Hashed {
    fn hash(&self) -> u64;
}

pub(crate) struct Table<T> {
    slots: AtomicPtr<Slots<T>>,
    count: AtomicUsize,
}

/// Followed by `mask + 1` pointers.
#[repr(C)]
struct Slots<T> {
    mask: usize,
    first: AtomicPtr<T>,
}

impl<T> Slots<T> {
    /// # Safety
    /// `at` is at most the mask.
    #[inline(always)]
    unsafe fn slot(&self, at: usize) -> &AtomicPtr<T> {
        // SAFETY: as stated; the pointers follow one another.
        unsafe { &*(&raw const self.first).add(at) }
    }
}

impl<T: Hashed + 'static> Table<T> {
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn find(&self, hash: u64, same: impl Fn(&T) -> bool) -> Option<&'static T> {
        // SAFETY: null, or slots that live forever.
        let slots = unsafe { self.slots.load(Ordering::Acquire).as_ref() }?;
        let mut at = hash as usize & slots.mask;
        loop {
            // SAFETY: the index is masked. A table is never full, so an empty slot ends the search.
            let entry = unsafe { slots.slot(at).load(Ordering::Acquire).as_ref() }?;
            if entry.hash() == hash && same(entry) {
                return Some(entry);
            }
            at = (at + 1) & slots.mask;
        }
    }

    /// Adds an entry that is not there yet; None if there is no memory. One thread at a time.
    pub(crate) fn insert(&self, pool: &mut Pool, entry: *mut T) -> Option<()> {
        let count = self.len();
        let mut slots = self.slots.load(Ordering::Relaxed);
        // SAFETY: null, or slots that live forever.
        let size = unsafe { slots.as_ref() }.map_or(0, |slots| slots.mask + 1);
        if (count + 1) * 2 > size {
            slots = grown(pool, unsafe { slots.as_ref() }, (size * 4).max(FIRST_SIZE))?;
            // Threads that still read the old slots find what was there; those are never freed.
            self.slots.store(slots, Ordering::Release);
        }
        // SAFETY: not null, with an empty slot; the entry is complete.
        unsafe { put(&*slots, entry) };
        self.count.store(count + 1, Ordering::Relaxed);
        Some(())
    }
}

fn grown<T: Hashed>(pool: &mut Pool, old: Option<&Slots<T>>, size: usize) -> Option<*mut Slots<T>> {
    let bytes = size_of::<usize>() + size * size_of::<AtomicPtr<T>>();
    let slots = pool.take(bytes, AfterFork::Cleared)?.cast::<Slots<T>>();
    // SAFETY: fresh memory of that size, all zero.
    unsafe {
        (*slots).mask = size - 1;
        if let Some(old) = old {
            for at in 0..=old.mask {
                let entry = old.slot(at).load(Ordering::Relaxed);
                if !entry.is_null() {
                    put(&*slots, entry);
                }
            }
        }
    }
    Some(slots)
}

/// # Safety
/// There is an empty slot, and `entry` lives forever.
unsafe fn put<T: Hashed>(slots: &Slots<T>, entry: *mut T) {
    // SAFETY: as stated.
    unsafe {
        let mut at = (*entry).hash() as usize & slots.mask;
        while !slots.slot(at).load(Ordering::Relaxed).is_null() {
            at = (at + 1) & slots.mask;
        }
        slots.slot(at).store(entry, Ordering::Release);
    }
}
