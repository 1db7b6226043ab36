//! The mapped file of this process, and who may write where in it.
//!
//! Space is taken in arenas (allocated on disk first, so that no write can fail
//! for want of space, then mapped) and handed out in chunks. All of it happens
//! under [`LOCK`]; between two chunks a thread writes without asking anyone.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use tracefile::layout::{self, chunk, flag, header};

use crate::clock;
use crate::spin::Spin;

pub(crate) static LOCK: Spin = Spin::new();

static STATE: AtomicU32 = AtomicU32::new(FRESH);
const FRESH: u32 = 0;
const ON: u32 = 1;
const OFF: u32 = 2;

static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Changes with every fork: what was written down before is in another file.
static EPOCH: AtomicU32 = AtomicU32::new(1);

/// The mapped header, for what is counted there.
static HEADER: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static BASE_TICKS: AtomicU64 = AtomicU64::new(0);

const MADV_POPULATE_WRITE: i32 = 23;

const FIRST_ARENA: usize = 64 << 10;
const LARGEST_ARENA: usize = 4 << 20;

/// The file and the arena that chunks come from. Only under [`LOCK`].
struct Space {
    descriptor: i32,
    /// Where the next arena begins in the file.
    file_end: usize,
    arena_size: usize,
    free: *mut u8,
    free_end: *mut u8,
    /// Parts of chunks that ended threads did not need.
    left_over: Vec<Part>,
}

/// A part of a chunk: its header, the next free byte, the end.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) chunk: *mut u8,
    pub(crate) cursor: *mut u8,
    pub(crate) end: *mut u8,
}

struct Shared(std::cell::UnsafeCell<Space>);
// SAFETY: only touched under LOCK.
unsafe impl Sync for Shared {}

static SPACE: Shared = Shared(std::cell::UnsafeCell::new(Space {
    descriptor: -1,
    file_end: 0,
    arena_size: FIRST_ARENA,
    free: std::ptr::null_mut(),
    free_end: std::ptr::null_mut(),
    left_over: Vec::new(),
}));

pub(crate) fn epoch() -> u32 {
    EPOCH.load(Ordering::Relaxed)
}

pub(crate) fn base_ticks() -> u64 {
    BASE_TICKS.load(Ordering::Relaxed)
}

/// Starts recording in this process; true when it is on. Called again and again.
pub(crate) fn start() -> bool {
    LOCK.with(|| {
        if STATE.load(Ordering::Relaxed) == FRESH {
            // The child of a fork has its parent's handlers: once more, and it would wait for
            // itself when it forks.
            let child = REGISTERED.swap(true, Ordering::Relaxed);
            if !child {
                clock::choose();
                // SAFETY: plain C functions; the handlers live as long as the library.
                unsafe {
                    libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork_in_child));
                    libc::atexit(at_exit);
                }
            }
            open_or_give_up(if child { flag::FORKED } else { 0 });
        }
        STATE.load(Ordering::Relaxed) == ON
    })
}

/// For the slow paths: makes sure there is a file, also right after a fork.
/// Call under [`LOCK`].
pub(crate) fn ready() -> bool {
    if STATE.load(Ordering::Relaxed) == FRESH {
        open_or_give_up(flag::FORKED);
    }
    STATE.load(Ordering::Relaxed) == ON
}

/// A place for a thread's events, at least `bytes` of it. Call under [`LOCK`].
pub(crate) fn take_part(thread: u32, wanted: usize, bytes: usize) -> Option<Part> {
    if !ready() {
        return None;
    }
    // SAFETY: we hold the lock.
    let space = unsafe { &mut *SPACE.0.get() };
    let fits = |part: &Part| part.end as usize - part.cursor as usize >= bytes + 512;
    if let Some(at) = space.left_over.iter().rposition(fits) {
        let mut part = space.left_over.swap_remove(at);
        // SAFETY: at least 512 bytes are left in that chunk.
        unsafe {
            write_words(&mut part, &[layout::first_word(layout::kind::THREAD, 0), u64::from(thread)]);
        }
        return Some(part);
    }
    new_chunk(space, chunk::EVENTS, thread, wanted.max(bytes))
}

/// What an ended thread did not use. Call under [`LOCK`].
pub(crate) fn give_back(part: Part) {
    // SAFETY: we hold the lock.
    let space = unsafe { &mut *SPACE.0.get() };
    if part.end as usize - part.cursor as usize > 512 && space.left_over.len() < 4096 {
        space.left_over.push(part);
    }
}

/// A chunk for strings. Call under [`LOCK`].
pub(crate) fn take_string_chunk(bytes: usize) -> Option<Part> {
    if !ready() {
        return None;
    }
    // SAFETY: we hold the lock.
    let space = unsafe { &mut *SPACE.0.get() };
    new_chunk(space, chunk::STRINGS, 0, bytes.max(16 << 10))
}

/// A chunk for what CUPTI tells. Call under [`LOCK`].
pub(crate) fn take_gpu_chunk(bytes: usize) -> Option<Part> {
    if !ready() {
        return None;
    }
    // SAFETY: we hold the lock.
    let space = unsafe { &mut *SPACE.0.get() };
    new_chunk(space, chunk::GPU, 0, bytes)
}

/// Counts events that found no place.
pub(crate) fn count_dropped() {
    let header = HEADER.load(Ordering::Relaxed);
    if !header.is_null() {
        // SAFETY: the header page stays mapped; the counter is aligned.
        unsafe { AtomicU64::from_ptr(header.add(header::DROPPED).cast()) }.fetch_add(1, Ordering::Relaxed);
    }
}

/// Writes records and makes them count.
///
/// # Safety
/// `part` has room for `words`.
pub(crate) unsafe fn write_words(part: &mut Part, words: &[u64]) {
    // SAFETY: the caller has made sure of the room; cursors are multiples of 8.
    unsafe {
        std::ptr::copy_nonoverlapping(words.as_ptr(), part.cursor.cast::<u64>(), words.len());
        part.cursor = part.cursor.add(words.len() * 8);
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

fn new_chunk(space: &mut Space, kind: u32, thread: u32, wanted: usize) -> Option<Part> {
    let size = (wanted + chunk::LENGTH).next_multiple_of(layout::PAGE);
    if space.free_end as usize - (space.free as usize) < size && !new_arena(space, size) {
        return None;
    }
    let chunk = space.free;
    // SAFETY: the arena has `size` bytes left from here, zeroed and ours alone.
    unsafe {
        // All pages at once cost a fraction of one fault each; an old kernel that
        // does not know how takes the faults.
        libc::madvise(chunk.cast(), size, MADV_POPULATE_WRITE);
        space.free = chunk.add(size);
        let (ticks, monotonic) = clock::pair();
        put(chunk, chunk::KIND, &kind.to_le_bytes());
        put(chunk, chunk::SIZE, &(size as u32).to_le_bytes());
        put(chunk, chunk::THREAD, &thread.to_le_bytes());
        put(chunk, chunk::TICKS, &ticks.wrapping_sub(base_ticks()).to_le_bytes());
        put(chunk, chunk::MONOTONIC, &monotonic.to_le_bytes());
        put(chunk, chunk::USED, &(chunk::LENGTH as u64).to_le_bytes());
        put(chunk, chunk::MAGIC, &layout::CHUNK_MAGIC.to_le_bytes());
        Some(Part { chunk, cursor: chunk.add(chunk::LENGTH), end: chunk.add(size) })
    }
}

/// Allocates and maps more of the file. What is left of the old arena becomes a
/// chunk that nobody uses, so that a reader finds the next one.
fn new_arena(space: &mut Space, at_least: usize) -> bool {
    if space.free != space.free_end {
        let size = (space.free_end as usize - space.free as usize) as u32;
        // SAFETY: at least a page of the old arena is left.
        unsafe {
            put(space.free, chunk::SIZE, &size.to_le_bytes());
            put(space.free, chunk::MAGIC, &layout::CHUNK_MAGIC.to_le_bytes());
        }
        space.free = space.free_end;
    }
    let size = space.arena_size.max(at_least.next_multiple_of(layout::PAGE));
    match map(space.descriptor, space.file_end, size) {
        Ok(arena) => {
            space.free = arena;
            // SAFETY: the mapping is `size` long.
            space.free_end = unsafe { arena.add(size) };
            space.file_end += size;
            space.arena_size = (space.arena_size * 2).min(LARGEST_ARENA);
            true
        }
        Err(errno) => {
            give_up("the trace cannot grow", errno);
            false
        }
    }
}

/// Blocks on disk first: a write to a mapped page without one would be a SIGBUS.
fn map(descriptor: i32, at: usize, size: usize) -> Result<*mut u8, i32> {
    // SAFETY: a fresh mapping of our own file.
    unsafe {
        let errno = libc::posix_fallocate(descriptor, at as i64, size as i64);
        if errno != 0 {
            return Err(errno);
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let mapped = libc::mmap(std::ptr::null_mut(), size, access, libc::MAP_SHARED, descriptor, at as i64);
        if mapped == libc::MAP_FAILED { Err(errno_now()) } else { Ok(mapped.cast()) }
    }
}

fn open_or_give_up(flags: u32) {
    match open(flags) {
        Ok(()) => STATE.store(ON, Ordering::Release),
        Err(None) => STATE.store(OFF, Ordering::Release),
        Err(Some(errno)) => give_up("the trace file cannot be made", errno),
    }
}

/// Makes the file of this process. None when nobody asked for a trace.
fn open(mut flags: u32) -> Result<(), Option<i32>> {
    let folder = std::env::var_os("RANGEFINDER_TRACE_DIR").filter(|folder| !folder.is_empty()).ok_or(None)?;
    let name = program_name();
    let label = label();
    let stem = if label.is_empty() { name.clone() } else { format!("{name}-{}", label.replace(' ', "")) };
    let pid = std::process::id();
    let mut descriptor = -1;
    for attempt in 1..1000 {
        let number = if attempt == 1 { String::new() } else { format!(".{attempt}") };
        let mut path = folder.clone().into_vec();
        path.extend(format!("/{stem}-{pid}{number}.rft").into_bytes());
        let path = CString::new(path).map_err(|_| Some(libc::EINVAL))?;
        let create = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        // SAFETY: the path is a C string.
        descriptor = unsafe { libc::open(path.as_ptr(), create, 0o600) };
        if descriptor >= 0 || errno_now() != libc::EEXIST {
            break;
        }
    }
    if descriptor < 0 {
        return Err(Some(errno_now()));
    }
    let page = map(descriptor, 0, layout::PAGE).map_err(Some)?;
    if clock::in_nanoseconds() {
        flags |= flag::NANOSECONDS;
    }
    if forked_without_exec() {
        flags |= flag::FORKED;
    }
    let rate = clock::rate();
    let (ticks, monotonic) = clock::pair();
    BASE_TICKS.store(ticks, Ordering::Relaxed);
    // SAFETY: a fresh page of ours.
    unsafe {
        put(page, header::FLAGS, &flags.to_le_bytes());
        put(page, header::PID, &pid.to_le_bytes());
        put(page, header::PARENT, &(libc::getppid() as u32).to_le_bytes());
        put(page, header::BASE_TICKS, &ticks.to_le_bytes());
        put(page, header::BASE_MONOTONIC, &monotonic.to_le_bytes());
        put(page, header::BASE_REALTIME, &clock::realtime().to_le_bytes());
        put(page, header::TICKS_PER_SECOND, &rate.to_le_bytes());
        put(page, header::NAME, clipped(&name, header::NAME_LENGTH));
        put(page, header::LABEL, clipped(&label, header::LABEL_LENGTH));
        put(page, header::MAGIC, &layout::MAGIC);
    }
    HEADER.store(page, Ordering::Release);
    // SAFETY: we hold the lock.
    let space = unsafe { &mut *SPACE.0.get() };
    *space = Space {
        descriptor,
        file_end: layout::PAGE,
        arena_size: FIRST_ARENA,
        free: std::ptr::null_mut(),
        free_end: std::ptr::null_mut(),
        left_over: Vec::new(),
    };
    Ok(())
}

/// Whether this process never executed a program of its own: the kernel marks it
/// so. It may have opened its first range only after the fork.
fn forked_without_exec() -> bool {
    const PF_FORKNOEXEC: u64 = 0x40;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // `pid (name) state ppid pgrp session tty tpgid flags ...`
    let flags = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(6)?.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & PF_FORKNOEXEC != 0)
}

/// The program's file name, with nothing in it that a path could trip over.
fn program_name() -> String {
    let name =
        std::env::current_exe().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let name = name.unwrap_or_else(|| "process".to_owned());
    name.chars()
        .take(40)
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' })
        .collect()
}

/// What tells one rank of a parallel job from another.
fn label() -> String {
    for variable in ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"] {
        if let Ok(rank) = std::env::var(variable)
            && rank.len() < 10
            && rank.chars().all(|c| c.is_ascii_digit())
            && !rank.is_empty()
        {
            return format!("rank {rank}");
        }
    }
    String::new()
}

fn clipped(text: &str, length: usize) -> &[u8] {
    &text.as_bytes()[..text.len().min(length - 1)]
}

/// Turns the tracer off and says so, once.
fn give_up(what: &str, errno: i32) {
    if STATE.swap(OFF, Ordering::AcqRel) == OFF {
        return;
    }
    let why = std::io::Error::from_raw_os_error(errno);
    let line = format!("rangefinder: tracing is off in process {}: {what}: {why}\n", std::process::id());
    // SAFETY: a buffer of our own; a closed stderr is nobody's loss.
    unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
}

fn errno_now() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// # Safety
/// `at + bytes.len()` lies inside the mapping that begins at `base`.
unsafe fn put(base: *mut u8, at: usize, bytes: &[u8]) {
    // SAFETY: as stated.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), base.add(at), bytes.len()) };
}

extern "C" fn before_fork() {
    LOCK.lock();
}

extern "C" fn after_fork() {
    LOCK.unlock();
}

/// Only the forking thread lives on here. It must never write into the parent's
/// file again: it forgets its place, and the next event opens a new file.
extern "C" fn after_fork_in_child() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
    if STATE.load(Ordering::Relaxed) == ON {
        STATE.store(FRESH, Ordering::Relaxed);
    }
    HEADER.store(std::ptr::null_mut(), Ordering::Relaxed);
    // SAFETY: no other thread exists.
    let space = unsafe { &mut *SPACE.0.get() };
    space.free = std::ptr::null_mut();
    space.free_end = std::ptr::null_mut();
    space.left_over.clear();
    if space.descriptor >= 0 {
        // SAFETY: our own descriptor.
        unsafe { libc::close(space.descriptor) };
        space.descriptor = -1;
    }
    crate::names::forget();
    crate::thread::forget();
    crate::cupti::forget();
    LOCK.unlock();
}

extern "C" fn at_exit() {
    let page = HEADER.load(Ordering::Acquire);
    if STATE.load(Ordering::Acquire) == ON && !page.is_null() {
        let (ticks, monotonic) = clock::pair();
        // SAFETY: the header page stays mapped.
        unsafe {
            put(page, header::END_MONOTONIC, &monotonic.to_le_bytes());
            put(page, header::END_TICKS, &ticks.wrapping_sub(base_ticks()).to_le_bytes());
        }
    }
}
