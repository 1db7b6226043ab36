//! How an event of a thread gets into the file: without a lock, a system call or an allocation,
//! unless the thread needs a new chunk or a name is new.
//!
//! A signal handler may open a range while the same thread is in the middle of writing another
//! event. The handler's event is left out and counted. The handler runs to its end before the
//! interrupted event goes on, so what it opens and what it closes are left out together.

use core::ffi::c_char;
use core::sync::atomic::{Ordering, compiler_fence};

use tracefile::layout::{self, chunk, header};

use crate::memory::AfterFork;
use crate::state::{Entry, Guarded, Part, RECENT, Recent, State, Thread, Threads, phase, state};
use crate::text::{self, Given};
use crate::{clock, file, names, sys, tls};

/// The first chunk of a thread is small, because some programs have thousands of threads.
const FIRST_CHUNK: usize = layout::PAGE - chunk::LENGTH;
const LARGEST_CHUNK: usize = (256 << 10) - chunk::LENGTH;
/// The longest record: name, payload, category and id.
const LONGEST: usize = 5 * 8;
/// With at least this much room, a new thread goes on in the chunk of a thread that has ended.
const WORTH_TAKING_OVER: usize = 512;

const FIRST_ASK: usize = 64;

/// Begins an event of this thread, which [`Thread::record`] or [`Thread::leave`] ends. None if the
/// thread is new or already inside an event.
#[inline(always)]
pub(crate) fn begin_event() -> Option<&'static mut Thread> {
    // SAFETY: null, or this thread's own, which lives as long as the thread.
    let thread = unsafe { tls::get().as_mut() }?;
    if thread.busy {
        return None;
    }
    thread.enter();
    Some(thread)
}

/// The same, but also for a new thread. None if the event is left out, which is counted.
#[inline(never)]
pub(crate) fn begin_event_anyway() -> Option<&'static mut Thread> {
    let mut place = tls::get();
    if place.is_null() {
        place = introduce();
    }
    // SAFETY: as above.
    let Some(thread) = (unsafe { place.as_mut() }) else {
        file::count(header::DROPPED);
        return None;
    };
    if thread.busy {
        file::count(header::INTERRUPTED);
        return None;
    }
    thread.enter();
    Some(thread)
}

/// Sets up a thread that has no state yet; null if that is not possible.
#[cold]
#[inline(never)]
fn introduce() -> *mut Thread {
    let Some(state) = state() else { return core::ptr::null_mut() };
    if state.phase.load(Ordering::Acquire) == phase::OFF {
        return core::ptr::null_mut();
    }
    let place = state.alone(|state, guarded| {
        if !file::ready(state, guarded) {
            return None;
        }
        let place = match guarded.threads.of_the_ended() {
            Some(place) => place,
            None => guarded.cleared.take(size_of::<Thread>(), AfterFork::Cleared)?.cast(),
        };
        // SAFETY: nobody else uses it; it is all zero, or left by a thread that is gone.
        unsafe { guarded.threads.add(&mut *place) };
        Some(place)
    });
    let place = place.unwrap_or(core::ptr::null_mut());
    tls::set(place);
    place
}

impl Threads {
    fn of_the_ended(&mut self) -> Option<*mut Thread> {
        if self.ended.is_null() && self.count >= self.ask_at.max(FIRST_ASK) {
            self.ask();
        }
        // SAFETY: null, or the state of a thread that has ended, which nobody uses.
        let next = unsafe { self.ended.as_ref() }?.next;
        Some(core::mem::replace(&mut self.ended, next))
    }

    fn add(&mut self, thread: &mut Thread) {
        thread.id = sys::thread_id();
        thread.process = sys::process_id();
        self.serial += 1;
        thread.next_id = ((u64::from(thread.id) << 10) | (self.serial % 1024)) << 32;
        thread.next_chunk = FIRST_CHUNK;
        thread.busy = false;
        thread.next = self.first;
        self.first = thread;
        self.count += 1;
        if thread.part.room() > WORTH_TAKING_OVER {
            let words = [layout::first_word(layout::kind::THREAD, 0), u64::from(thread.id)];
            // SAFETY: there is room.
            unsafe { file::write_words(&mut thread.part, &words) };
        } else {
            file::retire(core::mem::replace(&mut thread.part, Part::NOWHERE));
        }
    }

    /// Moves the threads that are gone to the list of those that have ended.
    fn ask(&mut self) {
        let here = sys::process_id();
        let mut link = &raw mut self.first;
        // SAFETY: a linked list of threads' states, which only changes under the lock.
        unsafe {
            while let Some(thread) = (*link).as_mut() {
                if thread.process == here && sys::thread_is_gone(thread.id) {
                    *link = thread.next;
                    thread.next = self.ended;
                    self.ended = thread;
                    self.count -= 1;
                } else {
                    link = &raw mut thread.next;
                }
            }
        }
        self.ask_at = self.count * 2;
    }
}

impl Thread {
    #[inline(always)]
    pub(crate) fn now(&self) -> u64 {
        clock::ticks().wrapping_sub(clock::base())
    }

    #[inline(always)]
    fn enter(&mut self) {
        self.busy = true;
        compiler_fence(Ordering::SeqCst);
    }

    /// Ends the event.
    #[inline(always)]
    pub(crate) fn leave(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.busy = false;
    }

    /// Writes a record of `N` words and ends the event.
    #[inline(always)]
    pub(crate) fn record<const N: usize>(&mut self, words: [u64; N]) {
        if self.part.room() < LONGEST {
            return self.record_elsewhere(words);
        }
        // SAFETY: there is room for the longest record.
        unsafe { file::write_words(&mut self.part, &words) };
        self.leave();
    }

    #[cold]
    #[inline(never)]
    fn record_elsewhere<const N: usize>(&mut self, words: [u64; N]) {
        if self.move_on() {
            // SAFETY: a new chunk has room for the longest record.
            unsafe { file::write_words(&mut self.part, &words) };
        } else {
            file::count(header::DROPPED);
        }
        self.leave();
    }

    /// Takes a new chunk.
    #[cold]
    #[inline(never)]
    fn move_on(&mut self) -> bool {
        let Some(state) = state() else { return false };
        if state.phase.load(Ordering::Acquire) == phase::OFF {
            return false;
        }
        state.alone(|state, guarded| self.move_on_locked(state, guarded)).is_some()
    }

    fn move_on_locked(&mut self, state: &'static State, guarded: &mut Guarded) -> Option<()> {
        if !file::ready(state, guarded) {
            return None;
        }
        if self.id == 0 {
            // In the child of a fork the thread is new. It is still inside an event.
            guarded.threads.add(self);
            self.busy = true;
        }
        let wanted = self.next_chunk.min(file::largest_chunk(guarded));
        let part = file::take_event_chunk(state, guarded, self.id, wanted)?;
        file::retire(core::mem::replace(&mut self.part, part));
        self.next_chunk = (self.next_chunk * 4).min(LARGEST_CHUNK);
        Some(())
    }

    /// A new id for a start/end range, different from those of all other threads.
    pub(crate) fn range_id(&mut self) -> u64 {
        if self.id == 0 && !self.move_on() {
            return 0;
        }
        self.next_id += 1;
        self.next_id
    }

    /// The number of a name given as a C string, if it is one of the latest names.
    ///
    /// # Safety
    /// `given` is null or a C string.
    #[inline(always)]
    pub(crate) unsafe fn recent_name(&mut self, given: *const c_char) -> Option<u32> {
        // SAFETY: the index is less than the number of entries.
        let recent = unsafe { self.recent.get_unchecked(place_of(given)) };
        // SAFETY: the address is not null, so there is a copy. Both texts end in a zero, and ours is
        // followed by padding.
        let same =
            recent.address == given && !given.is_null() && unsafe { text::same(given.cast(), recent.copy) };
        same.then_some(recent.id)
    }

    /// The number of a name given as a C string.
    ///
    /// # Safety
    /// `given` is null or a C string.
    pub(crate) unsafe fn c_name(&mut self, given: *const c_char) -> u32 {
        // SAFETY: as stated.
        let Some(entry) = entry_of(unsafe { text::ascii(given) }) else { return layout::LOST };
        let latest = match entry.whole_text() {
            Some(copy) if !given.is_null() => Recent { address: given, copy, id: entry.id() },
            _ => Recent::NONE,
        };
        // SAFETY: the index is less than the number of entries.
        unsafe { *self.recent.get_unchecked_mut(place_of(given)) = latest };
        entry.id()
    }

    /// The number of a name; [`layout::LOST`] if it cannot be recorded.
    pub(crate) fn name(&mut self, given: Given<'_>) -> u32 {
        entry_of(given).map_or(layout::LOST, Entry::id)
    }
}

#[inline(always)]
fn place_of(address: *const c_char) -> usize {
    (address as usize >> 3) % RECENT
}

/// None if the name cannot be recorded, which is counted.
#[inline(always)]
fn entry_of(given: Given<'_>) -> Option<&'static Entry> {
    let entry = names::entry(given);
    if entry.is_none() {
        file::count(header::UNNAMED);
    }
    entry
}
