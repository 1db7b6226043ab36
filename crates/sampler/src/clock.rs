//! The clocks that samples are taken by, in nanoseconds.

use rustix::time::{ClockId, clock_gettime};

pub(crate) fn monotonic() -> u64 {
    now(ClockId::Monotonic)
}

/// Since 1970.
pub(crate) fn epoch() -> u64 {
    now(ClockId::Realtime)
}

/// Processor time of this thread.
pub(crate) fn thread_time() -> u64 {
    now(ClockId::ThreadCPUTime)
}

/// Processor time of this process.
pub(crate) fn process_time() -> u64 {
    now(ClockId::ProcessCPUTime)
}

fn now(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
