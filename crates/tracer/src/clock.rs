//! The cheapest clock: the processor's counter if it runs at one rate on all cores and may be
//! read, else `CLOCK_MONOTONIC`.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{sys, weak};

static NANOSECONDS: AtomicBool = AtomicBool::new(false);
static BASE: AtomicU64 = AtomicU64::new(0);
static BASE_MONOTONIC: AtomicU64 = AtomicU64::new(0);
static BASE_REALTIME: AtomicU64 = AtomicU64::new(0);
static RATE: AtomicU64 = AtomicU64::new(0);

/// When a file's times begin, on each clock, and a first estimate of ticks per second.
pub(crate) struct Base {
    pub(crate) ticks: u64,
    pub(crate) monotonic: u64,
    pub(crate) realtime: u64,
    pub(crate) rate: u64,
}

/// Chooses the clock and when its times begin, once. The child of a fork keeps its parent's choice,
/// because its first event may have begun already.
pub(crate) fn start() -> Base {
    if RATE.load(Ordering::Acquire) == 0 {
        NANOSECONDS.store(!steady_counter(), Ordering::Relaxed);
        let (ticks, monotonic) = pair();
        BASE.store(ticks, Ordering::Relaxed);
        BASE_MONOTONIC.store(monotonic, Ordering::Relaxed);
        BASE_REALTIME.store(sys::time(sys::CLOCK_REALTIME), Ordering::Relaxed);
        RATE.store(rate(), Ordering::Release);
    }
    Base {
        ticks: base(),
        monotonic: BASE_MONOTONIC.load(Ordering::Relaxed),
        realtime: BASE_REALTIME.load(Ordering::Relaxed),
        rate: RATE.load(Ordering::Relaxed),
    }
}

pub(crate) fn in_nanoseconds() -> bool {
    NANOSECONDS.load(Ordering::Relaxed)
}

#[inline(always)]
pub(crate) fn base() -> u64 {
    BASE.load(Ordering::Relaxed)
}

#[inline(always)]
pub(crate) fn ticks() -> u64 {
    if !NANOSECONDS.load(Ordering::Relaxed) {
        // SAFETY: every x86-64 processor has the instruction, and the program may use it.
        return unsafe { core::arch::x86_64::_rdtsc() };
    }
    monotonic()
}

#[inline(never)]
fn monotonic() -> u64 {
    let Some(clock_gettime) = weak::clock_gettime() else { return sys::time(sys::CLOCK_MONOTONIC) };
    let mut time = [0; 2];
    // SAFETY: the C library's own function, which need not enter the kernel.
    unsafe { clock_gettime(sys::CLOCK_MONOTONIC, &mut time) };
    let [seconds, nanoseconds] = time;
    seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)
}

/// The counter and the system's clock at the same moment: of a few attempts, the one in which
/// the least time passed between the two.
pub(crate) fn pair() -> (u64, u64) {
    let mut best = (u64::MAX, (0, 0));
    for _ in 0..4 {
        let before = ticks();
        let monotonic = monotonic();
        let after = ticks();
        let took = after.wrapping_sub(before);
        if took < best.0 {
            best = (took, (before.wrapping_add(took / 2), monotonic));
        }
    }
    best.1
}

/// A first estimate, for a process that writes no later pair.
fn rate() -> u64 {
    const SECOND: u64 = 1_000_000_000;
    if in_nanoseconds() {
        return SECOND;
    }
    let (ticks, monotonic) = pair();
    // A limit, in case the clock does not advance.
    for _ in 0..1_000_000 {
        let (ticks_now, monotonic_now) = pair();
        let passed = monotonic_now.saturating_sub(monotonic);
        if passed >= 200_000 {
            // At most 2^40 ticks, unless the process was stopped meanwhile; then any rate will do.
            let counted = ticks_now.wrapping_sub(ticks);
            return counted.saturating_mul(SECOND).checked_div(passed).unwrap_or(SECOND).max(1);
        }
    }
    SECOND
}

fn steady_counter() -> bool {
    use core::arch::x86_64::__cpuid;
    let newest = __cpuid(0x8000_0000).eax;
    newest >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0 && sys::counter_is_readable()
}
