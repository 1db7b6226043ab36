//! The clock of the host.

use tracefile::{Header, TraceFile};

/// Ticks → nanoseconds of `CLOCK_MONOTONIC`.
pub(super) struct Clock {
    base: i64,
    nanoseconds_per_tick: f64,
}

impl Clock {
    /// From the pair that lies furthest from the base, or the first estimate when
    /// the process did not live long enough to leave one.
    pub(super) fn of(file: &TraceFile<'_>) -> Self {
        let header: &Header = &file.header;
        let pairs = file.chunks.iter().map(|chunk| chunk.clock).chain(header.end);
        let furthest = pairs.max_by_key(|(_, monotonic)| *monotonic);
        let measured = furthest.and_then(|(ticks, monotonic)| {
            let passed = monotonic.checked_sub(header.base_monotonic)?;
            (passed > 10_000_000 && ticks > 0).then(|| passed as f64 / ticks as f64)
        });
        let estimated = 1e9 / (header.ticks_per_second.max(1) as f64);
        let nanoseconds_per_tick = if header.nanoseconds { 1.0 } else { measured.unwrap_or(estimated) };
        Self { base: i64::try_from(header.base_monotonic).unwrap_or(0), nanoseconds_per_tick }
    }

    pub(super) fn time(&self, ticks: u64) -> i64 {
        self.base.saturating_add((ticks as f64 * self.nanoseconds_per_tick) as i64)
    }
}
