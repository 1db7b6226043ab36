//! How much of a report there is memory for.

use crate::model::Partly;

/// Memory for a byte of results in a file, with all that is found out from it.
const OF_BYTE: u64 = 6;

/// Bytes that may be read, and how many they are of the memory that the process may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) bytes: u64,
    pub(crate) memory: u64,
}

impl Room {
    pub(crate) fn of_process() -> Self {
        match input::memory_limit() {
            Some(memory) => Self::within(memory, input::memory_held()),
            None => Self { bytes: u64::MAX, memory: u64::MAX },
        }
    }

    /// Half of it, less what is held already.
    pub(crate) fn within(memory: u64, held: u64) -> Self {
        Self { bytes: (memory / 2).saturating_sub(held).max(memory / 8) / OF_BYTE, memory }
    }

    pub(crate) fn partly(self, read_bytes: u64, bytes: u64) -> Partly {
        Partly { read_bytes, bytes, memory_bytes: self.memory }
    }
}
