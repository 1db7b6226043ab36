//! The clocks that samples are taken by.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds of the monotonic clock.
pub(super) fn monotonic() -> u64 {
    nanoseconds(ClockId::CLOCK_MONOTONIC)
}

/// How long this thread has had a processor.
pub(super) fn own_time() -> Duration {
    Duration::from_nanos(nanoseconds(ClockId::CLOCK_THREAD_CPUTIME_ID))
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
