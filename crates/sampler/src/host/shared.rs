//! What the processes that are sampled share: there is not much of it, however many they are.

use super::descriptors::Descriptors;
use super::native::Rings;

#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) descriptors: Descriptors,
    pub(super) rings: Rings,
}

impl Shared {
    /// Files of threads that are kept open, of all processes.
    const MOST_FILES: usize = 4096;

    pub(super) fn new() -> Self {
        Self { descriptors: Descriptors::at_most(Self::MOST_FILES), rings: Rings::new() }
    }
}
