//! The mapped file of this process, and who may write where in it.
//!
//! Space is taken in arenas (allocated on disk first, so that no write can fail
//! for want of space, then mapped) and handed out in chunks. All of it happens
//! under the lock; between two chunks a thread writes without asking anyone.
//!
//! No descriptor is kept: a program may close it and open a file of its own under the same
//! number. To grow, the file is opened again by its path, and it must be the same file before and
//! after it is mapped.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use tracefile::layout::{self, chunk, flag, halted, header, note};

use crate::state::{self, Guarded, LONGEST_PATH, Part, Space, State, phase};
use crate::sys::{self, Errno, Identity};
use crate::{clock, environment, notes, tls, weak};

const FIRST_ARENA: usize = 64 << 10;
const LARGEST_ARENA: usize = 4 << 20;
/// Under a limit of the address space, which is the program's to use.
const LARGEST_ARENA_UNDER_LIMIT: usize = 256 << 10;
const LARGEST_CHUNK_UNDER_LIMIT: usize = (32 << 10) - chunk::LENGTH;
/// So much address space is left to the program before the trace may grow.
const ADDRESS_SPACE_FLOOR: u64 = 16 << 20;
/// So much of a disk is left free: a twentieth, within these bounds.
const DISK_SHARE: u64 = 20;
const LEAST_DISK_FLOOR: u64 = 1 << 20;
const LARGEST_DISK_FLOOR: u64 = 1 << 30;

/// Why there is no more space: see [`halted`].
struct Halt {
    why: u32,
    errno: Errno,
}

impl From<Errno> for Halt {
    fn from(errno: Errno) -> Self {
        let why = match errno {
            sys::ENOSPC | sys::EDQUOT => halted::DISK_FULL,
            sys::EFBIG => halted::FILE_SIZE,
            sys::ENOMEM => halted::MEMORY,
            sys::EMFILE | sys::ENFILE => halted::DESCRIPTORS,
            sys::ENOENT | sys::ESTALE => halted::FILE_GONE,
            sys::EACCES | sys::EPERM => halted::NOT_PERMITTED,
            _ => halted::OTHER,
        };
        Self { why, errno }
    }
}

/// Starts recording in this process; true when it is on. Called again and again.
pub(crate) fn start() -> bool {
    if environment::has_foreign_rights() {
        notes::send(note::FOREIGN_RIGHTS, 0);
        return false;
    }
    tls::prepare();
    // A child may find it gone.
    environment::NOTES.get();
    let Some(state) = state::make() else {
        notes::send(halted::MEMORY, sys::ENOMEM);
        return false;
    };
    state.alone(ready)
}

/// Makes sure there is a file, also right after a fork.
pub(crate) fn ready(state: &'static State, guarded: &mut Guarded) -> bool {
    if state.phase.load(Ordering::Relaxed) == phase::FRESH {
        open_or_give_up(state, guarded);
    }
    state.phase.load(Ordering::Relaxed) == phase::ON
}

fn open_or_give_up(state: &'static State, guarded: &mut Guarded) {
    let Some(folder) = environment::TRACE_FOLDER.get() else {
        state.phase.store(phase::OFF, Ordering::Release);
        return;
    };
    match open(state, &mut guarded.space, folder) {
        Ok(()) => {
            state.epoch.store(next_epoch(), Ordering::Release);
            state.phase.store(phase::ON, Ordering::Release);
            watch_for_exit();
        }
        Err(halt) => {
            state.phase.store(phase::OFF, Ordering::Release);
            notes::send(halt.why, halt.errno);
        }
    }
}

/// Numbers of names are those of one file: this number is given to no other.
fn next_epoch() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// A chunk for a thread's events.
pub(crate) fn take_event_chunk(
    state: &'static State,
    guarded: &mut Guarded,
    thread: u32,
    wanted: usize,
) -> Option<Part> {
    new_chunk(state, &mut guarded.space, chunk::EVENTS, thread, wanted)
}

/// A chunk for strings.
pub(crate) fn take_string_chunk(state: &'static State, guarded: &mut Guarded, bytes: usize) -> Option<Part> {
    new_chunk(state, &mut guarded.space, chunk::STRINGS, 0, bytes.max(16 << 10))
}

/// A chunk for what CUPTI tells.
pub(crate) fn take_gpu_chunk(state: &'static State, guarded: &mut Guarded, bytes: usize) -> Option<Part> {
    let bytes = bytes.min(largest_chunk(guarded));
    new_chunk(state, &mut guarded.space, chunk::GPU, 0, bytes)
}

pub(crate) fn largest_chunk(guarded: &Guarded) -> usize {
    if guarded.space.under_limit { LARGEST_CHUNK_UNDER_LIMIT } else { usize::MAX }
}

/// A chunk that nobody writes to any more: the file has it, the program's memory need not.
pub(crate) fn retire(part: Part) {
    if !part.chunk.is_null() {
        // SAFETY: a whole number of pages, of which only the owner knew.
        unsafe { sys::unmap(part.chunk, part.end as usize - part.chunk as usize) };
    }
}

/// Counts what found no place, in a field of the header.
pub(crate) fn count(field: usize) {
    let Some(state) = state::state() else { return };
    let page = state.header.load(Ordering::Relaxed);
    if !page.is_null() {
        // SAFETY: the header page stays mapped; the counter is aligned.
        unsafe { AtomicU64::from_ptr(page.add(field).cast()) }.fetch_add(1, Ordering::Relaxed);
    }
}

/// Writes records and makes them count.
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

/// Makes everything before the cursor count.
///
/// # Safety
/// `part.chunk` is a mapped chunk.
#[inline(always)]
pub(crate) unsafe fn publish(part: &Part) {
    let used = part.cursor as u64 - part.chunk as u64;
    // SAFETY: chunks begin at multiples of 8, and so does the field.
    unsafe { AtomicU64::from_ptr(part.chunk.add(chunk::USED).cast()) }.store(used, Ordering::Release);
}

fn new_chunk(
    state: &'static State,
    space: &mut Space,
    kind: u32,
    thread: u32,
    wanted: usize,
) -> Option<Part> {
    let size = wanted.checked_add(chunk::LENGTH)?.checked_next_multiple_of(layout::PAGE)?;
    if (space.free_end as usize - space.free as usize) < size
        && let Err(halt) = new_arena(space, size)
    {
        halt_recording(state, &halt);
        return None;
    }
    let chunk = space.free;
    // SAFETY: the arena has `size` bytes left from here, zeroed and ours alone.
    unsafe {
        // All pages at once cost a fraction of one fault each; an old kernel that
        // does not know how takes the faults.
        let _ = sys::advise(chunk, size, sys::MADV_POPULATE_WRITE);
        space.free = chunk.add(size);
        let (ticks, monotonic) = clock::pair();
        put(chunk, chunk::KIND, kind);
        put(chunk, chunk::SIZE, size as u32);
        put(chunk, chunk::THREAD, thread);
        put(chunk, chunk::TICKS, ticks.wrapping_sub(clock::base()));
        put(chunk, chunk::MONOTONIC, monotonic);
        put(chunk, chunk::USED, chunk::LENGTH as u64);
        put(chunk, chunk::MAGIC, layout::CHUNK_MAGIC);
        Some(Part { chunk, cursor: chunk.add(chunk::LENGTH), end: chunk.add(size) })
    }
}

/// Allocates and maps more of the file. What is left of the old arena becomes a
/// chunk that nobody uses, so that a reader finds the next one.
fn new_arena(space: &mut Space, at_least: usize) -> Result<(), Halt> {
    leave_address_space(space)?;
    let most = if space.under_limit { LARGEST_ARENA_UNDER_LIMIT } else { LARGEST_ARENA };
    let size = space.arena_size.clamp(FIRST_ARENA, most).max(at_least);
    // SAFETY: our own path, which ends in a zero.
    let descriptor = unsafe { sys::open(space.path.as_ptr(), REOPEN, 0) }?;
    let arena = grow(descriptor, space.identity, space.file_end, size);
    sys::close(descriptor);
    let arena = arena?;
    if space.free != space.free_end {
        let rest = space.free_end as usize - space.free as usize;
        // SAFETY: at least a page of the old arena is left, and nobody's.
        unsafe {
            put(space.free, chunk::SIZE, rest as u32);
            put(space.free, chunk::MAGIC, layout::CHUNK_MAGIC);
            sys::unmap(space.free, rest);
        }
    }
    space.free = arena;
    // SAFETY: the mapping is `size` long.
    space.free_end = unsafe { arena.add(size) };
    space.file_end += size;
    space.arena_size = size.saturating_mul(2);
    Ok(())
}

const REOPEN: i32 = sys::O_RDWR | sys::O_CLOEXEC | sys::O_NOFOLLOW;

/// Allocates and maps a part of the file behind `descriptor`, if that is the file that is meant.
/// Blocks on disk first: a write to a mapped page without one would be a SIGBUS.
fn grow(descriptor: i32, meant: Option<Identity>, at: usize, size: usize) -> Result<*mut u8, Halt> {
    let limit = sys::limit(sys::RLIMIT_FSIZE);
    if (at + size) as u64 > limit {
        return Err(Halt { why: halted::FILE_SIZE, errno: sys::EFBIG });
    }
    let (free, whole) = sys::free_space(descriptor)?;
    let floor = (whole / DISK_SHARE).clamp(LEAST_DISK_FLOOR, LARGEST_DISK_FLOOR);
    if free < floor.saturating_add(size as u64) {
        return Err(Halt { why: halted::DISK_FLOOR, errno: sys::ENOSPC });
    }
    let is_meant = || Some(sys::identity(descriptor)) == meant.map(Ok);
    if !is_meant() {
        return Err(Halt { why: halted::FILE_GONE, errno: sys::ESTALE });
    }
    sys::allocate(descriptor, at, size)?;
    let mapped = sys::map_file(descriptor, at, size)?;
    // Another thread of the program may have closed the descriptor and opened a file under its
    // number meanwhile. What is ours before and after was ours when it was mapped.
    if !is_meant() {
        // SAFETY: nothing was written to it.
        unsafe { sys::unmap(mapped, size) };
        return Err(Halt { why: halted::FILE_GONE, errno: sys::ESTALE });
    }
    Ok(mapped)
}

/// Under a limit of the address space the program gets what is left of it.
fn leave_address_space(space: &mut Space) -> Result<(), Halt> {
    let limit = sys::limit(sys::RLIMIT_AS);
    space.under_limit = limit != sys::UNLIMITED;
    if !space.under_limit {
        return Ok(());
    }
    let mut line = [0u8; 64];
    let length = sys::read_file(c"/proc/self/statm", &mut line);
    let used = number(line.get(..length).unwrap_or_default()).saturating_mul(4096);
    if used.saturating_add(ADDRESS_SPACE_FLOOR) > limit {
        return Err(Halt { why: halted::ADDRESS_SPACE, errno: sys::ENOMEM });
    }
    Ok(())
}

/// Makes the file of this process.
fn open(state: &'static State, space: &mut Space, folder: &[u8]) -> Result<(), Halt> {
    leave_address_space(space)?;
    let mut name = [0u8; header::NAME_LENGTH];
    let name_length = program_name(&mut name);
    let name = name.get(..name_length).unwrap_or_default();
    let rank = rank();
    let process = sys::process_id();
    let mut attempt = 1;
    let descriptor = loop {
        write_path(&mut space.path, folder, name, rank, process, attempt)
            .ok_or(Halt { why: halted::OTHER, errno: sys::ENAMETOOLONG })?;
        const CREATE: i32 = sys::O_RDWR | sys::O_CREAT | sys::O_EXCL | sys::O_CLOEXEC;
        // SAFETY: the path ends in a zero.
        match unsafe { sys::open(space.path.as_ptr(), CREATE, 0o600) } {
            Ok(descriptor) => break descriptor,
            Err(sys::EEXIST) if attempt < 1000 => attempt += 1,
            Err(errno) => return Err(errno.into()),
        }
    };
    let identity = sys::identity(descriptor);
    let page = match identity {
        Ok(identity) => grow(descriptor, Some(identity), 0, layout::PAGE),
        Err(errno) => Err(errno.into()),
    };
    sys::close(descriptor);
    if page.is_err() {
        // SAFETY: the path ends in a zero. An empty file says nothing.
        unsafe { sys::remove(space.path.as_ptr()) };
    }
    let page = page?;
    let base = clock::start();
    let mut flags = 0;
    if clock::in_nanoseconds() {
        flags |= flag::NANOSECONDS;
    }
    if forked_without_exec() {
        flags |= flag::FORKED;
    }
    // SAFETY: a fresh page of ours.
    unsafe {
        put(page, header::FLAGS, flags);
        put(page, header::PID, process);
        put(page, header::PARENT, sys::parent_id());
        put(page, header::BASE_TICKS, base.ticks);
        put(page, header::BASE_MONOTONIC, base.monotonic);
        put(page, header::BASE_REALTIME, base.realtime);
        put(page, header::TICKS_PER_SECOND, base.rate);
        put_text(page, header::NAME, header::NAME_LENGTH, &[name]);
        if let Some(rank) = rank {
            put_text(page, header::LABEL, header::LABEL_LENGTH, &[b"rank ", rank]);
        }
        put(page, header::MAGIC, layout::MAGIC);
    }
    state.header.store(page, Ordering::Release);
    space.identity = identity.ok();
    space.file_end = layout::PAGE;
    space.arena_size = FIRST_ARENA;
    space.free = core::ptr::null_mut();
    space.free_end = core::ptr::null_mut();
    Ok(())
}

/// `FOLDER/NAME-rankR-PID.ATTEMPT.rft`
fn write_path(
    path: &mut [u8; LONGEST_PATH],
    folder: &[u8],
    name: &[u8],
    rank: Option<&[u8]>,
    process: u32,
    attempt: u32,
) -> Option<()> {
    let (mut process_digits, mut attempt_digits) = ([0; 10], [0; 10]);
    let process = digits(process, &mut process_digits);
    let attempt_text = digits(attempt, &mut attempt_digits);
    let (before_rank, rank) = rank.map_or((&b""[..], &b""[..]), |rank| (b"-rank", rank));
    let (dot, attempt_text) = if attempt == 1 { (&b""[..], &b""[..]) } else { (&b"."[..], attempt_text) };
    let mut at = 0;
    for part in [folder, b"/", name, before_rank, rank, b"-", process, dot, attempt_text, b".rft\0"] {
        path.get_mut(at..at + part.len())?.copy_from_slice(part);
        at += part.len();
    }
    Some(())
}

fn digits(mut number: u32, into: &mut [u8; 10]) -> &[u8] {
    let mut used = 0;
    for place in into.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
        used += 1;
        if number == 0 {
            break;
        }
    }
    into.get(10 - used..).unwrap_or_default()
}

/// Whether this process never executed a program of its own: the kernel marks it
/// so. It may have opened its first range only after the fork.
fn forked_without_exec() -> bool {
    const PF_FORKNOEXEC: u64 = 0x40;
    let mut stat = [0u8; 256];
    let length = sys::read_file(c"/proc/self/stat", &mut stat);
    // `pid (name) state ppid pgrp session tty tpgid flags ...`
    let stat = stat.get(..length).unwrap_or_default();
    let Some(fields) = stat.rsplit(|byte| *byte == b')').next() else { return false };
    let Some(flags) = fields.split(|byte| *byte == b' ').filter(|field| !field.is_empty()).nth(6) else {
        return false;
    };
    number(flags) & PF_FORKNOEXEC != 0
}

/// The number that a text begins with.
fn number(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

/// The program's file name, with nothing in it that a path could trip over; how much of `into`
/// that took.
pub(crate) fn program_name(into: &mut [u8; header::NAME_LENGTH]) -> usize {
    const LONGEST: usize = 40;
    let mut link = [0u8; 512];
    let length = sys::read_link(c"/proc/self/exe", &mut link);
    let link = link.get(..length).unwrap_or_default();
    let name = link.rsplit(|byte| *byte == b'/').next().filter(|name| !name.is_empty());
    let mut used = 0;
    for (place, byte) in into.iter_mut().zip(name.unwrap_or(b"process")).take(LONGEST) {
        let harmless = byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        *place = if harmless { *byte } else { b'_' };
        used += 1;
    }
    used
}

/// What tells one rank of a parallel job from another.
fn rank() -> Option<&'static [u8]> {
    let variables: [&[u8]; 5] =
        [b"RANK", b"OMPI_COMM_WORLD_RANK", b"PMI_RANK", b"SLURM_PROCID", b"LOCAL_RANK"];
    variables
        .into_iter()
        .filter_map(environment::variable)
        .find(|rank| rank.len() < 10 && rank.iter().all(u8::is_ascii_digit))
}

/// Stops recording and says why in the header. What was recorded stays true: everything up to
/// some moment, and nothing after it.
fn halt_recording(state: &'static State, halt: &Halt) {
    state.phase.store(phase::OFF, Ordering::Release);
    let page = state.header.load(Ordering::Acquire);
    if !page.is_null() {
        // SAFETY: the header page stays mapped.
        unsafe {
            put(page, header::HALTED_ERRNO, halt.errno as u32);
            put(page, header::HALTED, halt.why);
        }
    }
}

/// # Safety
/// `at + size_of::<T>()` lies inside the mapping that begins at `base`.
unsafe fn put<T>(base: *mut u8, at: usize, value: T) {
    // SAFETY: as stated.
    unsafe { base.add(at).cast::<T>().write_unaligned(value) };
}

/// # Safety
/// A fresh header, with `length` bytes for the text at `at`.
unsafe fn put_text(base: *mut u8, at: usize, length: usize, parts: &[&[u8]]) {
    let bytes = parts.iter().flat_map(|part| part.iter());
    for (offset, byte) in bytes.take(length - 1).enumerate() {
        // SAFETY: as stated.
        unsafe { base.add(at + offset).write(*byte) };
    }
}

/// Asks to be called at a clean exit; once, since a forked child has its parent's handlers.
fn watch_for_exit() {
    static WATCHING: AtomicBool = AtomicBool::new(false);
    if !WATCHING.swap(true, Ordering::Relaxed)
        && let Some(register) = weak::cxa_atexit()
    {
        // SAFETY: the C library's own function; the library is never unloaded.
        unsafe { register(at_exit, core::ptr::null_mut(), core::ptr::null_mut()) };
    }
}

unsafe extern "C" fn at_exit(_: *mut c_void) {
    let Some(state) = state::state() else { return };
    let page = state.header.load(Ordering::Acquire);
    if !page.is_null() {
        let (ticks, monotonic) = clock::pair();
        // SAFETY: the header page stays mapped.
        unsafe {
            put(page, header::END_MONOTONIC, monotonic);
            put(page, header::END_TICKS, ticks.wrapping_sub(clock::base()));
        }
    }
}
