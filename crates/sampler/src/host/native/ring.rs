//! The kernel's own samples of a thread (`perf_event_open`), by processor time: registers and the top of the stack, while
//! it executes code of its own. They come through memory that is shared with the kernel, so this file needs `unsafe`.
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

/// Pages of samples, a power of two: room for seven.
const DATA_PAGES: usize = 32;
/// So much of a stack is in a sample: callers further out are not seen.
const STACK_BYTES: u32 = 16 << 10;

/// Where the kernel's page says how far it has written, and we how far we have read.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

const SAMPLE: u32 = 9;
const SAMPLE_REGISTERS: u64 = 1 << 12;
const SAMPLE_STACK: u64 = 1 << 13;
/// The frame pointer, the stack pointer and the place in the code, as the kernel numbers them.
#[cfg(target_arch = "x86_64")]
const REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;
/// Not written yet: the kernel refuses to sample none.
#[cfg(not(target_arch = "x86_64"))]
const REGISTERS: u64 = 0;
/// In a record: header, kind of registers, three of them, length of the stack, stack, how much of it is there.
const STACK_AT: u64 = 8 + 8 + 24 + 8;

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

/// A thread at one moment, as far as its stack goes.
#[derive(Debug, Default)]
pub(crate) struct Moment {
    pub(crate) code: u64,
    pub(crate) stack_pointer: u64,
    /// 0 where it is not known.
    pub(crate) frame_pointer: u64,
    /// The words from the stack pointer on.
    pub(crate) stack: Vec<u64>,
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
            sample_type: SAMPLE_REGISTERS | SAMPLE_STACK,
            // Without kernel and hypervisor; a frequency.
            flags: 1 << 5 | 1 << 6 | 1 << 10,
            user_registers: REGISTERS,
            user_stack: STACK_BYTES,
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

    /// Takes all samples out, and leaves the last one in `moment`. False if there was none.
    pub(crate) fn latest(&mut self, moment: &mut Moment) -> bool {
        let size = (self.page * DATA_PAGES) as u64;
        let head = self.counter(HEAD).load(Ordering::Acquire);
        let mut tail = self.counter(TAIL).load(Ordering::Relaxed);
        // Further ahead than the memory is long: overwritten.
        if head.wrapping_sub(tail) > size {
            tail = head;
        }
        let mut found = None;
        while tail != head {
            let header = self.word(tail);
            let (kind, length) = (header as u32, header >> 48);
            if length < 8 || length > head.wrapping_sub(tail) {
                break;
            }
            // Without registers the record is shorter.
            if kind == SAMPLE && length > STACK_AT && self.word(tail + 8) != 0 {
                found = Some((tail, length));
            }
            tail = tail.wrapping_add(length);
        }
        if let Some((at, length)) = found {
            self.read(at, length, moment);
        }
        self.counter(TAIL).store(head, Ordering::Release);
        found.is_some()
    }

    fn read(&self, at: u64, length: u64, moment: &mut Moment) {
        moment.frame_pointer = self.word(at + 16);
        moment.stack_pointer = self.word(at + 24);
        moment.code = self.word(at + 32);
        let room = (length - STACK_AT) & !7;
        let reserved = self.word(at + 40).min(room);
        // After the stack stands how much of it is there.
        let there = if reserved + 8 <= room { self.word(at + STACK_AT + reserved) } else { 0 };
        let words = there.min(reserved) / 8;
        moment.stack.clear();
        moment.stack.extend((0..words).map(|word| self.word(at + STACK_AT + 8 * word)));
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
