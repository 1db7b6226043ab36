//! Processes of ours that are not the workload's: clients of a server, and what they start.

use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError};

/// The guardians of such processes. Held while one is started, so that nobody takes it for something else before.
static GUARDIANS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut guardians = GUARDIANS.lock().unwrap_or_else(PoisonError::into_inner);
    let child = command.spawn()?;
    guardians.push(child.id());
    Ok(child)
}

pub(super) fn forget(pid: u32) {
    GUARDIANS.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| *known != pid);
}

/// Whether this child of ours, and all that descends from it, is beside the workload.
pub fn is_beside(pid: u32) -> bool {
    GUARDIANS.lock().unwrap_or_else(PoisonError::into_inner).contains(&pid)
}
