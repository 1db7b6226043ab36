//! The kernel's own samples of a thread (`perf_event_open`): call chains of user code, by processor time. They come
//! through memory that is shared with the kernel, so this file needs `unsafe`.
#![allow(unsafe_code, reason = "the system call has no wrapper, and its results come through shared memory")]

use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::libc;

/// The kernel does not let us sample the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) errno: i32,
}

/// Pages of samples, a power of two.
const DATA_PAGES: usize = 8;

/// Where the kernel's page says how far it has written, and we how far we have read.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

const SAMPLE: u32 = 9;
/// Entries from here on are marks, not addresses.
const FIRST_MARK: u64 = u64::MAX - 4095;
const DEEPEST: u64 = 256;

/// `struct perf_event_attr`, its first 112 bytes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    frequency: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config_1: u64,
    config_2: u64,
    branches: u64,
    user_registers: u64,
    user_stack: u32,
    clock: i32,
    interrupt_registers: u64,
    aux_watermark: u32,
    max_stack: u16,
    reserved: u16,
}

#[derive(Debug)]
pub(crate) struct Ring {
    _event: OwnedFd,
    base: NonNull<u8>,
    page: usize,
}

// SAFETY: the mapping belongs to this value alone, and is used by one thread at a time.
unsafe impl Send for Ring {}

impl Ring {
    /// Starts to sample a thread, so many times for each second that it runs.
    pub(crate) fn open(tid: u32, rate: u64) -> Result<Self, Refused> {
        let attributes = Attributes {
            kind: 1,
            size: size_of::<Attributes>() as u32,
            // The software clock of the processor time: needs no hardware.
            config: 1,
            frequency: rate,
            // Call chains.
            sample_type: 1 << 5,
            // Without kernel and hypervisor; a frequency; no kernel part in call chains.
            flags: 1 << 5 | 1 << 6 | 1 << 10 | 1 << 21,
            max_stack: 127,
            ..Attributes::default()
        };
        let (tid, any, none, close_on_exec) = (tid as libc::pid_t, -1, -1, 8 as libc::c_ulong);
        // SAFETY: the attributes outlive the call and their size is in them; the other arguments are numbers.
        let event = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const attributes, tid, any, none, close_on_exec)
        };
        let Ok(event) = i32::try_from(event) else { return Err(refused()) };
        if event < 0 {
            return Err(refused());
        }
        // SAFETY: the kernel has just made this descriptor, and nobody else knows it.
        let event = unsafe { OwnedFd::from_raw_fd(event) };
        // SAFETY: only asks for a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let (length, access) = (page * (1 + DATA_PAGES), libc::PROT_READ | libc::PROT_WRITE);
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&event);
        // SAFETY: a new mapping at a place that the kernel chooses.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_SHARED, descriptor, 0) };
        if base == libc::MAP_FAILED {
            return Err(refused());
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or(Refused { errno: libc::ENOMEM })?;
        Ok(Self { _event: event, base, page })
    }

    /// Takes all samples out, and leaves the addresses of the last one in `chain`. False if there was none.
    pub(crate) fn latest(&mut self, chain: &mut Vec<u64>) -> bool {
        let size = (self.page * DATA_PAGES) as u64;
        let head = self.counter(HEAD).load(Ordering::Acquire);
        let mut tail = self.counter(TAIL).load(Ordering::Relaxed);
        // Further ahead than the memory is long: overwritten.
        if head.wrapping_sub(tail) > size {
            tail = head;
        }
        let mut found = false;
        while tail != head {
            let header = self.word(tail);
            let (kind, length) = (header as u32, header >> 48);
            if length < 8 || length > head.wrapping_sub(tail) {
                break;
            }
            if kind == SAMPLE && length >= 16 {
                let count = self.word(tail + 8).min((length - 16) / 8).min(DEEPEST);
                chain.clear();
                chain.extend((0..count).map(|at| self.word(tail + 16 + 8 * at)));
                chain.retain(|address| *address != 0 && *address < FIRST_MARK);
                found = true;
            }
            tail = tail.wrapping_add(length);
        }
        self.counter(TAIL).store(head, Ordering::Release);
        found
    }

    fn counter(&self, at: usize) -> &AtomicU64 {
        // SAFETY: inside the first page of the mapping, which lives as long as `self`, aligned to eight bytes, and
        // the kernel reads and writes it as one word.
        unsafe { self.base.add(at).cast::<AtomicU64>().as_ref() }
    }

    /// The word at this byte of the endless stream of samples; records are multiples of eight bytes.
    fn word(&self, at: u64) -> u64 {
        let place = (at & !7) as usize % (self.page * DATA_PAGES);
        // SAFETY: `place` is inside the pages of samples, which follow the first one, and aligned.
        unsafe { self.base.add(self.page + place).cast::<u64>().read_volatile() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and no reference into it is left.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.page * (1 + DATA_PAGES)) };
    }
}

fn refused() -> Refused {
    Refused { errno: Errno::last_raw() }
}
