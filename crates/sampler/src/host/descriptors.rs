//! How many descriptors may be kept open: a part of those that this process may have, whatever is sampled. What finds none
//! left is opened, read and closed again each time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, getrlimit};

/// Of the descriptors that the process may have, one in so many.
const PART: u64 = 8;

/// Descriptors that may still be kept.
#[derive(Debug, Clone)]
pub(crate) struct Descriptors(Arc<AtomicUsize>);

/// Some of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Kept {
    of: Descriptors,
    count: usize,
}

impl Descriptors {
    /// A part of what the process may have, and never more than `most`.
    pub(crate) fn at_most(most: usize) -> Self {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let part = usize::try_from(limit / PART).unwrap_or(usize::MAX);
        Self(Arc::new(AtomicUsize::new(part.min(most))))
    }

    /// None if there are not so many left.
    pub(crate) fn keep(&self, count: usize) -> Option<Kept> {
        let less = |left: usize| left.checked_sub(count);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
        Some(Kept { of: self.clone(), count })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.of.0.fetch_add(self.count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_may_be_kept_again() {
        let some = Descriptors::at_most(3);
        let kept = some.keep(2).unwrap();
        assert!(some.keep(2).is_none() && some.keep(1).is_some());
        drop(kept);
        assert!(some.keep(3).is_some());
    }
}
