//! One thread's place in the file, and the way of an event into it: no lock, no
//! system call, no allocation, unless the place or a name is new.

use std::cell::UnsafeCell;
use std::ffi::c_char;

use tracefile::layout::{self, chunk};

use crate::file::{self, LOCK, Part};
use crate::names::{self, Given};
use crate::{clock, spin::Spin};

/// The first chunk of a thread is small, since some programs have thousands.
const FIRST_CHUNK: usize = layout::PAGE - chunk::LENGTH;
const LARGEST_CHUNK: usize = (256 << 10) - chunk::LENGTH;
/// The longest record: name, payload, category and id.
const LONGEST: usize = 5 * 8;

pub(crate) struct Thread {
    part: Part,
    /// How large the next chunk shall be.
    next_chunk: usize,
    /// Ids of start/end ranges: the thread in the high half.
    next_id: u64,
    /// The latest names by the address they were given at, which often repeats.
    recent: [Recent; RECENT],
    /// Names this thread has asked before; a power of two of entries.
    known: *mut Known,
    known_size: usize,
    known_count: usize,
    /// Inside a slow path: an event from there would find us half-way.
    busy: bool,
}

#[derive(Clone, Copy)]
struct Known {
    hash: u64,
    bytes: *const u8,
    length: u32,
    id: u32,
}

/// A name given at an address, and our copy, which ends in a zero. The text at the
/// address may have changed since and is compared every time.
#[derive(Clone, Copy)]
struct Recent {
    address: *const c_char,
    copy: *const c_char,
    id: u32,
}

const RECENT: usize = 16;
const NO_RECENT: Recent = Recent { address: std::ptr::null(), copy: std::ptr::null(), id: layout::NO_NAME };

const NOWHERE: Part =
    Part { chunk: std::ptr::null_mut(), cursor: std::ptr::null_mut(), end: std::ptr::null_mut() };

thread_local! {
    // Constant and without a destructor: reaching it costs one call and no check.
    static THREAD: UnsafeCell<Thread> = const {
        UnsafeCell::new(Thread {
            part: NOWHERE,
            next_chunk: FIRST_CHUNK,
            next_id: 0,
            recent: [NO_RECENT; RECENT],
            known: std::ptr::null_mut(),
            known_size: 0,
            known_count: 0,
            busy: false,
        })
    };
}

/// Does `work` with this thread's state.
#[inline(always)]
pub(crate) fn with(work: impl FnOnce(&mut Thread)) {
    THREAD.with(|thread| {
        // SAFETY: nothing `work` does calls `with` again: it calls no code of the
        // program's, and allocation hooks are held off by `busy`.
        let thread = unsafe { &mut *thread.get() };
        if !thread.busy {
            work(thread);
        }
    });
}

/// In the child of a fork.
pub(crate) fn forget() {
    THREAD.with(|thread| {
        // SAFETY: called between events, by the only thread there is.
        let thread = unsafe { &mut *thread.get() };
        thread.part = NOWHERE;
        thread.next_chunk = FIRST_CHUNK;
        thread.next_id = 0;
        thread.clear_known();
    });
}

impl Thread {
    #[inline(always)]
    pub(crate) fn now(&self) -> u64 {
        clock::ticks().wrapping_sub(file::base_ticks())
    }

    /// Room for the longest record, or None when there is none to be had.
    #[inline(always)]
    fn room(&mut self) -> bool {
        if (self.part.end as usize).wrapping_sub(self.part.cursor as usize) >= LONGEST {
            return true;
        }
        self.move_on()
    }

    /// Writes a record of `N` words.
    #[inline(always)]
    pub(crate) fn record<const N: usize>(&mut self, words: [u64; N]) {
        if self.room() {
            // SAFETY: `room` has made sure of the longest record.
            unsafe { file::write_words(&mut self.part, &words) };
        } else {
            file::count_dropped();
        }
    }

    /// Takes a new chunk.
    #[cold]
    #[inline(never)]
    fn move_on(&mut self) -> bool {
        self.slowly(|thread| {
            // SAFETY: plain C functions.
            let id = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
            watch_for_exit();
            if thread.next_id == 0 {
                thread.next_id = u64::from(id) << 32 | 1;
            }
            let part = LOCK.with(|| file::take_part(id, thread.next_chunk, LONGEST))?;
            thread.part = part;
            thread.next_chunk = (thread.next_chunk * 4).min(LARGEST_CHUNK);
            Some(())
        })
        .is_some()
    }

    /// An id for a start/end range that no other thread gives out.
    pub(crate) fn range_id(&mut self) -> u64 {
        if self.next_id == 0 && !self.room() {
            return 0;
        }
        self.next_id += 1;
        self.next_id
    }

    /// The number of a name given as a C string.
    ///
    /// # Safety
    /// `text` is null or a C string.
    #[inline(always)]
    pub(crate) unsafe fn c_name(&mut self, text: *const c_char) -> u32 {
        let at = (text as usize >> 3) % RECENT;
        let recent = self.recent[at];
        // SAFETY: a recent address is not null; both texts end in a zero.
        if recent.address == text && !text.is_null() && unsafe { libc::strcmp(text, recent.copy) } == 0 {
            return recent.id;
        }
        // SAFETY: as stated.
        let given = unsafe { names::ascii(text) };
        let hash = hash(given);
        match self.find(given, hash) {
            Some(known) => {
                if !text.is_null() {
                    self.recent[at] = Recent { address: text, copy: known.bytes.cast(), id: known.id };
                }
                known.id
            }
            None => self.new_name(given, hash),
        }
    }

    /// The number of a name; [`layout::NO_NAME`] when it cannot be written down.
    #[inline(always)]
    pub(crate) fn name(&mut self, given: Given<'_>) -> u32 {
        let hash = hash(given);
        match self.find(given, hash) {
            Some(known) => known.id,
            None => self.new_name(given, hash),
        }
    }

    /// A name this thread has asked before.
    #[inline(always)]
    fn find(&self, given: Given<'_>, hash: u64) -> Option<Known> {
        if self.known_size == 0 {
            return None;
        }
        let mask = self.known_size - 1;
        let mut at = hash as usize & mask;
        loop {
            // SAFETY: `at` is masked to the table, which is never full.
            let known = unsafe { *self.known.add(at) };
            if known.id == layout::NO_NAME {
                return None;
            }
            if known.hash == hash && known.length as usize == given.bytes.len() {
                // SAFETY: the copy lives for ever and has that length.
                let copy = unsafe { std::slice::from_raw_parts(known.bytes, given.bytes.len()) };
                if copy == given.bytes {
                    return Some(known);
                }
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    #[inline(never)]
    fn new_name(&mut self, given: Given<'_>, hash: u64) -> u32 {
        self.slowly(|thread| {
            watch_for_exit();
            let names::Interned { id, copy } = names::intern(given)?;
            if copy == given.bytes {
                thread.remember(Known { hash, bytes: copy.as_ptr(), length: copy.len() as u32, id });
            }
            Some(id)
        })
        .unwrap_or(layout::NO_NAME)
    }

    fn remember(&mut self, known: Known) {
        if (self.known_count + 1) * 2 > self.known_size {
            let size = (self.known_size * 4).max(64);
            let mut larger =
                vec![Known { hash: 0, bytes: std::ptr::null(), length: 0, id: layout::NO_NAME }; size];
            for old in self.table().iter().filter(|old| old.id != layout::NO_NAME) {
                insert(&mut larger, *old);
            }
            self.free_known();
            self.known = Box::leak(larger.into_boxed_slice()).as_mut_ptr();
            self.known_size = size;
        }
        insert(self.table(), known);
        self.known_count += 1;
    }

    fn table(&mut self) -> &mut [Known] {
        if self.known.is_null() {
            return &mut [];
        }
        // SAFETY: `known` has `known_size` entries, ours alone.
        unsafe { std::slice::from_raw_parts_mut(self.known, self.known_size) }
    }

    fn clear_known(&mut self) {
        self.recent = [NO_RECENT; RECENT];
        for known in self.table() {
            known.id = layout::NO_NAME;
        }
        self.known_count = 0;
    }

    fn free_known(&mut self) {
        self.recent = [NO_RECENT; RECENT];
        if !self.known.is_null() {
            // SAFETY: it was leaked from a boxed slice of this length.
            drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.known, self.known_size)) });
        }
        self.known = std::ptr::null_mut();
        self.known_size = 0;
        self.known_count = 0;
    }

    /// Does what may allocate or lock; a panic in there counts as a failure.
    fn slowly<T>(&mut self, work: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.busy = true;
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(self)));
        self.busy = false;
        result.ok().flatten()
    }
}

fn insert(table: &mut [Known], known: Known) {
    let mask = table.len() - 1;
    let mut at = known.hash as usize & mask;
    while table[at].id != layout::NO_NAME {
        at = (at + 1) & mask;
    }
    table[at] = known;
}

/// Fast and good enough: eight bytes at a time, mixed by multiplication.
#[inline(always)]
fn hash(given: Given<'_>) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = given.bytes.len() as u64 ^ u64::from(given.flags) << 32;
    let (words, rest) = given.bytes.as_chunks::<8>();
    for word in words {
        hash = (hash ^ u64::from_ne_bytes(*word)).wrapping_mul(MIX);
        hash ^= hash >> 29;
    }
    if !rest.is_empty() {
        let mut last = 0;
        for byte in rest {
            last = last << 8 | u64::from(*byte);
        }
        hash = (hash ^ last).wrapping_mul(MIX);
        hash ^= hash >> 29;
    }
    hash ^ hash >> 32
}

/// The key whose destructor tells us that a thread ends.
static KEY: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(u32::MAX);
static KEY_LOCK: Spin = Spin::new();

fn watch_for_exit() {
    use std::sync::atomic::Ordering;
    if KEY.load(Ordering::Acquire) == u32::MAX {
        KEY_LOCK.with(|| {
            if KEY.load(Ordering::Acquire) == u32::MAX {
                let mut key = 0;
                // SAFETY: plain C call; the destructor lives as long as the library.
                if unsafe { libc::pthread_key_create(&mut key, Some(thread_ends)) } == 0 {
                    KEY.store(key, Ordering::Release);
                }
            }
        });
    }
    let key = KEY.load(Ordering::Acquire);
    if key != u32::MAX {
        // SAFETY: the key exists; any non-null value makes the destructor run.
        unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(1)) };
    }
}

unsafe extern "C" fn thread_ends(_: *mut libc::c_void) {
    THREAD.with(|thread| {
        // SAFETY: the thread runs its destructors, not an event.
        let thread = unsafe { &mut *thread.get() };
        let part = std::mem::replace(&mut thread.part, NOWHERE);
        thread.next_chunk = FIRST_CHUNK;
        thread.slowly(|thread| {
            if !part.chunk.is_null() {
                LOCK.with(|| file::give_back(part));
            }
            thread.free_known();
            Some(())
        });
    });
}
