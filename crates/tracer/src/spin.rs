//! A lock for the rare paths that can be forced open in the child of a fork.

use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) struct Spin(AtomicBool);

impl Spin {
    pub(crate) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    pub(crate) fn lock(&self) {
        while self.0.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::thread::yield_now();
        }
    }

    pub(crate) fn unlock(&self) {
        self.0.store(false, Ordering::Release);
    }

    pub(crate) fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        self.lock();
        // Opened again also when `work` unwinds.
        struct Open<'a>(&'a Spin);
        impl Drop for Open<'_> {
            fn drop(&mut self) {
                self.0.unlock();
            }
        }
        let _open = Open(self);
        work()
    }
}
