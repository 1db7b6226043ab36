//! System calls, made directly: a C library's wrappers are cancellation points, set `errno`, and
//! are not in every program.

use core::arch::asm;

/// An error number of the system.
pub(crate) type Errno = i32;

pub(crate) const ENOENT: Errno = 2;
pub(crate) const EACCES: Errno = 13;
pub(crate) const EEXIST: Errno = 17;
pub(crate) const ENFILE: Errno = 23;
pub(crate) const EMFILE: Errno = 24;
pub(crate) const EFBIG: Errno = 27;
pub(crate) const ENOSPC: Errno = 28;
pub(crate) const ENOMEM: Errno = 12;
pub(crate) const EPERM: Errno = 1;
pub(crate) const ESRCH: Errno = 3;
const EINTR: Errno = 4;
pub(crate) const ENAMETOOLONG: Errno = 36;
pub(crate) const ENOSYS: Errno = 38;
pub(crate) const EOPNOTSUPP: Errno = 95;
pub(crate) const EDQUOT: Errno = 122;
pub(crate) const ESTALE: Errno = 116;

pub(crate) const O_RDONLY: i32 = 0;
pub(crate) const O_RDWR: i32 = 2;
pub(crate) const O_CREAT: i32 = 0o100;
pub(crate) const O_EXCL: i32 = 0o200;
pub(crate) const O_NOFOLLOW: i32 = 0o400_000;
pub(crate) const O_CLOEXEC: i32 = 0o2_000_000;

pub(crate) const PROT_READ: i32 = 1;
pub(crate) const PROT_WRITE: i32 = 2;
pub(crate) const PROT_EXEC: i32 = 4;
const MAP_SHARED: i32 = 1;
const MAP_PRIVATE: i32 = 2;
const MAP_ANONYMOUS: i32 = 0x20;
pub(crate) const MADV_WIPEONFORK: i32 = 18;
pub(crate) const MADV_POPULATE_WRITE: i32 = 23;

pub(crate) const CLOCK_REALTIME: i32 = 0;
pub(crate) const CLOCK_MONOTONIC: i32 = 1;

pub(crate) const RLIMIT_FSIZE: i32 = 1;
pub(crate) const RLIMIT_AS: i32 = 9;
pub(crate) const UNLIMITED: u64 = u64::MAX;

const SIGXFSZ: u32 = 25;

mod number {
    pub(super) const READ: usize = 0;
    pub(super) const CLOSE: usize = 3;
    pub(super) const FSTAT: usize = 5;
    pub(super) const MMAP: usize = 9;
    pub(super) const MPROTECT: usize = 10;
    pub(super) const MUNMAP: usize = 11;
    pub(super) const RT_SIGPROCMASK: usize = 14;
    pub(super) const PWRITE64: usize = 18;
    pub(super) const SCHED_YIELD: usize = 24;
    pub(super) const MADVISE: usize = 28;
    pub(super) const GETPID: usize = 39;
    pub(super) const SOCKET: usize = 41;
    pub(super) const SENDTO: usize = 44;
    pub(super) const FCNTL: usize = 72;
    pub(super) const UNLINK: usize = 87;
    pub(super) const READLINK: usize = 89;
    pub(super) const GETPPID: usize = 110;
    pub(super) const RT_SIGTIMEDWAIT: usize = 128;
    pub(super) const FSTATFS: usize = 138;
    pub(super) const PRCTL: usize = 157;
    pub(super) const GETTID: usize = 186;
    pub(super) const FUTEX: usize = 202;
    pub(super) const CLOCK_GETTIME: usize = 228;
    pub(super) const TGKILL: usize = 234;
    pub(super) const OPENAT: usize = 257;
    pub(super) const FALLOCATE: usize = 285;
    pub(super) const PRLIMIT64: usize = 302;
}

const AT_FDCWD: isize = -100;

/// # Safety
/// The arguments are valid for the system call of that number.
#[inline(always)]
unsafe fn call(number: usize, arguments: [usize; 6]) -> Result<usize, Errno> {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: as stated; the kernel preserves all other registers.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    if result < 0 { Err(result.wrapping_neg() as Errno) } else { Ok(result as usize) }
}

/// Opens `path`, but never as descriptor 0, 1 or 2, which a program may have closed to open its own
/// files there.
///
/// # Safety
/// `path` ends in a zero.
pub(crate) unsafe fn open(path: *const u8, flags: i32, mode: u32) -> Result<i32, Errno> {
    // SAFETY: as stated.
    let descriptor = unsafe {
        call(number::OPENAT, [AT_FDCWD as usize, path as usize, flags as usize, mode as usize, 0, 0])?
    };
    above_standard_streams(descriptor as i32)
}

fn above_standard_streams(descriptor: i32) -> Result<i32, Errno> {
    const F_DUPFD_CLOEXEC: usize = 1030;
    if descriptor > 2 {
        return Ok(descriptor);
    }
    // SAFETY: a descriptor of our own.
    let higher = unsafe { call(number::FCNTL, [descriptor as usize, F_DUPFD_CLOEXEC, 3, 0, 0, 0]) };
    close(descriptor);
    higher.map(|descriptor| descriptor as i32)
}

pub(crate) fn close(descriptor: i32) {
    // SAFETY: a descriptor of our own. There is nothing to do about an error.
    let _ = unsafe { call(number::CLOSE, [descriptor as usize, 0, 0, 0, 0, 0]) };
}

/// # Safety
/// `path` ends in a zero.
pub(crate) unsafe fn remove(path: *const u8) {
    // SAFETY: as stated.
    let _ = unsafe { call(number::UNLINK, [path as usize, 0, 0, 0, 0, 0]) };
}

/// Which file a descriptor refers to: device and inode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    file: u64,
}

pub(crate) fn identity(descriptor: i32) -> Result<Identity, Errno> {
    /// `struct stat`, of which the first two words are read.
    #[repr(C)]
    struct Stat([u64; 18]);
    let mut stat = Stat([0; 18]);
    // SAFETY: the kernel fills in 144 bytes.
    unsafe { call(number::FSTAT, [descriptor as usize, &raw mut stat as usize, 0, 0, 0, 0])? };
    let [device, file, ..] = stat.0;
    Ok(Identity { device, file })
}

/// Bytes that an ordinary user may still write to the file system, and its size.
pub(crate) fn free_space(descriptor: i32) -> Result<(u64, u64), Errno> {
    /// `struct statfs`: type, block size, blocks, free blocks, available blocks, …
    #[repr(C)]
    struct Statfs([u64; 15]);
    let mut statfs = Statfs([0; 15]);
    // SAFETY: the kernel fills in 120 bytes.
    unsafe { call(number::FSTATFS, [descriptor as usize, &raw mut statfs as usize, 0, 0, 0, 0])? };
    let [_, block, blocks, _, available, ..] = statfs.0;
    Ok((available.saturating_mul(block), blocks.saturating_mul(block)))
}

/// Allocates disk blocks, so that a write to a mapped page cannot fail for lack of space. If the
/// file system does not support that, writes zeros.
pub(crate) fn allocate(descriptor: i32, at: usize, size: usize) -> Result<(), Errno> {
    // SAFETY: plain numbers.
    match unsafe { call(number::FALLOCATE, [descriptor as usize, 0, at, size, 0, 0]) } {
        Ok(_) => Ok(()),
        // Signals are blocked, so this is a debugger or a frozen group.
        Err(EINTR) => allocate(descriptor, at, size),
        Err(EOPNOTSUPP | ENOSYS) => write_zeros(descriptor, at, size),
        Err(errno) => {
            if errno == EFBIG {
                take_back_file_size_signal();
            }
            Err(errno)
        }
    }
}

fn write_zeros(descriptor: i32, at: usize, size: usize) -> Result<(), Errno> {
    static ZEROS: [u8; 4096] = [0; 4096];
    let mut done = 0;
    while done < size {
        let length = (size - done).min(ZEROS.len());
        // SAFETY: a buffer of our own.
        let result = unsafe {
            call(number::PWRITE64, [descriptor as usize, &raw const ZEROS as usize, length, at + done, 0, 0])
        };
        match result {
            Ok(0) => return Err(ENOSPC),
            Ok(written) => done += written,
            Err(EINTR) => {}
            Err(errno) => {
                if errno == EFBIG {
                    take_back_file_size_signal();
                }
                return Err(errno);
            }
        }
    }
    Ok(())
}

/// A write beyond `RLIMIT_FSIZE` sends SIGXFSZ to the thread. It is blocked while we write, and
/// taken back here so that the program never receives it.
fn take_back_file_size_signal() {
    let set: u64 = 1 << (SIGXFSZ - 1);
    let at_once = [0u64; 2];
    // SAFETY: a set and a time of our own.
    let _ = unsafe {
        call(number::RT_SIGTIMEDWAIT, [&raw const set as usize, 0, &raw const at_once as usize, 8, 0, 0])
    };
}

/// Maps a part of a file, shared.
pub(crate) fn map_file(descriptor: i32, at: usize, size: usize) -> Result<*mut u8, Errno> {
    let access = PROT_READ | PROT_WRITE;
    // SAFETY: a fresh mapping, at an address that the kernel chooses.
    unsafe {
        call(number::MMAP, [0, size, access as usize, MAP_SHARED as usize, descriptor as usize, at])
            .map(|address| address as *mut u8)
    }
}

/// Fresh memory, all zero.
pub(crate) fn map_memory(size: usize) -> Result<*mut u8, Errno> {
    let access = PROT_READ | PROT_WRITE;
    let kind = MAP_PRIVATE | MAP_ANONYMOUS;
    // SAFETY: a fresh mapping, at an address that the kernel chooses.
    unsafe {
        call(number::MMAP, [0, size, access as usize, kind as usize, usize::MAX, 0])
            .map(|address| address as *mut u8)
    }
}

/// # Safety
/// Nobody uses that memory any more.
pub(crate) unsafe fn unmap(address: *mut u8, size: usize) {
    // SAFETY: as stated.
    let _ = unsafe { call(number::MUNMAP, [address as usize, size, 0, 0, 0, 0]) };
}

/// # Safety
/// Memory that may have this access: a mapping of ours, or code that is written to for a moment.
pub(crate) unsafe fn protect(address: usize, size: usize, access: i32) -> Result<(), Errno> {
    // SAFETY: as stated.
    unsafe { call(number::MPROTECT, [address, size, access as usize, 0, 0, 0]) }.map(|_| ())
}

/// # Safety
/// A mapping of ours, and advice that keeps its contents.
pub(crate) unsafe fn advise(address: *mut u8, size: usize, advice: i32) -> Result<(), Errno> {
    // SAFETY: as stated.
    unsafe { call(number::MADVISE, [address as usize, size, advice as usize, 0, 0, 0]) }.map(|_| ())
}

/// Blocks every signal of this thread, including those that a C library uses for cancellation, and
/// returns what was blocked before.
pub(crate) fn block_signals() -> u64 {
    block(u64::MAX)
}

/// The same, except for those of the C library, which every thread must answer: `setuid` waits for
/// all threads. For a long-lived thread of our own.
pub(crate) fn block_signals_of_the_program() -> u64 {
    const OF_THE_LIBRARY: u64 = 0b111 << 31;
    block(!OF_THE_LIBRARY)
}

fn block(signals: u64) -> u64 {
    const SIG_SETMASK: usize = 2;
    let mut before = 0u64;
    // SAFETY: two sets of our own.
    let _ = unsafe {
        call(
            number::RT_SIGPROCMASK,
            [SIG_SETMASK, &raw const signals as usize, &raw mut before as usize, 8, 0, 0],
        )
    };
    before
}

pub(crate) fn restore_signals(before: u64) {
    const SIG_SETMASK: usize = 2;
    // SAFETY: a set of our own.
    let _ = unsafe { call(number::RT_SIGPROCMASK, [SIG_SETMASK, &raw const before as usize, 0, 8, 0, 0]) };
}

/// Waits while `word` is `value`.
pub(crate) fn wait_while(word: &core::sync::atomic::AtomicU32, value: u32) {
    wait(word, value, 0);
}

/// Waits while `word` is `value`, but not longer than that.
pub(crate) fn wait_while_at_most(word: &core::sync::atomic::AtomicU32, value: u32, nanoseconds: u64) {
    let time = [nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000];
    wait(word, value, &raw const time as usize);
}

fn wait(word: &core::sync::atomic::AtomicU32, value: u32, time: usize) {
    const FUTEX_WAIT: usize = 0;
    // Not the private kind, which assumes that no other process shares the memory.
    // SAFETY: the word lives as long as the process; `time` is null or a time of the caller's.
    let _ = unsafe { call(number::FUTEX, [word.as_ptr() as usize, FUTEX_WAIT, value as usize, time, 0, 0]) };
}

pub(crate) fn wake_one(word: &core::sync::atomic::AtomicU32) {
    const FUTEX_WAKE: usize = 1;
    // SAFETY: as above.
    let _ = unsafe { call(number::FUTEX, [word.as_ptr() as usize, FUTEX_WAKE, 1, 0, 0, 0]) };
}

pub(crate) fn yield_now() {
    // SAFETY: no arguments.
    let _ = unsafe { call(number::SCHED_YIELD, [0; 6]) };
}

pub(crate) fn process_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(number::GETPID, [0; 6]) }.unwrap_or(0) as u32
}

pub(crate) fn parent_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(number::GETPPID, [0; 6]) }.unwrap_or(0) as u32
}

pub(crate) fn thread_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(number::GETTID, [0; 6]) }.unwrap_or(0) as u32
}

/// Whether a thread of this process is gone.
pub(crate) fn thread_is_gone(thread: u32) -> bool {
    // SAFETY: signal 0 only checks whether the thread exists.
    let asked = unsafe { call(number::TGKILL, [process_id() as usize, thread as usize, 0, 0, 0, 0]) };
    asked == Err(ESRCH)
}

pub(crate) fn time(clock: i32) -> u64 {
    let mut time = [0u64; 2];
    // SAFETY: the kernel writes two words.
    let _ = unsafe { call(number::CLOCK_GETTIME, [clock as usize, &raw mut time as usize, 0, 0, 0, 0]) };
    let [seconds, nanoseconds] = time;
    seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)
}

/// The soft limit of a resource.
pub(crate) fn limit(resource: i32) -> u64 {
    let mut limits = [UNLIMITED; 2];
    // SAFETY: the kernel writes two words.
    let _ = unsafe { call(number::PRLIMIT64, [0, resource as usize, 0, &raw mut limits as usize, 0, 0]) };
    let [soft, _] = limits;
    soft
}

/// Whether programs may read the processor's counter.
pub(crate) fn counter_is_readable() -> bool {
    const PR_GET_TSC: usize = 25;
    const PR_TSC_ENABLE: u32 = 1;
    let mut mode = 0u32;
    // SAFETY: the kernel writes one number.
    let asked = unsafe { call(number::PRCTL, [PR_GET_TSC, &raw mut mode as usize, 0, 0, 0, 0]) };
    asked.is_err() || mode == PR_TSC_ENABLE
}

pub(crate) fn name_thread(name: &core::ffi::CStr) {
    const PR_SET_NAME: usize = 15;
    // SAFETY: a C string.
    let _ = unsafe { call(number::PRCTL, [PR_SET_NAME, name.as_ptr() as usize, 0, 0, 0, 0]) };
}

/// Reads a symbolic link into `into` and returns its length.
pub(crate) fn read_link(path: &core::ffi::CStr, into: &mut [u8]) -> usize {
    let place = into.as_mut_ptr() as usize;
    // SAFETY: a C string and a buffer of that length.
    let read = unsafe { call(number::READLINK, [path.as_ptr() as usize, place, into.len(), 0, 0, 0]) };
    read.unwrap_or(0).min(into.len())
}

/// Reads the beginning of a file, as much as fits into `into`, and returns its length.
pub(crate) fn read_file(path: &core::ffi::CStr, into: &mut [u8]) -> usize {
    // SAFETY: a C string.
    let Ok(descriptor) = (unsafe { open(path.as_ptr().cast(), O_RDONLY | O_CLOEXEC, 0) }) else { return 0 };
    let mut done = 0;
    while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let arguments = [descriptor as usize, rest.as_mut_ptr() as usize, rest.len(), 0, 0, 0];
        // SAFETY: a buffer of that length.
        match unsafe { call(number::READ, arguments) } {
            Ok(read) if read > 0 => done += read,
            _ => break,
        }
    }
    close(descriptor);
    done
}

/// Sends one datagram to the abstract socket of that name, if somebody listens.
pub(crate) fn send(name: &[u8], message: &[u8]) {
    const AF_UNIX: u16 = 1;
    const SOCK_DGRAM: usize = 2;
    const SOCK_CLOEXEC: usize = 0o2_000_000;
    const MSG_DONTWAIT: usize = 0x40;
    const MSG_NOSIGNAL: usize = 0x4000;
    #[repr(C)]
    struct Address {
        family: u16,
        path: [u8; 108],
    }
    let mut address = Address { family: AF_UNIX, path: [0; 108] };
    let Some(place) = address.path.get_mut(1..=name.len()) else { return };
    place.copy_from_slice(name);
    // SAFETY: plain numbers, then buffers of our own.
    unsafe {
        let socket = call(number::SOCKET, [AF_UNIX as usize, SOCK_DGRAM | SOCK_CLOEXEC, 0, 0, 0, 0]);
        let Ok(Ok(socket)) = socket.map(|socket| above_standard_streams(socket as i32)) else { return };
        let length = 2 + 1 + name.len();
        let _ = call(
            number::SENDTO,
            [
                socket as usize,
                message.as_ptr() as usize,
                message.len(),
                MSG_DONTWAIT | MSG_NOSIGNAL,
                &raw const address as usize,
                length,
            ],
        );
        close(socket);
    }
}
