//! A lock for the rare paths. While it is held, the thread receives no signal: a handler that opens
//! a range can never wait for the thread it interrupted, and no cancellation can unwind through
//! our code. All zero is unlocked.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and another thread waits.
const WAITED_FOR: u32 = 2;

pub(crate) struct Lock(AtomicU32);

impl Lock {
    pub(crate) fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        let signals = sys::block_signals();
        let result = self.with_signals(work);
        sys::restore_signals(signals);
        result
    }

    /// Does not block signals: for work that may take long and that no signal handler of the program
    /// can start.
    pub(crate) fn with_signals<T>(&self, work: impl FnOnce() -> T) -> T {
        self.take();
        let result = work();
        if self.0.swap(FREE, Ordering::Release) == WAITED_FOR {
            sys::wake_one(&self.0);
        }
        result
    }

    fn take(&self) {
        if self.0.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return;
        }
        while self.0.swap(WAITED_FOR, Ordering::Acquire) != FREE {
            sys::wait_while(&self.0, WAITED_FOR);
        }
    }
}
