//! The cheapest clock there is: the processor's counter where it runs at one
//! rate on all cores, else `CLOCK_MONOTONIC`.

use std::sync::atomic::{AtomicBool, Ordering};

static NANOSECONDS: AtomicBool = AtomicBool::new(false);

/// Chooses the clock; call before any event.
pub(crate) fn choose() {
    NANOSECONDS.store(!steady_counter(), Ordering::Relaxed);
}

pub(crate) fn in_nanoseconds() -> bool {
    NANOSECONDS.load(Ordering::Relaxed)
}

#[inline(always)]
pub(crate) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    if !NANOSECONDS.load(Ordering::Relaxed) {
        // SAFETY: every x86-64 has the instruction; the kernel allows it to programs.
        return unsafe { core::arch::x86_64::_rdtsc() };
    }
    monotonic()
}

pub(crate) fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

pub(crate) fn realtime() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// The counter and the system's clock at one moment: of a few tries the one in
/// which least time passed between the two.
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

/// A first estimate of ticks a second, for a process that leaves no later pair.
pub(crate) fn rate() -> u64 {
    if in_nanoseconds() {
        return 1_000_000_000;
    }
    let (ticks, monotonic) = pair();
    loop {
        let (ticks_now, monotonic_now) = pair();
        let passed = monotonic_now.saturating_sub(monotonic);
        if passed >= 200_000 {
            let rate = u128::from(ticks_now.wrapping_sub(ticks)) * 1_000_000_000 / u128::from(passed);
            return u64::try_from(rate).unwrap_or(0);
        }
    }
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid and the clock exists on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
fn steady_counter() -> bool {
    use core::arch::x86_64::__cpuid;
    let newest = __cpuid(0x8000_0000).eax;
    newest >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn steady_counter() -> bool {
    false
}
