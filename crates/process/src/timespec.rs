//! Durations as the kernel takes them.

use std::time::Duration;

use rustix::event::Timespec;

pub(super) fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}
