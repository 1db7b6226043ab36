//! Names, domains and categories: each text is written to the file once and has
//! a number from then on.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use tracefile::layout::{self, kind, string};

use crate::file::{self, LOCK, Part};

/// More different names than this, and a new one is recorded as [`TOO_MANY`].
const MOST_NAMES: usize = 1 << 20;
const TOO_MANY: &[u8] = b"<too many different names>";
const MOST_DOMAINS: usize = 65_000;

/// A name as the program gives it: its bytes (of wide characters, four each) and
/// [`string`] flags.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) flags: u32,
}

/// What is behind a string handle we gave out. Never freed.
pub(crate) struct Registered {
    bytes: Box<[u8]>,
    flags: u32,
    /// Its number in the file of `epoch`.
    id: AtomicU32,
    epoch: AtomicU32,
}

/// What is behind a domain handle we gave out. Never freed, so that a program
/// may use a domain it has destroyed.
pub(crate) struct Domain {
    name: Box<[u8]>,
    id: AtomicU32,
    epoch: AtomicU32,
}

/// A name's number, and a copy of it that lives for ever.
#[derive(Clone, Copy)]
pub(crate) struct Interned {
    pub(crate) id: u32,
    pub(crate) copy: &'static [u8],
}

/// Only under [`LOCK`].
struct Tables {
    /// By flags and bytes.
    names: BTreeMap<(u32, Box<[u8]>), Interned>,
    domains: BTreeMap<Box<[u8]>, u16>,
    strings: Option<Part>,
}

struct Shared(UnsafeCell<Tables>);
// SAFETY: only touched under LOCK.
unsafe impl Sync for Shared {}

static TABLES: Shared =
    Shared(UnsafeCell::new(Tables { names: BTreeMap::new(), domains: BTreeMap::new(), strings: None }));

/// The number of a name. The slow way:
/// threads remember what they have asked.
pub(crate) fn intern(given: Given<'_>) -> Option<Interned> {
    LOCK.with(|| intern_locked(given))
}

fn intern_locked(given: Given<'_>) -> Option<Interned> {
    if !file::ready() {
        return None;
    }
    // SAFETY: we hold the lock.
    let tables = unsafe { &mut *TABLES.0.get() };
    let key = (given.flags, Box::from(given.bytes));
    if let Some(known) = tables.names.get(&key) {
        return Some(*known);
    }
    if tables.names.len() > MOST_NAMES {
        return (given.bytes != TOO_MANY).then(|| intern_locked(Given { bytes: TOO_MANY, flags: 0 }))?;
    }
    let id = tables.names.len() as u32 + 1;
    let text = text_of(given);
    let cut = text.len() > string::LONGEST;
    let text = &text[..text.len().min(string::LONGEST)];
    let flags = given.flags | if cut { string::CUT } else { 0 };
    write_string(tables, kind::STRING, u64::from(id) | u64::from(flags) << 32, text)?;
    // A zero behind it: threads compare it with C strings.
    let mut copy = given.bytes.to_vec();
    copy.push(0);
    let copy: &'static [u8] = &Box::leak(copy.into_boxed_slice())[..given.bytes.len()];
    let interned = Interned { id, copy };
    tables.names.insert(key, interned);
    Some(interned)
}

/// What is written down: wide characters as UTF-8.
fn text_of(given: Given<'_>) -> std::borrow::Cow<'_, [u8]> {
    if given.flags & string::WIDE == 0 {
        return given.bytes.into();
    }
    let characters = given.bytes.chunks_exact(4).map(|four| {
        let code = u32::from_ne_bytes([four[0], four[1], four[2], four[3]]);
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    });
    characters.collect::<String>().into_bytes().into()
}

fn write_string(tables: &mut Tables, kind: u8, about: u64, text: &[u8]) -> Option<()> {
    let padded = text.len().next_multiple_of(8);
    let room = tables.strings.as_ref().map_or(0, |part| part.end as usize - part.cursor as usize);
    if room < padded + 16 {
        tables.strings = Some(file::take_string_chunk(padded + 16)?);
    }
    let part = tables.strings.as_mut()?;
    // SAFETY: there is room for the two words and the padded text; fresh space is zero.
    unsafe {
        let words = part.cursor.cast::<u64>();
        words.write(layout::first_word(kind, text.len() as u64));
        words.add(1).write(about);
        std::ptr::copy_nonoverlapping(text.as_ptr(), part.cursor.add(16), text.len());
        part.cursor = part.cursor.add(16 + padded);
        file::publish(part);
    }
    Some(())
}

/// In the child of a fork: nothing is written down yet.
pub(crate) fn forget() {
    // SAFETY: no other thread exists.
    let tables = unsafe { &mut *TABLES.0.get() };
    tables.names.clear();
    tables.domains.clear();
    tables.strings = None;
}

pub(crate) fn register(given: Given<'_>) -> *const c_void {
    let entry = Registered {
        bytes: given.bytes.into(),
        flags: given.flags | string::REGISTERED,
        id: AtomicU32::new(layout::NO_NAME),
        epoch: AtomicU32::new(0),
    };
    let entry: &'static Registered = Box::leak(Box::new(entry));
    entry.number();
    std::ptr::from_ref(entry).cast()
}

impl Registered {
    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        if self.epoch.load(Ordering::Acquire) == file::epoch() {
            return self.id.load(Ordering::Relaxed);
        }
        self.renumber()
    }

    #[cold]
    fn renumber(&self) -> u32 {
        let given = Given { bytes: &self.bytes, flags: self.flags };
        let Some(Interned { id, .. }) = intern(given) else { return layout::NO_NAME };
        self.id.store(id, Ordering::Relaxed);
        self.epoch.store(file::epoch(), Ordering::Release);
        id
    }
}

pub(crate) fn create_domain(given: Given<'_>) -> *const c_void {
    let domain = Domain {
        name: text_of(given).into_owned().into_boxed_slice(),
        id: AtomicU32::new(0),
        epoch: AtomicU32::new(0),
    };
    let domain: &'static Domain = Box::leak(Box::new(domain));
    domain.number();
    std::ptr::from_ref(domain).cast()
}

impl Domain {
    #[inline(always)]
    pub(crate) fn number(&self) -> u16 {
        if self.epoch.load(Ordering::Acquire) == file::epoch() {
            return self.id.load(Ordering::Relaxed) as u16;
        }
        self.renumber()
    }

    #[cold]
    fn renumber(&self) -> u16 {
        let id = LOCK.with(|| {
            if !file::ready() {
                return None;
            }
            // SAFETY: we hold the lock.
            let tables = unsafe { &mut *TABLES.0.get() };
            if let Some(id) = tables.domains.get(&self.name) {
                return Some(*id);
            }
            let id = (tables.domains.len() + 1).min(MOST_DOMAINS) as u16;
            write_string(tables, kind::DOMAIN, u64::from(id), &self.name)?;
            tables.domains.insert(self.name.clone(), id);
            Some(id)
        });
        let Some(id) = id else { return layout::DEFAULT_DOMAIN };
        self.id.store(u32::from(id), Ordering::Relaxed);
        self.epoch.store(file::epoch(), Ordering::Release);
        id
    }
}

/// The number of a domain handle; null is the default domain.
///
/// # Safety
/// `handle` is null or came from [`create_domain`].
#[inline(always)]
pub(crate) unsafe fn domain_number(handle: *const c_void) -> u16 {
    // SAFETY: as stated; domains are never freed.
    unsafe { handle.cast::<Domain>().as_ref() }.map_or(layout::DEFAULT_DOMAIN, Domain::number)
}

pub(crate) fn name_category(domain: u16, category: u32, given: Given<'_>) {
    LOCK.with(|| {
        if file::ready() {
            // SAFETY: we hold the lock.
            let tables = unsafe { &mut *TABLES.0.get() };
            let text = text_of(given);
            let text = &text[..text.len().min(string::LONGEST)];
            write_string(tables, kind::CATEGORY, u64::from(category) | u64::from(domain) << 32, text);
        }
    });
}

pub(crate) fn name_thread(thread: u32, given: Given<'_>) {
    LOCK.with(|| {
        if file::ready() {
            // SAFETY: we hold the lock.
            let tables = unsafe { &mut *TABLES.0.get() };
            let text = text_of(given);
            let text = &text[..text.len().min(string::LONGEST)];
            write_string(tables, kind::THREAD_NAME, u64::from(thread), text);
        }
    });
}

/// # Safety
/// `text` is null or a C string.
#[inline(always)]
pub(crate) unsafe fn ascii<'a>(text: *const c_char) -> Given<'a> {
    if text.is_null() {
        return Given { bytes: &[], flags: 0 };
    }
    // SAFETY: as stated.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast(), libc::strlen(text)) };
    Given { bytes, flags: 0 }
}

/// # Safety
/// `text` is null or a wide C string.
pub(crate) unsafe fn wide<'a>(text: *const u32) -> Given<'a> {
    if text.is_null() {
        return Given { bytes: &[], flags: string::WIDE };
    }
    let mut length = 0;
    // SAFETY: as stated: it ends in a zero.
    unsafe {
        while *text.add(length) != 0 {
            length += 1;
        }
        Given { bytes: std::slice::from_raw_parts(text.cast(), length * 4), flags: string::WIDE }
    }
}
