//! What became of the program, whatever becomes of its run.

use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Program {
    #[default]
    NotStarted,
    /// It was, and may have ended in any way.
    Started,
    /// With this code, as a shell would show it.
    Ended(i32),
}

/// Outlives the run, and any error or panic in it: its folder may have been removed.
#[derive(Debug, Clone, Default)]
pub struct Fate(Arc<Mutex<Program>>);

impl Fate {
    pub fn program(&self) -> Program {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is(&self, program: Program) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = program;
    }
}
