//! Variables of the program's environment.

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::memory::{self, AfterFork};
use crate::{sys, weak};

/// The value of a variable; None if it is unset or empty. The text is valid at least until the
/// program changes the variable.
pub(crate) fn variable(name: &[u8]) -> Option<&'static [u8]> {
    let found = match weak::environ() {
        Some(list) => in_list(list, name),
        None => in_block(at_the_start()?, name),
    };
    found.filter(|value| !value.is_empty())
}

/// A variable with the value it had when it was first read: the child of a fork may clear its environment.
pub(crate) struct Kept {
    name: &'static [u8],
    copy: AtomicPtr<u8>,
    length: AtomicUsize,
}

impl Kept {
    pub(crate) const fn new(name: &'static [u8]) -> Self {
        Self { name, copy: AtomicPtr::new(core::ptr::null_mut()), length: AtomicUsize::new(0) }
    }

    pub(crate) fn get(&self) -> Option<&'static [u8]> {
        let known = self.copy.load(Ordering::Acquire);
        if !known.is_null() {
            // SAFETY: written once, never changed.
            return Some(unsafe { core::slice::from_raw_parts(known, self.length.load(Ordering::Relaxed)) });
        }
        let value = variable(self.name)?;
        let copy = memory::map(value.len().checked_next_multiple_of(4096)?, AfterFork::Kept)?;
        // SAFETY: fresh memory with that much room.
        unsafe { core::ptr::copy_nonoverlapping(value.as_ptr(), copy, value.len()) };
        self.length.store(value.len(), Ordering::Relaxed);
        self.copy.store(copy, Ordering::Release);
        // SAFETY: as above.
        Some(unsafe { core::slice::from_raw_parts(copy, value.len()) })
    }
}

/// Where the traces of this process and its forked children go, and the socket that is told about
/// processes without one.
pub(crate) static TRACE_FOLDER: Kept = Kept::new(b"RANGEFINDER_TRACE_DIR");
pub(crate) static NOTES: Kept = Kept::new(b"RANGEFINDER_NOTES");

/// Whether a switch is on.
pub(crate) fn is_on(name: &[u8]) -> bool {
    variable(name).is_some_and(|value| matches!(value, [b'1']))
}

fn in_list(mut list: *const *const c_char, name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: C's environment is a list of C strings that ends in a null.
    unsafe {
        while !(*list).is_null() {
            if let Some(value) = value_of(CStr::from_ptr(*list).to_bytes(), name) {
                return Some(value);
            }
            list = list.add(1);
        }
    }
    None
}

fn in_block(block: &'static [u8], name: &[u8]) -> Option<&'static [u8]> {
    block.split(|byte| *byte == 0).find_map(|entry| value_of(entry, name))
}

fn value_of(entry: &'static [u8], name: &[u8]) -> Option<&'static [u8]> {
    entry.strip_prefix(name)?.strip_prefix(b"=")
}

/// The environment that the program was started with, for a program whose C library we cannot ask.
fn at_the_start() -> Option<&'static [u8]> {
    const MOST: usize = 256 << 10;
    static BLOCK: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
    static LENGTH: AtomicUsize = AtomicUsize::new(0);
    let known = BLOCK.load(Ordering::Acquire);
    if !known.is_null() {
        // SAFETY: read once, never changed.
        return Some(unsafe { core::slice::from_raw_parts(known, LENGTH.load(Ordering::Relaxed)) });
    }
    let block = memory::map(MOST, AfterFork::Kept)?;
    // SAFETY: fresh memory of that size.
    let length =
        sys::read_file(c"/proc/self/environ", unsafe { core::slice::from_raw_parts_mut(block, MOST) });
    LENGTH.store(length, Ordering::Relaxed);
    BLOCK.store(block, Ordering::Release);
    // SAFETY: as above.
    Some(unsafe { core::slice::from_raw_parts(block, length) })
}

/// Whether the program has more rights than the user who started it: setuid, setgid or file
/// capabilities. Then its environment is not to be trusted, least of all for a path.
pub(crate) fn has_foreign_rights() -> bool {
    const AT_SECURE: u64 = 23;
    if let Some(getauxval) = weak::getauxval() {
        // SAFETY: the C library's own function.
        return unsafe { getauxval(AT_SECURE) } != 0;
    }
    let mut vector = [0u8; 1024];
    let length = sys::read_file(c"/proc/self/auxv", &mut vector);
    let (entries, _) = vector.get(..length).unwrap_or_default().as_chunks::<16>();
    entries.iter().any(|entry| {
        let (words, _) = entry.as_chunks::<8>();
        matches!(words, [key, value]
            if u64::from_ne_bytes(*key) == AT_SECURE && u64::from_ne_bytes(*value) != 0)
    })
}
