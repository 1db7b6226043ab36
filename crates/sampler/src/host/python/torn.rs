//! A stack that changed while it was read.

use super::super::memory::Fault;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Torn {
    /// A pointer led nowhere, or to something else.
    Nonsense,
    /// The thread went on to other frames.
    Moved,
    /// Not a change of the stack: the process ended, or may not be read.
    Stopped(Fault),
}

impl From<Fault> for Torn {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Unmapped => Self::Nonsense,
            Fault::Gone | Fault::Denied(_) => Self::Stopped(fault),
        }
    }
}
