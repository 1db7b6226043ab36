//! Names, domains and categories. Each text is written to the file once and has a number from
//! then on.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use tracefile::layout::{self, header, kind, string};

use crate::file;
use crate::memory::AfterFork;
use crate::state::{Entry, Guarded, Handle, Kept, Key, PADDING, Part, State, phase, state};
use crate::text::Given;

/// Beyond this many different names, or this many bytes of them, a new name is recorded as
/// [`TOO_MANY`] and counted.
const MOST_NAMES: u32 = 1 << 20;
const MOST_BYTES: usize = 64 << 20;
const TOO_MANY: &[u8] = b"<too many different names>";
const MOST_DOMAINS: u32 = 65_000;
const TOO_MANY_DOMAINS: &[u8] = b"<too many domains>";
/// Of the names of categories and threads.
const MOST_LABELS: u32 = 1 << 16;

/// There is no file yet, as at first in the child of a fork.
const NO_EPOCH: u32 = 0;
/// The epoch of the handle for texts there was no memory for. It is never looked up.
const LOST_EPOCH: u32 = u32::MAX;

/// A flag of our own: the text is a domain. Domains are numbered separately from names.
const DOMAIN: u32 = 1 << 31;
impl Handle {
    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        let now = state().map_or(NO_EPOCH, |state| state.epoch.load(Ordering::Relaxed));
        if now != NO_EPOCH && self.epoch.load(Ordering::Acquire) == now {
            return self.id.load(Ordering::Relaxed);
        }
        self.new_number()
    }

    #[cold]
    #[inline(never)]
    fn new_number(&self) -> u32 {
        if self.epoch.load(Ordering::Relaxed) == LOST_EPOCH {
            return layout::LOST;
        }
        let (Some(state), Some(entry)) = (state(), intern(self.kept.key())) else { return layout::LOST };
        self.id.store(entry.id, Ordering::Relaxed);
        self.epoch.store(state.epoch.load(Ordering::Relaxed), Ordering::Release);
        entry.id
    }
}

/// The entry of a name, known or new.
#[inline(always)]
pub(crate) fn entry(given: Given<'_>) -> Option<&'static Entry> {
    known(given).or_else(|| enter(given))
}

/// The entry of a name that has one.
#[inline(always)]
fn known(given: Given<'_>) -> Option<&'static Entry> {
    find(state()?, Key::of(given))
}

#[inline(always)]
fn find(state: &'static State, key: Key<'_>) -> Option<&'static Entry> {
    state.names.entries.find(key.hash, |entry| key.is(&entry.kept))
}

/// The slow path of [`entry`].
#[cold]
#[inline(never)]
fn enter(given: Given<'_>) -> Option<&'static Entry> {
    intern(Key::of(given))
}

fn intern(key: Key<'_>) -> Option<&'static Entry> {
    let state = state()?;
    if state.phase.load(Ordering::Acquire) == phase::OFF {
        return find(state, key);
    }
    state.alone(|state, guarded| intern_locked(state, guarded, key))
}

fn intern_locked(state: &'static State, guarded: &mut Guarded, key: Key<'_>) -> Option<&'static Entry> {
    if !file::ready(state, guarded) {
        return None;
    }
    if let Some(known) = find(state, key) {
        return Some(known);
    }
    let writing = &guarded.writing;
    if writing.bytes + key.kept.len() <= MOST_BYTES {
        if key.flags & DOMAIN == 0 && writing.names < MOST_NAMES {
            return add(state, guarded, key);
        }
        if key.flags & DOMAIN != 0 && writing.domains < MOST_DOMAINS {
            return add(state, guarded, key);
        }
    }
    let (instead, flags, counter) = match key.flags & DOMAIN {
        0 => (TOO_MANY, 0, header::UNNAMED),
        _ => (TOO_MANY_DOMAINS, DOMAIN, header::LOST_DOMAINS),
    };
    file::count(counter);
    let instead = Key::of(Given { bytes: instead, flags });
    find(state, instead).or_else(|| add(state, guarded, instead))
}

fn add(state: &'static State, guarded: &mut Guarded, key: Key<'_>) -> Option<&'static Entry> {
    let is_domain = key.flags & DOMAIN != 0;
    let id = 1 + if is_domain { guarded.writing.domains } else { guarded.writing.names };
    let cut = if key.length as usize > key.kept.len() { string::CUT } else { 0 };
    let (kind, about) = match is_domain {
        true => (kind::DOMAIN, u64::from(id)),
        false => (kind::STRING, u64::from(id) | u64::from(key.flags | cut) << 32),
    };
    write_text(state, guarded, kind, about, key.kept, key.flags & string::WIDE != 0)?;
    if is_domain {
        guarded.writing.domains += 1;
    } else {
        guarded.writing.names += 1;
    }
    guarded.writing.bytes += key.kept.len();
    let room = size_of::<Entry>() + key.kept.len() + PADDING;
    let entry = guarded.cleared.take(room, AfterFork::Cleared)?.cast::<Entry>();
    // SAFETY: fresh memory with that much room.
    unsafe {
        (*entry).id = id;
        Kept::put(&raw mut (*entry).kept, key);
    }
    state.names.entries.insert(&mut guarded.cleared, entry)?;
    // SAFETY: it is complete, and lives forever.
    unsafe { entry.as_ref() }
}

/// Writes a record of a text, wide characters as UTF-8.
fn write_text(
    state: &'static State,
    guarded: &mut Guarded,
    kind: u8,
    about: u64,
    text: &[u8],
    wide: bool,
) -> Option<()> {
    let padded = text.len().next_multiple_of(8);
    if guarded.writing.strings.room() < padded + 16 {
        let full = core::mem::replace(&mut guarded.writing.strings, Part::NOWHERE);
        file::retire(full);
        guarded.writing.strings = file::take_string_chunk(state, guarded, padded + 16)?;
    }
    let part = &mut guarded.writing.strings;
    // SAFETY: there is room for two words and the padded text, and fresh space is zero. UTF-8 takes
    // no more bytes than wide characters.
    unsafe {
        let words = part.cursor.cast::<u64>();
        let place = part.cursor.add(16);
        let length = if wide { put_utf8(place, text) } else { put_bytes(place, text) };
        words.write(layout::first_word(kind, length as u64));
        words.add(1).write(about);
        part.cursor = part.cursor.add(16 + length.next_multiple_of(8));
        file::publish(part);
    }
    Some(())
}

/// # Safety
/// There is room for `text` at `place`.
unsafe fn put_bytes(place: *mut u8, text: &[u8]) -> usize {
    // SAFETY: as stated.
    unsafe { core::ptr::copy_nonoverlapping(text.as_ptr(), place, text.len()) };
    text.len()
}

/// # Safety
/// As above.
unsafe fn put_utf8(place: *mut u8, text: &[u8]) -> usize {
    let (characters, _) = text.as_chunks::<4>();
    let mut length = 0;
    for four in characters {
        let code = char::from_u32(u32::from_ne_bytes(*four)).unwrap_or(char::REPLACEMENT_CHARACTER) as u32;
        let low = |shift: u32| 0x80 | (code >> shift & 0x3f) as u8;
        let (bytes, count) = match code {
            0..0x80 => ([code as u8, 0, 0, 0], 1),
            0x80..0x800 => ([0xc0 | (code >> 6) as u8, low(0), 0, 0], 2),
            0x800..0x1_0000 => ([0xe0 | (code >> 12) as u8, low(6), low(0), 0], 3),
            _ => ([0xf0 | (code >> 18) as u8, low(12), low(6), low(0)], 4),
        };
        for byte in bytes.iter().take(count) {
            // SAFETY: each character takes four bytes of `text` and at most four here.
            unsafe { place.add(length).write(*byte) };
            length += 1;
        }
    }
    length
}

pub(crate) fn register(given: Given<'_>) -> *const c_void {
    handle(Given { flags: given.flags | string::REGISTERED, ..given })
}

pub(crate) fn create_domain(given: Given<'_>) -> *const c_void {
    handle(Given { flags: given.flags | DOMAIN, ..given })
}

/// The handle for a text; the same text always has the same handle. If there is no memory, it is a
/// handle that means "lost", because null would mean the default domain.
fn handle(given: Given<'_>) -> *const c_void {
    static NO_MEMORY: Handle =
        Handle { id: AtomicU32::new(layout::LOST), epoch: AtomicU32::new(LOST_EPOCH), kept: Kept::NOTHING };
    let key = Key::of(given);
    let made = state().and_then(|state| state.alone(|state, guarded| handle_locked(state, guarded, key)));
    match made {
        Some(handle) => {
            handle.number();
            core::ptr::from_ref(handle).cast()
        }
        None => {
            file::count(if given.flags & DOMAIN == 0 { header::UNNAMED } else { header::LOST_DOMAINS });
            (&raw const NO_MEMORY).cast()
        }
    }
}

fn handle_locked(state: &'static State, guarded: &mut Guarded, key: Key<'_>) -> Option<&'static Handle> {
    if let Some(known) = state.names.handles.find(key.hash, |handle| key.is(&handle.kept)) {
        return Some(known);
    }
    if state.names.handles.len() >= MOST_NAMES as usize || guarded.writing.bytes > MOST_BYTES {
        return None;
    }
    guarded.writing.bytes += key.kept.len();
    let place = guarded.kept.take(size_of::<Handle>() + Kept::room(key), AfterFork::Kept)?.cast::<Handle>();
    // SAFETY: fresh memory with that much room. Its epoch is zero, which no file has.
    unsafe { Kept::put(&raw mut (*place).kept, key) };
    state.names.handles.insert(&mut guarded.cleared, place)?;
    // SAFETY: it is complete, and lives forever.
    unsafe { place.as_ref() }
}

/// The number of a domain handle; null is the default domain.
///
/// # Safety
/// `handle` is null or came from [`create_domain`].
#[inline(always)]
pub(crate) unsafe fn domain_number(handle: *const c_void) -> u16 {
    // SAFETY: as stated; handles are never freed.
    unsafe { handle.cast::<Handle>().as_ref() }
        .map_or(layout::DEFAULT_DOMAIN, |handle| handle.number() as u16)
}

pub(crate) fn name_category(domain: u16, category: u32, given: Given<'_>) {
    label(kind::CATEGORY, u64::from(category) | u64::from(domain) << 32, given);
}

pub(crate) fn name_thread(thread: u32, given: Given<'_>) {
    label(kind::THREAD_NAME, u64::from(thread), given);
}

fn label(kind: u8, about: u64, given: Given<'_>) {
    let key = Key::of(given);
    let Some(state) = state() else { return };
    state.alone(|state, guarded| {
        if !file::ready(state, guarded) {
            return;
        }
        if guarded.writing.labels >= MOST_LABELS || guarded.writing.bytes > MOST_BYTES {
            file::count(header::UNNAMED);
            return;
        }
        guarded.writing.labels += 1;
        guarded.writing.bytes += key.kept.len();
        write_text(state, guarded, kind, about, key.kept, key.flags & string::WIDE != 0);
    });
}
